package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
)

// Naive computes an element of c in each thread. Every factor is read from global memory for each
// product that it is in.
//
//kiln:kernel
func Naive(t dsl.Thread, c, a, b []dsl.BF16, m, n, k int) {
	row, col := t.GlobalY(), t.GlobalX()
	if row >= m || col >= n {
		return
	}
	sum := float32(0)
	for i := range k {
		sum = dsl.FMA(dsl.F32(a[row*k+i]), dsl.F32(b[i*n+col]), sum)
	}
	c[row*n+col] = dsl.To[dsl.BF16](sum)
}

// side is the size of the tiles of [Shared] and of its blocks.
const side = 16

// Shared is Naive with tiles of both factors in shared memory: each is read from global memory once
// for sixteen products.
//
//kiln:kernel
func Shared(t dsl.Thread, c, a, b []dsl.BF16, m, n, k int) {
	as := dsl.Shared[[side][side]float32](t)
	bs := dsl.Shared[[side][side]float32](t)
	y, x := t.ThreadY(), t.ThreadX()
	row, col := t.GlobalY(), t.GlobalX()
	sum := float32(0)
	for from := 0; from < k; from += side {
		as[y][x], bs[y][x] = 0, 0
		if row < m && from+x < k {
			as[y][x] = dsl.F32(a[row*k+from+x])
		}
		if col < n && from+y < k {
			bs[y][x] = dsl.F32(b[(from+y)*n+col])
		}
		t.Sync()
		for i := range side {
			sum = dsl.FMA(as[y][i], bs[i][x], sum)
		}
		t.Sync()
	}
	if row < m && col < n {
		c[row*n+col] = dsl.To[dsl.BF16](sum)
	}
}

// Tiles computes a tile of c in each block, by the matrix instructions of the device if it has any.
// While one stage of both factors is multiplied the next ones are copied to shared memory.
//
//kiln:kernel
//kiln:const cfg.M=32 cfg.N=64 cfg.K=64 cfg.Down=2 cfg.Across=1 cfg.Stages=2 cfg.Chunk=8 cfg.A=0 cfg.B=1
func Tiles(t dsl.Thread, c, a, b []dsl.BF16, m, n, k int, cfg tile.Config) {
	dsl.LaunchBounds(t, cfg.Threads(t), 1)
	row, col := t.BlockY()*int(cfg.M), t.BlockX()*int(cfg.N)
	rows := tile.Factor[dsl.BF16]{Mem: a, At: row * k, Limit: m - row, Across: k, Along: 1}
	cols := tile.Factor[dsl.BF16]{Mem: b, At: col, Limit: n - col, Across: 1, Along: n}
	sums := dsl.LocalSlice[float32](cfg.Sums(t))
	tile.Multiply(t, sums, rows, cols, k, &cfg, fma)
	tile.EachPair(t, a, sums, &cfg, func(r, q, next int, v, v2 float32) {
		store(c, m, n, row+r, col+q, next, v, v2)
	})
}

func fma(a, b, c float32) float32 { return dsl.FMA(a, b, c) }

// store stores two sums of a row, without those beyond the edge of c.
func store(c []dsl.BF16, m, n, row, col, next int, v, v2 float32) {
	if row < m && col < n {
		c[row*n+col] = dsl.To[dsl.BF16](v)
	}
	if row < m && col+next < n {
		c[row*n+col+next] = dsl.To[dsl.BF16](v2)
	}
}
