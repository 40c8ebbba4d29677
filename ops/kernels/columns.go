package kernels

import "github.com/gokiln/kiln/dsl"

// ReduceStrips is [ReduceCols] of columns that lie side by side, of which there are as many as
// blocks of w.Block threads want: each block goes down all of some, and nobody joins parts
// later. w.Group threads have w.Vec neighbouring columns each, and the others those below.
//
//kiln:kernel
//kiln:const w.Form=0,1 w.Block=512 w.Group=8 w.Vec=4
func ReduceStrips[T dsl.Number, C, F Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w Fold, init func(C) Acc[C], step func(a Acc[C], v *[MostAhead]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	dsl.LaunchBounds(t, w.Block, 1)
	down(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		_, to := w.row(r, 1)
		out[to+c*w.OutStep[0]] = dsl.Convert[R](finish(a, w.Div))
	})
}

// down gives emit what is known of each column, in one thread.
func down[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, init func(C) Acc[C], step func(a Acc[C], v *[MostAhead]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(r, c int, a Acc[C])) {
	vec, lanes := int(w.Vec), int(w.Group)
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		base, _ := w.row(r, 1)
		c := (t.BlockX()*lanes + t.ThreadX()%lanes) * vec
		var acc [MostAhead]Acc[C]
		// Columns past the end are the last ones: all threads meet.
		foldDown(t, x, w, base+min(c, w.Width-vec), &acc, init, step)
		for k := range vec {
			for d := lanes; d < t.WarpSize(); d *= 2 {
				acc[k] = both(w, acc[k], across(t, w, acc[k], d), merge)
			}
		}
		joinDown(t, w, &acc, merge, func(i int, a Acc[C]) {
			if c := t.BlockX()*lanes*vec + i; c < w.Width {
				emit(r, c, a)
			}
		})
	}
}

// DownAhead is how many elements a thread looks at together that goes down columns, while as
// many are on their way.
const DownAhead = 16

// foldDown is what the thread knows of its columns, which begin at one element.
func foldDown[T dsl.Number, C Computed](t dsl.Thread, x []T, w Fold, at int, acc *[MostAhead]Acc[C], init func(C) Acc[C], step func(a Acc[C], v *[MostAhead]C, from, by, n, has int) Acc[C]) {
	vec := int(w.Vec)
	first, high, deep := t.ThreadX()/int(w.Group), int(w.Block)/int(w.Group), DownAhead/vec
	for k := range vec {
		acc[k] = init(dsl.Convert[C](x[at+k]))
		acc[k].I = ^0 // element 0 and no other
	}
	load := func(v *[MostAhead]C, j int) {
		for u := range deep {
			loadVec(x, w, (at+w.in(j+u*high, 0))/vec, v, u*vec)
		}
	}
	add := func(v *[MostAhead]C, j, n, number int) {
		for k := range vec {
			b := step(acc[k], v, k, vec, n, n)
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
	for ; j+(2*deep-1)*high < w.N; j += 2 * deep * high {
		var u, v [MostAhead]C
		load(&u, j)
		load(&v, j+deep*high)
		add(&u, j, deep, j)
		add(&v, j, deep, j+deep*high)
	}
	for ; j < w.N; j += high {
		var v [MostAhead]C
		loadVec(x, w, (at+w.in(j, 0))/vec, &v, 0)
		add(&v, j, 1, ^j)
	}
	if w.Form == Indexed {
		for k := range vec {
			acc[k].I = indexIn[T](x, w, at+k, first, w.N, high, deep, acc[k])
		}
	}
}

// joinDown merges what the warps of a block know of its columns, and gives that of column i to
// emit, in one thread.
func joinDown[C Computed](t dsl.Thread, w Fold, acc *[MostAhead]Acc[C], merge func(a, b Acc[C]) Acc[C], emit func(i int, a Acc[C])) {
	vec, lanes, warps := int(w.Vec), int(w.Group), int(w.Block)/t.WarpSize()
	room := w.Group * w.Vec * w.Block / dsl.ConstInt(t.WarpSize())
	v := dsl.SharedSlice[C](t, room)
	m := dsl.SharedSlice[C](t, room)
	n := dsl.SharedSlice[C](t, room)
	x := dsl.SharedSlice[int64](t, room)
	t.Sync() // earlier columns may still be read
	for k := range vec {
		if t.Lane() < lanes {
			keep(w, v, m, n, x, (t.Lane()*vec+k)*warps+t.Warp(), acc[k])
		}
	}
	t.Sync()
	for i := t.Warp(); i < lanes*vec; i += warps {
		a := known(w, v, m, n, x, i*warps+t.Lane()%warps)
		for d := min(warps, t.WarpSize()) / 2; d > 0; d /= 2 {
			a = both(w, a, across(t, w, a, d), merge)
		}
		if t.Lane() == 0 {
			emit(i, a)
		}
	}
}

// KeepStrips is [ReduceStrips] that stores what is known as [KeepParts] does, r*w.Width from the
// beginning for row r of columns.
//
//kiln:kernel
//kiln:const w.Form=1 w.Block=512 w.Group=8 w.Vec=4
func KeepStrips[T dsl.Number, C Computed](t dsl.Thread, outV, outW []C, x []T, w Fold, a, b C, init func(C) Acc[C], step func(a Acc[C], v *[MostAhead]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], f func(w, a, b C) C) {
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

// ShareStrips is [SoftmaxOf] of columns that lie side by side, for each of which there is a
// number of m and of s. Blocks of w.Block threads go down w.Part rows of some, the last rows
// first, which have been looked at last, and may be at hand.
//
//kiln:kernel
//kiln:const w.Block=256 w.Group=32 w.Vec=4
func ShareStrips[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, m, s []C, w Fold, log, quick dsl.ConstBool) {
	vec, lanes := int(w.Vec), int(w.Group)
	high := int(w.Block) / lanes
	c := (t.BlockX()*lanes + t.ThreadX()%lanes) * vec
	first := (t.GridDimY() - 1 - t.BlockY()) * w.Part
	end := min(first+w.Part, w.N)
	if c >= w.Width {
		return
	}
	for r := t.BlockZ(); r < w.Rows; r += t.GridDimZ() {
		from, to := w.row(r, 1)
		var top, part [MostAhead]C
		for k := range vec {
			top[k], part[k] = m[r*w.Width+c+k], s[r*w.Width+c+k]
		}
		share := func(v *[MostAhead]C, j int) {
			for k := range vec {
				if log {
					v[k] = LogShare(v[k], top[k], part[k])
				} else {
					v[k] = expOf(v[k]-top[k], quick) * part[k]
				}
			}
			storeVec(out, w, (to+c+j*w.OutIn)/vec, v[:], 0)
		}
		j := first + t.ThreadX()/lanes
		for ; j+(shareAhead-1)*high < end; j += shareAhead * high {
			var v [shareAhead][MostAhead]C
			for u := range shareAhead {
				loadVec(x, w, (from+c+(j+u*high)*w.InStep[0])/vec, &v[u], 0)
			}
			for u := range shareAhead {
				share(&v[u], j+u*high)
			}
		}
		for ; j < end; j += high {
			var v [MostAhead]C
			loadVec(x, w, (from+c+j*w.InStep[0])/vec, &v, 0)
			share(&v, j)
		}
	}
}

// shareAhead is how many vectors a thread of [ShareStrips] loads before it looks at them.
const shareAhead = 4
