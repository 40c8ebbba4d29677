package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

func TestAccumulator(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F16, []int{2, 3}, []int{3}, []int{2})
	other := tensor.NewVar(tensor.Ones(d, tensor.F32, 1))
	sums := optim.NewAccumulator(vars, 2)
	for round := range 2 { // the second time in the memory of the first
		a := gradients(t, vars, []*tensor.Tensor{filled(d, tensor.F16, round, 1, 2, 3), nil, nil})
		b := gradients(t, vars, []*tensor.Tensor{filled(d, tensor.F16, 9+round, 1, 2, 3), tensor.Ones(d, tensor.F16, 3), nil})
		a.Set(other.Tensor(), tensor.Ones(d, tensor.F32, 1))
		mean, err := sums.Add(a)
		require.NoError(t, err)
		require.Nil(t, mean)
		mean, err = sums.Add(b)
		require.NoError(t, err)
		want := filled(d, tensor.F16, round, 1, 2, 3).Cast(tensor.F32).Add(filled(d, tensor.F16, 9+round, 1, 2, 3).Cast(tensor.F32)).MulScalar(0.5)
		same(t, want, mean.Of(vars[0].Tensor()))
		near(t, []float64{0.5, 0.5, 0.5}, mean.Of(vars[1].Tensor()), 0)
		require.Nil(t, mean.Of(vars[2].Tensor()))
		require.Equal(t, 2, mean.Len()) // not those that others have in the first batch
		require.NoError(t, optim.NewSGD(vars, optim.SGD{}).Step(mean))
	}
	_, err := sums.Add(gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F16, 3), nil, nil}))
	require.ErrorIs(t, err, tensor.ErrShape)
}

func TestAverage(t *testing.T) {
	d := open(t)
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
		v := tensor.NewVar(tensor.From(d, []float32{1, 2}).Cast(dt))
		ema, err := optim.NewAverage([]*tensor.Var{v}, 0.75)
		require.NoError(t, err)
		require.NoError(t, v.Set(tensor.From(d, []float32{5, 10}).Cast(dt)))
		require.NoError(t, ema.Update())
		near(t, []float64{2, 4}, ema.Of(v), 0)
		require.Equal(t, tensor.F32, ema.Of(v).DType())
		restore, err := ema.Apply()
		require.NoError(t, err)
		near(t, []float64{2, 4}, v.Tensor(), 0)
		require.NoError(t, restore())
		near(t, []float64{5, 10}, v.Tensor(), 0)

		again, err := optim.NewAverage([]*tensor.Var{v}, 0.75)
		require.NoError(t, err)
		state, err := ema.State()
		require.NoError(t, err)
		require.NoError(t, again.Load(state))
		require.NoError(t, ema.Update())
		require.NoError(t, again.Update())
		same(t, ema.Of(v), again.Of(v))
		require.Equal(t, 2, again.Updates())
		for _, c := range []struct {
			x    *tensor.Tensor
			kind error
		}{
			{nil, tensor.ErrArgument}, {tensor.Ones(d, ema.Of(v).DType(), 3), tensor.ErrShape},
			{tensor.Ones(d, tensor.F16, 2), tensor.ErrDTypeMismatch},
		} {
			require.ErrorIs(t, again.Load(map[string]*tensor.Tensor{"0": c.x, "updates": state["updates"]}), c.kind)
		}
		require.ErrorIs(t, again.Load(nil), tensor.ErrArgument)
		require.ErrorIs(t, again.Load(map[string]*tensor.Tensor{"0": ema.Of(v), "1": nil}), tensor.ErrArgument)

		again.Ramp = true
		begin := map[string]*tensor.Tensor{"0": ema.Of(v).ZerosLike(), "updates": tensor.From(d, []int64{0})}
		require.NoError(t, again.Load(begin))
		require.NoError(t, again.Update())
		near(t, []float64{4.5, 9}, again.Of(v), 1e-5)
	}
	_, err := optim.NewAverage([]*tensor.Var{nil}, 0.5)
	require.ErrorIs(t, err, tensor.ErrArgument)
	_, err = optim.NewAverage([]*tensor.Var{}, 2)
	require.ErrorIs(t, err, tensor.ErrArgument)
}

func TestLossScaler(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F16, []int{2, 3}, []int{400})
	plain := variables(d, tensor.F16, []int{2, 3}, []int{400})
	opt, other := optim.NewAdamW(vars, optim.AdamW{LR: 0.01}), optim.NewAdamW(plain, optim.AdamW{LR: 0.01})
	s := optim.LossScaler{Factor: 8, Interval: 2}
	give := func(vars []*tensor.Var, by float64) *tensor.Gradients {
		return gradients(t, vars, []*tensor.Tensor{filled(d, tensor.F16, 1, by, 2, 3), filled(d, tensor.F16, 7, by, 400)})
	}
	done, err := s.Step(opt, give(vars, 8))
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, other.Step(give(plain, 1)))
	same(t, plain[0].Tensor(), vars[0].Tensor())

	for _, bad := range []float64{math.Inf(1), math.NaN()} {
		g := give(vars, 8)
		g.Set(vars[1].Tensor(), tensor.Ones(d, tensor.F16, 400).MulScalar(bad))
		done, err = s.Step(opt, g)
		require.NoError(t, err)
		require.False(t, done)
	}
	is := func(factor float64, skipped int) {
		t.Helper()
		require.Equal(t, []any{factor, skipped, 0}, []any{s.Factor, s.Skipped, s.Good})
	}
	is(2, 2)
	require.Equal(t, 1, opt.Steps())
	same(t, plain[1].Tensor(), vars[1].Tensor())

	norm, done, err := s.StepClipped(opt, give(vars, 2), 0.5)
	require.NoError(t, err)
	require.True(t, done)
	want, err := other.StepClipped(give(plain, 1), 0.5)
	require.NoError(t, err)
	same(t, want, norm)
	same(t, plain[1].Tensor(), vars[1].Tensor())
	_, err = s.Step(opt, give(vars, 2))
	require.NoError(t, err)
	is(4, 2) // which has grown
	near(t, []float64{6}, s.Scale(tensor.From(d, []float32{1.5})), 0)

	state, err := s.State()
	require.NoError(t, err)
	next := optim.LossScaler{Interval: 2}
	begin, err := next.State()
	require.NoError(t, err)
	require.Empty(t, begin)
	require.NoError(t, next.Load(state))
	require.Equal(t, s, next)
	require.NoError(t, next.Load(begin))
	require.Zero(t, next.Factor)
	require.ErrorIs(t, next.Load(map[string]*tensor.Tensor{"scale": state["scaler"]}), tensor.ErrArgument)

	there, err := tensor.Open("cpu:interp") // gradients on two devices: nothing is changed
	require.NoError(t, err)
	t.Cleanup(func() { _ = there.Close() })
	far := tensor.NewVar(filled(there, tensor.F16, 1, 1, 2))
	both := append([]*tensor.Var{far}, vars...)
	g := give(vars, 4)
	g.Set(far.Tensor(), filled(there, tensor.F16, 1, 1, 2))
	_, err = s.Step(optim.NewSGD(both, optim.SGD{}), g)
	require.ErrorIs(t, err, tensor.ErrDevice)
	is(4, 2)
}

// A variable of 16 bits moves in steps that are too small for it, by its master copy.
func TestMaster(t *testing.T) {
	d := open(t)
	v := tensor.NewVar(tensor.Ones(d, tensor.BF16, 3))
	w := tensor.NewVar(tensor.Ones(d, tensor.BF16, 3))
	opt := optim.NewSGD([]optim.Group{{Params: []*tensor.Var{v}}, {Params: []*tensor.Var{w}, NoMaster: true}}, optim.SGD{LR: 0.001})
	vars := []*tensor.Var{v, w}
	for range 16 {
		one := tensor.Ones(d, tensor.BF16, 3)
		require.NoError(t, opt.Step(gradients(t, vars, []*tensor.Tensor{one, one})))
	}
	near(t, []float64{0.984, 0.984, 0.984}, v.Tensor(), 0.002)
	near(t, []float64{1, 1, 1}, w.Tensor(), 0)
	require.Nil(t, opt.Master(w))
	require.NoError(t, v.Set(tensor.Zeros(d, tensor.BF16, 3)))
	require.NoError(t, opt.Refresh())
	near(t, []float64{0, 0, 0}, opt.Master(v), 0)
}
