package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	require.NoError(t, run(&out, "cpu"))
	require.Equal(t, `[[-28.9208, -27.1544, -22.8478],
 [-13.8635,   0.0000,  13.8635],
 [ 22.8478,  27.1544,  28.9208]]
Tensor[[3, 3], f32]
[[0.0707, 0.1807, 0.4200],
 [0.7864, 1.0000, 0.7864],
 [0.4200, 0.1807, 0.0707]]
Tensor[[3, 3], f32]
`, out.String())
	require.Error(t, run(&out, "abacus"))
}

// The gradient is that which finite differences give, on every layout.
func TestGradient(t *testing.T) {
	dev, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	op := softCap{limit: 2}
	sum := func(x []float32) float64 {
		total := 0.0
		y, err := tensor.ToSlice[float32](tensor.Apply1(op, tensor.From(dev, x)))
		require.NoError(t, err)
		for _, v := range y {
			total += float64(v)
		}
		return total
	}
	at := []float32{-3, -1, -0.25, 0, 0.5, 4}
	v := tensor.NewVar(tensor.From(dev, at, 2, 3))
	for _, x := range []*tensor.Tensor{v.Tensor(), v.Tensor().T(), v.Tensor().BroadcastTo(2, 2, 3).Narrow(0, 1, 1)} {
		grads, err := tensor.Apply1(op, x).Backward()
		require.NoError(t, err)
		got, err := tensor.ToSlice[float32](grads.Of(v.Tensor()))
		require.NoError(t, err)
		const h = 1.0 / 64
		for i := range at {
			more, less := append([]float32(nil), at...), append([]float32(nil), at...)
			more[i], less[i] = at[i]+h, at[i]-h
			require.InDelta(t, (sum(more)-sum(less))/(2*h), float64(got[i]), 1e-4, "element %d of %v", i, x.Shape())
		}
	}
}

func TestShort(t *testing.T) {
	text, err := os.ReadFile("softcap.go")
	require.NoError(t, err)
	require.Less(t, strings.Count(string(text), "\n"), 40)
}
