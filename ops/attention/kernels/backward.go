package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// Tiles say how blocks divide the products of gradients: tiles of M by N scores, and of M by D or
// DV results, of which Down times Across warps have parts. D and DV are as large as the heads or
// larger.
type Tiles struct {
	M, N, D, DV  dsl.ConstInt
	Down, Across dsl.ConstInt
	Stages       dsl.ConstInt
	Chunk        dsl.ConstInt  // elements in 16 bytes
	Vec          dsl.ConstBool // rows of factors are whole chunks, and aligned
	Bulk         dsl.ConstBool // factors have tensor maps, for devices with warpgroup instructions
	Boxes        dsl.ConstBool // results are stored by tensor maps, if Bulk
	Raw          dsl.ConstBool // as [ForwardTiles] have it
}

// scores is the configuration of a product along the head size.
func (w *Tiles) scores() tile.Config {
	k := tile.RowBytes / 16 * w.Chunk
	return tile.Config{M: w.M, N: w.N, K: k, Down: w.Down, Across: w.Across, Stages: w.Stages, Chunk: w.Chunk, AVec: w.Vec, BVec: w.Vec, Bulk: w.Bulk}
}

// gradient is the configuration of the product of scores with a factor of n columns.
func (w *Tiles) gradient(n dsl.ConstInt) tile.Config {
	c := w.scores()
	c.N, c.K, c.B = n, min(c.K, w.N), tile.AcrossK
	c.OutSize = 16 / w.Chunk
	return c
}

// Shared is how many elements of factors a block has in shared memory; sums that no lane keeps as a
// factor go through it, too.
func (w *Tiles) Shared(inLanes bool) int {
	c, ofK, ofV := w.scores(), w.gradient(w.D), w.gradient(w.DV)
	if w.Bulk {
		n := int((c.M+c.Stages*c.N)*(w.D+w.DV) + 2*2*c.Stages*c.N) // two float32 of each column
		if w.Boxes {
			n += ofK.StoreElements() + ofV.StoreElements()
		}
		return n
	}
	n := c.Shared() + int(ofK.Stages*ofK.K*ofK.N)
	if ofV.N != ofK.N {
		n += int(ofV.Stages * ofV.K * ofV.N)
	}
	if !inLanes {
		n += int(w.M * w.N)
	}
	return n
}

// Beside is how many rows a warp reduces at a time: their loads are in flight together.
const Beside = 4

// Delta stores the sum of each row of grad·out, less the gradient of the row's log-sum-exp if there
// is one: what softmax subtracts from the gradients of its probabilities (Dao, "FlashAttention-2",
// 2023, algorithm 2). Each warp reduces rows of n elements, Beside of them at a time.
//
//kiln:kernel
//kiln:const withLog=true
func Delta[T dsl.Number, C dsl.Real](t dsl.Thread, delta []C, grad, out []T, ofLog []C, rows, n int, withLog dsl.ConstBool) {
	warps := t.BlockDimX() / t.WarpSize()
	for first := t.BlockX() * warps * Beside; first < rows; first += t.GridDimX() * warps * Beside {
		first := first + t.Warp()*Beside
		var sums [Beside]C
		for i := t.Lane(); i < n; i += t.WarpSize() {
			for b := range Beside {
				at := min(first+b, rows-1)*n + i
				sums[b] = dsl.FMA(dsl.Convert[C](grad[at]), dsl.Convert[C](out[at]), sums[b])
			}
		}
		for b := range Beside {
			sum := dsl.WarpSum(t, sums[b])
			if row := first + b; row < rows && t.Lane() == 0 {
				if withLog {
					sum -= ofLog[row]
				}
				delta[row] = sum
			}
		}
	}
}

// weighing is what the probability of a key for a query depends on, besides their product.
type weighing[C dsl.Real] struct {
	bits        []uint8
	bias        []C
	scale       C
	limit, less C // a soft cap, and what products are multiplied by before it
	left, right int
	f           Features
}

// weigh returns what backward kernels weigh keys by.
func weigh[C dsl.Real](bits []uint8, bias []C, p *Problem, scale, limit C, f Features) weighing[C] {
	w := weighing[C]{bits: bits, bias: bias, scale: scale, limit: limit, left: p.Left, right: p.Right, f: f}
	if f.Capped {
		w.less = scale * inverse(limit)
	}
	return w
}

// probability returns that of a key, far behind the position of a query and with element m of the
// mask: s is their product, or what capEach has made of it, log the log-sum-exp of the query.
func (w *weighing[C]) probability(s C, far, m int, slope, log C) C {
	if w.f.Capped {
		s *= w.limit
	} else {
		s *= w.scale
	}
	if w.f.ALiBi {
		s -= slope * C(max(far, -far))
	}
	if w.f.Bounded && (far > w.right || far < -w.left) {
		return 0
	}
	if w.f.Mask == BoolMask && w.bits[m] == 0 {
		return 0
	}
	if w.f.Mask == AddedMask {
		s += w.bias[m]
	}
	return exponential(s - log)
}

// finite is the log-sum-exp of a row that attends to nothing: all its probabilities are 0, whatever
// is subtracted from scores of −∞.
func finite[C dsl.Real](log, lowest C) C {
	if log == lowest {
		return 0
	}
	return log
}

// BackwardQueries stores the gradient of the queries, dq = scale·dS·k (Dao, "FlashAttention-2",
// 2023, algorithm 2): a block has a tile of rows of a plane, as in [Forward], and goes over the
// keys that these attend to. Probabilities P are computed again from the log-sum-exps, and dS =
// P∘(grad·vᵀ − delta), of which the part in parentheses is one product with sums that begin at
// −delta. lowest is −∞.
//
//kiln:kernel
//kiln:const f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=false f.Split=false f.Ragged=false f.Packed=false f.Page=0 f.Score=false f.Seen=0 f.Mask=1,2 w.M=16 w.N=32 w.D=32 w.DV=32 w.Down=1 w.Across=1 w.Stages=2 w.Chunk=2 w.Vec=true w.Bulk=false w.Boxes=false w.Raw=true
func BackwardQueries[T dsl.Number, C dsl.Real](t dsl.Thread, qMap, gradMap, kMap, vMap, dqMap dsl.TensorMap, dq, grad []T, logs, deltas []C, q, k, v []T, bits []uint8, bias, slopes []C, p Problem, scale, limit, lowest C, f Features, w Tiles) {
	cfg, then, ofV := w.scores(), w.gradient(w.D), w.gradient(w.DV)
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return dsl.FMA(a, b, c) }
	plane, row := p.turn(t.BlockX(), f.Bounded)
	row *= int(cfg.M)
	batch := divide(plane, p.Heads)
	head := plane - batch*p.Heads
	rows := tile.Rows[T, C](t, &cfg)
	logOf, deltaOf, slope := dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows)
	at, index, edge, masks := dsl.LocalSlice[int32](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int32](rows), dsl.LocalSlice[int](rows)
	tile.EachRow(t, q, logOf, &cfg, func(r, i int, _ bool) {
		r = min(row+r, p.Rows-1)
		group, query := p.query(r, false)
		index[i], at[i] = int32(i), int32(query+p.Off)
		logOf[i], deltaOf[i] = finite(logs[plane*p.Rows+r], lowest), deltas[plane*p.Rows+r]
		if f.ALiBi {
			slope[i] = slopes[batch*p.Slopes.Batch+head*p.Slopes.Head+group*p.Slopes.Group]
		}
		if f.Mask != NoMask {
			masks[i] = batch*p.Mask.Batch + head*p.Mask.Head + group*p.Mask.Group + query*p.Mask.Row
		}
	})
	weight := weigh(bits, bias, &p, scale, limit, f)
	begin, end := p.keys(row, int(cfg.M), f.Bounded)
	low, high := p.span(row, int(cfg.M), &f)
	first := plane*p.Rows + row
	both := tile.Both[T]{
		A: tile.Factor[T]{Mem: q, At: first * p.D, Limit: p.Rows - row, Across: p.D, Along: 1, Map: qMap, Row: first}, K: p.D,
		A2: tile.Factor[T]{Mem: grad, At: first * p.DV, Limit: p.Rows - row, Across: p.DV, Along: 1, Map: gradMap, Row: first}, K2: p.DV,
	}
	keys, values := batch*p.K.Batch+head*p.K.Head, batch*p.V.Batch+head*p.V.Head
	weighed := func(i int, scores []C) { // replaces scores by probabilities
		key := begin + i*int(cfg.N)
		if w.Raw {
			tile.MapRows(t, q, scores, logOf, &cfg, func(_, _ int, s, log C) C { return power(dsl.FMA(s, scale*log2e, -log*log2e)) })
			keepNear(t, q, scores, edge, &cfg, 0, key, end, low, high, &p, &f, func(i int) int { return int(at[i]) })
			return
		}
		tile.MapRows(t, q, scores, index, &cfg, func(_, c int, s C, i int32) C {
			if c += key; c >= end {
				return 0
			}
			return weight.probability(s, c-int(at[i]), masks[i]+c*p.Mask.Key, slope[i], logOf[i])
		})
	}
	tile.ChainBoth(t, &cfg, &then, &ofV, false, both, (max(end-begin, 0)+int(cfg.N)-1)/int(cfg.N), mad, func(i int) (b, b2 tile.Factor[T], n int) {
		key := begin + i*int(cfg.N)
		b = tile.Factor[T]{Mem: k, At: keys + key*p.K.Key, Limit: end - key, Across: p.K.Key, Along: 1, Map: kMap, Row: key, Plane: batch*p.K.Plane + head}
		b2 = tile.Factor[T]{Mem: v, At: values + key*p.V.Key, Limit: end - key, Across: p.V.Key, Along: 1, Map: vMap, Row: key, Plane: batch*p.V.Plane + head}
		return b, b2, min(end-key, int(cfg.N))
	}, func(_, _ int) (x, y C) { return 0, 0 }, func(_ int, _, ds []C) {
		tile.MapRows(t, q, ds, deltaOf, &cfg, func(_, _ int, _, delta C) C { return -delta })
	}, func(i int, _, scores []C) {
		if !f.Capped {
			weighed(i, scores)
		}
	}, func(i int, _, scores, ds []C) {
		if f.Capped {
			capEach(scores, ds, weight.less, cfg.Sums(t))
			weighed(i, scores)
		}
		multiplyEach(ds, scores, cfg.Sums(t))
	}, func(sums, _ []C) {
		storeScaled(t, dq, dqMap, q, sums, plane, row, p.Rows, p.D, scale, &then, w.Boxes)
	})
}

// BackwardKeys stores the gradients of keys and values, dk = scale·dSᵀ·q and dv = Pᵀ·grad, see
// [BackwardQueries]: a block has a tile of the keys of a plane, and goes over the queries of each
// head that attend to them, so that no other block adds to its results. The rows of its tiles are
// keys, for k·qᵀ are the scores as the factors of both results have them. The Tiles of the Problem
// are tiles of keys here.
//
//kiln:kernel
//kiln:const f.Bounded=true f.Capped=true f.ALiBi=true f.Sinks=false f.Split=false f.Ragged=false f.Packed=false f.Page=0 f.Score=false f.Seen=0 f.Mask=1,2 w.M=16 w.N=32 w.D=32 w.DV=32 w.Down=1 w.Across=1 w.Stages=2 w.Chunk=2 w.Vec=true w.Bulk=false w.Boxes=false w.Raw=true
func BackwardKeys[T dsl.Number, C dsl.Real](t dsl.Thread, qMap, gradMap, kMap, vMap, dkMap, dvMap dsl.TensorMap, dk, dv, grad []T, logs, deltas []C, q, k, v []T, bits []uint8, bias, slopes []C, p Problem, scale, limit, lowest C, f Features, w Tiles) {
	cfg, ofK, ofV := w.scores(), w.gradient(w.D), w.gradient(w.DV)
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return dsl.FMA(a, b, c) }
	plane, key := p.turn(t.BlockX(), false) // more queries may attend to the first keys
	key *= int(cfg.M)
	batch := divide(plane, p.Heads)
	head := plane - batch*p.Heads
	weight := weigh(bits, bias, &p, scale, limit, f)
	begin, end := p.queries(key, int(cfg.M), f.Bounded)
	both := tile.Both[T]{
		A:  tile.Factor[T]{Mem: k, At: batch*p.K.Batch + head*p.K.Head + key*p.K.Key, Limit: p.Keys - key, Across: p.K.Key, Along: 1, Map: kMap, Row: key, Plane: batch*p.K.Plane + head},
		A2: tile.Factor[T]{Mem: v, At: batch*p.V.Batch + head*p.V.Head + key*p.V.Key, Limit: p.Keys - key, Across: p.V.Key, Along: 1, Map: vMap, Row: key, Plane: batch*p.V.Plane + head},
		K:  p.D, K2: p.DV,
	}
	each := (max(end-begin, 0) + int(cfg.N) - 1) / int(cfg.N) // tiles of the queries of a head
	at := func(i int) (group, query int) {                    // where a tile begins
		if i >= each {
			group = divide(i, each)
		}
		return group, begin + (i-group*each)*int(cfg.N)
	}
	edge := dsl.LocalSlice[int32](tile.Rows[T, C](t, &cfg))
	weighed := func(i int, logOf, scores []C) { // replaces scores by probabilities
		group, query := at(i)
		n := min(end-query, int(cfg.N))
		if w.Raw {
			tile.MapColumns(t, q, scores, logOf, &cfg, func(_, _ int, s, log C) C {
				return power(dsl.FMA(s, scale*log2e, -log*log2e))
			})
			first := query + p.Off
			if n < int(cfg.N) || bool(f.Bounded) && key < first+n-1-p.Left {
				tile.EachRow(t, q, scores, &cfg, func(r, i int, _ bool) {
					edge[i] = inTile(min(n, key+r-first+p.Left+1), cfg.N)
				})
				tile.KeepBefore(t, q, scores, edge, &cfg, 0)
			}
			if bool(f.Bounded) && key+int(cfg.M)-1 > first+p.Right {
				tile.EachRow(t, q, scores, &cfg, func(r, i int, _ bool) { edge[i] = inTile(key+r-first-p.Right, cfg.N) })
				tile.KeepFrom(t, q, scores, edge, &cfg, 0)
			}
			return
		}
		var slope C
		if f.ALiBi {
			slope = slopes[batch*p.Slopes.Batch+head*p.Slopes.Head+group*p.Slopes.Group]
		}
		mask := batch*p.Mask.Batch + head*p.Mask.Head + group*p.Mask.Group
		tile.MapColumns(t, q, scores, logOf, &cfg, func(r, c int, s, log C) C {
			if c >= n {
				return 0
			}
			r = min(key+r, p.Keys-1)
			return weight.probability(s, r-(query+c+p.Off), mask+(query+c)*p.Mask.Row+r*p.Mask.Key, slope, log)
		})
	}
	tile.ChainBoth(t, &cfg, &ofK, &ofV, true, both, each*p.Groups, mad, func(i int) (b, b2 tile.Factor[T], n int) {
		group, query := at(i)
		row := plane*p.Rows + group*p.S + query
		n = min(end-query, int(cfg.N))
		b = tile.Factor[T]{Mem: q, At: row * p.D, Limit: n, Across: p.D, Along: 1, Map: qMap, Row: row}
		b2 = tile.Factor[T]{Mem: grad, At: row * p.DV, Limit: n, Across: p.DV, Along: 1, Map: gradMap, Row: row}
		return b, b2, n
	}, func(i, c int) (log, delta C) {
		group, query := at(i)
		if query+c >= end {
			return 0, 0
		}
		row := plane*p.Rows + group*p.S + query
		return finite(logs[row+c], lowest), -deltas[row+c]
	}, func(_ int, deltaOf, ds []C) {
		tile.MapColumns(t, q, ds, deltaOf, &cfg, func(_, _ int, _, delta C) C { return delta })
	}, func(i int, logOf, scores []C) {
		if !f.Capped {
			weighed(i, logOf, scores)
		}
	}, func(i int, logOf, scores, ds []C) {
		if _, query := at(i); end-query < int(cfg.N) { // what is beyond may be of another head
			tile.Map(t, q, ds, &cfg, func(_, c int, d C) C {
				if c >= end-query {
					return 0
				}
				return d
			})
		}
		if f.Capped {
			capEach(scores, ds, weight.less, cfg.Sums(t))
			weighed(i, logOf, scores)
		}
		multiplyEach(ds, scores, cfg.Sums(t))
	}, func(sumsK, sumsV []C) {
		storeScaled(t, dk, dkMap, q, sumsK, plane, key, p.Keys, p.D, scale, &ofK, w.Boxes)
		storeScaled(t, dv, dvMap, q, sumsV, plane, key, p.Keys, p.DV, 1, &ofV, w.Boxes)
	})
}

// queries returns the first query of a head that can attend to one of n keys, and the one behind
// the last.
func (p *Problem) queries(key, n int, bounded dsl.ConstBool) (begin, end int) {
	if !bounded {
		return 0, p.S
	}
	last := min(key+n, p.Keys) - 1
	return max(key-p.Off-p.Right, 0), min(last-p.Off+p.Left+1, p.S)
}

// capEach replaces products of queries and keys by tanh(product·scale/cap), and multiplies the
// gradients of the scores that these are of by its derivative.
func capEach[C dsl.Real](products, ds []C, less C, n dsl.ConstInt) {
	//kiln:unroll
	for i := range int(n) {
		th := dsl.Tanh(products[i] * less)
		products[i] = th
		ds[i] *= dsl.FMA(-th, th, 1)
	}
}

// multiplyEach multiplies the first n elements of x by those of y.
func multiplyEach[C dsl.Real](x, y []C, n dsl.ConstInt) {
	//kiln:unroll
	for i := range int(n) {
		x[i] *= y[i]
	}
}

// storeScaled stores the sums of a tile that begins at a row of a plane, times scale: planes have so many
// rows and columns.
func storeScaled[T dsl.Number, C dsl.Real](t dsl.Thread, out []T, m dsl.TensorMap, x []T, sums []C, plane, row, rows, columns int, scale C, c *tile.Config, boxes dsl.ConstBool) {
	if boxes {
		tile.Store(t, out, x, sums, m, row, 0, plane, c, func(_, _ int, s, s2 C) [2]T {
			return [2]T{dsl.Convert[T](s * scale), dsl.Convert[T](s2 * scale)}
		})
		return
	}
	tile.EachPair(t, x, sums, c, func(r, col, next int, s, s2 C) {
		if r += row; r >= rows {
			return
		}
		to := (plane*rows + r) * columns
		if col < columns {
			out[to+col] = dsl.Convert[T](s * scale)
		}
		if col+next < columns {
			out[to+col+next] = dsl.Convert[T](s2 * scale)
		}
	})
}
