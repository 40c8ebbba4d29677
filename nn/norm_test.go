package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// Norms of sums have the bits of an addition and a norm, over one dimension and over two, and the
// same gradients but for the order in which they are added up.
func TestForwardResidual(t *testing.T) {
	type norm interface {
		nn.Layer
		ForwardResidual(x, residual *tensor.Tensor) (y, sum *tensor.Tensor)
	}
	d := open(t)
	norms := map[string]func(shape ...int) norm{
		"layer norm": func(shape ...int) norm { return nn.NewLayerNorm(shape...) },
		"rms norm":   func(shape ...int) norm { return nn.NewRMSNorm(0, shape...) },
	}
	for name, make := range norms {
		for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.F16, tensor.BF16} {
			for _, shape := range [][]int{{64}, {40}, {6, 40}} {
				n := make(shape...)
				require.NoError(t, nn.Init(n, nn.On{Device: d, DType: dt}))
				x := tensor.NewVar(tensor.Randn(d, dt, 0, 1, 3, 6, shape[len(shape)-1])).Tensor()
				r := tensor.NewVar(tensor.Randn(d, dt, 0, 1, 3, 6, shape[len(shape)-1])).Tensor()
				y, sum := n.ForwardResidual(x, r)
				want := x.Add(r)
				require.True(t, equal(t, want, sum), "sum of %s %v of %s", name, shape, dt)
				require.True(t, equal(t, n.Forward(want), y), "%s %v of %s", name, shape, dt)
				if dt != tensor.F64 {
					continue
				}
				got, err := y.Sqr().Add(sum).Backward()
				require.NoError(t, err)
				grads, err := n.Forward(want).Sqr().Add(want).Backward()
				require.NoError(t, err)
				for of, g := range grads.All() {
					most, err := got.Of(of).Sub(g).Abs().Max().Float64s()
					require.NoError(t, err)
					require.LessOrEqual(t, most[0], 1e-12)
				}
			}
		}
	}
	n := nn.NewLayerNorm(4)
	require.NoError(t, nn.Init(n, nn.On{Device: d}))
	x := tensor.Ones(d, tensor.F32, 2, 4)
	_, sum := n.ForwardResidual(x, tensor.Ones(d, tensor.F32, 4))
	require.ErrorIs(t, sum.Err(), tensor.ErrShape)
	_, sum = n.ForwardResidual(x, nil)
	require.ErrorIs(t, sum.Err(), tensor.ErrArgument)
	y, _ := n.ForwardResidual(x.T(), x.T())
	require.ErrorIs(t, y.Err(), tensor.ErrShape)
}

// equal reports whether two tensors have the same elements.
func equal(t *testing.T, x, y *tensor.Tensor) bool {
	t.Helper()
	a, err := x.Float64s()
	require.NoError(t, err)
	b, err := y.Float64s()
	require.NoError(t, err)
	require.Len(t, b, len(a))
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
