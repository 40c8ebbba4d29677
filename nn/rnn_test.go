package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// recurrent is what RNN, LSTM and GRU have.
type recurrent interface {
	nn.Layer
	Run(x ten, from nn.RecurrentState) (ten, nn.RecurrentState)
	Step(x ten, from nn.RecurrentState) (ten, nn.RecurrentState)
}

func makeRNN(in, hidden int, o nn.RecurrentOptions) recurrent  { return nn.NewRNN(in, hidden, o) }
func makeLSTM(in, hidden int, o nn.RecurrentOptions) recurrent { return nn.NewLSTM(in, hidden, o) }
func makeGRU(in, hidden int, o nn.RecurrentOptions) recurrent  { return nn.NewGRU(in, hidden, o) }

func init() {
	for kind, make := range map[string]func(in, hidden int, o nn.RecurrentOptions) recurrent{"rnn": makeRNN, "lstm": makeLSTM, "gru": makeGRU} {
		layers[kind] = func() model { return runs(make(3, 2, nn.RecurrentOptions{})) }
		layers[kind+" deep"] = func() model { return runs(make(3, 2, nn.RecurrentOptions{Layers: 2, Bidirectional: true})) }
		layers[kind+" no bias"] = func() model { return runs(make(2, 3, nn.RecurrentOptions{Layers: 2, NoBias: true})) }
	}
	layers["lstm proj"] = func() model { return runs(makeLSTM(3, 4, nn.RecurrentOptions{Proj: 2})) }
	layers["lstm proj deep"] = func() model {
		return runs(makeLSTM(3, 4, nn.RecurrentOptions{Proj: 3, Layers: 2, Bidirectional: true}))
	}
	layers["rnn relu"] = func() model { return runs(makeRNN(3, 2, nn.RecurrentOptions{ReLU: true})) }
}

// runs is a model of outputs and states, from states if there are any.
func runs(r recurrent) model {
	return model{r, func(in []ten) []ten {
		var s nn.RecurrentState
		if len(in) > 1 {
			s.H = in[1]
		}
		if len(in) > 2 {
			s.C = in[2]
		}
		y, end := r.Run(in[0], s)
		if end.C == nil {
			return []ten{y, end.H}
		}
		return []ten{y, end.H, end.C}
	}}
}

// TestRecurrentStep: time steps one by one give what all at once do.
func TestRecurrentStep(t *testing.T) {
	d := open(t)
	for _, make := range []func(in, hidden int, o nn.RecurrentOptions) recurrent{makeRNN, makeLSTM, makeGRU} {
		o := nn.RecurrentOptions{Layers: 2}
		r := make(3, 4, o)
		if l, ok := r.(*nn.LSTM); ok {
			require.Equal(t, 4, l.Hidden())
			o.Proj = 3
			r = make(3, 4, o)
		}
		ready2(t, d, r)
		x := tensor.Randn(d, tensor.F32, 0, 1, 2, 5, 3)
		want, end := r.Run(x, nn.RecurrentState{})
		var s nn.RecurrentState
		var y ten
		for i := range 5 {
			y, s = r.Step(x.GetOn(1, i), s)
			requireNear(t, want.GetOn(1, i), y, 1e-6)
		}
		requireNear(t, end.H, s.H, 1e-6)
		if end.C != nil {
			requireNear(t, end.C, s.C, 1e-6)
		}
	}
}

func TestRecurrentDropout(t *testing.T) {
	d := open(t)
	r := ready2(t, d, nn.NewLSTM(3, 4, nn.RecurrentOptions{Layers: 2, Dropout: 0.5}))
	x := tensor.Ones(d, tensor.F32, 2, 5, 3)
	requireSame(t, r.Forward(x), r.Forward(x))
	require.NoError(t, nn.SetTraining(r, true))
	a, err := r.Forward(x).Float64s()
	require.NoError(t, err)
	b, err := r.Forward(x).Float64s()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
}

func TestRecurrentFaults(t *testing.T) {
	d := open(t)
	r := ready2(t, d, nn.NewGRU(3, 4, nn.RecurrentOptions{Bidirectional: true}))
	x := func(shape ...int) ten { return tensor.Ones(d, tensor.F32, shape...) }
	require.ErrorIs(t, r.Forward(x(2, 3)).Err(), tensor.ErrRank)
	require.ErrorIs(t, r.Forward(x(2, 0, 3)).Err(), tensor.ErrEmpty)
	require.ErrorIs(t, r.Forward(x(2, 1, 4)).Err(), tensor.ErrShape)
	y, _ := r.Run(x(2, 1, 3), nn.RecurrentState{H: x(1, 2, 4)})
	require.ErrorContains(t, y.Err(), "a state of [1, 2, 4], want [2, 2, 4]")
	for _, bad := range []recurrent{
		nn.NewGRU(3, 4, nn.RecurrentOptions{Proj: 2}), nn.NewLSTM(3, 4, nn.RecurrentOptions{Proj: 4}),
		nn.NewLSTM(3, 4, nn.RecurrentOptions{Proj: -1}),
	} {
		require.ErrorContains(t, bad.Forward(x(2, 1, 3)).Err(), "an LSTM has one to fewer than its 4")
	}
	p := ready2(t, d, nn.NewLSTM(3, 4, nn.RecurrentOptions{Proj: 2}))
	y, _ = p.Run(x(2, 1, 3), nn.RecurrentState{H: x(1, 2, 4)})
	require.ErrorContains(t, y.Err(), "a state of [1, 2, 4], want [1, 2, 2]")
	y, _ = r.Step(x(2, 3), nn.RecurrentState{})
	require.ErrorContains(t, y.Err(), "two directions")
	require.ErrorIs(t, nn.NewLSTM(3, 4, nn.RecurrentOptions{}).Forward(x(2, 1, 3)).Err(), nn.ErrNoValue)
	require.Equal(t, 4, r.Hidden())
}

func requireNear(t *testing.T, want, got ten, tol float64) {
	t.Helper()
	a, err := want.Float64s()
	require.NoError(t, err)
	b, err := got.Float64s()
	require.NoError(t, err)
	require.True(t, want.Shape().Equal(got.Shape()), "%v and %v", want.Shape(), got.Shape())
	require.InDeltaSlice(t, a, b, tol)
}
