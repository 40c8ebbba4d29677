package matrix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Every element of an operand is held once, and none is outside.
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
			for at, n := range held {
				require.Equal(t, 1, n, "%s: %v", u.Name, at)
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
	for _, other := range []string{"ptx:sm_75", "cpu", "cpu:x86-64-v4", "hip:gfx942", "msl:3.1", "cuda:sm_90"} {
		require.Empty(t, name(other, ir.MatrixF16), other)
	}
}

func TestFacts(t *testing.T) {
	u := &Units[1]
	for f, want := range []int{16, 8, 16, 8, 4, 4, 1, 1, 4} {
		require.Equal(t, want, u.Fact(ir.MatrixFact(f)), "fact %d", f)
		require.Zero(t, (*Unit)(nil).Fact(ir.MatrixFact(f)))
	}
}
