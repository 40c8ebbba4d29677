package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Adaptive says how the last two dimensions of an input are cut into windows: window i of m
// has the positions from i·n/m, cut, up to (i+1)·n/m, raised, of n, so windows may share some.
// The walk of a kernel has the result, the input without these dimensions, the numbers
// of the windows along both, and the positions that AdaptiveMax stores.
type Adaptive struct {
	Wide    dsl.ConstBool // numbers times sizes need more than 31 bits
	Indices dsl.ConstBool // the indices of the largest elements are stored

	In, Out, X [2]int // sizes, and strides of the input
	Div        [2]core.Divisor
}

// window returns the first position of window i along an axis and the one behind its last.
func (p *Adaptive) window(axis, i int) (first, end int) {
	n, m := p.In[axis], p.Out[axis]
	if p.Wide {
		return i * n / m, ((i+1)*n + m - 1) / m
	}
	first, _ = p.Div[axis].DivMod(i * n)
	end, _ = p.Div[axis].DivMod((i+1)*n + m - 1)
	return first, end
}

// AdaptiveAvg stores means.
//
//kiln:kernel
func AdaptiveAvg[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, p Adaptive, add, div func(a, b C) C) {
	w.Each(t, func(at [core.Operands]int) {
		y0, y1 := p.window(0, at[2])
		z0, z1 := p.window(1, at[3])
		var sum C
		for y := y0; y < y1; y++ {
			for z := z0; z < z1; z++ {
				sum = add(sum, dsl.Convert[C](x[at[1]+y*p.X[0]+z*p.X[1]]))
			}
		}
		out[at[0]] = dsl.Convert[T](div(sum, dsl.Convert[C]((y1-y0)*(z1-z0))))
	})
}

// AdaptiveMax stores the largest elements, NaN if there is one, and which they are: the
// first of them, counted in the last two dimensions.
//
//kiln:kernel
func AdaptiveMax[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, which []int64, w core.Walk, p Adaptive, more func(a, b C) bool) {
	w.Each(t, func(at [core.Operands]int) {
		y0, y1 := p.window(0, at[2])
		z0, z1 := p.window(1, at[3])
		place := y0*p.In[1] + z0
		best := dsl.Convert[C](x[at[1]+y0*p.X[0]+z0*p.X[1]])
		for y := y0; y < y1; y++ {
			for z := z0; z < z1; z++ {
				if v := dsl.Convert[C](x[at[1]+y*p.X[0]+z*p.X[1]]); more(v, best) {
					best, place = v, y*p.In[1]+z
				}
			}
		}
		out[at[0]] = dsl.Convert[T](best)
		if p.Indices {
			which[at[4]] = int64(place)
		}
	})
}
