package matrix

import (
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Units is the table. Of several rows for a kind and target the first counts.
var Units = []Unit{
	warpgroup(mma("m16n8k16.f32.f16.f16.f32", ir.MatrixF16, 2)),
	warpgroup(mma("m16n8k16.f32.bf16.bf16.f32", ir.MatrixBF16, 2)),
	mma("m16n8k16.f32.f16.f16.f32", ir.MatrixF16, 2),
	mma("m16n8k16.f32.bf16.bf16.f32", ir.MatrixBF16, 2),
	warpgroup(mma("m16n8k8.f32.tf32.tf32.f32", ir.MatrixTF32, 4)),
	mma("m16n8k8.f32.tf32.tf32.f32", ir.MatrixTF32, 4),
	warpgroup(mma("m16n8k32.f32.e4m3.e4m3.f32", ir.MatrixE4M3, 1)),
	warpgroup(mma("m16n8k32.f32.e5m2.e5m2.f32", ir.MatrixE5M2, 1)),
	warpgroup(mma("m16n8k32.s32.s8.s8.s32", ir.MatrixI8, 1)),
	warpgroup(mma("m16n8k32.s32.u8.u8.s32", ir.MatrixU8, 1)),
	since(89, mma("m16n8k32.f32.e4m3.e4m3.f32", ir.MatrixE4M3, 1)),
	since(89, mma("m16n8k32.f32.e5m2.e5m2.f32", ir.MatrixE5M2, 1)),
	mma("m16n8k32.s32.s8.s8.s32", ir.MatrixI8, 1),
	mma("m16n8k32.s32.u8.u8.s32", ir.MatrixU8, 1),
	{
		// PTX ISA, "Matrix Fragments for mma.m16n8k4, mma.m16n8k8, and mma.m16n8k16 with .f64".
		Name: "m16n8k8.f64.f64.f64.f64", Kind: ir.MatrixF64, M: 16, N: 8, K: 8,
		A: Layout{Lane: quads(1, across), Reg: []Coord{{8, 0}, {0, 4}}},
		B: Layout{Lane: quads(1, down), Reg: []Coord{{4, 0}}},
		C: sums, has: nvidia(90),
	},
	{
		// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64 floating point type".
		Name: "m8n8k4.f64.f64.f64.f64", Kind: ir.MatrixF64, M: 8, N: 8, K: 4,
		A: Layout{Lane: quads(1, across)},
		B: Layout{Lane: quads(1, down)},
		C: Layout{Lane: quads(2, across), Reg: []Coord{{0, 1}}}, has: nvidia(80),
	},

	// AMD Instinct MI200 and MI300 (CDNA 2 and 3) instruction set architecture, "Matrix Arithmetic
	// Instructions"; the sums of f64 are distributed in another way.
	amd("mfma_f32_16x16x16f16", ir.MatrixF16, bits{4, 8}, bits{1, 2}, bits{4, 8}, bits{1, 2}, cdna),
	amd("mfma_f32_16x16x16bf16_1k", ir.MatrixBF16, bits{4, 8}, bits{1, 2}, bits{4, 8}, bits{1, 2}, cdna),
	amd("mfma_f32_16x16x8_xf32", ir.MatrixTF32, bits{2, 4}, bits{1}, bits{4, 8}, bits{1, 2}, hip("gfx942")),
	amd("mfma_f64_16x16x4f64", ir.MatrixF64, bits{1, 2}, nil, bits{1, 2}, bits{4, 8}, cdna),
	amd("mfma_i32_16x16x16i8", ir.MatrixI8, bits{4, 8}, bits{1, 2}, bits{4, 8}, bits{1, 2}, hip("gfx90a")),
	amd("mfma_i32_16x16x32_i8", ir.MatrixI8, bits{8, 16}, bits{1, 2, 4}, bits{4, 8}, bits{1, 2}, cdna),

	// AMD RDNA 3 instruction set architecture, "Wave Matrix Multiply Accumulate (WMMA)": the upper
	// half of the lanes has the same elements of the factors as the lower one.
	amd("wmma_f32_16x16x16_f16_w32", ir.MatrixF16, bits{0}, bits{1, 2, 4, 8}, bits{1}, bits{2, 4, 8}, hip("gfx11")),
	amd("wmma_f32_16x16x16_bf16_w32", ir.MatrixBF16, bits{0}, bits{1, 2, 4, 8}, bits{1}, bits{2, 4, 8}, hip("gfx11")),
	amd("wmma_i32_16x16x16_iu8_w32", ir.MatrixI8, bits{0}, bits{1, 2, 4, 8}, bits{1}, bits{2, 4, 8}, hip("gfx11")),
	amd("wmma_i32_16x16x16_iu8_w32", ir.MatrixU8, bits{0}, bits{1, 2, 4, 8}, bits{1}, bits{2, 4, 8}, hip("gfx11")),

	// AMD RDNA 4 instruction set architecture, the same section. There bit 4 of the lane counts 4
	// along k, and bit 2 of the element 8. They are exchanged here, in both factors, which adds the
	// same products, so that the elements of a lane are contiguous.
	amd("wmma_f32_16x16x16_f16_w32_gfx12", ir.MatrixF16, bits{8}, bits{1, 2, 4}, bits{8}, bits{1, 2, 4}, hip("gfx12")),
	amd("wmma_f32_16x16x16_bf16_w32_gfx12", ir.MatrixBF16, bits{8}, bits{1, 2, 4}, bits{8}, bits{1, 2, 4}, hip("gfx12")),
	amd("wmma_i32_16x16x16_iu8_w32_gfx12", ir.MatrixI8, bits{8}, bits{1, 2, 4}, bits{8}, bits{1, 2, 4}, hip("gfx12")),
	amd("wmma_i32_16x16x16_iu8_w32_gfx12", ir.MatrixU8, bits{8}, bits{1, 2, 4}, bits{8}, bits{1, 2, 4}, hip("gfx12")),

	// Of float the whole fraction counts, not 10 bits of it.
	simdgroup("multiply_simdgroup_half8x8", ir.MatrixF16),
	simdgroup("multiply_simdgroup_bfloat8x8", ir.MatrixBF16),
	simdgroup("multiply_simdgroup_float8x8", ir.MatrixTF32),
}

// simdgroup is a matrix of 8 by 8 of Metal, factors and sums alike. Apple says that a lane has two
// elements of it (Metal Shading Language Specification, "SIMD-Group Matrix Data Types") and not
// which: they are those that MLX relies on (BaseMMAFrag in mlx/backend/metal/kernels/steel), two
// neighbours in a row.
func simdgroup(name string, kind ir.MatrixKind) Unit {
	l := Layout{Lane: []Coord{{0, 2}, {1, 0}, {2, 0}, {0, 4}, {4, 0}}, Reg: []Coord{{0, 1}}}
	return Unit{Name: name, Kind: kind, M: 8, N: 8, K: 8, A: l, B: l, C: l, has: apple}
}

// apple is the devices whose language is 3.1 or later: the driver gives an earlier one to those
// without such matrices, and numbers of type bfloat came with it.
func apple(t target.Target) bool { return t.Kind == target.MSL && t.Version >= 31 }

// bits is what the bits of a number contribute to a row or column, the lowest first.
type bits []int

// amd is an instruction of AMD's devices for sums of 16 by 16, named as its builtin function. The
// lowest four bits of a lane are the row of the first factor and the column of the second one, the
// other bits and those of the element are k. Of the sums the lowest four are the column, and the
// others the row. The factors are swapped: the sums of a lane are in a row then, as those of other
// vendors are, and adjacent ones can be stored together.
func amd(name string, kind ir.MatrixKind, laneK, elemK, laneCol, elemCol bits, has func(target.Target) bool) Unit {
	sixteen := bits{1, 2, 4, 8}
	k := 1
	for _, n := range slices.Concat(laneK, elemK) {
		k += n
	}
	return Unit{
		Name: name, Kind: kind, M: 16, N: 16, K: k, Swapped: true, has: has,
		A: Layout{Lane: slices.Concat(sixteen.along(down), laneK.along(across)), Reg: elemK.along(across)},
		B: Layout{Lane: slices.Concat(sixteen.along(across), laneK.along(down)), Reg: elemK.along(down)},
		C: Layout{Lane: slices.Concat(sixteen.along(down), laneCol.along(across)), Reg: elemCol.along(across)},
	}
}

// along makes rows or columns of the contributions.
func (b bits) along(way int) (out []Coord) {
	for _, n := range b {
		if way == down {
			out = append(out, Coord{Row: n})
		} else {
			out = append(out, Coord{Col: n})
		}
	}
	return out
}

// hip is the devices of AMD whose architecture begins with a name.
func hip(prefix string) func(target.Target) bool {
	return func(t target.Target) bool {
		return (t.Kind == target.HIP || t.Kind == target.LLVM) && strings.HasPrefix(t.Arch, prefix)
	}
}

// cdna is CDNA 2 and later; gfx908, which is CDNA, lacks the instructions for bf16 and f64.
func cdna(t target.Target) bool {
	return (t.Kind == target.HIP || t.Kind == target.LLVM) && slices.Contains([]string{"gfx90a", "gfx942", "gfx950"}, t.Arch)
}

// nvidia is the devices of a compute capability and later ones, by PTX, CUDA C++ or LLVM
// IR.
func nvidia(cc int) func(target.Target) bool {
	return func(t target.Target) bool {
		return slices.Contains([]string{target.PTX, target.CUDA, target.LLVM}, t.Kind) && t.CC >= cc
	}
}

// mma is the instruction mma.sync of PTX for elements of some bytes, with sums of four: a register
// has 4/bytes neighbours along k (PTX ISA, "Matrix Fragments for mma.m16n8k16", and those of
// m16n8k8 with .tf32 and m16n8k32 with integers).
func mma(name string, k ir.MatrixKind, bytes int) Unit {
	n := 4 / bytes
	a, b := Layout{Lane: quads(n, across)}, Layout{Lane: quads(n, down)}
	for i := 1; i < n; i *= 2 {
		a.Reg, b.Reg = append(a.Reg, Coord{0, i}), append(b.Reg, Coord{i, 0})
	}
	a.Reg = append(a.Reg, Coord{8, 0}, Coord{0, 4 * n})
	b.Reg = append(b.Reg, Coord{4 * n, 0})
	return Unit{Name: name, Kind: k, M: 16, N: 8, K: 8 * n, A: a, B: b, C: sums, LoadMatrix: true, Transposes: bytes == 2, has: nvidia(80)}
}

// since makes u a unit of devices of a compute capability and later ones.
func since(cc int, u Unit) Unit {
	u.has = nvidia(cc)
	return u
}

// warpgroup makes u a unit of devices that have the instruction wgmma besides, which only PTX is
// written with. Its sums are fragments
// of u for adjacent columns, and each warp of the warpgroup has the rows of one (PTX ISA, "Register
// Fragments and Shared Memory Matrix Layouts" of wgmma).
func warpgroup(u Unit) Unit {
	u.Warpgroup = 4
	u.has = func(t target.Target) bool { return t.Kind == target.PTX && t.Arch == "sm_90a" }
	return u
}

// sums is the layout of sums in instructions of 16 by 8.
var sums = Layout{Lane: quads(2, across), Reg: []Coord{{0, 1}, {8, 0}}}

const (
	across = iota // the lanes of four go along the columns of a row
	down          // along the rows of a column
)

// quads has the lanes in groups of four, n elements apart along one dimension, and a group for each
// index of the other.
func quads(n, way int) (lane []Coord) {
	for _, c := range []Coord{{0, n}, {0, 2 * n}, {1, 0}, {2, 0}, {4, 0}} {
		if way == down {
			c.Row, c.Col = c.Col, c.Row
		}
		lane = append(lane, c)
	}
	return lane
}
