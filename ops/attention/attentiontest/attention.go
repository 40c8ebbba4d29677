package attentiontest

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	attentionops "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// all is a distance that no query and key have.
const all = 1 << 20

// forms are attentions with one feature each.
var forms = []struct {
	name string
	of   func(t *testing.T, b *opstest.Bench, c *attention)
}{
	{"plain", func(*testing.T, *opstest.Bench, *attention) {}},
	{"causal", func(_ *testing.T, _ *opstest.Bench, c *attention) { c.p.Right = 0 }},
	{"window", func(_ *testing.T, _ *opstest.Bench, c *attention) { c.p.Left, c.p.Right = 9, 3 }},
	{"cap", func(_ *testing.T, _ *opstest.Bench, c *attention) { c.p.SoftCap = 0.75 }},
	{"mask", func(t *testing.T, b *opstest.Bench, c *attention) {
		c.mask = b.Cycle(t, dtype.U8, layout.Shape{1, heads, 1, c.rows, c.keys}, 1, 1, 0, 1, 0)
	}},
	{"bias", func(t *testing.T, b *opstest.Bench, c *attention) {
		c.mask = c.random(t, b, c.sum, batches, 1, groups, c.rows, c.keys)
	}},
	{"slopes", func(t *testing.T, b *opstest.Bench, c *attention) {
		c.slopes = b.Of(t, c.sum, layout.Shape{1, heads, groups, 1, 1}, 0.5, 0.25, 0.125, 0.0625)
	}},
	{"sinks", func(t *testing.T, b *opstest.Bench, c *attention) {
		c.sinks = b.Of(t, c.sum, layout.Shape{1, heads, groups, 1, 1}, 1, -1, 0.5, 2)
	}},
}

// sizes are rows, keys, and sizes of queries and of values: several tiles with edges, one row, and
// more rows than keys, of which causal attention leaves some without a key.
var sizes = []attention{
	{rows: 70, keys: 150, d: 40, dv: 24},
	{rows: 1, keys: 90, d: 32, dv: 32},
	{rows: 37, keys: 20, d: 24, dv: 64},
}

const batches, heads, groups = 2, 2, 2

// attention is a problem, its operands and what is computed of them in float64.
type attention struct {
	rows, keys, d, dv  int
	dt, sum            dtype.DType
	p                  attentionops.Problem
	q, k, v            *opstest.Value
	mask               *opstest.Value
	slopes, sinks      *opstest.Value
	out, lse           []float64
	probabilities, cap []float64 // the latter are derivatives of soft caps
}

// Attention tests attentions and their gradients, of each type of floating-point numbers.
func Attention(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F64} {
		if !b.Has(d) {
			continue
		}
		for i, f := range forms {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				c := sizes[opstest.Choice(len(sizes), d, i)]
				c.dt, c.sum = d, d.Compute()
				c.p = attentionops.Problem{Scale: 0.3, Left: all, Right: all}
				c.q = c.random(t, b, d, batches, heads, groups, c.rows, c.d)
				c.k = c.narrowed(t, b, c.keys, c.d)
				c.v = c.narrowed(t, b, c.keys, c.dv)
				f.of(t, b, &c)
				c.check(t, b)
			}, "%v/%s", d, f.name)
		}
	}
	t.Run("Errors", func(t *testing.T) { attentionErrors(t, b) })
}

func (c *attention) random(t *testing.T, b *opstest.Bench, d dtype.DType, shape ...int) *opstest.Value {
	t.Helper()
	return b.Value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return b.Moderate(d) })
}

// narrowed draws keys or values, whose rows are contiguous and not next to each other.
func (c *attention) narrowed(t *testing.T, b *opstest.Bench, rows, size int) *opstest.Value {
	t.Helper()
	shape := layout.Shape{batches, heads, rows, size}
	return b.Value(t, c.dt, opstest.LayoutOf(t, "narrowed", shape), func() dtype.Scalar { return b.Moderate(c.dt) })
}

// view is that of an operand, nothing of one that there is none of.
func view(v *opstest.Value) ops.View {
	if v == nil {
		return ops.View{}
	}
	return v.View
}

// check compares results, log-sum-exps and gradients.
func (c *attention) check(t *testing.T, b *opstest.Bench) {
	c.compute()
	c.p.Q, c.p.K, c.p.V = c.q.View, c.k.View, c.v.View
	c.p.Mask, c.p.Slopes, c.p.Sinks = view(c.mask), view(c.slopes), view(c.sinks)
	ofRows := layout.Shape{batches, heads, groups, c.rows}
	shape := append(slices.Clone(ofRows), c.dv)
	out, lse := b.Output(t, c.dt, shape, 0), b.Output(t, c.sum, ofRows, 0)
	supported(t, b, attentionops.Forward(b.Stream, out.View, lse.View, &c.p))
	c.near(t, "result", b.Read(t, out), c.out)
	c.near(t, "log-sum-exp", b.Read(t, lse), c.lse)

	grad, delta := c.random(t, b, c.dt, shape...), b.Output(t, c.sum, ofRows, 0)
	require.NoError(t, attentionops.Delta(b.Stream, delta.View, grad.View, out.View, ops.View{}))
	b.Read(t, delta)
	dq := b.Output(t, c.dt, c.q.Layout.Shape(), 0)
	dk, dv := b.Output(t, c.dt, c.k.Layout.Shape(), 0), b.Output(t, c.dt, c.v.Layout.Shape(), 0)
	supported(t, b, attentionops.Backward(b.Stream, &attentionops.Gradients{
		Q: dq.View, K: dk.View, V: dv.View, Out: grad.View, LSE: lse.View, Delta: delta.View,
	}, &c.p))
	wantQ, wantK, wantV := c.gradients(grad)
	c.near(t, "gradient of queries", b.Read(t, dq), wantQ)
	c.near(t, "gradient of keys", b.Read(t, dk), wantK)
	c.near(t, "gradient of values", b.Read(t, dv), wantV)
}

// supported skips a part whose kernel takes more shared memory than Apple's devices have, and fails
// at other errors. Where a kernel is refused, products of matrices and a softmax compute the same.
func supported(t *testing.T, b *opstest.Bench, err error) {
	t.Helper()
	const most = 32 << 10
	if errors.Is(err, jit.ErrUnsupported) && b.Device.Info().SharedPerBlock <= most {
		t.Skipf("%v", err)
	}
	require.NoError(t, err)
}

// near compares with an error in units of the type, relative to the largest number of all: results
// of 16 bits are computed of probabilities of 16 bits.
func (c *attention) near(t *testing.T, what string, got []dtype.Scalar, want []float64) {
	t.Helper()
	require.Len(t, got, len(want))
	largest := 1.0
	for _, x := range want {
		if !math.IsInf(x, 0) {
			largest = max(largest, math.Abs(x))
		}
	}
	for i, x := range want {
		if math.IsInf(x, 0) {
			require.Equal(t, x, got[i].Float(), "%s, element %d", what, i)
			continue
		}
		require.InDelta(t, x, got[i].Float(), 12*opstest.ULP(c.dt, 1)*largest, "%s, element %d", what, i)
	}
}

// each calls f with the numbers of a row of queries, which are its plane of keys and its number in
// the plane of a head.
func (c *attention) each(f func(row, plane, group, query int)) {
	for row := range batches * heads * groups * c.rows {
		f(row, row/(groups*c.rows), row/c.rows%groups, row%c.rows)
	}
}

// compute computes the problem in float64.
func (c *attention) compute() {
	c.lse = make([]float64, batches*heads*groups*c.rows)
	c.out = make([]float64, len(c.lse)*c.dv)
	c.probabilities, c.cap = make([]float64, len(c.lse)*c.keys), make([]float64, len(c.lse)*c.keys)
	c.each(func(row, plane, group, query int) {
		scores, total := c.probabilities[row*c.keys:][:c.keys], 0.0
		for key := range scores {
			scores[key], c.cap[row*c.keys+key] = c.score(row, plane, group, query, key)
			total += math.Exp(scores[key])
		}
		if c.sinks != nil {
			total += math.Exp(c.sinks.Want[plane%heads*groups+group].Float())
		}
		c.lse[row] = math.Log(total)
		for key := range scores {
			scores[key] = math.Exp(scores[key]) / max(total, math.SmallestNonzeroFloat64)
			for i := range c.dv {
				c.out[row*c.dv+i] += scores[key] * c.v.Want[(plane*c.keys+key)*c.dv+i].Float()
			}
		}
	})
}

// score is that of a query and a key, and the derivative of its soft cap.
func (c *attention) score(row, plane, group, query, key int) (s, derivative float64) {
	for i := range c.d {
		s += c.q.Want[row*c.d+i].Float() * c.k.Want[(plane*c.keys+key)*c.d+i].Float()
	}
	s, derivative = s*c.p.Scale, 1
	if c.p.SoftCap != 0 {
		th := math.Tanh(s / c.p.SoftCap)
		s, derivative = c.p.SoftCap*th, 1-th*th
	}
	far := key - (query + c.keys - c.rows)
	if c.slopes != nil {
		s -= c.slopes.Want[plane%heads*groups+group].Float() * math.Abs(float64(far))
	}
	if far > c.p.Right || -far > c.p.Left {
		return math.Inf(-1), derivative
	}
	switch {
	case c.mask == nil:
	case c.mask.DType == dtype.U8:
		if c.mask.Want[(plane%heads*c.rows+query)*c.keys+key].Float() == 0 {
			return math.Inf(-1), derivative
		}
	default:
		s += c.mask.Want[((plane/heads*groups+group)*c.rows+query)*c.keys+key].Float()
	}
	return s, derivative
}

// gradients are those of queries, keys and values, of that of the result.
func (c *attention) gradients(grad *opstest.Value) (dq, dk, dv []float64) {
	dq, dk, dv = make([]float64, len(c.q.Want)), make([]float64, len(c.k.Want)), make([]float64, len(c.v.Want))
	c.each(func(row, plane, _, _ int) {
		g, delta := grad.Want[row*c.dv:][:c.dv], 0.0
		for i, x := range g {
			delta += x.Float() * c.out[row*c.dv+i]
		}
		for key := range c.keys {
			at, p, of := plane*c.keys+key, c.probabilities[row*c.keys+key], 0.0
			for i, x := range g {
				of += x.Float() * c.v.Want[at*c.dv+i].Float()
				dv[at*c.dv+i] += p * x.Float()
			}
			of = p * (of - delta) * c.cap[row*c.keys+key] * c.p.Scale
			for i := range c.d {
				dq[row*c.d+i] += of * c.k.Want[at*c.d+i].Float()
				dk[at*c.d+i] += of * c.q.Want[row*c.d+i].Float()
			}
		}
	})
	return dq, dk, dv
}

// attentionErrors has operands that do not go together.
func attentionErrors(t *testing.T, b *opstest.Bench) {
	of := func(shape ...int) ops.View { return b.Result(t, dtype.F32, layout.Contiguous(shape)).View }
	p := attentionops.Problem{Q: of(1, 1, 1, 3, 4), K: of(1, 1, 5, 4), V: of(1, 1, 5, 2), Scale: 1, Left: all, Right: all}
	out, lse := of(1, 1, 1, 3, 2), of(1, 1, 1, 3)
	require.ErrorIs(t, attentionops.Forward(b.Stream, of(1, 1, 1, 3, 3), lse, &p), layout.ErrShape)
	require.ErrorIs(t, attentionops.Forward(b.Stream, out, of(3), &p), layout.ErrShape)
	p.V.DType = dtype.F16
	require.ErrorIs(t, attentionops.Forward(b.Stream, out, lse, &p), ops.ErrDType)
}
