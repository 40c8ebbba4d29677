package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
	"github.com/gokiln/kiln/dsl/tile"
)

// TileChain stores 2·(x·yᵀ)·z, for x of m×k, y of n×k and z of n×d in the order that then says: tiles
// of the first product are factors of the second one.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=16 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=0 then.B=0,1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true
func TileChain[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, out []C, x, y, z []T, m, n, k, d int, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return a*b + c }
	row := t.BlockX() * int(cfg.M)
	a := tile.Factor[T]{Mem: x, At: row * k, Limit: m - row, Across: k, Along: 1}
	twice := dsl.LocalSlice[C](then.Sums(t))
	for at := 0; at < n; at += int(cfg.N) {
		b := tile.Factor[T]{Mem: y, At: at * k, Limit: n - at, Across: k, Along: 1}
		c := tile.Factor[T]{Mem: z, At: at * d, Limit: d, Across: 1, Along: d}
		if then.B == tile.AlongK {
			c.At, c.Across, c.Along = at, n, 1
		}
		sums := dsl.LocalSlice[C](cfg.Sums(t))
		tile.Multiply(t, sums, a, b, k, &cfg, mad)
		for range 2 { // one right behind the other
			tile.MultiplySums(t, twice, sums, &cfg, c, min(n-at, int(cfg.N)), &then, mad)
		}
	}
	tile.EachPair(t, x, twice, &then, func(r, c, next int, v, v2 C) {
		if r += row; r < m {
			if c < d {
				out[r*d+c] = v
			}
			if c+next < d {
				out[r*d+c+next] = v2
			}
		}
	})
}

// Attend stores softmax(scale·q·kᵀ)·v of one head and the logarithms of the sums of exponentials: q
// of n×d, k of keys×d, v of keys×dv. A query sees the keys up to its own, the last of both being the
// same; lowest is -∞. Softmax is online: each tile of keys scales what those before it gave to the
// largest score so far.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 then.M=16 then.N=64 then.K=16 then.Down=1 then.Across=1 then.Stages=2 then.Chunk=2 then.A=0 then.B=1 then.Bulk=false then.Cluster=1 then.OutSize=0 then.Promote=0 cfg.AVec=true cfg.BVec=true then.AVec=true then.BVec=true
func Attend[T dsl.Number, C dsl.Real](t dsl.Thread, out, logs []C, q, k, v []T, n, keys, d, dv int, scale, lowest C, cfg, then tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	mad := func(a, b, c C) C { return dsl.FMA(a, b, c) }
	add, larger := func(a, b C) C { return a + b }, func(a, b C) C { return max(a, b) }
	row := t.BlockX() * int(cfg.M)
	rows := tile.Rows[T, C](t, &cfg)
	most, total, top, change := dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows), dsl.LocalSlice[C](rows)
	tile.EachRow(t, q, total, &cfg, func(_, i int, _ bool) { most[i] = lowest })
	sums := dsl.LocalSlice[C](then.Sums(t))
	queries := tile.Factor[T]{Mem: q, At: row * d, Limit: n - row, Across: d, Along: 1}
	for at := 0; at < keys; at += int(cfg.N) {
		scores := dsl.LocalSlice[C](cfg.Sums(t))
		tile.Multiply(t, scores, queries, tile.Factor[T]{Mem: k, At: at * d, Limit: keys - at, Across: d, Along: 1}, d, &cfg, mad)
		tile.Map(t, q, scores, &cfg, func(r, c int, s C) C {
			if at+c >= keys || at+c > row+r+keys-n {
				return lowest
			}
			return s * scale
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
		tile.CombineRows(t, q, scores, total, &cfg, add)
		tile.MapRows(t, q, sums, change, &then, func(_, _ int, s, change C) C { return s * change })
		tile.MultiplySums(t, sums, scores, &cfg, tile.Factor[T]{Mem: v, At: at * dv, Limit: dv, Across: 1, Along: dv}, min(keys-at, int(cfg.N)), &then, mad)
	}
	tile.JoinRows(t, q, total, &cfg, add)
	tile.EachRow(t, q, sums, &cfg, func(r, i int, first bool) {
		if first && row+r < n {
			logs[row+r] = most[i] + dsl.Log(total[i])
		}
		total[i] = inverse(total[i])
	})
	tile.MapRows(t, q, sums, total, &then, func(_, _ int, s, inverse C) C { return s * inverse })
	tile.EachPair(t, q, sums, &then, func(r, c, next int, s, s2 C) {
		if r += row; r < n {
			if c < dv {
				out[r*dv+c] = s
			}
			if c+next < dv {
				out[r*dv+c+next] = s2
			}
		}
	})
}

// inverse is 1/x by Newton's method, and 0 of 0: a division is a call on NVIDIA's devices, and
// beside calls products of warpgroups wait for each other.
func inverse[C dsl.Real](x C) C {
	if x == 0 {
		return 0
	}
	y := C(fast.Recip(float32(x)))
	for range 2 {
		y = dsl.FMA(y, dsl.FMA(-x, y, 1), y)
	}
	return y
}

// exponential is eˣ as the device has it.
func exponential[C dsl.Real](x C) C { return C(fast.Exp(float32(x))) }
