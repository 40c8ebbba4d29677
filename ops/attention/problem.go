package attention

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// inKernel returns a problem as kernels have it, but for the number of tiles, and its mask as one of
// bits or one that is added.
func (p *Problem) inKernel() (k kernels.Problem, f kernels.Features, bits, bias ops.View) {
	q, v := p.Q.Layout.Shape(), p.V.Layout.Shape()
	k = kernels.Problem{
		Rows: q[2] * q[3], S: q[3], Keys: v[2], D: q[4], DV: v[3], Heads: q[1],
		Off: v[2] - q[3], Left: p.Left, Right: p.Right,
		K: lines(p.K), V: lines(p.V), Mask: strides(p.Mask), Slopes: strides(p.Slopes), Sinks: strides(p.Sinks),
		Scale: p.Scale, Cap: p.SoftCap,
	}
	f = kernels.Features{
		Bounded: p.Left < v[2] && k.Off+q[3]-1-p.Left > 0 || k.Off+p.Right+1 < v[2],
		Capped:  p.SoftCap != 0, ALiBi: dsl.ConstBool(p.Slopes.DType != 0), Sinks: dsl.ConstBool(p.Sinks.DType != 0),
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
