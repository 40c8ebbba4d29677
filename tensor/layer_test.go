package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// TestLayer compares products with epilogues with steps of their own, in float64 and in BF16.
func TestLayer(t *testing.T) {
	d := open(t)
	draw := func(shape ...int) ten { return tensor.Randn(d, tensor.F64, 0, 1, shape...) }
	acts := map[tensor.Activation]func(ten) ten{
		tensor.NoActivation: func(x ten) ten { return x }, tensor.Relu: ten.Relu, tensor.Gelu: ten.Gelu, tensor.GeluErf: ten.GeluErf, tensor.Silu: ten.Silu,
		tensor.Sigmoid: ten.Sigmoid, tensor.Tanh: ten.Tanh, tensor.Mish: ten.Mish,
	}
	x, w, up, bias, residual := draw(2, 3, 4), draw(5, 4), draw(5, 4), draw(5), draw(3, 1)
	for act, of := range acts {
		z := x.MatMul(w.T()).MulScalar(0.5).Add(bias)
		want := of(z).Mul(x.MatMul(up.T())).Add(residual)
		for _, dt := range []tensor.DType{tensor.F64, tensor.BF16} {
			e := tensor.Epilogue{Scale: 0.5, Bias: bias.Cast(dt), Act: act, Up: up.Cast(dt), Residual: residual.Cast(dt)}
			got := x.Cast(dt).LinearWith(w.Cast(dt), e)
			require.NoError(t, got.Err())
			require.Equal(t, dt, got.DType())
			within := 1e-12
			if dt == tensor.BF16 {
				within = 0.3
			}
			require.InDeltaSlice(t, list[float64](t, want), list[float64](t, got.Cast(tensor.F64)), within, "activation %d", act)
		}
	}
	both := tensor.Cat(0, w, up) // as checkpoints have them
	swiglu := tensor.Epilogue{Act: tensor.Silu, Up: both.Narrow(0, 5, 5)}
	require.InDeltaSlice(t, list[float64](t, x.MatMul(w.T()).Silu().Mul(x.MatMul(up.T()))), list[float64](t, x.LinearWith(both.Narrow(0, 0, 5), swiglu)), 1e-12)
	require.Equal(t, tensor.Shape{5}, x.Get(0).Get(0).Linear(w, bias).Shape())
	require.Equal(t, tensor.Shape{2, 0, 5}, x.Narrow(1, 0, 0).Linear(w, bias).Shape())
	require.Equal(t, []float32{1, 2, 1, 2}, list[float32](t, count(d, 2, 0).Linear(count(d, 2, 0), count(d, 2).AddScalar(1))), "a product of no elements")
	ints := tensor.From(d, []int32{1, 2, 3, 4}, 2, 2)
	require.Equal(t, []int32{6, 11, 12, 25}, list[int32](t, ints.Linear(ints, tensor.From(d, []int32{1, 0}))))
}

// TestLayerErrors has operands that do not fit.
func TestLayerErrors(t *testing.T) {
	d := open(t)
	x, w := count(d, 3, 4), count(d, 5, 4)
	for _, c := range []struct {
		kind error
		text string
		of   ten
	}{
		{tensor.ErrShape, "[3, 4] and a weight of [4, 5]: 4 and 5 columns", x.Linear(w.T().Contiguous(), nil)},
		{tensor.ErrShape, "a bias of [3] for a weight of [5, 4]", x.Linear(w, count(d, 3))},
		{tensor.ErrShape, "weights of [5, 4] and [4, 4]", x.LinearWith(w, tensor.Epilogue{Up: count(d, 4, 4)})},
		{tensor.ErrBroadcast, "a residual: incompatible shapes for broadcasting: [5, 3] to [3, 5]", x.LinearWith(w, tensor.Epilogue{Residual: count(d, 5, 3)})},
		{tensor.ErrRank, "a weight of [4], want a matrix", x.Linear(count(d, 4), nil)},
		{tensor.ErrRank, "has no rows", tensor.Item(d, float32(1)).Linear(w, nil)},
		{tensor.ErrDTypeMismatch, "f32 and bf16", x.Linear(w, count(d, 5).Cast(tensor.BF16))},
		{tensor.ErrArgument, "activation 99", x.LinearWith(w, tensor.Epilogue{Act: 99})},
		{tensor.ErrDType, "gelu of i32", x.Cast(tensor.I32).LinearWith(w.Cast(tensor.I32), tensor.Epilogue{Act: tensor.Gelu})},
		{tensor.ErrDType, "scale of i32", x.Cast(tensor.I32).LinearWith(w.Cast(tensor.I32), tensor.Epilogue{Scale: 2})},
		{tensor.ErrShape, "linear:", tensor.NewVar(x).Tensor().LinearWith(w, tensor.Epilogue{Act: tensor.Silu, Up: count(d, 4, 4)})},
	} {
		require.ErrorIs(t, c.of.Err(), c.kind)
		require.ErrorContains(t, c.of.Err(), c.text)
	}
	failed := x.MatMul(x)
	require.ErrorIs(t, x.Linear(w, failed).Err(), tensor.ErrShape)
}
