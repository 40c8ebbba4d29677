package conformance

import (
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// tileRows are reductions, maps and transpositions of tiles: of one warp, of several that share
// columns, rows, or both. Numbers are such that sums are exact in any order.
func (b *builder) tileRows() {
	wide := max(32, dsl.ConstInt(b.warp))
	for i, warps := range [][2]dsl.ConstInt{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}} {
		half := tile.Config{M: 16 * warps[0], N: wide * warps[1], K: 64, Down: warps[0], Across: warps[1], Stages: 2, Chunk: 8}
		high, single, double, eight := half, half, half, half
		high.M = 2 * half.M
		single.K, single.Chunk = 32, 4
		double.K, double.Chunk = 16, 2
		eight.K, eight.Chunk = 128, 16
		switch i % 3 {
		case 0:
			reduces[dsl.BF16, float32](b, "bf16", kernels.TileRows[dsl.BF16, float32], half, -100, 72, i)
			reduces[float64, float64](b, "float64", kernels.TileRows[float64, float64], double, -100, 20, i)
		case 1:
			reduces[dsl.F16, float32](b, "f16", kernels.TileRows[dsl.F16, float32], high, -100, 64, i)
			reduces[dsl.TF32, float32](b, "tf32", kernels.TileRows[dsl.TF32, float32], single, -100, 36, i)
		default:
			reduces[int8, int32](b, "int8", kernels.TileRows[int8, int32], eight, -100, 128, i)
		}
	}
}

// reduces adds a case of as many rows and columns as a tile has, but for some.
func reduces[T, C dsl.Number](b *builder, name string, kernel any, c tile.Config, lowest C, k, i int) {
	n := int(min(c.M, c.N)) - i%4
	draw := func() []T {
		out := make([]T, n*k)
		for i := range out {
			out[i] = smallNumber[T](b)
		}
		return out
	}
	b.add(fmt.Sprintf("TileRows/Tiles/%s/%dx%d/%dx%d", name, c.M, c.N, c.Down, c.Across), kernel, 1, int(c.Warps())*b.warp,
		make([]int32, n*n), make([]C, 2*n), make([]C, 2*n), draw(), draw(), n, k, lowest, c)
	perWarp := b.warp * (int(c.M/c.Down) + 4) * 4 // for transposition
	b.cases[len(b.cases)-1].Shared = c.Shared()*16/int(c.Chunk) + int(c.Warps())*perWarp + int(c.M*c.Across+c.N*c.Down)*int(unsafe.Sizeof(lowest))
}
