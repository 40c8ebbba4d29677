package kernels

import "github.com/gokiln/kiln/dsl"

// Policies that stage a row, or a part of one, in the shared memory of a block. A thread reads
// back what it has written itself, so that only the exchange of statistics needs barriers.
//
// In [RowsPrefetched] and [RowsFetched] blocks are persistent, and the loads of the next row
// overlap the stores of the present one. In [RowsSplit] several blocks share a row.

// StageUnroll is how many elements a thread of [RowsSplit] loads before it uses the first.
const StageUnroll = 16

// eachVec calls f with the first n vectors of a staged row that are the thread's, and their indices,
// in a loop that takes few registers.
func eachVec[T dsl.Float](raw []T, w RowReduction, l line, n int, f func(v *[MaxInFlight]float32, i int)) {
	for i := l.lane; i < n; i += l.group {
		var v [MaxInFlight]float32
		loadVec(raw, w, i, &v, 0)
		f(&v, i)
	}
}

// unrolledVecs is [eachVec] of all of the thread's vectors, unrolled.
func unrolledVecs[T dsl.Float](raw []T, w RowReduction, l line, f func(v *[MaxInFlight]float32, i int)) {
	for u := 0; u < int(w.Items); u += int(w.Vec) {
		if i := l.lane + u/int(w.Vec)*l.group; l.has(w, u) {
			var v [MaxInFlight]float32
			loadVec(raw, w, i, &v, 0)
			f(&v, i)
		}
	}
}

// RowsPrefetched stores a [RowFn] of rows by persistent blocks of w.Block threads, so many
// resident ones on a multiprocessor. The next row is loaded to registers while the block stores
// the present one from shared memory. Weights of two numbers for each element are as many bytes
// to wait for as a row, which is loaded after them then; so are rows of sums, for which the block
// would wait before it stores.
//
//kiln:kernel
func RowsPrefetched(t dsl.Thread, out, x, scale, shift, addend, sum []float32, w RowReduction, f RowFn, resident dsl.ConstInt, param float32, log bool) {
	dsl.LaunchBounds(t, w.Block, resident)
	o := rowFn[float32, float32]{f, scale, shift, log, param, addend, sum}
	raw := dsl.SharedSlice[float32](t, w.Block*w.Items)
	v := dsl.LocalSlice[float32](w.Items)
	load := func(r int) {
		l := w.rowOf(t, r)
		o.load(x, w, l, v, true)
	}
	late := f.Scaled && f.Shifted || f.Added
	if !late {
		load(t.BlockX())
	}
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		if late {
			load(r)
		}
		l := w.rowOf(t, r)
		own := o.itemStats(w, l, v)
		for u := 0; u < int(w.Items); u += int(w.Vec) {
			storeVec(raw, w, l.lane+u/int(w.Vec)*l.group, v, u)
		}
		if bool(!late) && r+t.GridDimX() < w.Rows {
			load(r + t.GridDimX())
		}
		all := o.merge(t, w, own, float32(w.N))
		factor := o.factor(all.V, all.W, float32(w.N))
		if bool(!f.Norm) && !log {
			factor *= share(own.V, all.V)
		}
		eachVec(raw, w, l, l.n/int(w.Vec), func(v *[MaxInFlight]float32, i int) {
			for k := range int(w.Vec) {
				if f.Center { // staged are distances from the mean of the thread
					v[k] -= all.V - own.V
				}
				v[k] = o.result(v[k], i*int(w.Vec)+k, all.V, factor)
			}
			storeVec(out, w, l.out/int(w.Vec)+i, v[:], 0)
		})
	}
}

// itemStats returns the statistics of the thread's items, and makes these relative to their own
// location, as [rowFn.sumItems] does.
func (o *rowFn[T, C]) itemStats(w RowReduction, l line, v []C) (a Acc[C]) {
	if o.Center {
		a.N = dsl.Convert[C](l.items(w))
	}
	if o.located() {
		a.V = o.locate(o.joinItems(w, v), max(a.N, 1))
	}
	a.W = o.sumItems(w, l, v, o.centre(a.V))
	return a
}

// RowsFetched is [RowsPrefetched] of rows of halves, which are copied to shared memory without
// registers: the vectors of the next row replace those of the present one as these are used. A
// multiprocessor has several such blocks. It is for normalisations; the kernel of F32 is another
// as its rows would leave shared memory for a single block, which then waits for its own copies.
//
//kiln:kernel
//kiln:const w.Block=64 w.Vec=4 w.Items=16 w.Full=true,false w.Group=0 w.Whole=false w.Contiguous=true resident=1
func RowsFetched[T dsl.Float](t dsl.Thread, out, x, scale, shift, addend, sum []T, w RowReduction, f RowFn, resident dsl.ConstInt, param float32) {
	dsl.LaunchBounds(t, w.Block, resident)
	f.Norm = true
	o := rowFn[T, float32]{f, scale, shift, false, param, addend, sum}
	raw := dsl.SharedSlice[T](t, w.Block*w.Items)
	parts, odd := dsl.SharedSlice[float32](t, 4*w.Block/dsl.ConstInt(t.WarpSize())), 0 // rows alternate, as in [ScanKept]
	first := w.rowOf(t, t.BlockX())
	for i := first.lane; i < first.vectors(w); i += first.group {
		fetchVec(x, raw, w, first, i)
	}
	for r := t.BlockX(); r < w.Rows; r += t.GridDimX() {
		l := w.rowOf(t, r)
		dsl.CopyWait()
		if f.Added {
			o.addStaged(raw, w, l)
		}
		a := stagedStats(&o, raw, w, l)
		if bool(f.Center) && bool(w.Full) && w.warps(t) <= t.WarpSize() {
			a = mergeEqual(t, w, parts[odd:], a)
			odd = 2*w.warps(t) - odd
		} else {
			a = o.merge(t, w, a, float32(w.N))
		}
		factor := o.factor(a.V, a.W, float32(w.N))
		if r+t.GridDimX() < w.Rows {
			next := w.rowOf(t, r+t.GridDimX())
			storeFetched(o, out, raw, w, l, a.V, factor, func(i int) { fetchVec(x, raw, w, next, i) })
		} else {
			storeFetched(o, out, raw, w, l, a.V, factor, func(int) {})
		}
	}
}

// fetchVec starts the copy of vector i of a row to its address in raw.
func fetchVec[T dsl.Number](x, raw []T, w RowReduction, l line, i int) {
	vec := int(w.Vec)
	from := l.x / vec * vec // which it is: the compiler sees what it may copy at once
	for k := range vec {
		dsl.CopyAsync(&raw[i*vec+k], &x[from+i*vec+k])
	}
}

// addStaged makes the thread's elements of a staged row those of the sum with the addend, and
// stores that.
func (o *rowFn[T, C]) addStaged(raw []T, w RowReduction, l line) {
	vec := int(w.Vec)
	in, to := l.x/vec*vec, l.out/vec*vec
	for i := l.lane; i < l.vectors(w); i += l.group {
		for k := range vec {
			e := dsl.Convert[C](raw[i*vec+k]) + dsl.Convert[C](o.addend[in+i*vec+k])
			raw[i*vec+k] = dsl.Convert[T](e)
		}
		for k := range vec {
			o.sum[to+i*vec+k] = raw[i*vec+k]
		}
	}
}

// vectors is how many vectors a row of a block has, bounded for the compiler.
func (l *line) vectors(w RowReduction) int { return min(l.n, int(w.Block*w.Items)) / int(w.Vec) }

// stagedStats returns the statistics of the thread's elements of a staged row.
func stagedStats[T dsl.Float](o *rowFn[T, float32], raw []T, w RowReduction, l line) (a Acc[float32]) {
	vec := int(w.Vec)
	eachVec(raw, w, l, l.vectors(w), func(v *[MaxInFlight]float32, _ int) {
		a.N += float32(vec)
		a = o.chunk(a, v, vec)
	})
	if o.Center {
		a.V /= max(a.N, 1)
		eachVec(raw, w, l, l.vectors(w), func(v *[MaxInFlight]float32, _ int) { a = o.spread(a, v, vec) })
	}
	return a
}

// mergeEqual is [rowFn.merge] of a normalisation with Center where all threads have as many
// elements, with one barrier: warps exchange their statistics in part, which no thread reads any
// more. Two equal parts merge as in Chan, Golub and LeVeque.
func mergeEqual(t dsl.Thread, w RowReduction, part []float32, a Acc[float32]) Acc[float32] {
	a.N = float32(w.Items)
	join := func(lanes int) {
		for d := 1; d < lanes; d *= 2 {
			m, q := dsl.ShuffleXor(t, a.V, d), dsl.ShuffleXor(t, a.W, d)
			a.W += q + (a.V-m)*(a.V-m)*(a.N/2)
			a.V = (a.V + m) / 2
			a.N *= 2
		}
	}
	join(t.WarpSize())
	if t.Lane() == 0 {
		part[2*t.Warp()], part[2*t.Warp()+1] = a.V, a.W
	}
	t.Sync()
	i := 2 * (t.Lane() % w.warps(t))
	a.V, a.W = part[i], part[i+1]
	join(w.warps(t))
	return a
}

// fetchedUnroll is of how many vectors a thread has the weights in flight together.
const fetchedUnroll = 2

// storeFetched stores the results of a staged row, and calls next for each vector that the thread
// has used.
func storeFetched[T dsl.Float](o rowFn[T, float32], out, raw []T, w RowReduction, l line, mean, factor float32, next func(i int)) {
	vec, n := int(w.Vec), l.vectors(w)
	even := bool(w.Full) && w.Items/w.Vec%fetchedUnroll == 0
	to := l.out / vec * vec
	for i := l.lane; i < n; i += fetchedUnroll * l.group {
		var v, a, b [fetchedUnroll][MaxInFlight]T
		each := func(f func(u, j int)) {
			for u := range fetchedUnroll {
				if j := i + u*l.group; even || j < n {
					f(u, j)
				}
			}
		}
		each(func(u, j int) {
			for k := range vec {
				v[u][k] = raw[j*vec+k]
			}
		})
		each(func(u, j int) {
			for k := range vec {
				if o.Scaled {
					a[u][k] = o.scale[j*vec+k]
				}
				if o.Shifted {
					b[u][k] = o.shift[j*vec+k]
				}
			}
		})
		each(func(_, j int) { next(j) })
		each(func(u, j int) {
			for k := range vec {
				y := o.relative(dsl.Convert[float32](v[u][k]), mean) * factor
				if o.Scaled {
					y *= dsl.Convert[float32](a[u][k])
				}
				if o.Shifted {
					y += dsl.Convert[float32](b[u][k])
				}
				out[to+j*vec+k] = dsl.Convert[T](y)
			}
		})
	}
}
