package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// Random numbers go on where they were, on another device too.
func TestRandomState(t *testing.T) {
	one, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer one.Close()
	other, err := tensor.Open("cpu")
	require.NoError(t, err)
	defer other.Close()

	one.SetSeed(7)
	require.Equal(t, tensor.RandomState{Seed: 7}, one.RandomState())
	require.NoError(t, tensor.Randn(one, tensor.F32, 0, 1, 5).Err())
	at := one.RandomState()
	require.NotZero(t, at.Next)
	want, err := tensor.ToSlice[float32](tensor.Rand(one, tensor.F32, 0, 1, 9))
	require.NoError(t, err)
	other.SetRandomState(at)
	require.Equal(t, at, other.RandomState())
	require.EqualValues(t, 7, other.Seed())
	got, err := tensor.ToSlice[float32](tensor.Rand(other, tensor.F32, 0, 1, 9))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Numbers below none are an error and leave the state as it is.
func TestTakeRandomErrors(t *testing.T) {
	d := open(t)
	at := d.RandomState()
	_, err := d.TakeRandom(-1)
	require.ErrorIs(t, err, tensor.ErrArgument)
	_, err = d.DrawRandom(-1)
	require.ErrorIs(t, err, tensor.ErrArgument)
	require.Equal(t, at, d.RandomState())
	drawn, err := d.DrawRandom(9)
	require.NoError(t, err)
	require.Equal(t, at, drawn.RandomState)
	require.Zero(t, drawn.Base.Count())
	require.Equal(t, at.Next+3, d.RandomState().Next)
	_, err = d.Capture(func() error {
		drawn, err = d.DrawRandom(9)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, 2, drawn.Base.Count())
	require.Zero(t, drawn.Next)
	require.Equal(t, at.Next+3, d.RandomState().Next)
}
