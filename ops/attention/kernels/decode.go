package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
)

// DecodeTiles say how a block of [Decode] divides its work: it has Rows queries, all of a head of
// keys, and Threads keys at a time; a thread has Columns of the result of each query.
type DecodeTiles struct{ Rows, Threads, Columns dsl.ConstInt }

// Decode is [Forward] of one query of each head, for devices and types that have no matrix
// instructions: a thread has a key of a tile, whose products with the queries it adds up in their
// order, and then columns of the result, to which it adds the tile's values in the order of keys.
// Softmax is online, as there. All sums have one order whatever the width of a warp.
//
//kiln:kernel
//kiln:const f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=true f.Split=true f.Ragged=true f.Packed=false f.Page=0,16 f.Score=false f.Seen=0 f.Mask=0 w.Rows=2 w.Threads=64 w.Columns=2
func Decode[T dsl.Number, C dsl.Real](t dsl.Thread, out []T, parts, logs []C, q, k, v []T, slopes, sinks []C, table []int32, p Problem, scale, limit, lowest C, f Features, w DecodeTiles) {
	dsl.LaunchBounds(t, w.Threads, 1)
	larger, add := func(a, b C) C { return max(a, b) }, func(a, b C) C { return a + b }
	b := p.place(t, table, int(w.Rows), &f)
	weights := dsl.SharedSlice[C](t, w.Rows*w.Threads)
	most, total := dsl.LocalSlice[C](w.Rows), dsl.LocalSlice[C](w.Rows)
	sums := dsl.LocalSlice[C](w.Rows * w.Columns)
	for r := range int(w.Rows) {
		most[r], total[r] = lowest, 0
		if bool(f.Sinks) && b.split == 0 {
			most[r] = sinks[b.batch*p.Sinks.Batch+b.head*p.Sinks.Head+(b.row+r)*p.Sinks.Group]
			if t.ThreadX() == 0 {
				total[r] = 1
			}
		}
	}
	begin, end := p.keys(b.row, int(w.Rows), f.Bounded)
	if f.Split {
		begin, end = part(begin, end, b.split, p.Splits, int(w.Threads))
	}
	for first := begin; first < end; first += int(w.Threads) {
		key, n := first+t.ThreadX(), min(end-first, int(w.Threads))
		scores := dsl.LocalSlice[C](w.Rows)
		for r := range int(w.Rows) {
			scores[r] = 0
		}
		if key < end {
			from := p.line(&p.K, table, &b, key, f.Page)
			for i := range p.D {
				x := dsl.Convert[C](k[from+i])
				for r := range int(w.Rows) {
					scores[r] = dsl.FMA(x, dsl.Convert[C](q[(b.base+b.row+r)*p.D+i]), scores[r])
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
			largest := max(most[r], block.Reduce(t, w.Threads, s, larger))
			top := largest
			if top == lowest {
				top = 0
			}
			change, weight := exponential(most[r]-top), exponential(s-top)
			most[r] = largest
			total[r] = dsl.FMA(total[r], change, weight)
			weights[r*int(w.Threads)+t.ThreadX()] = weight
			for c := range int(w.Columns) {
				sums[r*int(w.Columns)+c] *= change
			}
		}
		t.Sync()
		for c := range int(w.Columns) {
			column := c*int(w.Threads) + t.ThreadX()
			if column >= p.DV {
				continue
			}
			for j := range n {
				x := dsl.Convert[C](v[p.line(&p.V, table, &b, first+j, f.Page)+column])
				for r := range int(w.Rows) {
					sums[r*int(w.Columns)+c] = dsl.FMA(weights[r*int(w.Threads)+j], x, sums[r*int(w.Columns)+c])
				}
			}
		}
		t.Sync()
	}
	for r := range int(w.Rows) {
		all := block.Reduce(t, w.Threads, total[r], add)
		row := b.split*p.AllRows + b.base + b.row + r
		if t.ThreadX() == 0 {
			logs[row] = most[r] + dsl.Log(all)
		}
		for c := range int(w.Columns) {
			if column := c*int(w.Threads) + t.ThreadX(); column < p.DV {
				store(out, parts, row*p.DV+column, sums[r*int(w.Columns)+c]*inverse(all), f.Split)
			}
		}
	}
}

// line is where the row of a key is in memory.
func (p *Problem) line(s *Strides, table []int32, b *place, key int, page dsl.ConstInt) int {
	if page > 0 {
		at := divide(key, int(page))
		return int(table[p.PagesAt+b.key+at])*s.Batch + b.head*s.Head + (key-at*int(page))*s.Key
	}
	return b.batch*s.Batch + b.head*s.Head + (b.key+key)*s.Key
}

// scored is a product of a query and a key at a distance as the score that it is, lowest of one
// that the query does not attend to.
func scored[C dsl.Real](s, scale, limit, slope, lowest C, far int, p *Problem, f *Features) C {
	s *= scale
	if f.Capped {
		s = limit * dsl.Tanh(s/limit)
	}
	if f.ALiBi {
		s -= slope * C(max(far, -far))
	}
	if bool(f.Bounded) && (far > p.Right || far < -p.Left) {
		return lowest
	}
	return s
}
