package kernels

import "github.com/gokiln/kiln/dsl"

// Pooling is a window that moves over the last two dimensions of an input. The walk of
// a kernel has the result, the input where a window would begin without padding, that
// place in both dimensions, the places that MaxPool stores, and which row the result is
// in. Each element of the walk is for several rows, one below the other.
type Pooling struct {
	High, Wide dsl.ConstInt  // the sizes of the window, or 0: those of Kernel
	Clip       dsl.ConstBool // windows reach over the edges of the input
	Over       dsl.ConstBool // and over those of the padding, at the end
	Pair       dsl.ConstBool // windows are two elements wide that lie where both can be moved at once
	Places     dsl.ConstBool // where the largest elements are is stored
	Rows       dsl.ConstInt  // results of an element of the walk
	Height     int           // rows of results
	Down       [2]int        // strides of the result and of the places from a row to the next
	Step       int           // places from a row to the next

	In, Kernel, Pad, Dilation [2]int
	X                         [2]int // strides of the input
	Outside                   bool   // a mean counts places outside of the input, as zeros
}

// mostPooled bounds the elements that a thread loads at once, and mostBelow its results.
const (
	mostPooled = 16
	mostBelow  = 4
)

// row returns how many rows below the first one result k of an element of the walk is:
// the last row comes more than once where there are no more.
func (p *Pooling) row(at *[Operands]int, k int) int {
	if k == 0 {
		return 0
	}
	return min(k, p.Height-1-at[5])
}

// corner returns where the input would have the first element of the window of a result,
// and its places.
func (p *Pooling) corner(at *[Operands]int, row int) (base, y, z int) {
	base = at[1] - p.Pad[0]*p.X[0] - p.Pad[1]*p.X[1] + row*p.Step*p.X[0]
	return base, at[2] - p.Pad[0] + row*p.Step, at[3] - p.Pad[1]
}

// has reports whether element i, j of a window is inside of the input.
func (p *Pooling) has(y, z, i, j int) bool {
	if !p.Clip {
		return true
	}
	y += i * p.Dilation[0]
	z += j * p.Dilation[1]
	return y >= 0 && y < p.In[0] && z >= 0 && z < p.In[1]
}

// window loads the windows of the results of an element of the walk, all at once. What
// would be outside of the input is some element of it.
func window[T dsl.Number, C Computed](x []T, p *Pooling, at *[Operands]int) (v [mostPooled]C) {
	n := 0
	for k := range int(p.Rows) {
		base, y, z := p.corner(at, p.row(at, k))
		for i := range int(p.High) {
			down := i * p.Dilation[0]
			if p.Clip {
				down = min(max(y+down, 0), p.In[0]-1) - y
			}
			if p.Pair {
				pair := dsl.LoadVec[[2]T](x, int(uint(base+down*p.X[0])/2))
				v[n], v[n+1] = dsl.Convert[C](pair[0]), dsl.Convert[C](pair[1])
				n += 2
				continue
			}
			for j := range int(p.Wide) {
				side := j * p.Dilation[1]
				if p.Clip {
					side = min(max(z+side, 0), p.In[1]-1) - z
				}
				v[n] = dsl.Convert[C](x[base+down*p.X[0]+side*p.X[1]])
				n++
			}
		}
	}
	return v
}

// inside calls f for the elements of the window of a result that are inside of the input,
// in order: those of a window that was loaded, the k-th of its thread, if High says so.
func inside[T dsl.Number, C Computed](x []T, p *Pooling, v *[mostPooled]C, k, base, y, z int, f func(v C, i, j int)) {
	if p.High > 0 {
		n := k * int(p.High*p.Wide)
		for i := range int(p.High) {
			for j := range int(p.Wide) {
				if p.has(y, z, i, j) {
					f(v[n], i, j)
				}
				n++
			}
		}
		return
	}
	y0, y1 := p.clip(0, y)
	z0, z1 := p.clip(1, z)
	for i := y0; i < y1; i++ {
		for j := z0; j < z1; j++ {
			f(dsl.Convert[C](x[base+i*p.Dilation[0]*p.X[0]+j*p.Dilation[1]*p.X[1]]), i, j)
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

// padded returns how many places of a window, which begins at from, are in front of the end
// of the padding along an axis.
func (p *Pooling) padded(axis, from int) int {
	return min(p.Kernel[axis], (p.In[axis]+p.Pad[axis]-from+p.Dilation[axis]-1)/p.Dilation[axis])
}

// AvgPool stores means.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Rows=1,2 p.Clip=true p.Over=false,true p.Pair=false,true
func AvgPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Walk, p Pooling, add, div func(a, b C) C) {
	w.Each(t, func(at [Operands]int) {
		v := window[T, C](x, &p, &at)
		var mean [mostBelow]T
		for k := range int(p.Rows) {
			base, y, z := p.corner(&at, p.row(&at, k))
			var sum C
			inside(x, &p, &v, k, base, y, z, func(v C, _, _ int) { sum = add(sum, v) })
			n := p.Kernel[0] * p.Kernel[1]
			if bool(p.Over) && p.Outside {
				n = p.padded(0, y) * p.padded(1, z)
			}
			if bool(p.Clip) && !p.Outside {
				y0, y1 := p.clip(0, y)
				z0, z1 := p.clip(1, z)
				n = max(y1-y0, 0) * max(z1-z0, 0)
			}
			mean[k] = dsl.Convert[T](div(sum, dsl.Convert[C](max(n, 1))))
		}
		for k := range int(p.Rows) {
			out[at[0]+p.row(&at, k)*p.Down[0]] = mean[k]
		}
	})
}

// MaxPool stores the largest elements, NaN if there is one, and which they are: the
// first of them, counted in the last two dimensions.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Rows=1,2 p.Clip=true p.Over=false,true p.Pair=false,true
func MaxPool[T dsl.Number, C Computed](t dsl.Thread, out, x []T, which []int64, w Walk, p Pooling, more func(a, b C) bool) {
	w.Each(t, func(at [Operands]int) {
		v := window[T, C](x, &p, &at)
		var best [mostBelow]C
		var place [mostBelow]int
		for k := range int(p.Rows) {
			base, y, z := p.corner(&at, p.row(&at, k))
			some := false
			inside(x, &p, &v, k, base, y, z, func(v C, i, j int) {
				if !some || more(v, best[k]) {
					some, best[k], place[k] = true, v, (y+i*p.Dilation[0])*p.In[1]+z+j*p.Dilation[1]
				}
			})
		}
		for k := range int(p.Rows) {
			row := p.row(&at, k)
			out[at[0]+row*p.Down[0]] = dsl.Convert[T](best[k])
			if p.Places {
				which[at[4]+row*p.Down[1]] = int64(place[k])
			}
		}
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

// mostResized bounds the results of an element of the walk.
const mostResized = 16

// row returns row k of those of an element of the walk, and how many rows below the first it
// is: the last row comes more than once where there are no more.
func (r *Resize) row(first, k int) (y, row int) {
	if k > 0 {
		row = min(k, r.Out[0]-1-first)
	}
	return first + row, row
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
		var v [mostResized]T
		for k := range int(r.Rows) {
			y, _ := r.row(at[2], k)
			down := r.from(0, y) * r.X[0]
			for c := range int(r.Cols) {
				v[k*int(r.Cols)+c] = x[side[c]+down]
			}
		}
		putRows(out, at[0], at[2], &r, &v)
	})
}

// putRows stores the results of an element of the walk, from one on: rows of one element, or
// of as many as are stored at once.
func putRows[T dsl.Number](out []T, at, first int, r *Resize, v *[mostResized]T) {
	for k := range int(r.Rows) {
		_, row := r.row(first, k)
		if r.Cols == resizedCols {
			dsl.StoreVec(out, int(uint(at+row*r.Down)/resizedCols), [resizedCols]T{v[4*k], v[4*k+1], v[4*k+2], v[4*k+3]})
		} else {
			out[at+row*r.Down] = v[k]
		}
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
		var v [mostResized]T
		for row := range int(r.Rows) {
			y, _ := r.row(at[2], row)
			y0, y1, fy := between[C](y, r.In[0], down, aligned)
			over, under := x[y0*r.X[0]:], x[y1*r.X[0]:]
			for k := range int(r.Cols) {
				a, b := dsl.Convert[C](over[left[k]]), dsl.Convert[C](over[right[k]])
				c, d := dsl.Convert[C](under[left[k]]), dsl.Convert[C](under[right[k]])
				upper, lower := mad(fz[k], b-a, a), mad(fz[k], d-c, c)
				v[row*int(r.Cols)+k] = dsl.Convert[T](mad(fy, lower-upper, upper))
			}
		}
		putRows(out, at[0], at[2], &r, &v)
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
