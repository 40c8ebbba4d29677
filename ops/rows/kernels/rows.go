package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// from is the part of s from the thread's first element on, of a row that begins at base. Item u
// of the thread is at a constant offset in it.
func from[T dsl.Float](s []T, w RowReduction, l line, base int) []T {
	at, vec := l.lane, int(w.Vec)
	if !w.Full {
		at = min(at, l.n/vec-1)
	}
	return s[(base/vec+at)*vec:]
}

// at is where items from u on, a multiple of w.Vec, are in [from].
func (l line) at(u int) int { return u * l.group }

// loadItems loads the thread's elements of a part into registers; items past the end are none.
func loadItems[T dsl.Float, C dsl.Real](x []T, w RowReduction, l line, none C, v []C) {
	xs := from(x, w, l, l.x)
	for u := 0; u < int(w.Items); u += int(w.Vec) {
		for k := range int(w.Vec) {
			v[u+k] = none
			if l.has(w, u) {
				v[u+k] = dsl.Convert[C](xs[l.at(u)+k])
			}
		}
	}
}

// load is [loadItems] of what the row function is of: the row, or its sum with the addend, which is
// stored where store says so.
func (o *rowFn[T, C]) load(x []T, w RowReduction, l line, v []C, store bool) {
	loadItems(x, w, l, o.none(), v)
	if !o.Added {
		return
	}
	as := from(o.addend, w, l, l.x)
	for u := 0; u < int(w.Items); u += int(w.Vec) {
		if l.has(w, u) {
			for k := range int(w.Vec) {
				v[u+k] = dsl.Convert[C](dsl.Convert[T](v[u+k] + dsl.Convert[C](as[l.at(u)+k])))
			}
		}
	}
	if store {
		storeItems(o.sum, w, l, v)
	}
}

// storeItems stores what [loadItems] loaded.
func storeItems[T dsl.Float, C dsl.Real](out []T, w RowReduction, l line, v []C) {
	ys := from(out, w, l, l.out)
	for u := 0; u < int(w.Items); u += int(w.Vec) {
		if l.has(w, u) {
			for k := range int(w.Vec) {
				ys[l.at(u)+k] = dsl.Convert[T](v[u+k])
			}
		}
	}
}

// Rows stores a [RowFn] of each row, which a Group of threads has: in registers, or read again
// from memory if w.Items is 0. One kernel is for softmax and its logarithm: they differ by a
// branch for each row.
//
//kiln:kernel
//kiln:const w.Items=4,8
func Rows[T dsl.Float, C dsl.Real](t dsl.Thread, out, x, scale, shift, addend, sum []T, w RowReduction, f RowFn, param C, log bool) {
	o := rowFn[T, C]{f, scale, shift, log, param, addend, sum}
	n := dsl.Convert[C](w.N)
	eachLine(t, w, func(l line, store bool) {
		if w.Items == 0 {
			o.rereadRow(t, out, x, w, l, n, store)
			return
		}
		v := dsl.LocalSlice[C](w.Items)
		o.load(x, w, l, v, store)
		var location C
		if o.located() {
			location = o.locate(allReduce(t, w, o.joinItems(w, v), func(a, b C) C { return o.join(a, b) }), n)
		}
		sum := allReduce(t, w, o.sumItems(w, l, v, location), plus[C])
		if store {
			o.finishItems(w, l, v, location, o.factor(0, sum, n))
			storeItems(out, w, l, v)
		}
	})
}

// joinItems is [rowFn.join] of the thread's items.
func (o *rowFn[T, C]) joinItems(w RowReduction, v []C) C {
	a := v[0]
	for u := 1; u < int(w.Items); u++ {
		a = o.join(a, v[u])
	}
	return a
}

// sumItems makes the thread's items relative to a location, but for the logarithm of softmax,
// and returns their sum.
func (o *rowFn[T, C]) sumItems(w RowReduction, l line, v []C, location C) (sum C) {
	log := bool(!o.Norm) && o.log
	for u := range int(w.Items) {
		if log {
			sum += o.relative(v[u], location)
		} else {
			v[u] = o.relative(v[u], location)
			if bool(o.Center) && !l.has(w, u) {
				v[u] = 0
			}
			sum = o.add(sum, v[u])
		}
	}
	return sum
}

// finishItems makes results of relative items.
func (o rowFn[T, C]) finishItems(w RowReduction, l line, v []C, location, factor C) {
	if o.Scaled {
		o.scale = from(o.scale, w, l, 0)
	}
	if o.Shifted {
		o.shift = from(o.shift, w, l, 0)
	}
	for u := 0; u < int(w.Items); u += int(w.Vec) {
		if bool(!o.Norm) || l.has(w, u) { // there may be no weights
			for k := range int(w.Vec) {
				v[u+k] = o.result(v[u+k], l.at(u)+k, location, factor)
			}
		}
	}
}

// rereadRow reads the row for each pass. Softmax of types of more than 16 bits has the
// exponentials in out until their sum is known, as they are expensive.
func (o *rowFn[T, C]) rereadRow(t dsl.Thread, out, x []T, w RowReduction, l line, n C, store bool) {
	var location C
	if o.located() {
		// The maximum may ignore NaN, which the sum does not, and is cheaper then.
		join := func(a, b C) C {
			if o.Norm {
				return a + b
			}
			if b > a {
				return b
			}
			return a
		}
		first := sweep(x, w, l, o.none(), func(a, x C, i int) C { return join(a, o.total(x, w, l, i, store)) }, join)
		location = o.locate(allReduce(t, w, first, join), n)
	}
	summed := bool(o.Added) && o.located()
	if summed { // from here on a thread reads what it has stored
		x, l.x = o.sum, l.out
	}
	if bool(o.Norm) || bool(o.Quick) || o.log {
		sum := sweep(x, w, l, 0, func(a, x C, i int) C {
			if !summed {
				x = o.total(x, w, l, i, store)
			}
			return o.add(a, o.relative(x, location))
		}, plus[C])
		factor := o.factor(0, allReduce(t, w, sum, plus[C]), n)
		if o.Added {
			x, l.x = o.sum, l.out
		}
		if store && bool(!o.Norm) && o.log {
			eachElement(out, x, w, l, func(x C, _ int) C { return x - location - factor })
		} else if store {
			exps := *o
			exps.log = false
			eachElement(out, x, w, l, func(x C, i int) C { return exps.element(x, i, location, location, factor) })
		}
		return
	}
	sum := sweep(x, w, l, 0, func(a, x C, i int) C {
		e := o.relative(x, location)
		if store {
			out[l.out+w.to(i)] = dsl.Convert[T](e)
		}
		return a + e
	}, plus[C])
	if factor := 1 / allReduce(t, w, sum, plus[C]); store {
		l.x = l.out
		eachElement(out, out, w, l, func(e C, _ int) C { return e * factor })
	}
}

// rowUnroll is how many elements a thread that reads rows again loads before it uses the first.
const rowUnroll = 8

// sweep accumulates the thread's elements of a row: step takes one, with its index.
func sweep[T dsl.Number, C core.Computed](x []T, w RowReduction, l line, start C, step func(a, x C, i int) C, merge func(a, b C) C) C {
	span, all := core.TreeSteps*rowUnroll*l.group, start
	for i := 0; i < w.N; i += core.TreeSteps * span {
		part := start
		for j := i; j < min(w.N, i+core.TreeSteps*span); j += span {
			part = merge(part, sweepPart(x, w, l, j, min(w.N, j+span), start, step, merge))
		}
		all = merge(all, part)
	}
	return all
}

// sweepPart is sweep of the elements from j on, up to the end of a part.
func sweepPart[T dsl.Number, C core.Computed](x []T, w RowReduction, l line, j, end int, start C, step func(a, x C, i int) C, merge func(a, b C) C) C {
	var acc [rowUnroll]C
	for u := range acc {
		acc[u] = start
	}
	g := l.group
	for ; j+rowUnroll*g <= end; j += rowUnroll * g {
		var v [rowUnroll]C
		for u := range rowUnroll {
			v[u] = dsl.Convert[C](x[l.x+w.at(j+u*g+l.lane)])
		}
		for u := range rowUnroll {
			acc[u] = step(acc[u], v[u], j+u*g+l.lane)
		}
	}
	for i := j + l.lane; i < end; i += g {
		acc[0] = step(acc[0], dsl.Convert[C](x[l.x+w.at(i)]), i)
	}
	for n := rowUnroll / 2; n > 0; n /= 2 {
		for u := range n {
			acc[u] = merge(acc[u], acc[u+n])
		}
	}
	return acc[0]
}

// eachElement stores f of the thread's elements of a row.
func eachElement[T dsl.Float, C dsl.Real](out, x []T, w RowReduction, l line, f func(x C, i int) C) {
	g, j := l.group, 0
	for ; j+rowUnroll*g <= w.N; j += rowUnroll * g {
		var v [rowUnroll]C
		for u := range rowUnroll {
			v[u] = dsl.Convert[C](x[l.x+w.at(j+u*g+l.lane)])
		}
		for u := range rowUnroll {
			i := j + u*g + l.lane
			out[l.out+w.to(i)] = dsl.Convert[T](f(v[u], i))
		}
	}
	for i := j + l.lane; i < w.N; i += g {
		out[l.out+w.to(i)] = dsl.Convert[T](f(dsl.Convert[C](x[l.x+w.at(i)]), i))
	}
}
