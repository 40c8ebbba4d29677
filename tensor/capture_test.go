package tensor_test

import (
	"errors"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Launches of a graph compute what its operations do, of the operands as they are then.
func TestCapture(t *testing.T) {
	d := open(t)
	w := tensor.NewVar(tensor.From(d, []float32{1, 2, 3}))
	x := tensor.From(d, []float32{1, 1, 1})
	var y ten
	g, err := d.Capture(func() error {
		loss := w.Tensor().Mul(x).Sqr().Sum()
		grads, err := loss.Backward()
		if err != nil {
			return err
		}
		y = loss.Detach()
		return w.Set(w.Tensor().Sub(grads.Of(w.Tensor()).MulScalar(0.25)))
	})
	require.NoError(t, err)
	require.Equal(t, []float32{1, 2, 3}, list[float32](t, w.Tensor()), "nothing has run yet")
	goruntime.GC() // of what the graph still uses
	want := []float32{1, 2, 3}
	for _, in := range []float32{1, 0.5, -2} {
		require.NoError(t, x.Assign(tensor.Zeros(d, tensor.F32, 3).AddScalar(float64(in))))
		require.NoError(t, g.Launch())
		var loss float32
		for i := range want {
			loss += want[i] * in * want[i] * in
			want[i] -= 0.25 * 2 * want[i] * in * in
		}
		require.Equal(t, want, list[float32](t, w.Tensor()))
		require.Equal(t, []float32{loss}, list[float32](t, y.Reshape(1)))
	}
	require.NoError(t, g.Close())
	require.ErrorIs(t, g.Launch(), runtime.ErrClosed)
}

// What a launch of a graph writes has changed in place, results as well as variables.
func TestCaptureChanges(t *testing.T) {
	d := open(t)
	w := tensor.NewVar(tensor.From(d, []float32{1, 2, 3}))
	var y ten
	g, err := d.Capture(func() error {
		y = w.Tensor().Detach().Neg()
		return w.Set(y)
	})
	require.NoError(t, err)
	for _, loss := range []ten{w.Tensor().Sqr().Sum(), w.Tensor().Mul(y).Sum()} {
		require.NoError(t, g.Launch())
		_, err = loss.Backward()
		require.ErrorIs(t, err, tensor.ErrChanged)
		require.ErrorContains(t, err, "launch a graph (capture_test.go:")
	}
}

// Launches of a graph draw the random numbers that the same work would draw without it, also where
// other work draws some in between, a seed is set, and gradients compute something again.
func TestCaptureRandom(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.Ones(d, tensor.F32, 6)).Tensor()
	var results []ten
	work := func() error {
		again := tensor.Checkpoint(func(in ...ten) ten { return in[0].Mul(in[0].Detach().RandLike(0, 1)) }, x)
		grads, err := again.Sum().Backward()
		if err != nil {
			return err
		}
		more := tensor.Rand(d, tensor.F64, 1, 2, 7)
		results = []ten{again.Detach(), grads.Of(x), more, tensor.Randn(d, tensor.BF16, 0, 1, 9)}
		return more.Err()
	}
	run := func(step func() error) (numbers [][]float64) {
		for i := range 4 {
			if i == 3 {
				d.SetSeed(11)
			}
			require.NoError(t, step())
			for _, r := range append([]ten{tensor.Rand(d, tensor.F32, 0, 1, 3)}, results...) {
				list, err := r.Float64s()
				require.NoError(t, err)
				numbers = append(numbers, list)
			}
		}
		return numbers
	}
	d.SetSeed(5)
	want := run(work)
	d.SetSeed(5)
	g, err := d.Capture(func() error {
		d.SetSeed(77) // is for launches
		d.SetRandomState(tensor.RandomState{})
		return work()
	})
	require.NoError(t, err)
	require.Equal(t, tensor.RandomState{Seed: 5}, d.RandomState(), "nothing was drawn")
	require.Equal(t, want, run(g.Launch))
	require.NotEqual(t, want[2], want[7], "launches draw new numbers")
	require.Equal(t, want[1], want[2], "gradients draw those of the first time")
	require.NotEqual(t, want[3][:3], want[4][:3])
}

// A graph says what it cannot hold.
func TestCaptureErrors(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3})
	for name, fn := range map[string]func() error{
		"read":   func() error { _, err := x.Neg().Float64s(); return err },
		"random": func() error { _, err := d.TakeRandom(3); return err },
		"host":   func() error { return tensor.From(d, []float32{1}).Add(x).Err() },
		"nested": func() error { _, err := d.Capture(func() error { return nil }); return err },
	} {
		_, err := d.Capture(fn)
		require.ErrorIs(t, err, runtime.ErrCapturing, name)
		require.NoError(t, x.Neg().Err(), name)
		require.Equal(t, []float32{-1, -2, -3}, list[float32](t, x.Neg()), name)
	}
	failed := errors.New("failed")
	_, err := d.Capture(func() error { return failed })
	require.ErrorIs(t, err, failed)
	var none *tensor.Device
	_, err = none.Capture(func() error { return nil })
	require.ErrorIs(t, err, tensor.ErrArgument)
	at := d.RandomState()
	one, err := d.TakeRandom(5)
	require.NoError(t, err)
	require.Equal(t, at, one)
	require.Equal(t, at.Next+2, d.RandomState().Next)
}
