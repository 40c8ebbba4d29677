package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// ReduceStrips is [ReduceCols] of columns that are contiguous, of which there are as many as
// blocks of w.Block threads want: each block goes down all of some, so that no parts are joined
// later. w.Group threads have w.Vec neighbouring columns each, and the others those below.
//
//kiln:kernel
//kiln:const w.Form=0,1 w.Block=512 w.Group=8 w.Vec=4 w.InFlight=16
func ReduceStrips[T dsl.Number, C, F core.Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	dsl.LaunchBounds(t, w.Block, 1)
	down(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		_, to := w.Row(r, 1)
		out[to+c*w.OutStep[0]] = dsl.Convert[R](finish(a, w.Div))
	})
}

// down passes the accumulator of each column to emit, in one thread.
func down[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r, c int, a Acc[C])) {
	vec, lanes := int(w.Vec), int(w.Group)
	size := w.Group * w.Vec * w.Block / dsl.ConstInt(t.WarpSize())
	v := dsl.SharedSlice[C](t, size)
	m := dsl.SharedSlice[C](t, size)
	n := dsl.SharedSlice[C](t, size)
	places := dsl.SharedSlice[uint32](t, size)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, _ := w.Row(r, 1)
		// Columns past the end are the last ones: all threads meet.
		at := base + min((t.BlockX()*lanes+t.ThreadX()%lanes)*vec, w.Width-vec)
		var acc [MaxInFlight]Acc[C]
		reduceDown(t, x, w, at, &acc, init, step, merge)
		emitColumn := func(i int, a Acc[C]) {
			if c := t.BlockX()*lanes*vec + i; c < w.Width {
				emit(r, c, a)
			}
		}
		if w.Form == Indexed {
			firstDown(t, x, w, v, places, at, &acc, merge, emitColumn)
		} else {
			mergeDown(t, w, v, m, n, places, &acc, merge, emitColumn)
		}
	}
}

// reduceDown is the accumulators of the thread's columns, which begin at one element. It loads
// w.InFlight elements together.
func reduceDown[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, at int, acc *[MaxInFlight]Acc[C], init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C]) {
	vec := int(w.Vec)
	first, high, deep := t.ThreadX()/int(w.Group), int(w.Block)/int(w.Group), int(w.InFlight)/vec
	var none, all [MaxInFlight]Acc[C]
	for k := range vec {
		none[k] = init(dsl.Convert[C](x[at+k]))
		none[k].I = ^0 // element 0 and no other
		acc[k], all[k] = none[k], none[k]
	}
	o, by := (at+first*w.InStep[0])/vec, high*w.InStep[0]/vec // vectors, where rows have one dimension
	load := func(v *[MaxInFlight]T, j, o, deep int) {
		for u := range deep {
			if w.Ins > 1 {
				o = (at + w.in(j+u*high, 0)) / vec
			}
			loadVec(x, w, o, v, u*vec)
			o += by
		}
	}
	add := func(x *[MaxInFlight]T, n, number int) {
		var v [MaxInFlight]C
		for u := range n * vec {
			v[u] = dsl.Convert[C](x[u])
		}
		count := acc[0].N // of all columns: what is computed of it is computed once
		for k := range vec {
			acc[k].N = count
			b := step(acc[k], &v, k, vec, n, n)
			if w.Form == Indexed {
				// Which of the elements it is, is found out at the end.
				b.I = acc[k].I
				if b.V != acc[k].V {
					b.I = number
				}
			}
			acc[k] = b
		}
	}
	j := first
	for {
		end := w.N
		if w.Tree {
			end = min(end, j+core.TreeSteps*deep*high)
		}
		for ; j+(2*deep-1)*high < end; j += 2 * deep * high {
			var u, v [MaxInFlight]T // as they are: all loads come first so
			load(&u, j, o, deep)
			load(&v, j+deep*high, o+deep*by, deep)
			add(&u, deep, j)
			add(&v, deep, j+deep*high)
			o += 2 * deep * by
		}
		if bool(!w.Tree) || j+(2*deep-1)*high >= w.N {
			break
		}
		for k := range vec {
			all[k], acc[k] = merge(all[k], acc[k]), none[k]
		}
	}
	for ; j < w.N; j += high {
		var v [MaxInFlight]T
		load(&v, j, o, 1)
		add(&v, 1, ^j)
		o += by
	}
	if w.Tree {
		for k := range vec {
			acc[k] = merge(all[k], acc[k])
		}
	}
}

// mergeDown merges the accumulators of the warps of a block, for which there is shared
// memory, and passes that of column i to emit, in one thread.
func mergeDown[C core.Computed](t dsl.Thread, w RowReduction, v, m, n []C, x []uint32, acc *[MaxInFlight]Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(i int, a Acc[C])) {
	vec, lanes, warps := int(w.Vec), int(w.Group), int(w.Block)/t.WarpSize()
	t.Sync() // earlier columns may still be read
	for k := range vec {
		for d := lanes; d < t.WarpSize(); d *= 2 {
			acc[k] = both(w, acc[k], shuffled(t, w, acc[k], d), merge)
		}
		if t.Lane() < lanes {
			i := (t.Lane()*vec+k)*warps + t.Warp()
			v[i] = acc[k].V
			if w.Form == Pair || w.Form == Triple {
				m[i] = acc[k].W
			}
			if w.Form == Triple {
				n[i] = acc[k].N
			}
			if w.Form == Indexed {
				x[i] = uint32(acc[k].I)
			}
		}
	}
	t.Sync()
	for i := t.Warp(); i < lanes*vec; i += warps {
		from := i*warps + t.Lane()%warps
		a := Acc[C]{V: v[from]}
		if w.Form == Pair || w.Form == Triple {
			a.W = m[from]
		}
		if w.Form == Triple {
			a.N = n[from]
		}
		if w.Form == Indexed {
			a.I = int(x[from])
		}
		for d := 1; d < min(warps, t.WarpSize()); d *= 2 {
			a = both(w, a, shuffled(t, w, a, d), merge)
		}
		if t.Lane() == 0 {
			emit(i, a)
		}
	}
}

// firstDown is joinDown of an Indexed reduction of columns that begin at one element: only
// threads that have the result of a column in their first iteration search
// for where it is.
func firstDown[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, v []C, places []uint32, at int, acc *[MaxInFlight]Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(i int, a Acc[C])) {
	vec, lanes, turn := int(w.Vec), int(w.Group), int(w.InFlight)/int(w.Vec)*(int(w.Block)/int(w.Group))
	best := dsl.SharedSlice[C](t, w.Group*w.Vec)
	first := dsl.SharedSlice[uint32](t, w.Group*w.Vec)
	own := *acc
	for k := range vec {
		switch i := acc[k].I; {
		case acc[k].V != acc[k].V:
			acc[k].I = 0 // NaN was not looked for
		case i < 0:
			acc[k].I = ^i / turn
		default:
			acc[k].I = i / turn
		}
	}
	turns := *acc
	mergeDown(t, w, v, v, v, places, acc, merge, func(i int, a Acc[C]) { best[i], first[i] = a.V, uint32(a.I) })
	t.Sync()
	var found [MaxInFlight]Acc[uint32]
	for k := range vec {
		found[k].V = ^uint32(0) // more than any: positions fit
		i := t.ThreadX()%lanes*vec + k
		if a := own[k]; a.V != a.V || a.V == best[i] && turns[k].I == int(first[i]) {
			found[k].V = uint32(indexDown(t, x, w, at+k, a))
		}
	}
	one := w
	one.Form = Single
	mergeDown(t, one, places, places, places, places, &found, Smaller[uint32], func(i int, a Acc[uint32]) { emit(i, Acc[C]{V: best[i], I: int(a.V)}) })
}

// indexDown returns the index of the element that is the thread's result of a column that
// begins at one element: the first of equal ones, the first NaN.
func indexDown[T dsl.Number, C core.Computed](t dsl.Thread, x []T, w RowReduction, at int, a Acc[C]) int {
	high, deep := int(w.Block)/int(w.Group), int(w.InFlight)/int(w.Vec)
	switch {
	case a.V != a.V:
		for j := t.ThreadX() / int(w.Group); j < w.N; j += high {
			if v := dsl.Convert[C](x[at+w.in(j, 0)]); v != v {
				return j
			}
		}
	case a.I < 0:
		return ^a.I
	}
	var v [MaxInFlight]C
	for u := range deep {
		v[u] = dsl.Convert[C](x[at+w.in(a.I+u*high, 0)])
	}
	j := a.I
	for u := range deep {
		if v[deep-1-u] == a.V {
			j = a.I + (deep-1-u)*high
		}
	}
	return j
}

// KeepStrips is [ReduceStrips] that stores accumulators as [KeepParts] does, r*w.Width from the
// beginning for row r of columns.
//
//kiln:kernel
//kiln:const w.Form=1 w.Block=512 w.Group=8 w.Vec=4 w.InFlight=16
func KeepStrips[T dsl.Number, C core.Computed](t dsl.Thread, outV, outW []C, x []T, w RowReduction, a, b C, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], f func(w, a, b C) C) {
	dsl.LaunchBounds(t, w.Block, 1)
	down(t, x, w, init, step, merge, func(r, c int, acc Acc[C]) {
		if w.Form == Pair || w.Form == Triple {
			outV[r*w.Width+c] = acc.V
			outW[r*w.Width+c] = f(acc.W, a, b)
		} else {
			outW[r*w.Width+c] = f(acc.V, a, b)
		}
	})
}

// ShareStrips is the softmax of [RowsKnown] of columns that are contiguous, for each of which there is a
// number of m and of s. Blocks of w.Block threads go down w.Part rows of some, the last rows
// first, which have been read last, and may still be cached.
//
//kiln:kernel
//kiln:const w.Block=256 w.Group=32 w.Vec=4
func ShareStrips[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, m, s []C, w RowReduction, log, quick dsl.ConstBool) {
	vec, lanes := int(w.Vec), int(w.Group)
	high := int(w.Block) / lanes
	c := (t.BlockX()*lanes + t.ThreadX()%lanes) * vec
	first := (t.GridDimY() - 1 - t.BlockY()) * w.Part
	end := min(first+w.Part, w.N)
	if c >= w.Width {
		return
	}
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		from, to := w.Row(r, 1)
		var top, part [MaxInFlight]C
		for k := range vec {
			top[k], part[k] = m[r*w.Width+c+k], s[r*w.Width+c+k]
		}
		share := func(v *[MaxInFlight]C, j int) {
			for k := range vec {
				if log {
					v[k] = v[k] - top[k] - part[k]
				} else {
					v[k] = expOf(v[k]-top[k], quick) * part[k]
				}
			}
			storeVec(out, w, (to+c+j*w.OutIn)/vec, v[:], 0)
		}
		j := first + t.ThreadX()/lanes
		for ; j+(shareUnroll-1)*high < end; j += shareUnroll * high {
			var v [shareUnroll][MaxInFlight]C
			for u := range shareUnroll {
				loadVec(x, w, (from+c+(j+u*high)*w.InStep[0])/vec, &v[u], 0)
			}
			for u := range shareUnroll {
				share(&v[u], j+u*high)
			}
		}
		for ; j < end; j += high {
			var v [MaxInFlight]C
			loadVec(x, w, (from+c+j*w.InStep[0])/vec, &v, 0)
			share(&v, j)
		}
	}
}

// shareUnroll is how many vectors a thread of [ShareStrips] has in flight.
const shareUnroll = 4
