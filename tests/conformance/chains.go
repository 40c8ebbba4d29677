package conformance

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// chains are products of which one factor is the sums of another product: several tiles of it, with
// edges, and several steps of each. Numbers are such that sums are exact, and exact in the type of the
// factors.
func (b *builder) chains() {
	wide := max(32, dsl.ConstInt(b.warp))
	for i, warps := range [][2]dsl.ConstInt{{1, 1}, {2, 1}, {2, 2}} {
		of := func(n, k, chunk dsl.ConstInt) tile.Config {
			return tile.Config{M: 16 * warps[0], N: n * warps[1], K: k, Down: warps[0], Across: warps[1], Stages: 2, Chunk: chunk}
		}
		half, then := of(64, 64, 8), of(wide, 64, 8)
		if i == 1 {
			then.N, then.B, then.Stages = 64, tile.AcrossK, 3
		}
		chain[dsl.BF16, float32](b, "bf16", kernels.TileChain[dsl.BF16, float32], half, then, i)
		chain[float64, float64](b, "float64", kernels.TileChain[float64, float64], of(wide, 16, 2), of(wide, 16, 2), i)
		switch i {
		case 0:
			chain[dsl.TF32, float32](b, "tf32", kernels.TileChain[dsl.TF32, float32], of(64, 32, 4), of(wide, 32, 4), i)
		case 1:
			chain[dsl.F16, float32](b, "f16", kernels.TileChain[dsl.F16, float32], half, then, i)
			chain[int8, int32](b, "int8", kernels.TileChain[int8, int32], of(128, 128, 16), of(wide, 128, 16), i)
		}
	}
}

// chain adds a case whose first product has two tiles along its columns, the second one with an edge.
func chain[T, C dsl.Number](b *builder, name string, kernel any, c, then tile.Config, i int) {
	m, n, k, d := 2*int(c.M)-5, 2*int(c.N)-11, 20, int(then.N)-8*(i%2)
	x, y, z := make([]T, m*k), make([]T, n*k), make([]T, n*d)
	for _, s := range [][]T{x, y} {
		for i := range s {
			s[i] = dsl.Convert[T](float32(b.rng.IntN(3) - 1))
		}
	}
	for i := range z {
		z[i] = smallNumber[T](b)
	}
	b.add(fmt.Sprintf("TileChain/Tiles/%s/%dx%d/%dx%d", name, c.M, c.N, c.Down, c.Across), kernel, 2, int(c.Warps())*b.warp,
		make([]C, m*d), x, y, z, m, n, k, d, c, then)
	b.cases[len(b.cases)-1].Shared = (c.Shared() + int(then.Stages*then.K*then.N+c.M*c.N)) * int(unsafe.Sizeof(x[0]))
}

// attention is softmax(q·kᵀ)·v.
func (b *builder) attention() {
	half := tile.Config{M: 32, N: 64, K: 64, Down: 2, Across: 1, Stages: 2, Chunk: 8}
	then := half
	then.B, then.Stages = tile.AcrossK, 3
	single := tile.Config{M: 16, N: max(32, dsl.ConstInt(b.warp)), K: 32, Down: 1, Across: 1, Stages: 2, Chunk: 4}
	thenSingle := single
	thenSingle.B = tile.AcrossK
	double := tile.Config{M: 32, N: max(32, dsl.ConstInt(b.warp)), K: 16, Down: 2, Across: 1, Stages: 2, Chunk: 2}
	thenDouble := double
	thenDouble.B = tile.AcrossK
	// Weights are rounded to 2⁻⁹ of themselves, and products of weights and values to the type of the sums.
	attend[dsl.BF16, float32](b, "bf16", kernels.Attend[dsl.BF16, float32], half, then, 50, 150, 1.0/64)
	attend[dsl.F16, float32](b, "f16", kernels.Attend[dsl.F16, float32], half, then, 100, 70, 1.0/512)
	attend[dsl.TF32, float32](b, "tf32", kernels.Attend[dsl.TF32, float32], single, thenSingle, 30, 75, 1.0/512)
	attend[float64, float64](b, "float64", kernels.Attend[float64, float64], double, thenDouble, 40, 40, 0x1p-18)
}

// attend adds a case; near is its tolerance.
func attend[T dsl.Number, C dsl.Real](b *builder, name string, kernel any, c, then tile.Config, n, keys int, near float64) {
	d, dv := 40, int(then.N)-8
	draw := func(n int) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = smallNumber[T](b)
		}
		return out
	}
	b.add(fmt.Sprintf("Attend/Tiles/%s/%dx%d", name, n, keys), kernel, (n+int(c.M)-1)/int(c.M), int(c.Warps())*b.warp,
		make([]C, n*dv), make([]C, n), draw(n*d), draw(keys*d), draw(keys*dv), n, keys, d, dv, C(0.25), C(math.Inf(-1)), c, then)
	last := &b.cases[len(b.cases)-1]
	last.Near = []Near{{Abs: near}, {Abs: near}}
	var t T
	last.Shared = (c.Shared() + int(then.Stages*then.K*then.N+c.M*c.N)) * int(unsafe.Sizeof(t))
}
