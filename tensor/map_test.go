package tensor_test

import (
	"embed"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

//go:embed *_test.go
var source embed.FS

var _ = dsl.Source(source)

func mulAdd(a, b float32) float32 { return a*b + 1 }

func TestMap(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := tensor.From(d, []float32{10, 20, 30})
	square := tensor.Map(func(x float32) float32 { return x * x }, x.T())
	require.Equal(t, []int{3, 2}, []int(square.Shape()))
	require.Equal(t, []float32{1, 16, 4, 25, 9, 36}, list[float32](t, square))
	require.Equal(t, []float32{11, 41, 91, 41, 101, 181}, list[float32](t, tensor.Map2(mulAdd, x, y)))
	require.Equal(t, []float32{11, 41, 91, 41, 101, 181}, list[float32](t, tensor.Map2(func(a, b float32) float32 { return a*b + 1 }, x, y)))
	three := tensor.Map3(func(a, b, c float32) float32 { return dsl.Max(a, b) - c }, x, y.Narrow(0, 1, 1), x.Narrow(1, 2, 1))
	require.Equal(t, []float32{17, 17, 17, 14, 14, 14}, list[float32](t, three))
	four := tensor.Map4(func(a, b, c, d float32) float32 { return a + 10*b + 100*c + 1000*d }, x, x, x, x.Narrow(0, 1, 1))
	require.Equal(t, []float32{4111, 5222, 6333, 4444, 5555, 6666}, list[float32](t, four))
	require.Zero(t, tensor.Map2(mulAdd, x.Narrow(0, 0, 0), y).Count())
}

func TestMapTypes(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{0.5, 1.5, 2.5})
	n := tensor.From(d, []int32{3, -2, 1})
	mixed := tensor.Map2(func(a float32, k int32) float64 { return float64(a) * float64(k) }, x, n)
	require.Equal(t, []float64{1.5, -3, 2.5}, list[float64](t, mixed))
	require.Equal(t, []uint8{0, 1, 0}, list[uint8](t, tensor.Map(func(k int32) bool { return k < 0 }, n)))
	require.Equal(t, []uint8{1, 1, 0}, list[uint8](t, tensor.Map2(func(a, b float32) bool { return a < b }, x, tensor.Item(d, float32(2)))))
	require.Equal(t, []int64{4, -1, 2}, list[int64](t, tensor.Map(func(k int32) int64 { return int64(k) + 1 }, n)))
	require.Equal(t, []uint8{1, 0, 1}, list[uint8](t, tensor.Map4(func(a float32, k, l, m int32) bool { return k+l-m > 0 }, x, n, n, n)))
	require.Equal(t, []uint8{1, 0, 1}, list[uint8](t, tensor.Map3(func(a float32, k, l int32) bool { return k+l > 0 }, x, n, n)))
	for _, dt := range []tensor.DType{tensor.BF16, tensor.F16, tensor.F8E4M3, tensor.F8E5M2} {
		h := x.Cast(dt)
		y := tensor.Map2(mulAdd, h, h)
		require.NoError(t, y.Err())
		require.Equal(t, dt, y.DType())
		require.Equal(t, list[float32](t, x.Mul(x).AddScalar(1).Cast(dt).Cast(tensor.F32)), list[float32](t, y.Cast(tensor.F32)))
		require.Equal(t, tensor.F32, tensor.Map2(mulAdd, h, x).DType())
		require.Equal(t, dt, tensor.Map2(func(a float32, k int32) float32 { return a * float32(k) }, h, n).DType())
	}
	half := tensor.Map(func(a dsl.F16) dsl.F16 { return dsl.To[dsl.F16](dsl.F32(a) * 3) }, x.Cast(tensor.F16))
	require.Equal(t, []float32{1.5, 4.5, 7.5}, list[float32](t, half.Cast(tensor.F32)))
}

func TestMapErrors(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{0.5, 1.5, 2.5})
	err := tensor.Map2(mulAdd, x, x.Cast(tensor.I32)).Err()
	require.ErrorIs(t, err, tensor.ErrFunction)
	require.ErrorContains(t, err, "map: the function does not take the operands: operand 1 is of i32, and func(float32, float32) float32 takes f32 there: Cast converts a tensor (map_test.go:")
	require.ErrorIs(t, tensor.Map2(mulAdd, x, x.Narrow(0, 0, 2)).Err(), tensor.ErrBroadcast)
	require.ErrorIs(t, tensor.Map2(mulAdd, x, nil).Err(), tensor.ErrArgument)
	bias := float32(len(t.Name()))
	require.ErrorContains(t, tensor.Map(func(x float32) float32 { return x + bias }, x).Err(), "bias")
	require.ErrorContains(t, tensor.Map(func(x float32) float32 { fmt.Println(x); return x }, x).Err(), "fmt")
}

func TestMapGradients(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	w := tensor.NewVar(tensor.From(d, []float32{0.5, -1, 2}))
	x, y := v.Tensor(), w.Tensor()

	g, err := tensor.MapGrad(
		func(x float32) float32 { return x * x },
		func(x float32) float32 { return 2 * x }, x.T()).Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{2, 4, 6, 8, 10, 12}, list[float32](t, g.Of(x)))

	z := tensor.Map2Grad(func(a, b float32) float32 { return a * b }, func(a, b float32) (float32, float32) { return b, a }, x, y)
	g, err = z.MulScalar(2).Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{1, -2, 4, 1, -2, 4}, list[float32](t, g.Of(x)))
	require.Equal(t, []float32{10, 14, 18}, list[float32](t, g.Of(y)))

	k := tensor.From(d, []int32{2, 3, 4})
	z3 := tensor.Map3Grad(func(a float32, k int32, b float32) float32 { return a*float32(k) - b },
		func(a float32, k int32, b float32) (float32, float32, float32) { return float32(k), a, -1 }, x, k, y)
	g, err = z3.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{2, 3, 4, 2, 3, 4}, list[float32](t, g.Of(x)))
	require.Equal(t, []float32{-2, -2, -2}, list[float32](t, g.Of(y)))

	z4 := tensor.Map4Grad(func(a, b, c, d float32) float32 { return a*b + c*d },
		func(a, b, c, d float32) (float32, float32, float32, float32) { return b, a, d, c }, x, y, x, x)
	g, err = z4.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{2.5, 3, 8, 8.5, 9, 14}, list[float32](t, g.Of(x)))
	require.Equal(t, []float32{5, 7, 9}, list[float32](t, g.Of(y)))

	h := tensor.NewVar(tensor.From(d, []float32{1, 2}).Cast(tensor.BF16))
	g, err = tensor.MapGrad(
		func(x float32) float32 { return dsl.Sin(x) },
		func(x float32) float32 { return dsl.Cos(x) }, h.Tensor()).Backward()
	require.NoError(t, err)
	require.Equal(t, tensor.BF16, g.Of(h.Tensor()).DType())
	require.InDelta(t, math.Cos(2), list[float32](t, g.Of(h.Tensor()).Cast(tensor.F32))[1], 0.002)

	_, err = tensor.Map2(mulAdd, x, y).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	require.ErrorContains(t, err, "map")
	require.False(t, tensor.Map2(mulAdd, x.NoGrad(), y).RequiresGrad())
}

// BenchmarkSmallMap is the host's time of a function on 1024 elements, with its result.
func BenchmarkSmallMap(b *testing.B) {
	d, err := tensor.Open("auto")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	x := tensor.Ones(d, tensor.F32, 1024)
	b.ReportAllocs()
	for b.Loop() {
		y := tensor.Map2(mulAdd, x, x)
		if y.Err() != nil {
			b.Fatal(y.Err())
		}
		_ = y.Free()
	}
}

func ExampleMap2() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.From(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := tensor.From(dev, []float32{10, 20, 30})
	fmt.Println(tensor.Map2(func(a, b float32) float32 { return a*b + 1 }, x, y))
	// Output:
	// [[ 11.,  41.,  91.],
	//  [ 41., 101., 181.]]
	// Tensor[[2, 3], f32]
}

func ExampleMapGrad() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	v := tensor.NewVar(tensor.From(dev, []float32{-1, 2}))
	cube := func(x float32) float32 { return x * x * x }
	y := tensor.MapGrad(cube, func(x float32) float32 { return 3 * x * x }, v.Tensor())
	grads, err := y.Backward()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grads.Of(v.Tensor()))
	// Output:
	// [ 3., 12.]
	// Tensor[[2], f32]
}
