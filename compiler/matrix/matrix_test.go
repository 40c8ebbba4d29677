package matrix

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Every element of an operand is held once, or by as many lanes as bits of the lane that contribute
// nothing make, and none is outside.
func TestLayoutsCover(t *testing.T) {
	for _, u := range Units {
		for _, o := range []struct {
			layout     Layout
			rows, cols int
		}{{u.A, u.M, u.K}, {u.B, u.K, u.N}, {u.C, u.M, u.N}} {
			held := map[Coord]int{}
			for lane := range o.layout.Lanes() {
				for i := range o.layout.Len() {
					r, c := o.layout.At(lane, i)
					require.Less(t, r, o.rows, u.Name)
					require.Less(t, c, o.cols, u.Name)
					held[Coord{r, c}]++
				}
			}
			require.Len(t, held, o.rows*o.cols, u.Name)
			copies := 1
			for _, c := range o.layout.Lane {
				if c == (Coord{}) {
					copies *= 2
				}
			}
			for at, n := range held {
				require.Equal(t, copies, n, "%s: %v", u.Name, at)
			}
		}
	}
}

// The formulas of the PTX ISA, for lane = 4·group + quad.
func TestLayoutsOfPTX(t *testing.T) {
	type at func(group, quad, i int) (row, col int)
	for name, want := range map[string][3]at{
		"m16n8k16.f32.bf16.bf16.f32": {
			func(g, q, i int) (int, int) { return g + 8*(i/2%2), 2*q + i%2 + 8*(i/4) },
			func(g, q, i int) (int, int) { return 2*q + i%2 + 8*(i/2), g },
			func(g, q, i int) (int, int) { return g + 8*(i/2), 2*q + i%2 },
		},
		"m16n8k8.f32.tf32.tf32.f32": {
			func(g, q, i int) (int, int) { return g + 8*(i%2), q + 4*(i/2) },
			func(g, q, i int) (int, int) { return q + 4*i, g },
			func(g, q, i int) (int, int) { return g + 8*(i/2), 2*q + i%2 },
		},
		"m16n8k8.f64.f64.f64.f64": {
			func(g, q, i int) (int, int) { return g + 8*(i%2), q + 4*(i/2) },
			func(g, q, i int) (int, int) { return q + 4*i, g },
			func(g, q, i int) (int, int) { return g + 8*(i/2), 2*q + i%2 },
		},
		"m8n8k4.f64.f64.f64.f64": {
			func(g, q, i int) (int, int) { return g, q },
			func(g, q, i int) (int, int) { return q, g },
			func(g, q, i int) (int, int) { return g, 2*q + i },
		},
	} {
		for _, u := range Units {
			for o, f := range want {
				l := u.Of(ir.MatrixOperand(o))
				for lane := 0; u.Name == name && lane < 32; lane++ {
					for i := range l.Len() {
						row, col := l.At(lane, i)
						r, c := f(lane/4, lane%4, i)
						require.Equal(t, Coord{r, c}, Coord{row, col}, "%s: operand %d, lane %d, element %d", name, o, lane, i)
					}
				}
			}
		}
	}
}

// The formulas of AMD's manuals, for lane = 16·group + l, of the factors and sums as the instruction
// has them. See the table for what differs of RDNA 4.
func TestLayoutsOfAMD(t *testing.T) {
	type at func(group, i int) int
	for name, want := range map[string][2]at{ // k, and the row of the sums
		"mfma_f32_16x16x16f16":             {func(g, i int) int { return 4*g + i }, func(g, i int) int { return 4*g + i }},
		"mfma_f32_16x16x16bf16_1k":         {func(g, i int) int { return 4*g + i }, func(g, i int) int { return 4*g + i }},
		"mfma_f32_16x16x8_xf32":            {func(g, i int) int { return 2*g + i }, func(g, i int) int { return 4*g + i }},
		"mfma_f64_16x16x4f64":              {func(g, i int) int { return g }, func(g, i int) int { return 4*i + g }},
		"mfma_i32_16x16x16i8":              {func(g, i int) int { return 4*g + i }, func(g, i int) int { return 4*g + i }},
		"mfma_i32_16x16x32_i8":             {func(g, i int) int { return 8*g + i }, func(g, i int) int { return 4*g + i }},
		"wmma_i32_16x16x16_iu8_w32":        {func(g, i int) int { return i }, func(g, i int) int { return 2*i + g }},
		"wmma_f32_16x16x16_f16_w32":        {func(g, i int) int { return i }, func(g, i int) int { return 2*i + g }},
		"wmma_i32_16x16x16_iu8_w32_gfx12":  {func(g, i int) int { return 8*g + i }, func(g, i int) int { return 8*g + i }},
		"wmma_f32_16x16x16_bf16_w32_gfx12": {func(g, i int) int { return 8*g + i }, func(g, i int) int { return 8*g + i }},
	} {
		found := false
		for _, u := range Units {
			for lane := 0; u.Name == name && lane < u.C.Lanes(); lane++ {
				found = true
				group, l := lane/16, lane%16
				for i := range u.A.Len() {
					row, k := u.A.At(lane, i)
					require.Equal(t, Coord{l, want[0](group, i)}, Coord{row, k}, "%s: A, lane %d, element %d", name, lane, i)
					k, col := u.B.At(lane, i)
					require.Equal(t, Coord{want[0](group, i), l}, Coord{k, col}, "%s: B, lane %d, element %d", name, lane, i)
				}
				for i := range u.C.Len() {
					col, row := u.C.At(lane, i) // transposed
					require.Equal(t, Coord{want[1](group, i), l}, Coord{row, col}, "%s: sums, lane %d, element %d", name, lane, i)
				}
			}
		}
		require.True(t, found, name)
	}
}

// Sums of a product are factor A of the next one where they are: for every unit that says so, the
// instruction's own definition gives the product of the sums and B. Lanes with sums of one row, and
// elements of one, are where the facts say.
func TestReuse(t *testing.T) {
	names := map[int][]string{}
	for _, u := range Units {
		across := u.Fact(ir.MatrixRowLanes)
		for lane := range u.C.Lanes() {
			first, _ := u.C.At(lane&^across, 0)
			for i := range u.C.Len() {
				row, _ := u.C.At(lane, i)
				start, _ := u.C.At(lane, i/u.C.run()*u.C.run())
				require.Equal(t, start, row, u.Name)
				require.Equal(t, i < u.C.run(), row == first, u.Name)
			}
		}
		way := u.Fact(ir.MatrixReuse)
		names[way] = append(names[way], u.Name)
		if way == 0 {
			require.Zero(t, u.Of(ir.MatrixBSums).Len()-1, u.Name)
			continue
		}
		reuse(t, &u, way == 2)
	}
	for _, name := range names[0] {
		require.Contains(t, name, "wmma") // RDNA 3, of which lanes have no elements of their own
	}
	require.Contains(t, names[1], "m16n8k8.f32.tf32.tf32.f32")
	require.Contains(t, names[2], "m16n8k16.f32.bf16.bf16.f32")
}

// reuse compares the columns of sums that are elements of A with the rows of B that they meet.
func reuse(t *testing.T, u *Unit, same bool) {
	wide, b := max(u.N, u.K), u.Of(ir.MatrixBSums)
	rows := u.C.Len() / u.C.run()
	perA := u.A.Len() / rows // elements of a row
	covered := map[int]bool{}
	for s := range wide / u.K {
		for lane := range u.A.Lanes() {
			for e := range u.A.Len() {
				// The element of A as package tile takes it from the sums.
				j := s*perA + e%u.A.run() + e/(u.A.run()*rows)*u.A.run()
				r := e / u.A.run() % rows
				row, col := u.C.At(lane, r*u.C.run()+j%u.C.run())
				col += j / u.C.run() * u.N
				wantRow, k := u.A.At(lane, e)
				require.Equal(t, wantRow, row, u.Name)
				// Lanes with that place along k of B have the row of B that the sums' column is for.
				for other := range u.B.Lanes() {
					for i := range u.B.Len() {
						if at, n := u.B.At(other, i); at == k {
							got, ofB := b.At(other, s*u.B.Len()+i)
							require.Equal(t, []int{col, n}, []int{got, ofB}, "%s: lane %d, element %d", u.Name, other, i)
							if same {
								require.Equal(t, s*u.K+at, got, u.Name)
							}
							covered[got] = true
						}
					}
				}
			}
		}
	}
	require.Len(t, covered, wide, u.Name)
}

func TestFor(t *testing.T) {
	name := func(text string, k ir.MatrixKind) string {
		tgt, err := target.Parse(text)
		require.NoError(t, err)
		if u := For(tgt, k); u != nil {
			return u.Name
		}
		return ""
	}
	require.Equal(t, "m16n8k16.f32.bf16.bf16.f32", name("ptx:sm_80", ir.MatrixBF16))
	require.Equal(t, "m8n8k4.f64.f64.f64.f64", name("ptx:sm_80", ir.MatrixF64))
	require.Equal(t, "m16n8k8.f64.f64.f64.f64", name("ptx:sm_90", ir.MatrixF64))
	require.Equal(t, "m16n8k16.f32.f16.f16.f32", name("cuda:sm_90a", ir.MatrixF16))
	require.Equal(t, "m16n8k32.s32.u8.u8.s32", name("cuda:sm_80", ir.MatrixU8))
	require.Equal(t, "m16n8k32.f32.e4m3.e4m3.f32", name("llvm:sm_90a", ir.MatrixE4M3))
	require.Equal(t, "mfma_f32_16x16x8_xf32", name("llvm:gfx942", ir.MatrixTF32))
	require.Equal(t, "mfma_f32_16x16x16f16", name("hip:gfx90a", ir.MatrixF16))
	require.Equal(t, "mfma_f64_16x16x4f64", name("hip:gfx942", ir.MatrixF64))
	require.Equal(t, "wmma_f32_16x16x16_bf16_w32", name("hip:gfx1151", ir.MatrixBF16))
	require.Equal(t, "wmma_f32_16x16x16_bf16_w32_gfx12", name("hip:gfx1201", ir.MatrixBF16))
	require.Equal(t, "mfma_i32_16x16x16i8", name("hip:gfx90a", ir.MatrixI8))
	require.Equal(t, "mfma_i32_16x16x32_i8", name("hip:gfx942", ir.MatrixI8))
	require.Equal(t, "wmma_i32_16x16x16_iu8_w32", name("hip:gfx1100", ir.MatrixU8))
	require.Equal(t, "wmma_i32_16x16x16_iu8_w32_gfx12", name("hip:gfx1201", ir.MatrixI8))
	require.Equal(t, "wmma_i32_16x16x16_iu8_w32_gfx12", name("hip:gfx1201", ir.MatrixU8))
	require.Empty(t, name("hip:gfx942", ir.MatrixU8)) // MFMA of bytes has signs
	require.Empty(t, name("hip:gfx1100", ir.MatrixF64))
	require.Equal(t, "multiply_simdgroup_bfloat8x8", name("msl:3.1", ir.MatrixBF16))
	for _, other := range []string{"ptx:sm_75", "cpu", "cpu:x86-64-v4", "hip:gfx908", "hip:gfx1030", "msl:3.0", "cuda:sm_75", "llvm:sm_75", "llvm:gfx1030"} {
		require.Empty(t, name(other, ir.MatrixF16), other)
	}
}

func TestFacts(t *testing.T) {
	facts := func(u *Unit) (out []int) {
		for f := range ir.NumMatrixFacts {
			out = append(out, u.Fact(f))
		}
		return out
	}
	of := func(text string, k ir.MatrixKind) []int {
		tgt, err := target.Parse(text)
		require.NoError(t, err)
		return facts(For(tgt, k))
	}
	require.Equal(t, make([]int, ir.NumMatrixFacts), facts(nil))
	require.Equal(t, []int{16, 8, 16, 8, 4, 4, 1, 1, 4, 2, 2, 1, 2, 2, 3, 2, 0}, of("ptx:sm_90a", ir.MatrixBF16))
	require.Equal(t, []int{16, 8, 16, 8, 4, 4, 1, 1, 0, 2, 2, 1, 2, 2, 3, 2, 0}, of("cuda:sm_90a", ir.MatrixBF16))
	require.Equal(t, []int{16, 16, 16, 4, 4, 4, 0, 0, 0, 4, 4, 1, 4, 4, 48, 2, 0}, of("hip:gfx90a", ir.MatrixBF16))
	require.Equal(t, []int{16, 16, 4, 1, 1, 4, 0, 0, 0, 1, 1, 4, 1, 4, 48, 2, 0}, of("hip:gfx90a", ir.MatrixF64))
	require.Equal(t, []int{16, 16, 16, 16, 16, 8, 0, 0, 0, 16, 16, 2, 16, 8, 16, 0, 0}, of("hip:gfx1100", ir.MatrixF16))
	require.Equal(t, []int{16, 16, 16, 8, 8, 8, 0, 0, 0, 8, 8, 1, 8, 8, 16, 2, 0}, of("hip:gfx1201", ir.MatrixF16))
	require.Equal(t, []int{8, 8, 8, 2, 2, 2, 0, 0, 0, 2, 1, 1, 2, 2, 9, 2, 0}, of("msl:3.2", ir.MatrixF16))
	for _, u := range Units {
		require.Zero(t, u.C.Reg[0].Row, "%s: even sums and the next ones are in a row", u.Name)
	}
}

// Packed factors are multiplied on CPUs with vectors of 16 lanes, where the code asks when it is loaded.
func TestPacked(t *testing.T) {
	for text, want := range map[string]bool{"cpu:x86-64-v4": true, "cpu:x86-64-v3": false, "cpu": false, "cpu:warp16": false, "ptx:sm_90a": false} {
		tgt, err := target.Parse(text)
		require.NoError(t, err)
		for k := range ir.NumMatrixKinds {
			kind := k == ir.MatrixBF16 || k == ir.MatrixI8 || k == ir.MatrixU8
			require.Equal(t, want && kind, Packed(tgt, k), "%s, kind %d", text, k)
		}
	}
}

// Package tile converts sums in registers where two units agree in some facts: those have the same
// layout of sums.
func TestSameSums(t *testing.T) {
	facts := []ir.MatrixFact{ir.MatrixM, ir.MatrixN, ir.MatrixNext, ir.MatrixRunC, ir.MatrixRowLanes}
	same, other := 0, 0
	for _, u := range Units {
		for _, v := range Units {
			if slices.ContainsFunc(facts, func(f ir.MatrixFact) bool { return u.Fact(f) != v.Fact(f) }) {
				other++
				continue
			}
			same++
			require.Equal(t, u.C, v.C, "%s, %s", u.Name, v.Name)
		}
	}
	require.NotZero(t, same)
	require.NotZero(t, other)
}
