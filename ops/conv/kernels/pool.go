package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Pooling is a window that moves over the last two dimensions of an input. The walk of
// a kernel has the result, the input where a window would begin without padding, that
// position in both dimensions, and the positions that MaxPool stores.
type Pooling struct {
	High, Wide dsl.ConstInt  // the sizes of the window, or 0: those of Kernel
	Clip       dsl.ConstBool // windows reach over the edges of the input
	Over       dsl.ConstBool // and over those of the padding, at the end
	Indices    dsl.ConstBool // the indices of the largest elements are stored
	Inverse    dsl.ConstBool // a mean is the sum times the inverse of the number, which is a power of two

	In, Kernel, Pad, Dilation [2]int
	X                         [2]int // strides of the input
	Outside                   bool   // a mean counts positions outside of the input, as zeros
}

// mostPooled bounds the elements that a thread loads at once.
const mostPooled = 16

// corner returns where the input would have the first element of the window of a result,
// and its positions.
func (p *Pooling) corner(at *[core.Operands]int) (base, y, z int) {
	return at[1] - p.Pad[0]*p.X[0] - p.Pad[1]*p.X[1], at[2] - p.Pad[0], at[3] - p.Pad[1]
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

// window loads the window of a result, all at once. What would be outside of the input is
// some element of it.
func window[T dsl.Number, C core.Computed](x []T, p *Pooling, base, y, z int) (v [mostPooled]C) {
	n := 0
	for i := range int(p.High) {
		down := i * p.Dilation[0]
		if p.Clip {
			down = min(max(y+down, 0), p.In[0]-1) - y
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
	return v
}

// inside calls f for the elements of the window of a result that are inside of the input,
// in order: those of a window that was loaded, if High says so.
func inside[T dsl.Number, C core.Computed](x []T, p *Pooling, base, y, z int, f func(v C, i, j int)) {
	if p.High > 0 {
		v := window[T, C](x, p, base, y, z)
		n := 0
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

// clip returns which positions of a window are inside along an axis, the first and the one
// behind the last, where the window begins at from.
func (p *Pooling) clip(axis, from int) (first, end int) {
	if !p.Clip {
		return 0, p.Kernel[axis]
	}
	d := p.Dilation[axis]
	first = max(0, (-from+d-1)/d)
	return first, min(p.Kernel[axis], (p.In[axis]-from+d-1)/d)
}

// padded returns how many positions of a window, which begins at from, are in front of the end
// of the padding along an axis.
func (p *Pooling) padded(axis, from int) int {
	return min(p.Kernel[axis], (p.In[axis]+p.Pad[axis]-from+p.Dilation[axis]-1)/p.Dilation[axis])
}

// mean is the sum of the elements of a window of area positions, which begins at y, z, divided
// by their number: multiplied by its inverse, if that is exact.
func mean[C core.Computed](sum C, area, y, z int, p *Pooling, div func(a, b C) C) C {
	if p.Inverse {
		return div(sum, dsl.Convert[C](1/float32(area)))
	}
	if bool(p.Over) && p.Outside {
		area = p.padded(0, y) * p.padded(1, z)
	}
	if bool(p.Clip) && !p.Outside {
		y0, y1 := p.clip(0, y)
		z0, z1 := p.clip(1, z)
		area = max(y1-y0, 0) * max(z1-z0, 0)
	}
	return div(sum, dsl.Convert[C](max(area, 1)))
}

// AvgPool stores means.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Clip=true p.Over=false,true p.Inverse=false
func AvgPool[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, p Pooling, add, div func(a, b C) C) {
	w.Each(t, func(at [core.Operands]int) {
		base, y, z := p.corner(&at)
		var sum C
		if p.High > 0 {
			inside(x, &p, base, y, z, func(v C, _, _ int) { sum = add(sum, v) })
		} else {
			sum = longSum[T, C](x, &p, base, y, z)
		}
		out[at[0]] = dsl.Convert[T](mean(sum, p.Kernel[0]*p.Kernel[1], y, z, &p, div))
	})
}

// longSum is the sum of a window of any size.
func longSum[T dsl.Number, C core.Computed](x []T, p *Pooling, base, y, z int) C {
	acc, sums := dsl.LocalSlice[C](1), dsl.LocalSlice[C](core.ChainDepth)
	n := core.Chained{Long: true}
	y0, y1 := p.clip(0, y)
	z0, z1 := p.clip(1, z)
	for i := y0; i < y1; i++ {
		row := base + i*p.Dilation[0]*p.X[0]
		for low, high := z0, z0; low < z1; low = high {
			high = n.End(low, z1)
			for j := low; j < high; j++ {
				acc[0] += dsl.Convert[C](x[row+j*p.Dilation[1]*p.X[1]])
			}
			core.CountAdds(acc, sums, &n, high-low)
		}
	}
	core.JoinChains(acc, sums, &n)
	return acc[0]
}

// MaxPool stores the largest elements, NaN if there is one, and which they are: the
// first of them, counted in the last two dimensions.
//
//kiln:kernel
//kiln:const p.High=0,2 p.Wide=2 p.Clip=true p.Over=false,true
func MaxPool[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, which []int64, w core.Walk, p Pooling, more func(a, b C) bool) {
	w.Each(t, func(at [core.Operands]int) {
		base, y, z := p.corner(&at)
		var best C
		place, some := 0, false
		inside(x, &p, base, y, z, func(v C, i, j int) {
			if !some || more(v, best) {
				some, best, place = true, v, (y+i*p.Dilation[0])*p.In[1]+z+j*p.Dilation[1]
			}
		})
		out[at[0]] = dsl.Convert[T](best)
		if p.Indices {
			which[at[4]] = int64(place)
		}
	})
}

// More reports whether a is larger than b, or the first NaN: what is not at most b, without
// what b being NaN makes so.
func More[C core.Computed](a, b C) bool { return !(a <= b) != (b != b) }

// Resize says how the last two dimensions of an input become others. The walk of a
// kernel has the result, the input without these dimensions, and the position in both. Each
// element of the walk is for several rows, one below the other, and several columns, side
// by side.
type Resize struct {
	Rows dsl.ConstInt  // results of an element of the walk, one below the other
	Cols dsl.ConstInt  // and contiguous, 1 or the vector width of stores
	Wide dsl.ConstBool // positions times sizes need more than 31 bits
	Near dsl.ConstInt  // rows of the input that those of an element of the walk of [Bilinear] are between, or 0

	In, Out, X [2]int // sizes, and strides of the input
	Down       int    // stride of the result from a row to the next
	Div        [2]core.Divisor
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

// from returns the position of the input that is as far along.
func (r *Resize) from(axis, i int) int {
	if r.Wide {
		return i * r.In[axis] / r.Out[axis]
	}
	q, _ := r.Div[axis].DivMod(i * r.In[axis])
	return q
}

// Nearest stores the elements of the input at the positions that are as far along.
//
//kiln:kernel
//kiln:const r.Rows=1,4 r.Cols=1,4
func Nearest[T dsl.Number](t dsl.Thread, out, x []T, w core.Walk, r Resize) {
	w.Each(t, func(at [core.Operands]int) {
		var side [resizedCols]int
		for c := range int(r.Cols) {
			side[c] = at[1] + r.from(1, at[3]+c)*r.X[1]
		}
		var v [mostResized]T
		last := -1
		for k := range int(r.Rows) {
			y, _ := r.row(at[2], k)
			row := r.from(0, y)
			for c := range int(r.Cols) {
				if row != last {
					v[k*int(r.Cols)+c] = x[side[c]+row*r.X[0]]
				} else if k > 0 { // what the result above is
					v[k*int(r.Cols)+c] = v[(k-1)*int(r.Cols)+c]
				}
			}
			last = row
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

// Bilinear stores the means of the four elements of the input around a position, each with
// the more weight the nearer it is. An element of the result is scale apart from the next; if
// not aligned, elements are squares and positions are their middles.
//
//kiln:kernel
//kiln:const r.Rows=1,4 r.Cols=1,4 r.Near=0,4
func Bilinear[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w core.Walk, r Resize, down, side C, aligned dsl.ConstBool, mad func(a, b, c C) C) {
	w.Each(t, func(at [core.Operands]int) {
		var left, right [resizedCols]int
		var fz [resizedCols]C
		for c := range int(r.Cols) {
			z0, z1, f := between(at[3]+c, r.In[1], side, &r, aligned)
			left[c], right[c], fz[c] = at[1]+z0*r.X[1], at[1]+z1*r.X[1], f
		}
		var v [mostResized]T
		if r.Near > 0 {
			nearRows(x, at[2], &left, &right, &fz, &v, &r, down, aligned, mad)
		} else {
			for row := range int(r.Rows) {
				y, _ := r.row(at[2], row)
				y0, y1, fy := between(y, r.In[0], down, &r, aligned)
				for k := range int(r.Cols) {
					upper := sideMean(x, y0*r.X[0], left[k], right[k], fz[k], mad)
					lower := sideMean(x, y1*r.X[0], left[k], right[k], fz[k], mad)
					v[row*int(r.Cols)+k] = dsl.Convert[T](mad(fy, lower-upper, upper))
				}
			}
		}
		putRows(out, at[0], at[2], &r, &v)
	})
}

// sideMean is the mean of two elements of a row.
func sideMean[T dsl.Float, C dsl.Real](x []T, row, left, right int, far C, mad func(a, b, c C) C) C {
	a, b := dsl.Convert[C](x[row+left]), dsl.Convert[C](x[row+right])
	return mad(far, b-a, a)
}

// nearRows makes the results of rows that are between few of the input, whose means along
// the row serve several.
func nearRows[T dsl.Float, C dsl.Real](x []T, first int, left, right *[resizedCols]int, fz *[resizedCols]C, v *[mostResized]T, r *Resize, down C, aligned dsl.ConstBool, mad func(a, b, c C) C) {
	rows, cols := int(r.Near), int(r.Cols)
	h := dsl.LocalSlice[C](r.Near * r.Cols)
	top, _, _ := between(first, r.In[0], down, r, aligned)
	for j := range rows {
		at := min(top+j, r.In[0]-1) * r.X[0]
		for k := range cols {
			h[j*cols+k] = sideMean(x, at, left[k], right[k], fz[k], mad)
		}
	}
	for row := range int(r.Rows) {
		y, _ := r.row(first, row)
		y0, _, fy := between(y, r.In[0], down, r, aligned)
		for k := range cols {
			upper, lower := h[k], h[cols+k]
			for j := 1; j < rows-1; j++ {
				if y0-top == j {
					upper, lower = h[j*cols+k], h[(j+1)*cols+k]
				}
			}
			v[row*cols+k] = dsl.Convert[T](mad(fy, lower-upper, upper))
		}
	}
}

// between returns the neighbours of a position along an axis, and how far it is from the
// first to the second.
func between[C dsl.Real](i, n int, scale C, r *Resize, aligned dsl.ConstBool) (first, second int, far C) {
	at, half := dsl.Convert[C](i), C(0.5)
	if !r.Wide {
		at = dsl.Convert[C](int32(i))
	}
	if aligned {
		at *= scale
	} else {
		at = max((at+half)*scale-half, 0)
	}
	if r.Wide {
		first = min(int(at), n-1)
		return first, min(first+1, n-1), at - dsl.Convert[C](first)
	}
	near := min(int32(at), int32(n)-1)
	return int(near), int(min(near+1, int32(n)-1)), at - dsl.Convert[C](near)
}
