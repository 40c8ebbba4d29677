package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/analysis"
)

// TestLanes has the last value of a kernel, and how it differs between the 16 lanes of a vector
// that threads along x lie in.
func TestLanes(t *testing.T) {
	// The number of a parameter may be that of bits to shift by, which it does not stand for.
	const head = `kernel @k(%0: ptr<global,f32>, %1: i64, %2: i64, %3: i64, %4: i64, %5: u32) args(x slice f32 "[]float32", a scalar i64 "int", b scalar i64 "int", c scalar i64 "int", d scalar u32 "uint32") {
b0:
  %6 = thread 0 : i64
  %7 = const 3 : i64
  %8 = const 4 : u32
  %9 = const 3 : u32
  %10 = const 15 : i64
  %11 = const 7 : i64
`
	vary := analysis.Vary
	uniform := analysis.Shape{Kind: analysis.UniformLanes}
	affine := func(step int64) analysis.Shape { return analysis.Shape{Kind: analysis.AffineLanes, Step: step} }
	tests := []struct {
		name, body string
		want       analysis.Shape
	}{
		{"thread", "%12 = add %6, %2 : i64", affine(1)},
		{"twice the thread", "%12 = add %6, %6 : i64", affine(2)},
		{"product", "%12 = mul %6, %7 : i64", affine(3)},
		{"product with a parameter", "%12 = mul %6, %2 : i64", vary},
		{"address", "%12 = offset %0, %6 : ptr<global,f32>", affine(4)},
		{"unsigned", "%12 = convert %6 : u64\n %13 = add %12, %12 : u64", affine(2)},
		{"32 bits", "%12 = convert %6 : i32", vary},
		{"extended", "%12 = convert %6 : i32\n %13 = convert %12 : i64", vary},
		{"quotient by the width", "%12 = shr %6, %8 : i64", uniform},
		{"quotient by less", "%12 = shr %6, %9 : i64", vary},
		{"quotient by a parameter", "%12 = shr %6, %5 : i64", vary},
		{"remainder by the width", "%12 = and %6, %10 : i64", affine(1)},
		{"remainder by less", "%12 = and %6, %11 : i64", vary},
		{"remainder by a parameter", "%12 = and %6, %2 : i64", vary},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := parse(t, head+"  "+tt.body+"\n  ret\n}\n").Funcs[0]
			g, err := analysis.NewLayout(f)
			require.NoError(t, err)
			list := f.Blocks[0].Instrs
			have := analysis.LanesOf(g, false, 16).Of(list[len(list)-1])
			require.Equal(t, tt.want, analysis.Shape{Kind: have.Kind, Step: have.Step})
		})
	}

	g, err := analysis.NewLayout(parse(t, head+"  %12 = add %6, %7 : i64\n  ret\n}\n").Funcs[0])
	require.NoError(t, err)
	lanes := analysis.LanesOf(g, true, 16)
	require.Equal(t, vary, lanes.Of(g.Blocks[0].Block.Instrs[0]), "threads lie in lanes by a table")
}
