package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// Muon beside PyTorch's, whose iteration is in bfloat16, and beside that in exact products.
func TestMuon(t *testing.T) {
	all := loadGolden(t).Updates
	d := open(t)
	for name, c := range map[string]optim.Muon{
		"muon":       {LR: 0.05, WeightDecay: 0.1},
		"muon_plain": {LR: 0.05, Plain: true, Momentum: 0.8, MatchAdamW: true},
	} {
		for _, of := range []struct {
			name   string
			dt, in tensor.DType
			by     float64
		}{
			{name, tensor.F64, tensor.F64, 1e-12},
			{name, tensor.F32, tensor.F32, 2e-5},
			{name + "_bf16", tensor.F32, 0, 0.02},
		} {
			if !d.Supports(of.dt) {
				continue
			}
			c.In = of.in
			vars := variables(d, of.dt, []int{7, 5}, []int{4, 6})
			opt := optim.NewMuon(vars, c)
			for step := range 10 {
				require.NoError(t, opt.Step(stepGradients(t, vars, step)))
			}
			for i, v := range vars {
				near(t, all[of.name][of.dt.String()][i], v.Tensor(), of.by)
			}
		}
	}
}

// What is no matrix, and what is said not to be one, is updated by AdamW.
func TestMuonFallback(t *testing.T) {
	d := open(t)
	vars, other := variables(d, tensor.F32, []int{7, 5}, []int{11}), variables(d, tensor.F32, []int{7, 5}, []int{11})
	groups := []optim.Group{{Params: vars[:1], Fallback: true}, {Params: vars[1:]}}
	opt := optim.NewMuon(groups, optim.Muon{LR: 0.1, WeightDecay: 0.2, AdamW: optim.AdamW{LR: 0.025, Beta1: 0.5}})
	adamw := optim.NewAdamW(other, optim.AdamW{LR: 0.025, Beta1: 0.5, WeightDecay: 0.2})
	for step := range 3 {
		require.NoError(t, opt.Step(stepGradients(t, vars, step)))
		require.NoError(t, adamw.Step(stepGradients(t, other, step)))
		opt.SetLR(0.1 / float64(step+2))
		adamw.SetLR(0.025 / float64(step+2))
	}
	for i := range vars {
		near(t, floats(t, other[i].Tensor()), vars[i].Tensor(), 1e-7)
	}
}

func floats(t testing.TB, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := x.Float64s()
	require.NoError(t, err)
	return list
}

// A convolution's weight is a matrix; it resumes, and a clipped step is one of smaller gradients.
func TestMuonOfMoreDimensions(t *testing.T) {
	d := open(t)
	a, b := variables(d, tensor.BF16, []int{4, 3, 2, 2}), variables(d, tensor.BF16, []int{4, 12})
	one, two := optim.NewMuon(a, optim.Muon{}), optim.NewMuon(b, optim.Muon{})
	for step := range 3 {
		_, err := one.StepClipped(stepGradients(t, a, step), 0.1)
		require.NoError(t, err)
		_, err = two.StepClipped(stepGradients(t, b, step), 0.1)
		require.NoError(t, err)
	}
	same(t, a[0].Tensor().Reshape(4, 12), b[0].Tensor())
	s, err := two.State()
	require.NoError(t, err)
	again := []*tensor.Var{tensor.NewVar(b[0].Tensor())}
	resumed := optim.NewMuon(again, optim.Muon{})
	require.NoError(t, resumed.Load(s))
	require.NoError(t, two.Step(stepGradients(t, b, 7)))
	require.NoError(t, resumed.Step(stepGradients(t, again, 7)))
	same(t, b[0].Tensor(), again[0].Tensor())
	require.ErrorIs(t, optim.NewMuon(a, optim.Muon{In: tensor.I32}).Err(), tensor.ErrDType)
}
