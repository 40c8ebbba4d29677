package kernels

import "github.com/gokiln/kiln/dsl"

// NormGrad is the gradient of a normalisation of contiguous rows. With the relative elements v of a
// row, which [RowFn] has, times its factor, and e the gradient g of the result times scale, that of
// x is
//
//	(e - mean(e·v)·v - mean(e)) · factor
//
// where the last mean is 0 without Center. With Added the gradient in also, which x has already, is
// added. What is summed over rows, g·v of the scale and g of the shift, is stored in parts: a row
// of each for each block, first those of the scale, of which there are none without Scaled. The
// statistics are computed anew, of rows that are read anyway.
//
// A Group of threads has a row in registers, or reads it again if w.Items is 0. The Group is the
// block then.
//
//kiln:kernel
//kiln:const w.Items=4,8
func NormGrad[T dsl.Float, C dsl.Real](t dsl.Thread, dx, x, g, also, scale []T, parts []C, w RowReduction, f RowFn, eps C) {
	if w.Block > 0 {
		dsl.LaunchBounds(t, w.Block, 1)
	}
	f.Norm = true
	o := rowGrad[T, C]{rowFn[T, C]{RowFn: f, scale: scale, param: eps, addend: also}, dsl.Convert[C](w.N)}
	if w.Items == 0 {
		o.rereadRows(t, dx, x, g, parts, w)
		return
	}
	ofScale, ofShift := dsl.LocalSlice[C](w.Items), dsl.LocalSlice[C](w.Items)
	eachLine(t, w, func(l line, store bool) {
		v, e := dsl.LocalSlice[C](w.Items), dsl.LocalSlice[C](w.Items)
		loadItems(x, w, l, 0, v)
		loadItems(g, w, l, 0, e)
		factor := o.relativeItems(t, w, l, v)
		if store {
			for u := range int(w.Items) {
				ofScale[u] += e[u] * v[u]
				ofShift[u] += e[u]
			}
		}
		o.finish(t, w, l, v, e, factor)
		if store {
			storeItems(dx, w, l, v)
		}
	})
	if f.Scaled {
		storeParts(t, parts, w, 0, ofScale)
	}
	if f.Shifted {
		storeParts(t, parts, w, o.shiftPart(t), ofShift)
	}
}

// rowGrad is the gradient of a [rowFn], of rows of n elements.
type rowGrad[T dsl.Float, C dsl.Real] struct {
	rowFn[T, C]
	n C
}

// shiftPart is which row of the parts the block has for the shift, less that of the block.
func (o *rowGrad[T, C]) shiftPart(t dsl.Thread) int {
	if o.Scaled {
		return t.GridDimX()
	}
	return 0
}

// relativeItems makes the thread's items relative, times the factor, which it returns.
func (o *rowGrad[T, C]) relativeItems(t dsl.Thread, w RowReduction, l line, v []C) (factor C) {
	if o.Center {
		mean := allReduce(t, w, o.joinItems(w, v), plus[C]) / o.n
		for u := range int(w.Items) {
			v[u] -= mean
			if !l.has(w, u) {
				v[u] = 0
			}
		}
	}
	var sum C
	for u := range int(w.Items) {
		sum = dsl.FMA(v[u], v[u], sum)
	}
	factor = o.factor(0, allReduce(t, w, sum, plus[C]), o.n)
	for u := range int(w.Items) {
		v[u] *= factor
	}
	return factor
}

// finish replaces the relative items v by the gradient of x, given that of the results.
func (o rowGrad[T, C]) finish(t dsl.Thread, w RowReduction, l line, v, e []C, factor C) {
	if o.Scaled {
		weights := from(o.scale, w, l, 0)
		for u := 0; u < int(w.Items); u += int(w.Vec) {
			if l.has(w, u) {
				for k := range int(w.Vec) {
					e[u+k] *= dsl.Convert[C](weights[l.at(u)+k])
				}
			}
		}
	}
	var dot, total C
	for u := range int(w.Items) {
		dot = dsl.FMA(e[u], v[u], dot)
		total += e[u]
	}
	dot = allReduce(t, w, dot, plus[C]) / o.n
	if o.Center {
		total = allReduce(t, w, total, plus[C]) / o.n
	} else {
		total = 0
	}
	for u := range int(w.Items) {
		v[u] = (e[u] - total - dot*v[u]) * factor
	}
	if o.Added {
		as := from(o.addend, w, l, l.x)
		for u := 0; u < int(w.Items); u += int(w.Vec) {
			if l.has(w, u) {
				for k := range int(w.Vec) {
					v[u+k] += dsl.Convert[C](as[l.at(u)+k])
				}
			}
		}
	}
}

// storeParts stores the sums of the block's Groups as a row of the parts, which is so many rows
// behind that of the block. They are added up in shared memory, one Group after the other.
func storeParts[C dsl.Real](t dsl.Thread, parts []C, w RowReduction, row int, sums []C) {
	l := line{lane: t.ThreadX(), group: int(w.Block), n: w.N}
	base := (row + t.BlockX()) * w.N
	if w.Group > 0 && bool(!w.Whole) {
		g := int(w.Group)
		l.lane, l.group = t.ThreadX()%g, g
		partial := dsl.SharedSlice[C](t, w.Group*w.Items)
		for i := range t.BlockDimX() / g {
			t.Sync()
			if t.ThreadX()/g == i {
				for u := range int(w.Items) {
					at := u*g + l.lane
					if i > 0 {
						sums[u] += partial[at]
					}
					partial[at] = sums[u]
				}
			}
		}
		if t.ThreadX()/g != t.BlockDimX()/g-1 {
			return
		}
	} else if w.Whole {
		l.group = int(w.Group)
	}
	storeItems(parts[base:], w, l, sums)
}

// rereadRows is for rows that are read again for each pass. A thread has the sums of its elements
// in the parts of the block.
func (o *rowGrad[T, C]) rereadRows(t dsl.Thread, dx, x, g []T, parts []C, w RowReduction) {
	ofScale, ofShift := t.BlockX()*w.N, (o.shiftPart(t)+t.BlockX())*w.N
	started := false
	eachLine(t, w, func(l line, _ bool) {
		var mean C
		if o.Center {
			mean = o.sum(t, x, w, l, func(x C, _ int) C { return x }) / o.n
		}
		factor := o.factor(0, o.sum(t, x, w, l, func(x C, _ int) C { return (x - mean) * (x - mean) }), o.n)
		var total C
		if o.Center {
			total = o.sum(t, g, w, l, func(g C, i int) C { return o.scaled(g, i) }) / o.n
		}
		again := started
		dot := o.sum(t, x, w, l, func(x C, i int) C {
			e, v := dsl.Convert[C](g[l.x+i]), (x-mean)*factor
			if o.Scaled {
				o.addPart(parts, ofScale+i, e*v, again)
			}
			if o.Shifted {
				o.addPart(parts, ofShift+i, e, again)
			}
			return o.scaled(e, i) * v
		}) / o.n
		started = true
		eachElement(dx, x, w, l, func(x C, i int) C {
			d := (o.scaled(dsl.Convert[C](g[l.x+i]), i) - total - dot*((x-mean)*factor)) * factor
			if o.Added {
				d += dsl.Convert[C](o.addend[l.x+i])
			}
			return d
		})
	})
	if started {
		return
	}
	for i := t.ThreadX(); i < w.N; i += w.threads(t) {
		if o.Scaled {
			parts[ofScale+i] = 0
		}
		if o.Shifted {
			parts[ofShift+i] = 0
		}
	}
}

// sum adds up f of the elements of a row.
func (o *rowGrad[T, C]) sum(t dsl.Thread, x []T, w RowReduction, l line, f func(x C, i int) C) C {
	return allReduce(t, w, sweep(x, w, l, 0, func(a, x C, i int) C { return a + f(x, i) }, plus[C]), plus[C])
}

// scaled is the gradient of a result, times its scale.
func (o *rowGrad[T, C]) scaled(g C, i int) C {
	if o.Scaled {
		return g * dsl.Convert[C](o.scale[i])
	}
	return g
}

// addPart adds to a part, or begins it.
func (o *rowGrad[T, C]) addPart(parts []C, at int, v C, again bool) {
	if again {
		v += parts[at]
	}
	parts[at] = v
}
