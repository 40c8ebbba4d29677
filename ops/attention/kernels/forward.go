package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
	"github.com/gokiln/kiln/dsl/tile"
)

// Problem is the sizes of an attention: planes of rows of queries, each with a head of keys. A plane
// has the queries of a group of heads, those of one head behind each other.
type Problem struct {
	Rows, S     int // rows of a plane, and those of a head
	Keys, D, DV int
	Heads       int // planes of a batch
	Tiles       int // of the rows of a plane
	Splits      int // of the keys of a tile of rows, if Features say Split
	AllRows     int // of all planes
	Off         int // the position of the first query among the keys
	Left, Right int // how far from its position a query attends, if Features say Bounded

	K, V   Strides // of keys and values
	Mask   Strides // of the mask
	Slopes Strides
	Sinks  Strides
	Scale  float64
	Cap    float64
}

// Strides are the distances of neighbours in memory: batches, heads of keys, the heads of queries of
// each, rows and keys.
type Strides struct{ Batch, Head, Group, Row, Key int }

// Features are what an attention has, of which the kernel has code for those alone.
type Features struct {
	Bounded dsl.ConstBool // queries attend to keys near their position
	Capped  dsl.ConstBool
	ALiBi   dsl.ConstBool
	Sinks   dsl.ConstBool
	Split   dsl.ConstBool // several blocks share the keys of a tile of rows
	Mask    dsl.ConstInt  // NoMask, BoolMask or AddedMask
}

// The masks.
const (
	NoMask = iota
	BoolMask
	AddedMask
)

// Forward stores softmax(q·kᵀ)·v, and the logarithms of the sums of exponentials: a block has a tile of
// rows of a plane, and goes over the keys that these attend to. Softmax is online (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; Dao, "FlashAttention-2", 2023,
// algorithm 1): each tile of keys scales what those before it gave to the largest score so far.
// lowest is −∞.
//
// If Features say Split, several blocks share the keys of a tile of rows, and each stores what its
// part gives in parts, (splits, rows of all planes, dv), and its log-sum-exps in logs, (splits, rows of
// all planes), from which [Combine] makes the result (Flash-Decoding: Dao, Haziza, Massa and Sizov,
// 2023). Sinks take part in the first of them.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=16 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=0 then.B=1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=true f.Split=true f.Mask=1,2
func Forward[T dsl.Number, C dsl.Real](t dsl.Thread, out []T, parts, logs []C, q, k, v []T, bits []uint8, bias, slopes, sinks []C, p Problem, lowest C, f Features, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return dsl.FMA(a, b, c) }
	add, larger := func(a, b C) C { return a + b }, func(a, b C) C { return max(a, b) }
	at, split := t.BlockX(), 0
	if f.Split {
		at, split = at/p.Splits, at%p.Splits
	}
	plane, row := at/p.Tiles, at%p.Tiles*int(cfg.M)
	batch, head := plane/p.Heads, plane%p.Heads
	rows := tile.Rows[T, C](t, &cfg)
	most, total, top, change := dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows)
	slope, position, index, masks := dsl.LocalSlice[C](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int](rows)
	tile.EachRow(t, q, total, &cfg, func(r, i int, first bool) {
		r = min(row+r, p.Rows-1)
		group, query := r/p.S, r%p.S
		most[i], index[i], position[i] = lowest, int32(i), int32(query+p.Off)
		if bool(f.Sinks) && split == 0 {
			most[i] = sinks[batch*p.Sinks.Batch+head*p.Sinks.Head+group*p.Sinks.Group]
			if first {
				total[i] = 1
			}
		}
		if f.ALiBi {
			slope[i] = slopes[batch*p.Slopes.Batch+head*p.Slopes.Head+group*p.Slopes.Group]
		}
		if f.Mask != NoMask {
			masks[i] = batch*p.Mask.Batch + head*p.Mask.Head + group*p.Mask.Group + query*p.Mask.Row
		}
	})
	begin, end := p.keys(row, int(cfg.M), f.Bounded)
	if f.Split {
		begin, end = part(begin, end, split, p.Splits, int(cfg.N))
	}
	first := split*p.AllRows + plane*p.Rows // row of what is stored
	scale, limit := C(p.Scale), C(p.Cap)
	sums := dsl.LocalSlice[C](then.Sums(t))
	queries := tile.Factor[T]{Mem: q, At: (plane*p.Rows + row) * p.D, Limit: p.Rows - row, Across: p.D, Along: 1}
	keys, values := batch*p.K.Batch+head*p.K.Head, batch*p.V.Batch+head*p.V.Head
	for key := begin; key < end; key += int(cfg.N) {
		scores := dsl.LocalSlice[C](cfg.Sums(t))
		tile.Multiply(t, scores, queries, tile.Factor[T]{Mem: k, At: keys + key*p.K.Key, Limit: end - key, Across: p.K.Key, Along: 1}, p.D, &cfg, mad)
		tile.MapRows(t, q, scores, index, &cfg, func(_, c int, s C, i int32) C {
			c += key
			if c >= end {
				return lowest
			}
			s *= scale
			if f.Capped {
				s = limit * dsl.Tanh(s/limit)
			}
			far := c - int(position[i])
			if f.ALiBi {
				s -= slope[i] * C(max(far, -far))
			}
			if f.Bounded && (far > p.Right || far < -p.Left) {
				return lowest
			}
			if f.Mask == BoolMask && bits[masks[i]+c*p.Mask.Key] == 0 {
				return lowest
			}
			if f.Mask == AddedMask {
				s += bias[masks[i]+c*p.Mask.Key]
			}
			return s
		})
		tile.ReduceRows(t, q, scores, top, &cfg, larger)
		tile.EachRow(t, q, scores, &cfg, func(_, i int, _ bool) {
			largest := max(most[i], top[i])
			if top[i] = largest; largest == lowest {
				top[i] = 0 // no key yet
			}
			change[i], most[i] = exponential(most[i]-top[i]), largest
			total[i] *= change[i]
		})
		tile.MapRows(t, q, scores, top, &cfg, func(_, _ int, s, top C) C { return exponential(s - top) })
		tile.FoldRows(t, q, scores, total, &cfg, add)
		tile.MapRows(t, q, sums, change, &then, func(_, _ int, s, change C) C { return s * change })
		tile.MultiplySums(t, sums, scores, &cfg, tile.Factor[T]{Mem: v, At: values + key*p.V.Key, Limit: p.DV, Across: 1, Along: p.V.Key}, min(end-key, int(cfg.N)), &then, mad)
	}
	tile.JoinRows(t, q, total, &cfg, add)
	tile.EachRow(t, q, sums, &cfg, func(r, i int, once bool) {
		if once && row+r < p.Rows {
			logs[first+row+r] = most[i] + dsl.Log(total[i])
		}
		total[i] = inverse(total[i])
	})
	tile.MapRows(t, q, sums, total, &then, func(_, _ int, s, inverse C) C { return s * inverse })
	tile.EachPair(t, q, sums, &then, func(r, c, next int, s, s2 C) {
		if r += row; r < p.Rows {
			to := (first + r) * p.DV
			if c < p.DV {
				store(out, parts, to+c, s, f.Split)
			}
			if c+next < p.DV {
				store(out, parts, to+c+next, s2, f.Split)
			}
		}
	})
}

// store stores an element of the result, or of a part of it.
func store[T dsl.Number, C dsl.Real](out []T, parts []C, at int, x C, split dsl.ConstBool) {
	if split {
		parts[at] = x
	} else {
		out[at] = dsl.Convert[T](x)
	}
}

// part returns the keys of one of several splits: tiles of n keys, as many each but for the last ones.
func part(begin, end, split, splits, n int) (first, last int) {
	tiles := (end - begin + n - 1) / n
	each := (tiles + splits - 1) / splits * n
	first = begin + split*each
	return first, min(first+each, end)
}

// keys returns the first key that a tile of rows can attend to, and the one behind the last.
func (p *Problem) keys(row, n int, bounded dsl.ConstBool) (begin, end int) {
	if !bounded {
		return 0, p.Keys
	}
	last := min(row+n, p.Rows) - 1
	low, high := row%p.S, last%p.S
	if row/p.S != last/p.S { // of several heads
		low, high = 0, p.S-1
	}
	return max(low+p.Off-p.Left, 0), min(high+p.Off+p.Right+1, p.Keys)
}

// inverse is 1/x, and 0 of 0: for float32 by Newton's method, as a division is a call on NVIDIA's
// devices, and beside calls products of warpgroups wait for each other.
func inverse[C dsl.Real](x C) C {
	if x == 0 {
		return 0
	}
	if more[C]() {
		return 1 / x
	}
	y := C(fast.Recip(float32(x)))
	for range 2 {
		y = dsl.FMA(y, dsl.FMA(-x, y, 1), y)
	}
	return y
}

// exponential is eˣ, for float32 as the device has it.
func exponential[C dsl.Real](x C) C {
	if more[C]() {
		return dsl.Exp(x)
	}
	return C(fast.Exp(float32(x)))
}

// more reports whether a type has more bits than float32.
func more[C dsl.Real]() bool {
	odd := C(1<<24 + 1)
	return odd != 1<<24
}
