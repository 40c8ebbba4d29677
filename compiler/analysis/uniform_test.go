package analysis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/stretchr/testify/require"
)

var levelNames = map[ir.Uniformity]string{ir.UniformGrid: "grid", ir.UniformBlock: "block", ir.UniformWarp: "warp", ir.Varying: "varying"}

// kernelHead declares values that the kernels below use: %0 x, %1 n, %2 thread,
// %3 warp, %4 zero, %5 one, %6 thread < n, %7 warp < n, %8 zero < n.
const kernelHead = `kernel @k(%0: ptr<global,i64>, %1: i64) args(x slice i64 "[]int") {
b0:
  %2 = thread 0 : i64
  %3 = warp : i64
  %4 = const 0 : i64
  %5 = const 1 : i64
  %6 = lt %2, %1 : bool
  %7 = lt %3, %1 : bool
  %8 = lt %4, %1 : bool
`

func TestCheckConvergence(t *testing.T) {
	tests := []struct {
		name string
		body string
		want []string // "op: have under condition"
	}{
		{"straight", "barrier\n ret\n", nil},
		{"uniform if", "br %8, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", nil},
		{"divergent if", "br %6, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", []string{"barrier: varying under thread"}},
		{"after divergent if", "br %6, b1, b2\nb1:\n store %0, %5\n jump b2\nb2:\n barrier\n ret\n", nil},
		{"both sides", "br %6, b1, b2\nb1:\n barrier\n jump b3\nb2:\n barrier\n jump b3\nb3:\n barrier\n ret\n",
			[]string{"barrier: varying under thread", "barrier: varying under thread"}},
		{"after early return", "br %6, b1, b2\nb1:\n barrier\n ret\nb2:\n ret\n", []string{"barrier: varying under thread"}},
		{"after uniform return", "br %8, b1, b2\nb1:\n barrier\n ret\nb2:\n ret\n", nil},
		{"warp branch, barrier", "br %7, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", []string{"barrier: warp under warp"}},
		{"warp branch, shuffle", "br %7, b1, b2\nb1:\n %9 = shfl.xor %2, %5 : i64\n store %0, %9\n jump b2\nb2:\n ret\n", nil},
		{"divergent shuffle", "br %6, b1, b2\nb1:\n %9 = shfl.xor %2, %5 : i64\n store %0, %9\n jump b2\nb2:\n ret\n",
			[]string{"shfl.xor: varying under thread"}},
		{"divergent vote", "br %6, b1, b2\nb1:\n %9 = any %7 : bool\n jump b2\nb2:\n ret\n", []string{"any: varying under thread"}},
		{"divergent warp barrier", "br %6, b1, b2\nb1:\n warpbarrier\n jump b2\nb2:\n ret\n", []string{"warpbarrier: varying under thread"}},
		{"uniform loop", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b3
b2:
  barrier
  %11 = add %9, %5 : i64
  jump b1(%11)
b3:
  barrier
  ret
`, nil},
		{"loop entered from both sides of a branch", `br %6, b1, b2(%4)
b1:
  jump b2(%4)
b2(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b3, b4
b3:
  barrier
  %11 = add %9, %5 : i64
  jump b2(%11)
b4:
  barrier
  ret
`, nil},
		{"loop entered from two ends of a divergent loop", `jump b1(%2)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b4(%4)
b2:
  %11 = load %0 : i64
  %12 = lt %9, %11 : bool
  br %12, b3, b4(%4)
b3:
  %13 = add %9, %5 : i64
  jump b1(%13)
b4(%14: i64):
  barrier
  %15 = add %14, %5 : i64
  %16 = lt %15, %1 : bool
  br %16, b4(%15), b5
b5:
  ret
`, nil},
		{"loop entered with a value of each side", `br %6, b1, b2(%4)
b1:
  jump b2(%5)
b2(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b3, b4
b3:
  barrier
  %11 = add %9, %5 : i64
  jump b2(%11)
b4:
  ret
`, []string{"barrier: varying under blockparam"}},
		{"grid stride loop", `jump b1(%2)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b3
b2:
  barrier
  %11 = add %9, %5 : i64
  jump b1(%11)
b3:
  barrier
  ret
`, []string{"barrier: varying under blockparam"}},
		{"before a varying exit", `jump b1(%2)
b1(%9: i64):
  barrier
  %10 = add %9, %5 : i64
  %11 = lt %10, %1 : bool
  br %11, b1(%10), b2
b2:
  ret
`, []string{"barrier: varying under add"}},
		{"uniform loop with varying break", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b4
b2:
  %11 = lt %9, %2 : bool
  br %11, b3, b4
b3:
  barrier
  %12 = add %9, %5 : i64
  jump b1(%12)
b4:
  barrier
  ret
`, []string{"barrier: varying under blockparam"}},
		{"uniform loop with varying return", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b4
b2:
  br %6, b3, b5
b3:
  %12 = add %9, %5 : i64
  jump b1(%12)
b4:
  barrier
  ret
b5:
  ret
`, []string{"barrier: varying under thread"}},
		{"after varying continue", `jump b1(%4)
b1(%9: i64):
  %10 = add %9, %5 : i64
  br %6, b1(%10), b2
b2:
  barrier
  br %8, b3, b1(%10)
b3:
  ret
`, []string{"barrier: varying under thread"}},
		{"continue meets in the post block", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b5
b2:
  br %6, b4, b3
b3:
  store %0, %5
  jump b4
b4:
  barrier
  %11 = add %9, %5 : i64
  jump b1(%11)
b5:
  ret
`, nil},
		{"divergent loop inside a uniform one", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2(%2), b5
b2(%11: i64):
  %12 = lt %11, %1 : bool
  br %12, b3, b4
b3:
  %13 = add %11, %5 : i64
  jump b2(%13)
b4:
  barrier
  %14 = add %9, %5 : i64
  jump b1(%14)
b5:
  barrier
  ret
`, nil},
		{"counter of a divergent loop used behind it", `jump b1(%4)
b1(%9: i64):
  %10 = add %9, %5 : i64
  %11 = load %0 : i64
  %12 = lt %10, %2 : bool
  br %12, b1(%10), b2
b2:
  %13 = lt %10, %1 : bool
  br %13, b3, b4
b3:
  barrier
  jump b4
b4:
  ret
`, []string{"barrier: varying under add"}},
		{"value passed out of a divergent loop", `jump b1(%4)
b1(%9: i64):
  %10 = add %9, %5 : i64
  %12 = lt %10, %2 : bool
  br %12, b1(%10), b2(%10)
b2(%14: i64):
  %13 = lt %14, %1 : bool
  br %13, b3, b4
b3:
  barrier
  jump b4
b4:
  ret
`, []string{"barrier: varying under blockparam"}},
		{"uniform counter inside a divergent branch", `br %6, b1(%4), b3
b1(%9: i64):
  %10 = add %9, %5 : i64
  %11 = lt %10, %1 : bool
  br %11, b1(%10), b2
b2:
  jump b3
b3:
  barrier
  ret
`, nil},
		{"joined value", `br %6, b1, b2
b1:
  jump b3(%4)
b2:
  jump b3(%5)
b3(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b4, b5
b4:
  barrier
  jump b5
b5:
  ret
`, []string{"barrier: varying under blockparam"}},
		{"values of two back edges", `jump b1(%4)
b1(%9: i64):
  %10 = lt %9, %1 : bool
  br %10, b2, b3
b2:
  barrier
  jump b4
b4:
  br %6, b1(%5), b1(%4)
b3:
  ret
`, []string{"barrier: varying under blockparam"}},
		{"two exits of a divergent loop", `jump b1(%4)
b1(%9: i64):
  %10 = add %9, %5 : i64
  %11 = lt %10, %1 : bool
  br %11, b2, b3(%4)
b2:
  br %6, b3(%5), b1(%10)
b3(%12: i64):
  %13 = lt %12, %1 : bool
  br %13, b4, b5
b4:
  barrier
  jump b5
b5:
  ret
`, []string{"barrier: varying under blockparam"}},
		{"edges of one branch", "br %6, b1(%4), b1(%5)\nb1(%9: i64):\n %10 = lt %9, %1 : bool\n br %10, b2, b3\nb2:\n barrier\n jump b3\nb3:\n ret\n",
			[]string{"barrier: varying under blockparam"}},
		{"uniform load", "%9 = load %0 : i64\n %10 = lt %9, %1 : bool\n br %10, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", nil},
		{"varying load", "%9 = offset %0, %2 : ptr<global,i64>\n %10 = load %9 : i64\n %11 = lt %10, %1 : bool\n br %11, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n",
			[]string{"barrier: varying under load"}},
		{"atomic", "%9 = atomic.add %0, %5 : i64\n %11 = lt %9, %1 : bool\n br %11, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n",
			[]string{"barrier: varying under atomic.add"}},
		{"broadcast is warp uniform", "%9 = shfl.idx %2, %4 : i64\n %11 = lt %9, %1 : bool\n br %11, b1, b2\nb1:\n warpbarrier\n barrier\n jump b2\nb2:\n ret\n",
			[]string{"barrier: warp under shfl.idx"}},
		{"shuffle of a uniform value", "%9 = shfl.up %1, %2 : i64\n %11 = lt %9, %1 : bool\n br %11, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", nil},
		{"ballot", "%9 = ballot %6 : u64\n %12 = const 0 : u64\n %11 = eq %9, %12 : bool\n br %11, b1, b2\nb1:\n warpbarrier\n barrier\n jump b2\nb2:\n ret\n",
			[]string{"barrier: warp under ballot"}},
		{"local object, uniform", "%9 = local : ptr<local,[4]i64>\n %10 = index %9, %4 : ptr<local,i64>\n store %10, %1\n %11 = load %10 : i64\n %12 = lt %11, %1 : bool\n br %12, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n", nil},
		{"local object, varying index", "%9 = local : ptr<local,[4]i64>\n %10 = index %9, %2 : ptr<local,i64>\n store %10, %1\n %11 = load %10 : i64\n %12 = lt %11, %1 : bool\n br %12, b1, b2\nb1:\n barrier\n jump b2\nb2:\n ret\n",
			[]string{"barrier: varying under load"}},
		{"local object, divergent store", "%9 = local : ptr<local,i64>\n zero %9\n br %6, b1, b2\nb1:\n store %9, %5\n jump b2\nb2:\n %11 = load %9 : i64\n %12 = lt %11, %1 : bool\n br %12, b3, b4\nb3:\n barrier\n jump b4\nb4:\n ret\n",
			[]string{"barrier: varying under load"}},
		{"escaped object", "%9 = local : ptr<local,i64>\n %13 = local : ptr<local,i64>\n store %9, %1\n %14 = select %8, %9, %13 : ptr<local,i64>\n %11 = load %14 : i64\n %12 = lt %11, %1 : bool\n br %12, b3, b4\nb3:\n barrier\n jump b4\nb4:\n ret\n",
			[]string{"barrier: varying under load"}},
		{"divergent branch before a back edge", "jump b1(%4, %4)\nb1(%9: i64, %10: i64):\n barrier\n %11 = add %9, %5 : i64\n %12 = lt %11, %1 : bool\n br %12, b2, b4\nb2:\n br %6, b3, b1(%11, %5)\nb3:\n store %0, %5\n jump b1(%11, %4)\nb4:\n ret\n", nil},
		{"value of a divergent branch before a back edge", "jump b1(%4, %4)\nb1(%9: i64, %10: i64):\n barrier\n %11 = add %9, %5 : i64\n %12 = lt %10, %1 : bool\n br %12, b2, b4\nb2:\n br %6, b3, b1(%11, %5)\nb3:\n store %0, %5\n jump b1(%11, %4)\nb4:\n ret\n",
			[]string{"barrier: varying under blockparam"}},
		// A thread that never comes is not a divergence that control flow shows.
		{"endless loop", "br %6, b1, b2\nb1:\n jump b1\nb2:\n barrier\n ret\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(t, kernelHead+"  "+tt.body+"}\n")
			var got []string
			for _, d := range analysis.CheckConvergence(m) {
				c := d.Cond
				for len(c.Args) > 0 && c.Op.Info().Rule != ir.RuleMem && c.Op != ir.OpAdd && c.Op.Info().Rule != ir.RuleShfl && c.Op.Info().Effect == 0 {
					c = c.Args[0]
				}
				require.Greater(t, d.Have, d.Need)
				require.NotEmpty(t, d.Why)
				require.Equal(t, analysis.Differs, d.Why[len(d.Why)-1].Kind)
				got = append(got, fmt.Sprintf("%s: %s under %s", d.Op.Op, levelNames[d.Have], c.Op))
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestUniformity(t *testing.T) {
	m := parse(t, kernelHead+`
  %9 = local : ptr<local,i64>
  br %6, b1(%4), b2
b1(%10: i64):
  %11 = add %10, %5 : i64
  %12 = lt %11, %1 : bool
  br %12, b1(%11), b2
b2:
  br %7, b3, b3
b3:
  ret
}

func @f(%0: i64) {
b0:
  %1 = add %0, %0 : i64
  ret
}`)
	u := analysis.Uniformity(m)
	f := m.Kernel()
	var got []string
	for _, b := range f.Blocks {
		got = append(got, fmt.Sprintf("b%d %s %s", b.ID, levelNames[u.Block(f, b)], levelNames[u.Branch(f, b)]))
		for _, v := range b.Params {
			got = append(got, levelNames[u.Value(f, v)])
		}
	}
	require.Equal(t, "b0 grid varying\nb1 varying grid\ngrid\nb2 grid warp\nb3 grid grid", strings.Join(got, "\n"))
	require.Equal(t, ir.Varying, u.Value(m.Func("f"), m.Func("f").Blocks[0].Instrs[0]))
}

// TestUniformProducts has quotients by 128 of products, where a warp is 32 threads of a row.
func TestUniformProducts(t *testing.T) {
	for product, want := range map[string]ir.Uniformity{
		"mul %2, %9":  ir.UniformWarp, // by 4
		"mul %9, %2":  ir.UniformWarp,
		"mul %2, %10": ir.Varying, // by 8
		"mul %2, %11": ir.Varying, // by 3
		"mul %2, %1":  ir.Varying,
	} {
		m := parse(t, kernelHead+`
  %9 = const 4 : i64
  %10 = const 8 : i64
  %11 = const 3 : i64
  %12 = const 128 : i64
  %13 = `+product+` : i64
  %14 = div %13, %12 : i64
  ret
}
`)
		m.Launch.Row = 32
		f := m.Kernel()
		list := f.Blocks[0].Instrs
		require.Equal(t, want, analysis.Uniformity(m).Value(f, list[len(list)-1]), product)
	}
}

func TestDivergencePosition(t *testing.T) {
	const text = `module "t"

kernel @k() args() {
b0:
  %0 = lane : i64
  %1 = const 3 : i64
  %2 = lt %0, %1 : bool !1
  br %2, b1, b2 TERM
b1:
  barrier !3
  jump b2
b2:
  ret
}
pos !1 "a.go" 1 1
pos !2 "a.go" 2 1
pos !3 "a.go" 3 1
`
	for term, line := range map[string]int{"!2": 2, "": 1} {
		m := parse(t, strings.Replace(text, " TERM", " "+term, 1))
		ds := analysis.CheckConvergence(m)
		require.Len(t, ds, 1)
		require.Equal(t, line, m.PosOf(ds[0].Branch).Line)
		require.Equal(t, 3, m.PosOf(ds[0].Op.Pos).Line)
	}
}

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse(text)
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	return m
}
