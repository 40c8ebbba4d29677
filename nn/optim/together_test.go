package optim_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// everyCase is the optimisers of gen.py and those that it has not.
func everyCase() map[string]func([]optim.Group) *optim.Optimizer {
	all := maps.Clone(cases)
	all["adamw_bits8"] = func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdamW(g, optim.AdamW{LR: 0.01, WeightDecay: 0.1, Bits8: true})
	}
	all["muon"] = func(g []optim.Group) *optim.Optimizer {
		return optim.NewMuon(g, optim.Muon{LR: 0.01, WeightDecay: 0.1})
	}
	return all
}

// manyShapes are variables of which there are more than a launch takes, of sizes from less than a
// vector to several blocks, and one that is updated for itself.
func manyShapes() (shapes [][]int) {
	for i := range 19 {
		shapes = append(shapes, []int{1 + i*i*i/3})
	}
	return append(shapes, []int{300, 300}, []int{5, 3})
}

// Variables that are updated together have the bits of those that are updated one by one, whichever
// of them have gradients.
func TestTogether(t *testing.T) {
	d := open(t)
	for name, make := range everyCase() {
		for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
			all, alone := variables(d, dt, manyShapes()...), variables(d, dt, manyShapes()...)
			together := make(groupsOf(all))
			single := []*optim.Optimizer{}
			for _, one := range groupsOf(alone) {
				for _, v := range one.Params {
					one.Params = []*tensor.Var{v}
					single = append(single, make([]optim.Group{one}))
				}
			}
			for step := range 4 {
				g := someGradients(t, all, step)
				if step == 2 {
					together.SetLR(together.LR() / 3)
				}
				require.NoError(t, together.Step(g), name)
				for i := range alone {
					if step == 2 {
						single[i].SetLR(together.LR())
					}
					one := gradients(t, alone[i:i+1], []*tensor.Tensor{g.Of(all[i].Tensor())})
					require.NoError(t, single[i].Step(one), name)
				}
			}
			for i := range all {
				same(t, alone[i].Tensor(), all[i].Tensor())
				w := together.Master(all[i])
				none := dt == tensor.F32 || i == 4 || i >= 9 && i < 12
				require.Equal(t, none, w == nil)
				if !none {
					same(t, single[i].Master(alone[i]), w)
				}
			}
		}
	}
}

// groupsOf has variables in three groups, of which one goes without master copies.
func groupsOf(vars []*tensor.Var) []optim.Group {
	return []optim.Group{
		{Params: vars[:5]},
		{Params: vars[5:9], LRScale: 0.5, WeightDecay: -1},
		{Params: vars[9:12], NoMaster: true},
		{Params: vars[12:], LRScale: 2},
	}
}

// someGradients are those of a step, in which some variables have none, and some one in float32.
func someGradients(t *testing.T, vars []*tensor.Var, step int) *tensor.Gradients {
	t.Helper()
	list := make([]*tensor.Tensor, len(vars))
	for i, v := range vars {
		x := v.Tensor()
		switch {
		case i == 4 || i%7 == 3 && step == 1 || i == 10 && step < 2:
			continue
		case i%5 == 2 && step == 3:
			list[i] = filled(x.Device(), tensor.F32, 100*i+step, 1, x.Shape()...)
		default:
			list[i] = filled(x.Device(), x.DType(), 100*i+step, 1, x.Shape()...)
		}
	}
	return gradients(t, vars, list)
}

// A step that was captured has the bits of one that was not, with a schedule, for every optimiser.
func TestCapturedSteps(t *testing.T) {
	d := open(t)
	plan := optim.Warmup{Steps: 3, Then: optim.Cosine{From: 0.1, Steps: 7}}
	for name, make := range everyCase() {
		for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
			shapes := [][]int{{7, 5}, {11}, {70, 70}, {3}, {300, 300}}
			a, b := variables(d, dt, shapes...), variables(d, dt, shapes...)
			plain, captured := make(twoGroups(a)), make(twoGroups(b))
			inputs := variables(d, dt, shapes...) // the gradients of the step
			grads := asGradients(t, b, inputs)
			bring := func(step int) {
				for i, v := range inputs {
					require.NoError(t, v.Set(filled(d, dt, 1000*i+77*step, 1, shapes[i]...)))
				}
			}
			var graph *tensor.Graph
			for step := range 6 {
				bring(step)
				plain.SetLR(plan.At(step))
				captured.SetLR(plan.At(step))
				_, err := plain.StepClipped(asGradients(t, a, inputs), 2)
				require.NoError(t, err)
				switch step {
				case 0:
					_, err = captured.StepClipped(grads, 2)
					require.NoError(t, err)
					graph, err = d.Capture(func() error {
						_, err := captured.StepClipped(grads, 2)
						return err
					})
					require.NoError(t, err, name)
					require.Equal(t, 1, captured.Steps())
				default:
					require.NoError(t, captured.Advance())
					require.NoError(t, graph.Launch())
				}
				for i := range a {
					same(t, a[i].Tensor(), b[i].Tensor())
				}
			}
			require.Equal(t, 6, captured.Steps())
			state, err := captured.State()
			require.NoError(t, err)
			other, err := plain.State()
			require.NoError(t, err)
			for key, s := range other {
				same(t, s, state[key])
			}
			require.NoError(t, graph.Close())
		}
	}
}

// asGradients has variables as the gradients of others.
func asGradients(t *testing.T, of, grads []*tensor.Var) *tensor.Gradients {
	t.Helper()
	list := make([]*tensor.Tensor, len(of))
	for i, g := range grads {
		list[i] = g.Tensor().Detach()
	}
	return gradients(t, of, list)
}

// What a graph cannot hold of an optimiser is an error, and changes nothing.
func TestCaptureErrors(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{7}, []int{5})
	opt := optim.NewAdamW(vars, optim.AdamW{})
	first := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F32, 7), nil})
	both := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F32, 7), tensor.Ones(d, tensor.F32, 5)})
	require.NoError(t, opt.Step(first))
	_, err := d.Capture(func() error { return opt.Step(both) })
	require.ErrorIs(t, err, runtime.ErrCapturing)
	require.ErrorContains(t, err, "parameter 1")
	_, err = d.Capture(opt.Advance)
	require.ErrorIs(t, err, runtime.ErrCapturing)
	require.Equal(t, 1, opt.Steps())
	bad := optim.NewAdamW([]*tensor.Var{nil}, optim.AdamW{})
	require.Equal(t, bad.Err(), bad.Advance())
}
