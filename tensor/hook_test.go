package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestOnGradient(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float64{2, 3})).Tensor()
	y := x.Sqr()
	var seen [][]float64
	note := func(g *tensor.Tensor) *tensor.Tensor {
		seen = append(seen, list[float64](t, g))
		return nil
	}
	double := func(g *tensor.Tensor) *tensor.Tensor { return g.MulScalar(2) }
	on := func(x *tensor.Tensor, f func(g *tensor.Tensor) *tensor.Tensor) func() {
		t.Helper()
		remove, err := x.OnGradient(f)
		require.NoError(t, err)
		return remove
	}
	on(x, note)
	removeDouble := on(x, double)
	on(x, note)
	removeMiddle := on(y, func(g *tensor.Tensor) *tensor.Tensor { return g.Clamp(0, 1) })
	g, err := y.MulScalar(10).Add(x).Backward() // all of the gradient is there when a function is called
	require.NoError(t, err)
	require.Equal(t, [][]float64{{5, 7}, {10, 14}}, seen)
	require.Equal(t, []float64{10, 14}, list[float64](t, g.Of(x)))
	removeDouble()
	removeDouble()
	removeMiddle()
	seen = nil
	g, err = y.MulScalar(10).Add(x).BackwardBy(tensor.BackwardOptions{For: []*tensor.Tensor{y}})
	require.NoError(t, err)
	require.Equal(t, []float64{10, 10}, list[float64](t, g.Of(y)))
	require.Empty(t, seen, "x has no gradient then")

	// What replaces a gradient requires a gradient itself where gradients of gradients are asked for.
	z := tensor.NewVar(tensor.From(d, []float64{2, 3})).Tensor()
	on(z, func(g *tensor.Tensor) *tensor.Tensor { return g.Mul(z) })
	g, err = z.Sqr().BackwardBy(tensor.BackwardOptions{Graph: true}) // 2z², by the function
	require.NoError(t, err)
	require.True(t, g.Of(z).RequiresGrad())
	w := g.Of(z)
	g, err = z.Sqr().Backward()
	require.NoError(t, err)
	require.False(t, g.Of(z).RequiresGrad())
	g, err = w.BackwardBy(tensor.BackwardOptions{})
	require.NoError(t, err)
	require.Equal(t, []float64{4 * 2 * 2, 4 * 3 * 3}, list[float64](t, g.Of(z)))
}

// A variable that a checkpoint uses has its gradient once, with all parts.
func TestOnGradientOfCheckpoint(t *testing.T) {
	d := open(t)
	w := tensor.NewVar(tensor.From(d, []float64{2, 3})).Tensor()
	x := tensor.NewVar(tensor.From(d, []float64{5, 7})).Tensor()
	calls := map[string][]float64{}
	for name, v := range map[string]*tensor.Tensor{"w": w, "x": x} {
		_, err := v.OnGradient(func(g *tensor.Tensor) *tensor.Tensor {
			require.NotContains(t, calls, name)
			calls[name] = list[float64](t, g)
			return nil
		})
		require.NoError(t, err)
	}
	inside := 0
	y := tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor {
		h := in[0].Mul(w)
		_, err := h.OnGradient(func(g *tensor.Tensor) *tensor.Tensor { inside++; return g.MulScalar(10) })
		require.NoError(t, err)
		return h.Sqr()
	}, x)
	_, err := y.Add(w).Add(x).Backward()
	require.NoError(t, err)
	require.Equal(t, map[string][]float64{"w": {1 + 10*2*10*5, 1 + 10*2*21*7}, "x": {1 + 10*2*10*2, 1 + 10*2*21*3}}, calls)
	require.Equal(t, 1, inside)
}

func TestOnGradientErrors(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float32{1, 2})).Tensor()
	same := func(g *tensor.Tensor) *tensor.Tensor { return g }
	_, err := x.Detach().OnGradient(same)
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	_, err = x.OnGradient(nil)
	require.ErrorIs(t, err, tensor.ErrArgument)
	_, err = x.Narrow(0, 2, 1).OnGradient(same)
	require.ErrorIs(t, err, tensor.ErrRange)
	for _, c := range []struct {
		f    func(g *tensor.Tensor) *tensor.Tensor
		kind error
	}{
		{func(g *tensor.Tensor) *tensor.Tensor { return g.Sum() }, tensor.ErrShape},
		{func(g *tensor.Tensor) *tensor.Tensor { return g.Cast(tensor.F64) }, tensor.ErrDTypeMismatch},
		{func(g *tensor.Tensor) *tensor.Tensor { return g.Sum(1) }, tensor.ErrDim},
		{func(g *tensor.Tensor) *tensor.Tensor { return &tensor.Tensor{} }, tensor.ErrArgument},
	} {
		remove, err := x.OnGradient(c.f)
		require.NoError(t, err)
		_, err = x.Sqr().Backward()
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, "gradient of variable: ")
		remove()
	}
	_, err = x.Sqr().Backward()
	require.NoError(t, err)
}
