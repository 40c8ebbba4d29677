package kernels

import "github.com/gokiln/kiln/dsl"

// Pooling is a window that moves over the last two dimensions of an input. The walk of
// a kernel has the result, the input where a window would begin without padding, and
// that place in both dimensions.
type Pooling struct {
	In, Kernel, Pad, Dilation [2]int
	X                         [2]int // strides of the input
	Outside                   bool   // a mean counts places outside of the input, as zeros
}

// clip returns which places of a window are inside along an axis, the first and the one
// behind the last, where the window begins at from.
func (p *Pooling) clip(axis, from int) (first, end int) {
	d := p.Dilation[axis]
	first = max(0, (-from+d-1)/d)
	return first, min(p.Kernel[axis], (p.In[axis]-from+d-1)/d)
}

// AvgPool stores means.
//
//kiln:kernel
func AvgPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Walk, p Pooling, add, div func(a, b C) C) {
	w.Each(t, func(at [Operands]int) {
		y, z := at[2]-p.Pad[0], at[3]-p.Pad[1]
		y0, y1 := p.clip(0, y)
		z0, z1 := p.clip(1, z)
		base := at[1] - p.Pad[0]*p.X[0] - p.Pad[1]*p.X[1]
		var sum C
		for i := y0; i < y1; i++ {
			for j := z0; j < z1; j++ {
				sum = add(sum, dsl.Convert[C](x[base+i*p.Dilation[0]*p.X[0]+j*p.Dilation[1]*p.X[1]]))
			}
		}
		n := max(y1-y0, 0) * max(z1-z0, 0)
		if p.Outside {
			n = p.Kernel[0] * p.Kernel[1]
		}
		out[at[0]] = dsl.Convert[T](div(sum, dsl.Convert[C](max(n, 1))))
	})
}

// MaxPool stores the largest elements, NaN if there is one, and which they are: the
// first of them, counted in the last two dimensions. The last operand of the walk is
// where that is stored.
//
//kiln:kernel
func MaxPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, which []int64, w Walk, p Pooling, more func(a, b C) bool) {
	w.Each(t, func(at [Operands]int) {
		y, z := at[2]-p.Pad[0], at[3]-p.Pad[1]
		y0, y1 := p.clip(0, y)
		z0, z1 := p.clip(1, z)
		base := at[1] - p.Pad[0]*p.X[0] - p.Pad[1]*p.X[1]
		best, place := dsl.Convert[C](x[base+y0*p.Dilation[0]*p.X[0]+z0*p.Dilation[1]*p.X[1]]), (y+y0*p.Dilation[0])*p.In[1]+z+z0*p.Dilation[1]
		for i := y0; i < y1; i++ {
			for j := z0; j < z1; j++ {
				v := dsl.Convert[C](x[base+i*p.Dilation[0]*p.X[0]+j*p.Dilation[1]*p.X[1]])
				if more(v, best) {
					best, place = v, (y+i*p.Dilation[0])*p.In[1]+z+j*p.Dilation[1]
				}
			}
		}
		out[at[0]] = dsl.Convert[T](best)
		if len(which) > 0 {
			which[at[4]] = int64(place)
		}
	})
}

// More reports whether a is larger than b, or the first NaN.
func More[C Computed](a, b C) bool { return a > b || a != a && b == b }

// Resize says how the last two dimensions of an input become others. The walk of a
// kernel has the result, the input without these dimensions, and the place in both.
type Resize struct {
	In, Out, X [2]int // sizes, and strides of the input
}

// Nearest stores the elements of the input at the places that are as far along.
//
//kiln:kernel
func Nearest[T dsl.Number](t dsl.Thread, out, x []T, w Walk, r Resize) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = x[at[1]+at[2]*r.In[0]/r.Out[0]*r.X[0]+at[3]*r.In[1]/r.Out[1]*r.X[1]]
	})
}

// Bilinear stores the means of the four elements of the input around a place, each with
// the more weight the nearer it is. A place of the result is scale apart from the next; if
// not aligned, elements are squares and places are their middles.
//
//kiln:kernel
func Bilinear[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w Walk, r Resize, down, side C, aligned dsl.ConstBool, mad func(a, b, c C) C) {
	w.Each(t, func(at [Operands]int) {
		y0, y1, fy := between[C](at[2], r.In[0], down, aligned)
		z0, z1, fz := between[C](at[3], r.In[1], side, aligned)
		load := func(y, z int) C { return dsl.Convert[C](x[at[1]+y*r.X[0]+z*r.X[1]]) }
		a, b := load(y0, z0), load(y0, z1)
		c, d := load(y1, z0), load(y1, z1)
		upper, lower := mad(fz, b-a, a), mad(fz, d-c, c)
		out[at[0]] = dsl.Convert[T](mad(fy, lower-upper, upper))
	})
}

// between returns the neighbours of a place along an axis, and how far it is from the
// first to the second.
func between[C dsl.Real](i, n int, scale C, aligned dsl.ConstBool) (first, second int, far C) {
	at := dsl.Convert[C](i) * scale
	if !aligned {
		at = max((dsl.Convert[C](i)+0.5)*scale-0.5, 0)
	}
	first = min(int(at), n-1)
	return first, min(first+1, n-1), at - dsl.Convert[C](first)
}
