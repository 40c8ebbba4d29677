package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// TileFill stores x·(y+1)ᵀ, for x of m×k and y of n×k bytes, of which elements are made in the kernel. A
// block goes over tiles of both halves of k, and stores the sums of the second half behind those of the
// first; half is a multiple of cfg.K.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0 cfg.Bulk=false cfg.Cluster=1 cfg.OutSize=0 cfg.Promote=0 cfg.AVec=true,false cfg.BVec=true
func TileFill[T dsl.Number, C dsl.Int | dsl.Uint | dsl.Real](t dsl.Thread, xMap dsl.TensorMap, out []C, x []T, y []int8, m, n, k, half int, cfg tile.Config) {
	dsl.LaunchBounds(t, cfg.Block(t), 1)
	down, across := (m+int(cfg.M)-1)/int(cfg.M), (n+int(cfg.N)-1)/int(cfg.N)
	at := func(i int) (row, col, from int) {
		return i % down * int(cfg.M), i / down % across * int(cfg.N), i / (down * across) * half
	}
	tile.EachFilled(t, &cfg, t.BlockX(), 2*down*across, t.GridDimX(), (cfg.Chunk+3)/4, func(a, b, c C) C { return a*b + c }, func(i int) (a tile.Factor[T], first, from, length int) {
		row, col, from := at(i)
		return tile.Factor[T]{Mem: x, At: row*k + from, Limit: m - row, Across: k, Along: 1, Map: xMap, Row: row, K: from}, col, from, min(half, k-from)
	}, func(row, from int, words []uint32, at int) {
		for e := range int(cfg.Chunk) {
			if e%4 == 0 {
				words[at+e/4] = 0
			}
			if row < n && from+e < k {
				words[at+e/4] |= uint32(uint8(y[row*k+from+e]+1)) << (e % 4 * 8)
			}
		}
	}, func(words []uint32, at int, chunk []T) {
		for e := range int(cfg.Chunk) {
			chunk[e] = dsl.Convert[T](int8(words[at+e/4] >> (e % 4 * 8)))
		}
	}, func(i int, sums []C) {
		row, col, from := at(i)
		tile.EachInside(t, x, sums, m-row, n-col, &cfg, func(r, c int, v C) {
			out[(from/half*m+row+r)*n+col+c] = v
		})
	})
}
