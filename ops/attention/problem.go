package attention

import (
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// inKernel returns a problem as kernels have it, but for the number of tiles, and its mask as one
// of bits or one that is added.
func (p *Problem) inKernel() (k kernels.Problem, f kernels.Features, bits, bias ops.View) {
	n := p.sizes()
	k = kernels.Problem{
		Rows: n.groups * n.s, S: n.s, Keys: n.keys, D: n.d, DV: n.dv, Heads: n.heads, Groups: n.groups,
		Off: n.keys - n.s, Left: p.Left, Right: p.Right, Tokens: n.tokens,
		K: lines(p.K), V: lines(p.V), Mask: strides(p.Mask), Slopes: strides(p.Slopes), Sinks: strides(p.Sinks),
	}
	k.AllRows = n.batches * n.heads * k.Rows
	if p.Packed {
		k.AllRows = n.heads * n.tokens * n.groups
	}
	f = kernels.Features{
		Bounded: dsl.ConstBool(p.bounded(n)),
		Capped:  p.SoftCap != 0, ALiBi: dsl.ConstBool(p.Slopes.DType != 0), Sinks: dsl.ConstBool(p.Sinks.DType != 0),
		Ragged: p.Sequences != nil || p.Table.DType != 0, Packed: dsl.ConstBool(p.Packed), Page: dsl.ConstInt(p.PageTokens),
	}
	switch p.Mask.DType {
	case 0:
	case dtype.U8:
		bits, f.Mask = p.Mask, kernels.BoolMask
	default:
		bias, f.Mask = p.Mask, kernels.AddedMask
	}
	return k, f, bits, bias
}

// sizes are those of a problem: s and keys are the most that a batch has, and tokens the queries of
// all.
type sizes struct{ batches, heads, groups, s, keys, d, dv, tokens int }

func (p *Problem) sizes() (n sizes) {
	q, v := p.Q.Layout.Shape(), p.V.Layout.Shape()
	n = sizes{batches: q[0], heads: q[1], groups: q[2], s: q[len(q)-2], d: q[len(q)-1], keys: v[2], dv: v[3]}
	if p.Packed {
		n.batches, n.heads, n.tokens, n.groups, n.s = len(p.Sequences), q[0], q[1], q[2], 0
	}
	if p.Table.DType != 0 {
		n.keys = p.MaxKeys
	}
	if p.Sequences == nil {
		return n
	}
	n.keys = 0
	for _, s := range p.Sequences {
		n.keys = max(n.keys, s.Keys)
		if p.Packed {
			n.s = max(n.s, s.Queries)
		}
	}
	return n
}

// bounded reports whether there are queries that do not attend to all keys, by their positions.
func (p *Problem) bounded(n sizes) bool {
	bounded := func(s, keys int) bool {
		off := keys - s
		return p.Left < keys && off+s-1-p.Left > 0 || off+p.Right+1 < keys
	}
	if p.Table.DType != 0 { // of any number of keys
		return p.Left < n.keys || p.Right+1 < n.s
	}
	if p.Sequences == nil {
		return bounded(n.s, n.keys)
	}
	return slices.ContainsFunc(p.Sequences, func(s Sequence) bool {
		if p.Packed {
			return bounded(s.Queries, s.Keys)
		}
		return bounded(n.s, s.Keys)
	})
}

// aligned reports whether all rows of a view begin at chunks of n elements.
func aligned(v ops.View, n int) bool {
	all := v.Layout.Strides()
	return v.Layout.Offset()%n == 0 && ops.Multiples(n, all[:len(all)-1]...)
}

// lines reports whether rows of keys and of values are contiguous.
func (p *Problem) lines() bool {
	for _, v := range []ops.View{p.K, p.V} {
		if v.Layout.Shape()[3] > 1 && v.Layout.Strides()[3] != 1 {
			return false
		}
	}
	return true
}

// lines returns the strides of keys or values.
func lines(v ops.View) kernels.Strides {
	s := v.Layout.Strides()
	return kernels.Strides{Batch: s[0], Head: s[1], Key: s[2]}
}

// strides returns those of what is broadcast to the scores: 0 along dimensions of size 1.
func strides(v ops.View) kernels.Strides {
	if v.DType == 0 {
		return kernels.Strides{}
	}
	var at [5]int
	for d, n := range v.Layout.Shape() {
		if n != 1 {
			at[d] = v.Layout.Strides()[d]
		}
	}
	return kernels.Strides{Batch: at[0], Head: at[1], Group: at[2], Row: at[3], Key: at[4]}
}

// header is the memory of an operand, none if it is left out.
func header(v ops.View) runtime.SliceHeader {
	if v.DType == 0 {
		return runtime.SliceHeader{}
	}
	return v.Header()
}
