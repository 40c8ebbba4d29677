package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// A step that failed in a variable that is updated by itself leaves nothing for the next one.
func TestStepAfterFailure(t *testing.T) {
	d := open(t)
	shapes := [][]int{{3}, {300, 300}}
	for range 15 {
		shapes = append([][]int{{5}}, shapes...)
	}
	large := len(shapes) - 1
	vars, fresh := variables(d, tensor.F32, shapes...), variables(d, tensor.F32, shapes...)
	opt, other := optim.NewSGD(vars, optim.SGD{LR: 0.5}), optim.NewSGD(fresh, optim.SGD{LR: 0.5})
	give := func(vars []*tensor.Var, with bool) *tensor.Gradients {
		var list []*tensor.Tensor
		for _, s := range shapes {
			list = append(list, tensor.Ones(d, tensor.F32, s...))
		}
		if !with {
			list[large] = nil
		}
		return gradients(t, vars, list)
	}
	require.NoError(t, opt.Step(give(vars, true)))
	bad := give(vars, true)
	require.NoError(t, bad.Of(vars[large].Tensor()).Free())
	require.ErrorIs(t, opt.Step(bad), tensor.ErrFreed)
	require.NoError(t, opt.Step(give(vars, false)))
	require.NoError(t, opt.Step(give(vars, true)))
	for _, with := range []bool{true, false, true} {
		require.NoError(t, other.Step(give(fresh, with)))
	}
	for i := range vars {
		same(t, fresh[i].Tensor(), vars[i].Tensor())
	}
}

// States that could not be made for all variables of a pack are made anew for each of them.
func TestMasterAfterFailure(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.BF16, []int{3}, []int{5})
	opt := optim.NewSGD(vars, optim.SGD{LR: 0.5})
	one := tensor.Ones(d, tensor.BF16, 3)
	both := gradients(t, vars, []*tensor.Tensor{one, tensor.Ones(d, tensor.BF16, 5)})
	first := gradients(t, vars, []*tensor.Tensor{one, nil})
	require.NoError(t, vars[1].Tensor().Free())
	require.ErrorIs(t, opt.Step(both), tensor.ErrFreed)
	for _, v := range vars {
		require.Nil(t, opt.Master(v))
	}
	require.NoError(t, vars[0].Set(one.MulScalar(4)))
	require.NoError(t, opt.Step(first))
	near(t, []float64{3.5, 3.5, 3.5}, vars[0].Tensor(), 0)
}

// A step that had no memory for master copies or states is made when there is.
func TestStepAfterOutOfMemory(t *testing.T) {
	d := open(t)
	defer d.SetMemoryLimit(0)
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
		shapes := [][]int{{300, 300}, {300, 301}}
		vars, fresh := variables(d, dt, shapes...), variables(d, dt, shapes...)
		opt, other := optim.NewAdamW(vars, optim.AdamW{}), optim.NewAdamW(fresh, optim.AdamW{})
		ones := []*tensor.Tensor{tensor.Ones(d, dt, 300, 300), tensor.Ones(d, dt, 300, 301)}
		first := gradients(t, vars, []*tensor.Tensor{ones[0], nil})
		d.SetMemoryLimit(1) // not even for the learning rates
		require.ErrorIs(t, opt.Step(first), tensor.ErrOutOfMemory)
		d.SetMemoryLimit(0)
		for _, o := range []*optim.Optimizer{opt, other} {
			require.NoError(t, o.Step(gradients(t, o.Params(), []*tensor.Tensor{ones[0], nil})))
		}
		grads := gradients(t, vars, ones)
		d.SetMemoryLimit(1)
		require.ErrorIs(t, opt.Step(grads), tensor.ErrOutOfMemory)
		d.SetMemoryLimit(0)
		require.Nil(t, opt.Master(vars[1]))
		require.NoError(t, opt.Step(grads))
		require.NoError(t, other.Step(gradients(t, fresh, ones)))
		for i := range vars {
			same(t, fresh[i].Tensor(), vars[i].Tensor())
		}
	}
}
