package conformance

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// tileFills are products with a factor that threads make in shared memory: eight or fewer chunks of it
// in a stage for each, or rows of which not all threads have one. Sums are exact in any order.
func (b *builder) tileFills() {
	of := func(m, n, down, across, stages, chunk dsl.ConstInt) tile.Config {
		return tile.Config{M: m, N: n, K: 8 * chunk, Down: down, Across: across, Stages: stages, Chunk: chunk}
	}
	wide := max(32, dsl.ConstInt(b.warp))
	filled[dsl.BF16, float32](b, "bf16", kernels.TileFill[dsl.BF16, float32], of(64, 64, 2, 1, 3, 8))
	filled[dsl.F16, float32](b, "f16", kernels.TileFill[dsl.F16, float32], of(64, wide, 4, 1, 2, 8))
	filled[dsl.TF32, float32](b, "tf32", kernels.TileFill[dsl.TF32, float32], of(32, wide, 1, 1, 2, 4))
	filled[float64, float64](b, "float64", kernels.TileFill[float64, float64], of(32, 2*wide, 2, 2, 2, 2))
	filled[int8, int32](b, "int8", kernels.TileFill[int8, int32], of(32, 2*wide, 2, 2, 2, 16))
}

// filled adds a case.
func filled[T, C dsl.Number](b *builder, name string, kernel any, c tile.Config) {
	m, n, k, half := 2*int(c.M)-11, int(c.N)+5, int(3*c.K)+4, int(2*c.K)
	y := make([]int8, n*k)
	for i := range y {
		y[i] = int8(b.rng.IntN(9) - 4)
	}
	b.add(fmt.Sprintf("TileFill/Tiles/%s/%dx%d/%dx%d", name, c.M, c.N, c.Down, c.Across), kernel, 3, int(c.Warps())*b.warp,
		dsl.TensorMap{}, make([]C, 2*m*n), units[T](b, m*k), y, m, n, k, half, c)
	b.cases[len(b.cases)-1].Shared = c.Shared() * 16 / int(c.Chunk)
}
