package kernels

import "github.com/gokiln/kiln/dsl"

// WarpTiles say how a block of [DecodeWarp], one warp of Lanes threads, divides its work: it has
// Rows queries, all of a head of keys, and Lanes keys at a time; a thread has Each elements of a
// query and Columns of its result. Whole says that lanes have no elements beyond those of a query
// and a value.
type WarpTiles struct {
	Rows, Lanes, Each, Columns dsl.ConstInt
	Whole                      dsl.ConstBool
}

// DecodeWarp is [Decode] for devices whose blocks are best one warp, of which lanes read
// neighbouring elements of a key and of a value: a product of a query and a key is a sum over the
// lanes, as a tree, and each lane keeps the one of a key for the softmax. The order of these sums
// is that of the width of a warp.
//
//kiln:kernel
//kiln:const f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=true f.Split=true f.Ragged=true f.Packed=false f.Page=0,16 f.Score=false f.Seen=0 f.Mask=0 w.Rows=2 w.Lanes=16 w.Each=2 w.Columns=2 w.Whole=false,true
func DecodeWarp[T dsl.Number, C dsl.Real](t dsl.Thread, out []T, parts, logs []C, q, k, v []T, slopes, sinks []C, table []int32, p Problem, scale, limit, lowest C, f Features, w WarpTiles) {
	larger, add := func(a, b C) C { return max(a, b) }, func(a, b C) C { return a + b }
	b, lane, lanes := p.place(t, table, int(w.Rows), &f), t.ThreadX(), int(w.Lanes)
	most, total := dsl.LocalSlice[C](w.Rows), dsl.LocalSlice[C](w.Rows)
	queries, sums := dsl.LocalSlice[C](w.Rows*w.Each), dsl.LocalSlice[C](w.Rows*w.Columns)
	for r := range int(w.Rows) {
		most[r], total[r] = lowest, 0
		if bool(f.Sinks) && b.split == 0 {
			most[r] = sinks[b.batch*p.Sinks.Batch+b.head*p.Sinks.Head+(b.row+r)*p.Sinks.Group]
			if lane == 0 {
				total[r] = 1
			}
		}
		for e := range int(w.Each) {
			queries[r*int(w.Each)+e] = 0
			if i := e*lanes + lane; bool(w.Whole) || i < p.D {
				queries[r*int(w.Each)+e] = dsl.Convert[C](q[(b.base+b.row+r)*p.D+i])
			}
		}
		for c := range int(w.Columns) {
			sums[r*int(w.Columns)+c] = 0
		}
	}
	begin, end := p.keys(b.row, int(w.Rows), f.Bounded)
	if f.Split {
		begin, end = part(begin, end, b.split, p.Splits, lanes)
	}
	for first := begin; first < end; first += lanes {
		key, n := first+lane, min(end-first, lanes)
		scores, weights := dsl.LocalSlice[C](w.Rows), dsl.LocalSlice[C](w.Rows)
		for r := range int(w.Rows) {
			scores[r] = 0
		}
		for j := range n {
			from := p.line(&p.K, table, &b, first+j, f.Page)
			dots := dsl.LocalSlice[C](w.Rows)
			for r := range int(w.Rows) {
				dots[r] = 0
			}
			for e := range int(w.Each) {
				x := C(0)
				if i := e*lanes + lane; bool(w.Whole) || i < p.D {
					x = dsl.Convert[C](k[from+i])
				}
				for r := range int(w.Rows) {
					dots[r] = dsl.FMA(x, queries[r*int(w.Each)+e], dots[r])
				}
			}
			for r := range int(w.Rows) {
				if s := dsl.WarpReduce(t, dots[r], add); lane == j {
					scores[r] = s
				}
			}
		}
		for r := range int(w.Rows) {
			s, slope := lowest, C(0)
			if f.ALiBi {
				slope = slopes[b.batch*p.Slopes.Batch+b.head*p.Slopes.Head+(b.row+r)*p.Slopes.Group]
			}
			if key < end {
				s = scored(scores[r], scale, limit, slope, lowest, key-p.Off, &p, &f)
			}
			largest := max(most[r], dsl.WarpReduce(t, s, larger))
			top := largest
			if top == lowest {
				top = 0
			}
			change := exponential(most[r] - top)
			weights[r] = exponential(s - top)
			most[r] = largest
			total[r] = dsl.FMA(total[r], change, weights[r])
			for c := range int(w.Columns) {
				sums[r*int(w.Columns)+c] *= change
			}
		}
		for j := range n {
			from := p.line(&p.V, table, &b, first+j, f.Page)
			for r := range int(w.Rows) {
				scores[r] = dsl.Shuffle(t, weights[r], j)
			}
			for c := range int(w.Columns) {
				x := C(0)
				if i := c*lanes + lane; bool(w.Whole) || i < p.DV {
					x = dsl.Convert[C](v[from+i])
				}
				for r := range int(w.Rows) {
					sums[r*int(w.Columns)+c] = dsl.FMA(scores[r], x, sums[r*int(w.Columns)+c])
				}
			}
		}
	}
	for r := range int(w.Rows) {
		all := dsl.WarpReduce(t, total[r], add)
		row := b.split*p.AllRows + b.base + b.row + r
		if lane == 0 {
			logs[row] = most[r] + dsl.Log(all)
		}
		for c := range int(w.Columns) {
			if i := c*lanes + lane; bool(w.Whole) || i < p.DV {
				store(out, parts, row*p.DV+i, sums[r*int(w.Columns)+c]*inverse(all), f.Split)
			}
		}
	}
}
