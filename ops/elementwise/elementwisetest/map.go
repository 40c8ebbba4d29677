package elementwisetest

import (
	"embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/opstest"
)

//go:embed map.go
var source embed.FS

var _ = dsl.Source(source)

// The functions that are mapped. Products are rounded before sums, on the host as on the
// device.

func map1(a float32) float32                   { return float32(a*a) - 1 }
func map2(a float32, n int32) float32          { return a - float32(n) }
func map3(a, b float32, n uint8) float32       { return max(a, b) + float32(n) }
func map4(a, b, c, d float32) float32          { return float32(a*b) - float32(c*d) }
func holds2(a float32, n int64) bool           { return a < 0 && n > 0 }
func slope1(a float32) float32                 { return a + a }
func slope2(a float32, n int32) (d, e float32) { return a + 1, float32(n) }
func slope4(a, b, c, d float32) (p, q, r, s float32) {
	return b, a, -d, -c
}

// Map tests functions of programs. Types of fewer bits than float32 take its place.
func Map(t *testing.T, b *opstest.Bench) {
	small := []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.F8E4M3, dtype.F8E5M2}
	f := func(x dtype.Scalar) float32 { return float32(x.Float()) }
	for k := range opstest.Shapes {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			d := small[k%len(small)]
			num := func(x float32) dtype.Scalar { return dtype.FromFloat(d, float64(x)) }
			mapOf(t, b, k, map1, d, func(x []dtype.Scalar) dtype.Scalar { return num(map1(f(x[0]))) }, d)
			mapOf(t, b, k, map2, d, func(x []dtype.Scalar) dtype.Scalar { return num(map2(f(x[0]), int32(x[1].Int()))) }, d, dtype.I32)
			mapOf(t, b, k, map3, d, func(x []dtype.Scalar) dtype.Scalar { return num(map3(f(x[0]), f(x[1]), uint8(x[2].Int()))) }, d, d, dtype.U8)
			mapOf(t, b, k, map4, d, func(x []dtype.Scalar) dtype.Scalar { return num(map4(f(x[0]), f(x[1]), f(x[2]), f(x[3]))) }, d, d, d, d)
			mapOf(t, b, k, holds2, dtype.U8, func(x []dtype.Scalar) dtype.Scalar {
				if holds2(f(x[0]), x[1].Int()) {
					return dtype.One(dtype.U8)
				}
				return dtype.Zero(dtype.U8)
			}, d, dtype.I64)
			slopes(t, b, k, slope1, func(x []dtype.Scalar) []float32 { return []float32{slope1(f(x[0]))} }, d, d)
			slopes(t, b, k, slope2, func(x []dtype.Scalar) []float32 {
				p, q := slope2(f(x[0]), int32(x[1].Int()))
				return []float32{p, q}
			}, d, d, dtype.I32)
			slopes(t, b, k, slope4, func(x []dtype.Scalar) []float32 {
				p, q, r, s := slope4(f(x[0]), f(x[1]), f(x[2]), f(x[3]))
				return []float32{p, q, r, s}
			}, d, d, d, d, d)
		}, "%v/%v", small[k%len(small)], opstest.Shapes[k])
	}
	_, err := elementwiseops.MapOf(map2).Result(dtype.F32, dtype.F32)
	require.ErrorIs(t, err, elementwiseops.ErrFunction)
	_, err = elementwiseops.MapOf(map2).Result(dtype.F32)
	require.ErrorIs(t, err, elementwiseops.ErrFunction)
	_, err = elementwiseops.MapOf(func(string) string { return "" }).Result(dtype.F32)
	require.ErrorIs(t, err, elementwiseops.ErrFunction)
	got, err := elementwiseops.MapOf(map4).Result(dtype.F16, dtype.F16, dtype.BF16, dtype.F16)
	require.NoError(t, err)
	require.Equal(t, dtype.F32, got)
}

// operands makes one of each type, in shape k and in different layouts.
func operands(t *testing.T, b *opstest.Bench, k int, types []dtype.DType) (list []*opstest.Value, views []ops.View) {
	t.Helper()
	for i, d := range types {
		v := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(k+i)%len(opstest.Kinds)], opstest.Shapes[k]), func() dtype.Scalar { return b.Number(d) })
		list, views = append(list, v), append(views, v.View)
	}
	return list, views
}

// at returns element i of all operands.
func at(list []*opstest.Value, i int) []dtype.Scalar {
	out := make([]dtype.Scalar, len(list))
	for k, v := range list {
		out[k] = v.Want[i]
	}
	return out
}

func mapOf(t *testing.T, b *opstest.Bench, k int, f any, gives dtype.DType, want func([]dtype.Scalar) dtype.Scalar, types ...dtype.DType) {
	t.Helper()
	list, views := operands(t, b, k, types)
	m := elementwiseops.MapOf(f)
	got, err := m.Result(types...)
	require.NoError(t, err)
	require.Equal(t, gives, got)
	out := b.Result(t, gives, opstest.LayoutOf(t, opstest.Kinds[k%4], opstest.Shapes[k]))
	require.NoError(t, m.Run(b.Stream, out.View, views))
	for i, x := range b.Read(t, out) {
		require.NoError(t, opstest.Near(x, want(at(list, i)), 0), "%v", at(list, i))
	}
}

// slopes tests every derivative times a gradient, whose type comes first.
func slopes(t *testing.T, b *opstest.Bench, k int, f any, want func([]dtype.Scalar) []float32, types ...dtype.DType) {
	t.Helper()
	list, views := operands(t, b, k, types)
	for which := range len(types) - 1 {
		out := b.Result(t, types[0], opstest.LayoutOf(t, opstest.Kinds[(k+1)%4], opstest.Shapes[k]))
		require.NoError(t, elementwiseops.MapOf(f).Slope(b.Stream, out.View, views[0], views[1:], which))
		for i, got := range b.Read(t, out) {
			x := at(list, i)
			require.NoError(t, opstest.Near(got, dtype.FromFloat(types[0], float64(float32(x[0].Float())*want(x[1:])[which])), 0), "%v", x)
		}
	}
}
