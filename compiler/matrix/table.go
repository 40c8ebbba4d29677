package matrix

import (
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
	{
		// PTX ISA, "Matrix Fragments for mma.m16n8k4, mma.m16n8k8, and mma.m16n8k16 with .f64".
		Name: "m16n8k8.f64.f64.f64.f64", Kind: ir.MatrixF64, M: 16, N: 8, K: 8,
		A: Layout{Lane: quads(1, across), Reg: []Coord{{8, 0}, {0, 4}}},
		B: Layout{Lane: quads(1, down), Reg: []Coord{{4, 0}}},
		C: sums, has: ptx(90),
	},
	{
		// PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64 floating point type".
		Name: "m8n8k4.f64.f64.f64.f64", Kind: ir.MatrixF64, M: 8, N: 8, K: 4,
		A: Layout{Lane: quads(1, across)},
		B: Layout{Lane: quads(1, down)},
		C: Layout{Lane: quads(2, across), Reg: []Coord{{0, 1}}}, has: ptx(80),
	},
}

func ptx(cc int) func(target.Target) bool {
	return func(t target.Target) bool { return t.Kind == target.PTX && t.CC >= cc }
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
	return Unit{Name: name, Kind: k, M: 16, N: 8, K: 8 * n, A: a, B: b, C: sums, LoadMatrix: true, Transposes: bytes == 2, has: ptx(80)}
}

// warpgroup makes u a unit of devices that have the instruction wgmma besides. Its sums are fragments
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
