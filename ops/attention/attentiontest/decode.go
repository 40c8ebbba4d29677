package attentiontest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	attentionops "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// steps are attentions of one query of each head, to caches of batches with so many keys.
var steps = []struct {
	name             string
	groups, d, dv    int
	capacity, page   int
	keys             []int
	left             int
	cap              float64
	slopes, sinks    bool
	interleaved, all bool // pairs are neighbours; all of a head is rotated
}{
	{name: "plain", groups: 4, d: 32, dv: 24, capacity: 200, keys: []int{129, 1, 200}, left: all, all: true},
	{name: "pages", groups: 2, d: 16, dv: 16, capacity: 160, page: 16, keys: []int{37, 160, 16}, left: all, interleaved: true},
	{name: "window", groups: 3, d: 24, dv: 200, capacity: 96, keys: []int{90, 3}, left: 9},
	{name: "options", groups: 1, d: 16, dv: 32, capacity: 48, page: 8, keys: []int{41, 8}, left: 30, cap: 0.75, slopes: true, sinks: true},
	{name: "splits", groups: 2, d: 8, dv: 8, capacity: 1100, keys: []int{700}, left: all, sinks: true},
}

// Decode tests that tokens are stored, and attended to, where a table on the device says.
func Decode(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64} {
		if !b.Has(d) {
			continue
		}
		for i, s := range steps {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { decodeStep(t, b, d, i) }, "%v/%s", d, s.name)
		}
	}
	t.Run("Errors", func(t *testing.T) { decodeErrors(t, b) })
}

// decodeStep stores a token of each batch, and attends to it and to those before it.
func decodeStep(t *testing.T, b *opstest.Bench, d dtype.DType, number int) {
	s, n, sum := &steps[number], len(steps[number].keys), d.Compute()
	random := func(d dtype.DType, shape ...int) *opstest.Value {
		return b.Value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return b.Moderate(d) })
	}
	numbers, tokens := []float64{}, s.capacity
	for _, keys := range s.keys {
		first := 0.
		if s.page > 0 {
			first = float64(len(numbers) / attentionops.TableLen * s.capacity / s.page)
		}
		numbers = append(numbers, float64(keys-1), 1, first, float64(keys))
	}
	planes := n
	if s.page > 0 { // in an order that is none
		planes, tokens = n*s.capacity/s.page+1, s.page
		for i := range planes - 1 {
			numbers = append(numbers, float64((i*5+3)%planes))
		}
	}
	k, v := random(d, planes, heads, tokens, s.d), random(d, planes, heads, tokens, s.dv)
	newK, newV := random(d, n, heads, s.d), random(d, n, heads, s.dv)
	pairs := s.d / 4
	if s.all {
		pairs = s.d / 2
	}
	cos, sin := random(sum, n, pairs), random(sum, n, pairs)
	table := b.Of(t, dtype.I32, layout.Shape{len(numbers)}, numbers...)
	require.NoError(t, attentionops.Append(b.Stream, &attentionops.New{
		K: newK.View, V: newV.View, ToK: k.View, ToV: v.View, Cos: cos.View, Sin: sin.View,
		Interleaved: s.interleaved, Table: table.View, PageTokens: s.page,
	}))
	// row is where a row of a cache is that a batch has.
	row := func(batch, head, key, size int) int {
		plane, at := batch, key
		if s.page > 0 {
			page := int(numbers[attentionops.TableLen*batch+2]) + key/s.page
			plane, at = int(numbers[attentionops.TableLen*n+page]), key%s.page
		}
		return ((plane*heads+head)*tokens + at) * size
	}
	wantK, wantV := slices.Clone(k.Want), slices.Clone(v.Want)
	for batch, keys := range s.keys {
		for head := range heads {
			from, to := newK.Want[(batch*heads+head)*s.d:][:s.d], wantK[row(batch, head, keys-1, s.d):][:s.d]
			copy(to, from)
			for i := range pairs {
				m, o := i, i+pairs
				if s.interleaved {
					m, o = 2*i, 2*i+1
				}
				c, si := cos.Want[batch*pairs+i].Float(), sin.Want[batch*pairs+i].Float()
				x, y := from[m].Float(), from[o].Float()
				to[m], to[o] = dtype.FromFloat(d, x*c-y*si), dtype.FromFloat(d, x*si+y*c)
			}
			copy(wantV[row(batch, head, keys-1, s.dv):][:s.dv], newV.Want[(batch*heads+head)*s.dv:])
		}
	}
	hasK, hasV := b.Read(t, k), b.Read(t, v)
	require.Equal(t, wantV, hasV)
	for i, w := range wantK {
		require.InDelta(t, w.Float(), hasK[i].Float(), 4*opstest.ULP(d, 4), "key %d", i)
	}

	q := random(d, n, heads, s.groups, 1, s.d)
	p := attentionops.Problem{
		Q: q.View, K: k.View, V: v.View, Scale: 0.3, SoftCap: s.cap, Left: s.left, Right: 0,
		Table: table.View, PageTokens: s.page, MaxKeys: s.capacity,
	}
	ofHeads := layout.Shape{1, heads, s.groups, 1, 1}
	slopes, sinks := random(sum, ofHeads...), random(sum, ofHeads...)
	if s.slopes {
		p.Slopes = slopes.View
	}
	if s.sinks {
		p.Sinks = sinks.View
	}
	rows := layout.Shape{n, heads, s.groups, 1}
	out, lse := b.Output(t, d, append(slices.Clone(rows), s.dv), 0), b.Output(t, sum, rows, 0)
	supported(t, b, attentionops.Decode(b.Stream, out.View, lse.View, &p))
	got, gotLSE := b.Read(t, out), b.Read(t, lse)
	for i := range n * heads * s.groups {
		batch, head, keys := i/(heads*s.groups), i/s.groups%heads, s.keys[i/(heads*s.groups)]
		weights, total := make([]float64, keys), 0.
		for key := range keys {
			score, far := 0., keys-1-key
			for j := range s.d {
				score += q.Want[i*s.d+j].Float() * hasK[row(batch, head, key, s.d)+j].Float()
			}
			if score *= 0.3; s.cap != 0 {
				score = s.cap * math.Tanh(score/s.cap)
			}
			if s.slopes {
				score -= slopes.Want[i%(heads*s.groups)].Float() * float64(far)
			}
			if far <= s.left {
				weights[key] = math.Exp(score)
			}
			total += weights[key]
		}
		if s.sinks {
			total += math.Exp(sinks.Want[i%(heads*s.groups)].Float())
		}
		require.InDelta(t, math.Log(total), gotLSE[i].Float(), 32*opstest.ULP(sum, 4), "log-sum-exp %d", i)
		for j := range s.dv {
			want := 0.
			for key, w := range weights {
				want += w / total * hasV[row(batch, head, key, s.dv)+j].Float()
			}
			require.InDelta(t, want, got[i*s.dv+j].Float(), 16*opstest.ULP(d, 2), "result %d of row %d", j, i)
		}
	}
}

// decodeErrors has operands that do not go together.
func decodeErrors(t *testing.T, b *opstest.Bench) {
	of := func(d dtype.DType, shape ...int) ops.View { return b.Result(t, d, layout.Contiguous(shape)).View }
	problem := func() attentionops.Problem {
		return attentionops.Problem{
			Q: of(dtype.F32, 2, 1, 1, 1, 4), K: of(dtype.F32, 2, 1, 5, 4), V: of(dtype.F32, 2, 1, 5, 2),
			Scale: 1, Left: all, Table: of(dtype.I32, 8), MaxKeys: 5,
		}
	}
	out, lse := of(dtype.F32, 2, 1, 1, 1, 2), of(dtype.F32, 2, 1, 1, 1)
	for name, c := range map[string]struct {
		is     error
		change func(p *attentionops.Problem)
	}{
		"no table":    {layout.ErrShape, func(p *attentionops.Problem) { p.Table = ops.View{} }},
		"short table": {layout.ErrShape, func(p *attentionops.Problem) { p.Table = of(dtype.I32, 7) }},
		"type":        {ops.ErrDType, func(p *attentionops.Problem) { p.Table = of(dtype.I64, 8) }},
		"too many":    {layout.ErrShape, func(p *attentionops.Problem) { p.MaxKeys = 6 }},
		"batches":     {layout.ErrShape, func(p *attentionops.Problem) { p.K, p.V = of(dtype.F32, 1, 1, 5, 4), of(dtype.F32, 1, 1, 5, 2) }},
		"pages":       {layout.ErrShape, func(p *attentionops.Problem) { p.PageTokens = 4 }},
	} {
		p := problem()
		c.change(&p)
		require.ErrorIs(t, attentionops.Decode(b.Stream, out, lse, &p), c.is, name)
	}
	n := attentionops.New{
		K: of(dtype.F32, 2, 1, 4), V: of(dtype.F32, 2, 1, 2), ToK: of(dtype.F32, 2, 1, 5, 4), ToV: of(dtype.F32, 2, 1, 5, 2),
		Table: of(dtype.I32, 7),
	}
	require.ErrorIs(t, attentionops.Append(b.Stream, &n), layout.ErrShape)
	n.Table = of(dtype.I32, 8)
	n.ToV = of(dtype.F32, 2, 1, 4, 2)
	require.ErrorIs(t, attentionops.Append(b.Stream, &n), layout.ErrShape)
	n.ToV = of(dtype.F16, 2, 1, 5, 2)
	require.ErrorIs(t, attentionops.Append(b.Stream, &n), ops.ErrDType)
}
