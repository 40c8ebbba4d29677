package matmultest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
)

// scaledTypes are those of factors with scales, and of results.
var scaledTypes = []struct{ factors, out dtype.DType }{
	{dtype.F8E4M3, dtype.BF16}, {dtype.F8E5M2, dtype.F32}, {dtype.I8, dtype.F32}, {dtype.U8, dtype.F16}, {dtype.F8E4M3, dtype.F8E4M3},
}

// scaleShapes are what m and n, and places along k, are divided by: 0 is one scale for all.
var scaleShapes = [][3]int{{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}, {1, 128, 128}, {128, 128, 128}, {1, 1, 128}, {0, 0, 128}}

// Scaled tests products of factors with scales.
func Scaled(t *testing.T, b *opstest.Bench) {
	sizes := [][3]int{{33, 300, 40}, {130, 128, 140}, {5, 257, 260}, {140, 64, 3}, {1, 1, 1}, {0, 5, 3}, {3, 0, 5}, {64, 384, 128}}
	for _, c := range scaledTypes {
		if !b.Has(c.factors) || !b.Has(c.out) || !b.Has(dtype.F32) {
			continue
		}
		for i, sc := range scaleShapes {
			if c.factors.IsInt() && sc[2] != 0 {
				continue
			}
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				scaled(t, b, c.factors, c.out, sizes[(i+int(c.factors))%len(sizes)], sc, b.Kind(), "")
				for _, way := range matmulops.ScaledStrategies() {
					if opstest.Choice(4, c, sc, way) == 0 {
						scaled(t, b, c.factors, c.out, sizes[b.Rand.IntN(4)], sc, b.Kind(), way)
					}
				}
			}, "%v/%v/%v", c.factors, c.out, sc)
		}
	}
	randomScaled(t, b)
	t.Run("Errors", func(t *testing.T) { scaledErrors(t, b) })
}

// scaleGroups is how many scales there are for n with one for each so many.
func scaleGroups(n, each int) int {
	if each == 0 {
		return 1
	}
	return (n + each - 1) / each
}

// scaled tests one product of some size, (m, k, n), with scales as sc says, operands that lie as kind
// says, and in some way. It reports whether the device has that.
func scaled(t *testing.T, b *opstest.Bench, d, o dtype.DType, size, sc [3]int, kind int, way string) (has bool) {
	t.Helper()
	m, k, n := size[0], size[1], size[2]
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	if d.IsInt() {
		draw = func() dtype.Scalar { return b.Number(d) }
	}
	scale := func() dtype.Scalar { return dtype.FromFloat(dtype.F32, float64(b.Rand.IntN(15)+1)/16) }
	lay := func(i int, s layout.Shape) layout.Layout {
		return opstest.LayoutOf(t, opstest.Kinds[(kind>>i)%len(opstest.Kinds)], s)
	}
	x, y := b.Value(t, d, lay(0, layout.Shape{m, k}), draw), b.Value(t, d, lay(1, layout.Shape{k, n}), draw)
	xs := b.Value(t, dtype.F32, lay(2, layout.Shape{scaleGroups(m, sc[0]), scaleGroups(k, sc[2])}), scale)
	ys := b.Value(t, dtype.F32, lay(3, layout.Shape{scaleGroups(k, sc[2]), scaleGroups(n, sc[1])}), scale)
	out := b.Output(t, o, layout.Shape{m, n}, kind)
	err := matmulops.Scaled(b.Stream, out.View, x.View, y.View, xs.View, ys.View, matmulops.Options{Strategy: way})
	if way != "" && errors.Is(err, jit.ErrUnsupported) {
		return false
	}
	if way != "" && err != nil && b.Device.Info().SharedPerBlock < 80<<10 {
		require.ErrorContains(t, err, "bytes of shared memory", way)
		return false
	}
	require.NoError(t, err, way)
	at := func(v *opstest.Value, columns, i, j, wide, long int) float64 {
		if wide == 0 {
			i, wide = 0, 1
		}
		if long == 0 {
			j, long = 0, 1
		}
		return v.Want[i/wide*columns+j/long].Float()
	}
	for i, got := range b.Read(t, out) {
		row, col, sum, bound := i/n, i%n, 0.0, 0.0
		for q := range k {
			v := x.Want[row*k+q].Float() * at(xs, scaleGroups(k, sc[2]), row, q, sc[0], sc[2]) *
				y.Want[q*n+col].Float() * at(ys, scaleGroups(n, sc[1]), q, col, sc[2], sc[1])
			sum, bound = sum+v, bound+math.Abs(v)
		}
		require.NoError(t, Within(got, dtype.FromFloat(o, sum), bound), "%v of %v, %v, scales %v, %q: row %d, column %d, sum %v", d, size, o, sc, way, row, col, sum)
	}
	return true
}

// scaledErrors are scales that do not fit.
func scaledErrors(t *testing.T, b *opstest.Bench) {
	run := func(d, o, s dtype.DType, of ...layout.Shape) error {
		v := func(d dtype.DType, s layout.Shape) ops.View { return b.RandomValue(t, d, s, 0).View }
		return matmulops.Scaled(b.Stream, v(o, layout.Shape{40, 50}), v(d, layout.Shape{40, 300}), v(d, layout.Shape{300, 50}), v(s, of[0]), v(s, of[1]), matmulops.Options{})
	}
	one := layout.Shape{1, 1}
	f8, f32 := dtype.F8E4M3, dtype.F32
	require.ErrorContains(t, run(f8, f32, f32, layout.Shape{41, 1}, one), "scaled product, lhs: shape mismatch: 41 scales across k for 40: want 1, 40 or 1")
	require.ErrorContains(t, run(f8, f32, f32, one, layout.Shape{2, 1}), "scaled product, rhs: shape mismatch: 2 scales along k for 300: want 1 or 3")
	require.ErrorIs(t, run(f8, dtype.F64, f32, one, one), ops.ErrDType)
	require.ErrorIs(t, run(dtype.BF16, f32, f32, one, one), ops.ErrDType)
	require.ErrorIs(t, run(f8, f32, dtype.F16, one, one), ops.ErrDType)
	require.ErrorIs(t, run(f8, f32, f32, layout.Shape{1}, one), layout.ErrRank)
	require.ErrorContains(t, run(dtype.I8, f32, f32, layout.Shape{1, 3}, one), "scales that differ along k, which are for floating-point elements")
	require.ErrorIs(t, func() error {
		v := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, layout.Shape(s), 0).View }
		return matmulops.Scaled(b.Stream, v(f32, 2, 2), v(f8, 2, 2), v(f8, 2, 2), v(f32, 1, 1), v(f32, 1, 1), matmulops.Options{Epilogue: matmulops.Epilogue{Bias: v(f32, 2)}})
	}(), jit.ErrUnsupported, fmt.Sprint(f8))
}
