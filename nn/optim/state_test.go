package optim_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// Every optimiser goes on with the same bits after its state and the variables went through a
// file.
func TestResume(t *testing.T) {
	d := open(t)
	for name, make := range cases {
		for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				vars := variables(d, dt, []int{7, 5}, []int{11})
				opt := make(twoGroups(vars))
				for step := range 5 {
					require.NoError(t, opt.Step(stepGradients(t, vars, step)))
				}
				opt.SetLR(opt.LR() / 3)
				again := saved(t, d, opt, vars)
				resumed := make(twoGroups(again.vars))
				require.NoError(t, resumed.Load(again.state))
				require.Equal(t, opt.LR(), resumed.LR())
				for step := 5; step < 10; step++ {
					require.NoError(t, opt.Step(stepGradients(t, vars, step)))
					require.NoError(t, resumed.Step(stepGradients(t, again.vars, step)))
				}
				for i := range vars {
					same(t, vars[i].Tensor(), again.vars[i].Tensor())
				}
				require.Equal(t, 10, resumed.Steps())
			})
		}
	}
}

// resumed is what was saved and loaded.
type resumed struct {
	vars  []*tensor.Var
	state map[string]*tensor.Tensor
}

// saved writes an optimiser and its variables to a file and loads them.
func saved(t *testing.T, d *tensor.Device, opt *optim.Optimizer, vars []*tensor.Var) (r resumed) {
	t.Helper()
	state, err := opt.State()
	require.NoError(t, err)
	all := maps.Clone(state)
	for i, v := range vars {
		all[key(i)] = v.Tensor()
	}
	path := filepath.Join(t.TempDir(), "state.safetensors")
	writeFile(t, path, all)
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	defer set.Close()
	r.state, err = tensor.LoadAll(d, set)
	require.NoError(t, err)
	require.Equal(t, slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(r.state)))
	for i := range vars {
		r.vars = append(r.vars, tensor.NewVar(r.state[key(i)]))
		delete(r.state, key(i))
	}
	return r
}

func key(i int) string { return string(rune('a' + i)) }

func TestStateNames(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.BF16, []int{7, 5}, []int{11})
	opt := optim.NewAdamW(vars, optim.AdamW{AMSGrad: true})
	s, err := opt.State()
	require.NoError(t, err)
	require.Equal(t, []string{"counts"}, slices.Sorted(maps.Keys(s)))
	require.NoError(t, opt.Step(gradients(t, vars, []*tensor.Tensor{nil, tensor.Ones(d, tensor.BF16, 11)})))
	s, err = opt.State()
	require.NoError(t, err)
	require.Equal(t, []string{"1.largest", "1.master", "1.mean", "1.square", "counts"}, slices.Sorted(maps.Keys(s)))
}

func TestLoadErrors(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{7, 5}, []int{11})
	opt := optim.NewAdamW(vars, optim.AdamW{})
	require.NoError(t, opt.Step(stepGradients(t, vars, 0)))
	good, err := opt.State()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		change func(m map[string]*tensor.Tensor)
		kind   error
		text   string
	}{
		"missing":    {func(m map[string]*tensor.Tensor) { delete(m, "0.mean") }, tensor.ErrArgument, `"0.mean" is missing`},
		"no counts":  {func(m map[string]*tensor.Tensor) { delete(m, "counts") }, tensor.ErrArgument, `"counts" is missing`},
		"unexpected": {func(m map[string]*tensor.Tensor) { m["0.x"] = m["0.mean"] }, tensor.ErrArgument, `"0.x" is not expected`},
		"shape":      {func(m map[string]*tensor.Tensor) { m["0.mean"] = m["1.mean"] }, tensor.ErrShape, "0.mean"},
		"type":       {func(m map[string]*tensor.Tensor) { m["0.mean"] = m["0.mean"].Cast(tensor.F16) }, tensor.ErrDTypeMismatch, "0.mean"},
		"few":        {func(m map[string]*tensor.Tensor) { m["counts"] = m["counts"].Narrow(0, 0, 3) }, tensor.ErrArgument, "the state of 1 parameters for 2"},
	} {
		m := maps.Clone(good)
		c.change(m)
		fresh := optim.NewAdamW(vars, optim.AdamW{})
		err := fresh.Load(m)
		require.ErrorIs(t, err, c.kind, name)
		require.ErrorContains(t, err, c.text, name)
		require.Equal(t, 0, fresh.Steps(), name)
	}
}

func writeFile(t *testing.T, path string, all map[string]*tensor.Tensor) {
	t.Helper()
	var entries []*file.Entry
	for name, x := range all {
		e, err := x.Entry(name)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	require.NoError(t, safetensors.WriteFile(path, nil, entries...))
}

// Variables without updates in what is loaded begin again: nothing of their old states is left, also
// of those that had them together with others.
func TestLoadForgets(t *testing.T) {
	d := open(t)
	old, fresh := variables(d, tensor.F32, []int{3}, []int{5}), variables(d, tensor.F32, []int{3}, []int{5})
	used, other := optim.NewAdamW(old, optim.AdamW{}), optim.NewAdamW(fresh, optim.AdamW{})
	step := func(o *optim.Optimizer, vars []*tensor.Var, of ...int) {
		list := make([]*tensor.Tensor, len(vars))
		for _, i := range of {
			list[i] = tensor.Ones(d, tensor.F32, vars[i].Tensor().Count())
		}
		require.NoError(t, o.Step(gradients(t, vars, list)))
	}
	state, err := other.State()
	require.NoError(t, err)
	used.SetLR(0.5)
	step(used, old, 0, 1)
	require.NoError(t, used.Load(state))
	for i := range old {
		require.NoError(t, old[i].Set(fresh[i].Tensor()))
	}
	step(used, old, 1)
	step(other, fresh, 1)
	for i := range old {
		same(t, fresh[i].Tensor(), old[i].Tensor())
	}
}
