package kernels

import "github.com/gokiln/kiln/dsl"

// Pooling is a window that moves over the last two dimensions of an input. The walk of
// a kernel has the result, the input where a window would begin without padding, that
// place in both dimensions, the places that MaxPool stores, and which row the result is
// in. Each element of the walk is for several rows, one below the other.
type Pooling struct {
	High, Wide dsl.ConstInt  // the sizes of the window, or 0: those of Kernel
	Clip       dsl.ConstBool // windows reach over the edges of the input
	Pair       dsl.ConstBool // windows are two elements wide that lie where both can be moved at once
	Rows       dsl.ConstInt  // results of an element of the walk
	Height     int           // rows of results
	Down       [2]int        // strides of the result and of the places from a row to the next
	Step       int           // places from a row to the next

	In, Kernel, Pad, Dilation [2]int
	X                         [2]int // strides of the input
	Outside                   bool   // a mean counts places outside of the input, as zeros
}

// each calls f for the results of an element of the walk: with where the input would have
// the first element of the window, its places, and how many rows below the first one it is.
// The last row comes more than once where there are no more.
func (p *Pooling) each(at [Operands]int, f func(base, y, z, row int)) {
	base, y, z := at[1]-p.Pad[0]*p.X[0]-p.Pad[1]*p.X[1], at[2]-p.Pad[0], at[3]-p.Pad[1]
	f(base, y, z, 0)
	for k := 1; k < int(p.Rows); k++ {
		row := min(k, p.Height-1-at[5])
		f(base+row*p.Step*p.X[0], y+row*p.Step, z, row)
	}
}

// inside calls f for the elements of a window that are inside of the input, in order.
func inside[T dsl.Number, C Computed](x []T, p *Pooling, base, y, z int, f func(v C, i, j int)) {
	switch {
	case bool(p.Pair):
		for i := range int(p.High) {
			v := dsl.LoadVec[[2]T](x, (base+i*p.Dilation[0]*p.X[0])/2)
			for j := range v {
				f(dsl.Convert[C](v[j]), i, j)
			}
		}
	case p.High > 0:
		for i := range int(p.High) {
			for j := range int(p.Wide) {
				down, side := i*p.Dilation[0], j*p.Dilation[1]
				if !bool(p.Clip) || y+down >= 0 && y+down < p.In[0] && z+side >= 0 && z+side < p.In[1] {
					f(dsl.Convert[C](x[base+down*p.X[0]+side*p.X[1]]), i, j)
				}
			}
		}
	default:
		y0, y1 := p.clip(0, y)
		z0, z1 := p.clip(1, z)
		for i := y0; i < y1; i++ {
			for j := z0; j < z1; j++ {
				f(dsl.Convert[C](x[base+i*p.Dilation[0]*p.X[0]+j*p.Dilation[1]*p.X[1]]), i, j)
			}
		}
	}
}

// clip returns which places of a window are inside along an axis, the first and the one
// behind the last, where the window begins at from.
func (p *Pooling) clip(axis, from int) (first, end int) {
	if !p.Clip {
		return 0, p.Kernel[axis]
	}
	d := p.Dilation[axis]
	first = max(0, (-from+d-1)/d)
	return first, min(p.Kernel[axis], (p.In[axis]-from+d-1)/d)
}

// AvgPool stores means.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Rows=1,2 p.Clip=true p.Pair=false,true
func AvgPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Walk, p Pooling, add, div func(a, b C) C) {
	w.Each(t, func(at [Operands]int) {
		p.each(at, func(base, y, z, row int) {
			var sum C
			inside(x, &p, base, y, z, func(v C, _, _ int) { sum = add(sum, v) })
			n := p.Kernel[0] * p.Kernel[1]
			if bool(p.Clip) && !p.Outside {
				y0, y1 := p.clip(0, y)
				z0, z1 := p.clip(1, z)
				n = max(y1-y0, 0) * max(z1-z0, 0)
			}
			out[at[0]+row*p.Down[0]] = dsl.Convert[T](div(sum, dsl.Convert[C](max(n, 1))))
		})
	})
}

// MaxPool stores the largest elements, NaN if there is one, and which they are: the
// first of them, counted in the last two dimensions.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Rows=1,2 p.Clip=true p.Pair=false,true
func MaxPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, which []int64, w Walk, p Pooling, more func(a, b C) bool) {
	w.Each(t, func(at [Operands]int) {
		p.each(at, func(base, y, z, row int) {
			var best C
			some, place := false, 0
			inside(x, &p, base, y, z, func(v C, i, j int) {
				if !some || more(v, best) {
					some, best, place = true, v, (y+i*p.Dilation[0])*p.In[1]+z+j*p.Dilation[1]
				}
			})
			out[at[0]+row*p.Down[0]] = dsl.Convert[T](best)
			if len(which) > 0 {
				which[at[4]+row*p.Down[1]] = int64(place)
			}
		})
	})
}

// More reports whether a is larger than b, or the first NaN.
func More[C Computed](a, b C) bool { return a > b || a != a && b == b }

// Resize says how the last two dimensions of an input become others. The walk of a
// kernel has the result, the input without these dimensions, and the place in both. Each
// element of the walk is for several rows, one below the other, and several columns, side
// by side.
type Resize struct {
	Rows dsl.ConstInt  // results of an element of the walk, one below the other
	Cols dsl.ConstInt  // and side by side, 1 or what is stored at once
	Wide dsl.ConstBool // places times sizes need more than 31 bits

	In, Out, X [2]int // sizes, and strides of the input
	Down       int    // stride of the result from a row to the next
	Div        [2]Divisor
}

// resizedCols is how many columns are stored at once.
const resizedCols = 4

// each calls f for the rows of an element of the walk, with the row of each and how
// many rows below the first it is.
func (r *Resize) each(first int, f func(y, row int)) {
	f(first, 0)
	for k := 1; k < int(r.Rows); k++ {
		row := min(k, r.Out[0]-1-first)
		f(first+row, row)
	}
}

// from returns the place of the input that is as far along.
func (r *Resize) from(axis, i int) int {
	if r.Wide {
		return i * r.In[axis] / r.Out[axis]
	}
	q, _ := r.Div[axis].split(i * r.In[axis])
	return q
}

// Nearest stores the elements of the input at the places that are as far along.
//
//kiln:kernel
//kiln:const r.Rows=1,4 r.Cols=1,4
func Nearest[T dsl.Number](t dsl.Thread, out, x []T, w Walk, r Resize) {
	w.Each(t, func(at [Operands]int) {
		var side [resizedCols]int
		for c := range int(r.Cols) {
			side[c] = at[1] + r.from(1, at[3]+c)*r.X[1]
		}
		r.each(at[2], func(y, row int) {
			down := r.from(0, y) * r.X[0]
			var v [resizedCols]T
			for c := range int(r.Cols) {
				v[c] = x[side[c]+down]
			}
			putCols(out, at[0]+row*r.Down, r.Cols, v)
		})
	})
}

// putCols stores one element, or as many as are stored at once.
func putCols[T dsl.Number](out []T, at int, n dsl.ConstInt, v [resizedCols]T) {
	if n == resizedCols {
		dsl.StoreVec(out, at/resizedCols, v)
	} else {
		out[at] = v[0]
	}
}

// Bilinear stores the means of the four elements of the input around a place, each with
// the more weight the nearer it is. A place of the result is scale apart from the next; if
// not aligned, elements are squares and places are their middles.
//
//kiln:kernel
//kiln:const r.Rows=1,2 r.Cols=1,4
func Bilinear[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w Walk, r Resize, down, side C, aligned dsl.ConstBool, mad func(a, b, c C) C) {
	w.Each(t, func(at [Operands]int) {
		var left, right [resizedCols]int
		var fz [resizedCols]C
		for c := range int(r.Cols) {
			z0, z1, f := between[C](at[3]+c, r.In[1], side, aligned)
			left[c], right[c], fz[c] = at[1]+z0*r.X[1], at[1]+z1*r.X[1], f
		}
		r.each(at[2], func(y, row int) {
			y0, y1, fy := between[C](y, r.In[0], down, aligned)
			over, under := x[y0*r.X[0]:], x[y1*r.X[0]:]
			var v [resizedCols]T
			for k := range int(r.Cols) {
				a, b := dsl.Convert[C](over[left[k]]), dsl.Convert[C](over[right[k]])
				c, d := dsl.Convert[C](under[left[k]]), dsl.Convert[C](under[right[k]])
				upper, lower := mad(fz[k], b-a, a), mad(fz[k], d-c, c)
				v[k] = dsl.Convert[T](mad(fy, lower-upper, upper))
			}
			putCols(out, at[0]+row*r.Down, r.Cols, v)
		})
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
