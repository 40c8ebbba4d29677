package conformance

import (
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// crosses are products of which one factor is the transpose of another product: two tiles of it in each
// direction, with edges. Numbers are such that sums are exact, and exact in the type of the factors.
func (b *builder) crosses() {
	wide := max(32, dsl.ConstInt(b.warp))
	of := func(m, n, k, down, across, chunk dsl.ConstInt) tile.Config {
		return tile.Config{M: m, N: n, K: k, Down: down, Across: across, Stages: 2, Chunk: chunk}
	}
	// Tiles of the first product have rows along k of the second one, and warps in other places.
	cross[dsl.BF16, float32](b, "bf16", kernels.TileCross[dsl.BF16, float32], of(64, 64, 64, 1, 1, 8), of(64, wide, 64, 1, 1, 8), 0)
	cross[dsl.F16, float32](b, "f16", kernels.TileCross[dsl.F16, float32], of(64, 128, 64, 1, 2, 8), of(128, 64, 64, 2, 1, 8), 1)
	cross[dsl.BF16, float32](b, "bf16", kernels.TileCross[dsl.BF16, float32], of(128, 64, 64, 4, 1, 8), of(64, 2*wide, 64, 2, 2, 8), 2)
	cross[float64, float64](b, "float64", kernels.TileCross[float64, float64], of(32, 2*wide, 16, 2, 2, 2), of(2*wide, wide, 16, 4, 1, 2), 0)
	cross[dsl.TF32, float32](b, "tf32", kernels.TileCross[dsl.TF32, float32], of(32, wide, 32, 1, 1, 4), of(wide, wide, 32, 1, 1, 4), 2)
	cross[int8, int32](b, "int8", kernels.TileCross[int8, int32], of(128, 128, 128, 2, 1, 16), of(128, wide, 128, 2, 1, 16), 0)
}

// cross adds a case; i chooses the order of the second product's other factor.
func cross[T, C dsl.Number](b *builder, name string, kernel any, c, then tile.Config, i int) {
	then.A, then.B = tile.AcrossK, dsl.ConstInt(i%2)
	if then.B == tile.AcrossK {
		then.Stages = 3
	}
	m, n, k, d := 2*int(c.M)-11, 2*int(c.N)-5, 20, int(then.N)-8*(i%2)
	b.add(fmt.Sprintf("TileCross/Tiles/%s/%dx%d/%dx%d/%s", name, c.M, c.N, c.Down, c.Across, []string{"AlongK", "AcrossK"}[then.B]), kernel, 2, int(c.Warps())*b.warp,
		make([]C, n*d), units[T](b, m*k), units[T](b, n*k), quarters[T](b, m*d), m, n, k, d, c, then)
	var t T
	b.cases[len(b.cases)-1].Shared = (c.Shared() + int(then.Stages*then.K*then.N+c.M*c.N)) * int(unsafe.Sizeof(t))
}

// units are -1, 0 and 1.
func units[T dsl.Number](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = dsl.Convert[T](float32(b.rng.IntN(3) - 1))
	}
	return out
}

// quarters are numbers of smallNumber, integers of integer types.
func quarters[T dsl.Number](b *builder, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = smallNumber[T](b)
	}
	return out
}

// tileConversions are tiles of one type that go on as tiles of another: types of which devices have
// sums in the same order, or in others, or instructions for one of them only.
func (b *builder) tileConversions() {
	of := func(n, k, down, across, chunk dsl.ConstInt) tile.Config {
		return tile.Config{M: 16 * down, N: n * across, K: k, Down: down, Across: across, Stages: 2, Chunk: chunk}
	}
	converted[int8, int32, dsl.BF16, float32](b, "int8/bf16", kernels.TileConvert[int8, int32, dsl.BF16, float32], of(64, 128, 1, 1, 16), of(64, 64, 1, 1, 8))
	converted[uint8, uint32, dsl.F16, float32](b, "uint8/f16", kernels.TileConvert[uint8, uint32, dsl.F16, float32], of(64, 128, 2, 1, 16), of(64, 64, 2, 1, 8))
	converted[float64, float64, dsl.F16, float32](b, "float64/f16", kernels.TileConvert[float64, float64, dsl.F16, float32], of(64, 16, 1, 1, 2), of(64, 64, 1, 1, 8))
	converted[dsl.BF16, float32, float64, float64](b, "bf16/float64", kernels.TileConvert[dsl.BF16, float32, float64, float64], of(64, 64, 1, 1, 8), of(64, 16, 1, 1, 2))
	converted[float32, float32, dsl.BF16, float32](b, "float32/bf16", kernels.TileConvert[float32, float32, dsl.BF16, float32], of(64, 32, 2, 1, 4), of(64, 64, 2, 1, 8))
	converted[dsl.TF32, float32, int8, int32](b, "tf32/int8", kernels.TileConvert[dsl.TF32, float32, int8, int32], of(128, 32, 1, 2, 4), of(128, 128, 1, 2, 16))
}

// converted adds a case.
func converted[T, C, U, D dsl.Number](b *builder, name string, kernel any, c, then tile.Config) {
	then.B = tile.AcrossK
	n, k, d := int(min(c.M, c.N))-3, 20, int(then.N)-16
	x, y := units[T](b, n*k), units[T](b, n*k)
	b.add(fmt.Sprintf("TileConvert/Tiles/%s/%dx%d/%dx%d", name, c.M, c.N, c.Down, c.Across), kernel, 1, int(c.Warps())*b.warp,
		make([]D, n*d), make([]D, n), x, y, quarters[U](b, n*d), n, k, d, dsl.Convert[C](float32(2)), c, then)
	var of T
	var to U
	var sum D
	perWarp := 16 * int(c.N/c.Across+8) * int(unsafe.Sizeof(sum))
	b.cases[len(b.cases)-1].Shared = c.Shared()*int(unsafe.Sizeof(of)) + int(then.Stages*then.K*then.N+c.M*c.N)*int(unsafe.Sizeof(to)) +
		int(c.Warps())*perWarp + int(c.M*c.Across)*int(unsafe.Sizeof(sum))
}
