package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
	"github.com/gokiln/kiln/dsl/tile"
)

// Problem is the sizes of an attention: planes of rows of queries, each with a head of keys. A
// plane has the queries of a group of heads, those of one head behind each other.
type Problem struct {
	Rows, S     int // rows of a plane, and those of a head
	Keys, D, DV int
	Heads       int // planes of a batch
	Groups      int // heads of queries of a plane
	Tiles       int // of the rows of a plane
	Splits      int // of the keys of a tile of rows, if Features say Split
	AllRows     int // of all planes
	Tokens      int // of all sequences, if Features say Packed
	TilesAt     int // where in the table the tiles of rows are, if Features say Packed
	PagesAt     int // where in the table the pages are, if Features say Page
	Off         int // the position of the first query among the keys
	Left, Right int // how far from its position a query attends, if Features say Bounded

	K, V   Strides // of keys and values
	Mask   Strides // of the mask
	Slopes Strides
	Sinks  Strides
}

// Strides are the distances of neighbours in memory: batches, heads of keys, the heads of queries
// of each, rows and keys; and the planes of a tensor map from one batch to the next.
type Strides struct{ Batch, Head, Group, Row, Key, Plane int }

// Features are what an attention has, of which the kernel has code for those alone.
type Features struct {
	Bounded dsl.ConstBool // queries attend to keys near their position
	Capped  dsl.ConstBool
	ALiBi   dsl.ConstBool
	Sinks   dsl.ConstBool
	Split   dsl.ConstBool // several blocks share the keys of a tile of rows
	Ragged  dsl.ConstBool // batches have lengths of their own, see [Problem.place]
	Packed  dsl.ConstBool // and their queries are one behind the other
	Page    dsl.ConstInt  // keys and values are in pages of so many tokens, 0 for none
	Score   dsl.ConstBool // a function changes scores
	Seen    dsl.ConstInt  // SeenByAll, SeenByFunc or SeenByTable
	Mask    dsl.ConstInt  // NoMask, BoolMask or AddedMask
}

// What functions of positions leave out.
const (
	SeenByAll   = iota
	SeenByFunc  // keys, for a query
	SeenByTable // and tiles of keys, for a tile of rows: see [SeenTiles]
)

// AnyScore and AnyKey are functions of positions that change nothing.
func AnyScore(score float32, _, _ int32) float32 { return score }

// AnyKey is true.
func AnyKey(_, _ int32) bool { return true }

// ForwardTiles say how blocks divide products: tiles of M by N scores, and of M by DV results, of
// which Down warps have parts. DV is as large as the values or larger.
type ForwardTiles struct {
	M, N, DV         dsl.ConstInt
	Down, Stages     dsl.ConstInt
	Chunk            dsl.ConstInt  // elements in 16 bytes
	QVec, KVec, VVec dsl.ConstBool // rows of queries, keys and values are whole chunks, and aligned
	Bulk             dsl.ConstBool // operands have tensor maps, for devices with warpgroup instructions
	Wide             dsl.ConstInt  // the size of queries and keys rounded up to whole stages, if Bulk
	PingPong         dsl.ConstBool // warpgroups alternate at products, if Bulk and there are two
	Boxes            dsl.ConstBool // the result is stored by a tensor map, if Bulk
	Raw              dsl.ConstBool // scores are scaled in the exponent: nothing is added to them, and the scale is positive
}

// scores is the configuration of the product of queries and keys.
func (w *ForwardTiles) scores() tile.Config {
	return tile.Config{M: w.M, N: w.N, K: tile.RowBytes / 16 * w.Chunk, Down: w.Down, Across: 1, Stages: w.Stages, Chunk: w.Chunk, AVec: w.QVec, BVec: w.KVec, Bulk: w.Bulk}
}

// values is the configuration of the product of scores and values.
func (w *ForwardTiles) values() tile.Config {
	c := w.scores()
	c.N, c.B, c.AVec, c.BVec = w.DV, tile.AcrossK, true, w.VVec
	c.OutSize = 16 / w.Chunk
	return c
}

// Shared is how many elements a block has in shared memory.
func (w *ForwardTiles) Shared() int {
	c, then := w.scores(), w.values()
	if w.Bulk {
		n := int(c.M*w.Wide + c.Stages*c.N*(w.Wide+then.N))
		if w.Boxes {
			n += then.StoreElements()
		}
		return n
	}
	return c.Shared() + int(then.Stages*then.K*then.N+c.M*c.N)
}

// The masks.
const (
	NoMask = iota
	BoolMask
	AddedMask
)

// Forward stores softmax(q·kᵀ)·v, and the logarithms of the sums of exponentials: a block has a
// tile of rows of a plane, and goes over the keys that these attend to. Softmax is online (Milakov
// and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao, "FlashAttention-2", 2023,
// algorithm 1): each tile of keys scales what those before it gave to the largest score so far.
// scale is what products are multiplied by, limit their soft cap, lowest −∞.
//
// If Features say Split, several blocks share the keys of a tile of rows, and each stores what its
// part gives in parts, (splits, rows of all planes, dv), and its log-sum-exps in logs, (splits,
// rows of all planes), from which [Combine] makes the result (Flash-Decoding: Dao, Haziza, Massa
// and Sizov, 2023). Sinks take part in the first of them.
//
// table says where the queries, keys and pages of batches are, if Features say Ragged. score makes
// scores of those after the soft cap and of the positions of query and key, and keys that see is
// false of are left out (score_mod and mask_mod of FlexAttention: Dong et al., "Flex Attention",
// 2024); seen says of each tile of rows and keys whether any is not.
//
//kiln:kernel
//kiln:const f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=true f.Split=true f.Ragged=true f.Packed=true f.Page=16 f.Score=true f.Seen=1,2 f.Mask=1,2 w.M=16 w.N=64 w.DV=64 w.Down=1 w.Stages=2 w.Chunk=2 w.QVec=true w.KVec=true w.VVec=true w.Bulk=false w.Wide=0 w.PingPong=false w.Boxes=false w.Raw=true
func Forward[T dsl.Number, C dsl.Real](t dsl.Thread, qMap, outMap, kMap, vMap dsl.TensorMap, out []T, parts, logs []C, q, k, v []T, bits, seen []uint8, bias, slopes, sinks []C, table []int32, p Problem, scale, limit, lowest C, f Features, w ForwardTiles, score func(score float32, query, key int32) float32, see func(query, key int32) bool) {
	cfg, then := w.scores(), w.values()
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return dsl.FMA(a, b, c) }
	add, larger := func(a, b C) C { return a + b }, func(a, b C) C { return max(a, b) }
	b := p.place(t, table, int(cfg.M), &f)
	batch, head, row := b.batch, b.head, b.row
	rows := tile.Rows[T, C](t, &cfg)
	most, total, top, change := dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows)
	slope, edge, position, index, masks := dsl.LocalSlice[C](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int](rows)
	tile.EachRow(t, q, total, &cfg, func(r, i int, first bool) {
		group, query := p.query(min(row+r, p.Rows-1), f.Packed)
		most[i], index[i], position[i] = lowest, int32(i), int32(query+p.Off)
		if bool(f.Sinks) && b.split == 0 {
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
	begin, end := p.keysOf(row, int(cfg.M), &f)
	tiles := 0 // of the tile's rows in seen
	if f.Seen == SeenByTable {
		begin -= begin % int(cfg.N)
		tiles = row / int(cfg.M) * ((p.Keys + int(cfg.N) - 1) / int(cfg.N))
	}
	if f.Split {
		begin, end = part(begin, end, b.split, p.Splits, int(cfg.N))
	}
	first := b.split*p.AllRows + b.base // row of what is stored
	queries := tile.Factor[T]{Mem: q, At: (b.base + row) * p.D, Limit: p.Rows - row, Across: p.D, Along: 1, Map: qMap, Row: b.base + row}
	keys := tile.Factor[T]{Mem: k, At: head * p.K.Head, Across: p.K.Key, Along: 1, Map: kMap, Plane: batch*p.K.Plane + head}
	values := tile.Factor[T]{Mem: v, At: head * p.V.Head, Limit: p.DV, Across: 1, Along: p.V.Key, Map: vMap, Plane: batch*p.V.Plane + head}
	if f.Page > 0 {
		keys.Page, keys.Pages, keys.PageStride = f.Page, table[p.PagesAt+b.key:], p.K.Batch
		values.Page, values.Pages, values.PageStride = f.Page, table[p.PagesAt+b.key:], p.V.Batch
	} else {
		keys.At += batch*p.K.Batch + b.key*p.K.Key
		values.At += batch*p.V.Batch + b.key*p.V.Key
	}
	low, high := p.span(row, int(cfg.M), &f)
	natural := C(1) // scores are in units of it
	if w.Raw {
		natural = scale
	}
	unit := natural * log2e
	grown := false // the largest score of some row of the warp, so that sums are scaled
	skip := func(key int) bool { return f.Seen == SeenByTable && seen[tiles+key/int(cfg.N)] == 0 }
	tile.Chain(t, &cfg, &then, w.Wide, w.PingPong, queries, p.D, begin, end, mad, skip, func(key int) (k, v tile.Factor[T], n int) {
		k, v = keys, values
		k.Row, v.Row, k.Limit = key, key, end-key
		if f.Page > 0 {
			k.First, v.First = key, key
		} else {
			k.At, v.At = keys.At+key*p.K.Key, values.At+key*p.V.Key
		}
		return k, v, min(end-key, int(cfg.N))
	}, func(key int, scores []C) {
		if w.Raw {
			keepNear(t, q, scores, edge, &cfg, lowest, key, end, low, high, &p, &f, func(i int) int { return int(position[i]) })
		} else {
			tile.MapRows(t, q, scores, index, &cfg, func(_, c int, s C, i int32) C {
				c += key
				if c >= end {
					return lowest
				}
				s *= scale
				if f.Capped {
					s = limit * dsl.Tanh(s/limit)
				}
				if f.Score {
					s = C(score(float32(s), position[i], int32(c)))
				}
				far := c - int(position[i])
				if f.ALiBi {
					s -= slope[i] * C(max(far, -far))
				}
				if f.Bounded && (far > p.Right || far < -p.Left) {
					return lowest
				}
				if f.Seen != SeenByAll && !see(position[i], int32(c)) {
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
		}
		tile.ReduceRows(t, q, scores, top, &cfg, larger)
		tile.EachRow(t, q, scores, &cfg, func(_, i int, _ bool) {
			largest := max(most[i], top[i])
			if (largest-most[i])*unit <= slack {
				largest = most[i]
			}
			if top[i] = largest; largest == lowest {
				top[i] = 0 // no key yet
			}
			change[i], most[i] = power((most[i]-top[i])*unit), largest // 1 if it is no larger than before
			top[i] *= -unit
			total[i] *= change[i]
		})
		tile.MapRows(t, q, scores, top, &cfg, func(_, _ int, s, top C) C { return power(dsl.FMA(s, unit, top)) })
		tile.CombineRows(t, q, scores, total, &cfg, add)
		// That totals are asked, too, keeps all of this before the wait for the sums.
		changed := false
		tile.EachRow(t, q, scores, &cfg, func(_, i int, _ bool) { changed = changed || change[i] != 1 || total[i] != total[i] })
		grown = dsl.Any(t, changed)
	}, func(sums []C) {
		if grown {
			tile.MapRows(t, q, sums, change, &then, func(_, _ int, s, change C) C { return s * change })
		}
	}, func(sums []C) {
		tile.JoinRows(t, q, total, &cfg, add)
		tile.EachRow(t, q, sums, &cfg, func(r, i int, once bool) {
			if once && row+r < p.Rows {
				logs[first+row+r] = most[i]*natural + dsl.Log(total[i])
			}
			total[i] = inverse(total[i])
		})
		tile.MapRows(t, q, sums, total, &then, func(_, _ int, s, inverse C) C { return s * inverse })
		if w.Boxes {
			tile.Store(t, out, q, sums, outMap, row, 0, batch*p.Heads+head, &then, func(_, _ int, s, s2 C) [2]T {
				return [2]T{dsl.Convert[T](s), dsl.Convert[T](s2)}
			})
			return
		}
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
	})
}

// keepNear replaces scores of a tile that begins at a key by v, but for those of keys that their query
// attends to: keys below end, and if Features say Bounded near its position, which at says by row. low and
// high are the positions of the first and the last query. It takes edge to work in.
func keepNear[T dsl.Number, C dsl.Real](t dsl.Thread, x []T, scores []C, edge []int32, c *tile.Config, v C, key, end, low, high int, p *Problem, f *Features, at func(i int) int) {
	if key+int(c.N) > end || bool(f.Bounded) && key+int(c.N)-1 > low+p.Right {
		tile.EachRow(t, x, scores, c, func(_, i int, _ bool) {
			last := end - key
			if f.Bounded {
				last = min(last, at(i)-key+p.Right+1)
			}
			edge[i] = inTile(last, c.N)
		})
		tile.KeepBefore(t, x, scores, edge, c, v)
	}
	if bool(f.Bounded) && key < high-p.Left {
		tile.EachRow(t, x, scores, c, func(_, i int, _ bool) { edge[i] = inTile(at(i)-key-p.Left, c.N) })
		tile.KeepFrom(t, x, scores, edge, c, v)
	}
}

// inTile is the nearest column of a tile of n columns, or the one behind the last.
func inTile(column int, n dsl.ConstInt) int32 { return int32(max(min(column, int(n)), 0)) }

// store stores an element of the result, or of a part of it.
func store[T dsl.Number, C dsl.Real](out []T, parts []C, at int, x C, split dsl.ConstBool) {
	if split {
		parts[at] = x
	} else {
		out[at] = dsl.Convert[T](x)
	}
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

// slack is up to which power of two exponentials may be above 1: unless the largest score of a row
// grows by more, the sums are not scaled again (Zadouri et al., "FlashAttention-4", 2026).
const slack = 8

// log2e is the logarithm of e to base 2.
const log2e = 1.44269504088896340735992468100189214

// power is 2ˣ, for float32 as the device has it.
func power[C dsl.Real](x C) C {
	if more[C]() {
		return dsl.Exp2(x)
	}
	return C(fast.Exp2(float32(x)))
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
