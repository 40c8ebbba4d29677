package conformance

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// tiles are products by matrix instructions, or without where a device has none. Factors are small
// integers, so that sums are exact in any order. There are products of no step, one, fewer than the
// stages, as many and more, with edges in all directions; blocks compute several tiles.
func (b *builder) tiles() {
	one := tile.Config{M: 16, N: 64, K: 64, Down: 1, Across: 1, Stages: 3, Chunk: 8}
	two := tile.Config{M: 32, N: 64, K: 64, Down: 2, Across: 1, Stages: 2, Chunk: 8}
	group := tile.Config{M: 64, N: 64, K: 64, Down: 4, Across: 1, Stages: 3, Chunk: 8}
	single := tile.Config{M: 32, N: 64, K: 32, Down: 2, Across: 1, Stages: 2, Chunk: 4}
	double := tile.Config{M: 32, N: 64, K: 16, Down: 2, Across: 1, Stages: 2, Chunk: 2}
	eight := tile.Config{M: 32, N: 128, K: 128, Down: 2, Across: 1, Stages: 2, Chunk: 16}
	eights := tile.Config{M: 64, N: 64, K: 128, Down: 4, Across: 1, Stages: 3, Chunk: 16}
	for i, k := range []int{0, 8, 64, 128, 200, 448} {
		products[dsl.BF16, float32](b, "bf16", kernels.Tiles[dsl.BF16, float32], one, k, i)
		products[dsl.F16, float32](b, "f16", kernels.Tiles[dsl.F16, float32], two, k, i+1)
		products[dsl.BF16, float32](b, "bf16", kernels.Tiles[dsl.BF16, float32], group, k, i+1)
		group.Stages = 7 - group.Stages // 3 and 4
		products[dsl.F16, float32](b, "f16", kernels.Tiles[dsl.F16, float32], group, k, i+2)
		products[dsl.TF32, float32](b, "tf32", kernels.Tiles[dsl.TF32, float32], single, k/2, i)
		products[float64, float64](b, "float64", kernels.Tiles[float64, float64], double, k/4, i)
		products[int8, int32](b, "int8", kernels.Tiles[int8, int32], eight, 2*k, i)
		products[uint8, uint32](b, "uint8", kernels.Tiles[uint8, uint32], eights, 2*k, i+1)
		products[dsl.F8E4M3, float32](b, "e4m3", kernels.Tiles[dsl.F8E4M3, float32], eights, 2*k, i)
		products[dsl.F8E5M2, float32](b, "e5m2", kernels.Tiles[dsl.F8E5M2, float32], eight, 2*k, i+1)
	}
}

// products adds a case; i chooses the orders and whether chunks are copied.
func products[T, C dsl.Number](b *builder, name string, kernel any, c tile.Config, k, i int) {
	c.A, c.B = dsl.ConstInt(i/2%2), dsl.ConstInt(i%2)
	if c.A == tile.AcrossK && c.M < 8*c.Chunk {
		c.A = tile.AlongK
	}
	if c.B == tile.AcrossK && c.N < 8*c.Chunk {
		c.B = tile.AlongK
	}
	m, n := 72, 200
	if c.Chunk == 16 {
		n = 208 // whole chunks
	}
	c.AVec, c.BVec = i%4 != 3, i%4 != 2
	if i%4 == 3 {
		m = 67
	}
	if i%4 == 2 {
		n = 131
	}
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			switch at := any(&out[i]).(type) {
			case *int8: // and all that bytes have, which tells whether their signs are read
				*at = int8(b.rng.IntN(256))
			case *uint8:
				*at = uint8(b.rng.IntN(256))
			default:
				out[i] = smallNumber[T](b)
			}
		}
		return out
	}
	b.add(fmt.Sprintf("Tiles/%s/%dx%dx%d/%d", name, c.M, c.N, k, i), kernel, 3, int(c.Warps())*b.warp, dsl.TensorMap{}, dsl.TensorMap{}, dsl.TensorMap{}, make([]C, m*n), draw(m*k), draw(k*n), m, n, k, c)
	b.cases[len(b.cases)-1].Shared = c.Shared() * 16 / int(c.Chunk)
}

// smallNumber is a number from -2 to 2, a multiple of a quarter: products of them are exact.
func smallNumber[T dsl.Number](b *builder) T { return dsl.Convert[T](float32(b.rng.IntN(17)-8) / 4) }
