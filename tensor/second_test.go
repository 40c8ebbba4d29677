package tensor_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// TestSecondGradients compares gradients of the gradients of every operation with finite
// differences of its gradients.
func TestSecondGradients(t *testing.T) {
	d := open(t)
	for _, c := range gradients {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, c.second(d))
		})
	}
}

// second compares the gradient of a sum of the formula's gradients, each times a number.
func (c gradient) second(d *tensor.Device) error {
	points := c.point(rand.New(rand.NewPCG(9, 10)))
	vars, sum, err := c.slope(d, points, true)
	if err != nil {
		return err
	}
	grads, err := sum.Backward()
	if err != nil && !errors.Is(err, tensor.ErrNoGradient) || err != nil && sum.RequiresGrad() {
		return err
	}
	return differences(vars, grads, points, 1e-5, func() (*tensor.Tensor, error) {
		_, l, err := c.slope(d, points, false)
		return l, err
	})
}

// slope is a weighted sum of the gradients of the formula at a point.
func (c gradient) slope(d *tensor.Device, points [][]float64, graph bool) (vars []*tensor.Tensor, sum *tensor.Tensor, err error) {
	vars, loss, err := c.loss(d, "dense", points)
	if err != nil {
		return nil, nil, err
	}
	grads, err := loss.BackwardBy(tensor.BackwardOptions{Graph: graph})
	if err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(2, 2))
	sum = tensor.Zeros(d, tensor.F64)
	for _, v := range vars {
		w := make([]float64, v.Count())
		for i := range w {
			w[i] = rng.Float64() + 0.5
		}
		if g := grads.Of(v); g != nil {
			sum = sum.Add(g.Mul(tensor.From(d, w, v.Shape()...)).Sum())
		}
	}
	return vars, sum, sum.Err()
}

func TestBackwardOptions(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float64{2, 3})).Tensor()
	y := x.Sqr()
	z := y.Mul(x)
	g, err := z.BackwardBy(tensor.BackwardOptions{For: []*tensor.Tensor{y}})
	require.NoError(t, err)
	require.Equal(t, 1, g.Len())
	require.Equal(t, []float64{2, 3}, list[float64](t, g.Of(y)))
	g, err = z.BackwardBy(tensor.BackwardOptions{For: []*tensor.Tensor{x, y}, Seed: tensor.From(d, []float64{1, 10})})
	require.NoError(t, err)
	require.Equal(t, []float64{12, 270}, list[float64](t, g.Of(x)))
	require.Equal(t, []float64{2, 30}, list[float64](t, g.Of(y)))
	require.False(t, g.Of(x).RequiresGrad())
	require.Equal(t, map[*tensor.Tensor]*tensor.Tensor{x: g.Of(x), y: g.Of(y)}, maps.Collect(g.All()))

	// The third derivative of x³ is 6.
	for _, want := range [][]float64{{12, 27}, {12, 18}, {6, 6}} {
		g, err = z.BackwardBy(tensor.BackwardOptions{Graph: true})
		require.NoError(t, err)
		z = g.Of(x)
		require.Equal(t, want, list[float64](t, z))
	}

	_, err = x.BackwardBy(tensor.BackwardOptions{Seed: tensor.Ones(d, tensor.F64, 3)})
	require.ErrorIs(t, err, tensor.ErrShape)
	_, err = x.BackwardBy(tensor.BackwardOptions{For: []*tensor.Tensor{nil}})
	require.ErrorIs(t, err, tensor.ErrArgument)
	_, err = x.BackwardWith(nil)
	require.ErrorIs(t, err, tensor.ErrArgument)
	_, err = x.BackwardWith(x.Narrow(0, 5, 1))
	require.ErrorIs(t, err, tensor.ErrRange)
}

// What a kernel has computed has no gradient, and says so.
func TestNoSecondGradient(t *testing.T) {
	d := open(t)
	graph := tensor.BackwardOptions{Graph: true}
	x := tensor.NewVar(tensor.From(d, []float32{2, 3})).Tensor()
	cube := func(x float32) float32 { return x * x * x }
	y := tensor.MapGrad(cube, func(x float32) float32 { return 3 * x * x }, x)
	g, err := y.BackwardBy(graph)
	require.NoError(t, err)
	require.Equal(t, []float32{12, 27}, list[float32](t, g.Of(x)))
	_, err = g.Of(x).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	require.ErrorContains(t, err, "gradient of map: no gradient: the gradient of a gradient is not known (second_test.go:")

	// One of operations has.
	g, err = tensor.Apply1(swish{1}, x).BackwardBy(graph)
	require.NoError(t, err)
	h, err := g.Of(x).Backward()
	require.NoError(t, err)
	s, err := x.Silu().BackwardBy(graph)
	require.NoError(t, err)
	want, err := s.Of(x).Backward()
	require.NoError(t, err)
	require.InDeltaSlice(t, list[float32](t, want.Of(x)), list[float32](t, h.Of(x)), 1e-6)
}

// layer is something to make again: w is not among its operands, and the dice are rolled.
func layer(w *tensor.Tensor) func(in ...*tensor.Tensor) *tensor.Tensor {
	return func(in ...*tensor.Tensor) *tensor.Tensor {
		h := in[0].MatMul(w).Tanh()
		return h.Mul(h.Detach().RandLike(0, 1).GtScalar(0.5).Cast(tensor.F64)).Add(in[1].Sqr())
	}
}

func TestCheckpoint(t *testing.T) {
	d := open(t)
	w := tensor.NewVar(tensor.From(d, []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9}, 3, 3)).Tensor()
	x := tensor.NewVar(tensor.From(d, []float64{1, -1, 2, .5, 1, -2}, 2, 3)).Tensor()
	ids := tensor.From(d, []int64{2, 0})
	plain := func(f func(in ...ten) ten, in ...ten) ten { return f(in...) }
	picked := func(in ...ten) ten { return in[0].IndexSelect(in[1], 1) }
	for _, graph := range []bool{false, true} {
		var got [2][][]float64
		for i, run := range []func(f func(in ...ten) ten, in ...ten) ten{plain, tensor.Checkpoint} {
			d.SetSeed(3)
			y := run(layer(w.Sin()), x.Exp(), x)
			y = run(layer(w), y, tensor.Ones(d, tensor.F64, 3))
			y = run(picked, y, ids)
			rolled := list[float64](t, tensor.Rand(d, tensor.F64, 0, 1, 3))
			g, err := y.BackwardBy(tensor.BackwardOptions{Graph: graph})
			require.NoError(t, err)
			require.Equal(t, 2, g.Len())
			got[i] = append(got[i], rolled, list[float64](t, y), list[float64](t, g.Of(x)), list[float64](t, g.Of(w)), list[float64](t, tensor.Rand(d, tensor.F64, 0, 1, 3)))
			if graph {
				h, err := g.Of(x).Sqr().Sum().Add(g.Of(w).Sum()).Backward()
				require.NoError(t, err)
				got[i] = append(got[i], list[float64](t, h.Of(x)), list[float64](t, h.Of(w)))
			}
		}
		for k := range got[0] {

			require.InDeltaSlice(t, got[0][k], got[1][k], 1e-12, "%d, graph %v", k, graph)
		}
	}

	require.Same(t, x, tensor.Checkpoint(func(in ...ten) ten { return in[0] }, x))
	require.False(t, tensor.Checkpoint(func(in ...ten) ten { return in[0].Exp() }, x.Detach()).RequiresGrad())
	calls := 0
	count := func(in ...ten) ten { calls++; return in[0].Exp() }
	require.False(t, tensor.Checkpoint(count, x.NoGrad()).RequiresGrad())
	y := tensor.Checkpoint(count, x)
	g, err := y.Backward()
	require.NoError(t, err)
	require.Equal(t, list[float64](t, x.Exp()), list[float64](t, g.Of(x)))
	require.Equal(t, 3, calls)
	require.ErrorIs(t, tensor.Checkpoint(count, nil).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Checkpoint(func(in ...ten) ten { return nil }, x).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Checkpoint(func(in ...ten) ten { return in[0].Narrow(0, 3, 1) }, x).Err(), tensor.ErrRange)
	square := func(x float64) float64 { return x * x } // of which Map does not know the slope
	y = tensor.Checkpoint(func(in ...ten) ten { return tensor.Map(square, in[0]) }, x)
	_, err = y.Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
}

// Between a result and its gradient a checkpoint keeps nothing but the result.
func TestCheckpointMemory(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.Ones(d, tensor.F32, 1<<16)).Tensor()
	var peaks [2]int64
	for i, run := range []func(f func(in ...ten) ten, in ...ten) ten{
		func(f func(in ...ten) ten, in ...ten) ten { return f(in...) }, tensor.Checkpoint,
	} {
		s := tensor.OpenScope()
		y := x.In(s)
		for range 4 {
			inner := s.Open()
			y = inner.Keep(run(func(in ...ten) ten {
				y := in[0]
				for range 8 {
					y = y.Sin()
				}
				return y
			}, y.In(inner)))
			require.NoError(t, inner.Close())
		}
		d.ResetPeak()
		peaks[i] = d.PeakBytes()
		g, err := y.Backward()
		require.NoError(t, err)
		require.NotZero(t, list[float32](t, g.Of(x))[0])
		require.NoError(t, s.Close())
	}
	require.Less(t, peaks[1], peaks[0]/4)
}
