package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// golden is what testdata/gen.py writes.
type golden struct {
	Updates   map[string]map[string][][]float64 // by case and element type: the parameters
	Schedules map[string][]float64
	Losses    []float64
	Clip      struct {
		Norm  float64
		Grads [][]float64
	}
}

func loadGolden(t *testing.T) (g golden) {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &g))
	return g
}

func open(t testing.TB) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// values are numbers of 24 bits between -1 and 1, the same as in gen.py.
func values(seed, n int, scale float64) []float64 {
	list := make([]float64, n)
	for k := range list {
		list[k] = (float64(uint32(uint64(seed+k)*2654435761)>>8)/(1<<23) - 1) * scale
	}
	return list
}

func filled(d *tensor.Device, dt tensor.DType, seed int, scale float64, shape ...int) *tensor.Tensor {
	return tensor.From(d, values(seed, tensor.Shape(shape).Count(), scale), shape...).Cast(dt)
}

// gradients are given ones.
func gradients(t testing.TB, vars []*tensor.Var, list []*tensor.Tensor) *tensor.Gradients {
	t.Helper()
	sum := vars[0].Tensor().Cast(tensor.F32).Sum()
	for _, v := range vars[1:] {
		sum = sum.Add(v.Tensor().Cast(tensor.F32).Sum())
	}
	g, err := sum.Backward()
	require.NoError(t, err)
	for i, v := range vars {
		g.Set(v.Tensor(), list[i])
	}
	return g
}

var dtypes = map[string]tensor.DType{"f64": tensor.F64, "f32": tensor.F32, "bf16": tensor.BF16}

// stepGradients are those of gen.py at a step.
func stepGradients(t testing.TB, vars []*tensor.Var, step int) *tensor.Gradients {
	t.Helper()
	list := make([]*tensor.Tensor, len(vars))
	for i, v := range vars {
		x := v.Tensor()
		if i == 1 && step == 3 {
			continue
		}
		list[i] = filled(x.Device(), x.DType(), 100000+10000*i+100*step, math.Exp2(float64(step*step%5-2)), x.Shape()...)
	}
	return gradients(t, vars, list)
}

func variables(d *tensor.Device, dt tensor.DType, shapes ...[]int) (vars []*tensor.Var) {
	for i, s := range shapes {
		vars = append(vars, tensor.NewVar(filled(d, dt, 1000*i, 1, s...)))
	}
	return vars
}

// twoGroups are those of gen.py.
func twoGroups(vars []*tensor.Var) []optim.Group {
	return []optim.Group{
		{Params: vars[:1]},
		{Params: vars[1:], LRScale: 0.5, WeightDecay: -1},
	}
}

// cases are the optimisers of gen.py.
var cases = map[string]func([]optim.Group) *optim.Optimizer{
	"sgd": func(g []optim.Group) *optim.Optimizer { return optim.NewSGD(g, optim.SGD{LR: 0.1}) },
	"sgd_decay": func(g []optim.Group) *optim.Optimizer {
		return optim.NewSGD(g, optim.SGD{LR: 0.1, WeightDecay: 0.05})
	},
	"sgd_momentum": func(g []optim.Group) *optim.Optimizer {
		return optim.NewSGD(g, optim.SGD{LR: 0.1, Momentum: 0.9, Dampening: 0.25, WeightDecay: 0.05})
	},
	"sgd_nesterov": func(g []optim.Group) *optim.Optimizer {
		return optim.NewSGD(g, optim.SGD{LR: 0.1, Momentum: 0.8, Nesterov: true})
	},
	"adam": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdam(g, optim.Adam{LR: 0.01, WeightDecay: 0.05})
	},
	"adam_amsgrad": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdam(g, optim.Adam{LR: 0.01, Beta1: 0.8, Beta2: 0.9, Eps: 1e-6, AMSGrad: true})
	},
	"adamw": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdamW(g, optim.AdamW{LR: 0.01, WeightDecay: 0.1})
	},
	"adamw_amsgrad": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdamW(g, optim.AdamW{LR: 0.01, Beta1: 0.8, Beta2: 0.9, WeightDecay: 0.1, AMSGrad: true})
	},
	"lion": func(g []optim.Group) *optim.Optimizer {
		return optim.NewLion(g, optim.Lion{LR: 0.01, WeightDecay: 0.1})
	},
	"rmsprop": func(g []optim.Group) *optim.Optimizer {
		return optim.NewRMSprop(g, optim.RMSprop{WeightDecay: 0.05})
	},
	"rmsprop_momentum": func(g []optim.Group) *optim.Optimizer {
		return optim.NewRMSprop(g, optim.RMSprop{Alpha: 0.9, Momentum: 0.9})
	},
	"rmsprop_centered": func(g []optim.Group) *optim.Optimizer {
		return optim.NewRMSprop(g, optim.RMSprop{Alpha: 0.9, Momentum: 0.9, Centered: true})
	},
	"adafactor": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdafactor(g, optim.Adafactor{LR: 0.05, WeightDecay: 0.05})
	},
	"adafactor_least": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdafactor(g, optim.Adafactor{LR: 0.05, Eps: 0.25, Least: 2})
	},
	"adafactor_clip": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdafactor(g, optim.Adafactor{LR: 0.05, Clip: 1.25, Decay: -0.6})
	},
	"adagrad": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdagrad(g, optim.Adagrad{LR: 0.1, WeightDecay: 0.05})
	},
	"adagrad_decay": func(g []optim.Group) *optim.Optimizer {
		return optim.NewAdagrad(g, optim.Adagrad{LR: 0.1, LRDecay: 0.1, Begin: 0.5})
	},
}

// tolerances are of the largest difference of a parameter, which are below 2: ten steps are
// rounded a few times each, and those of bf16 are rounded from masters that may be at a tie.
var tolerances = map[string]float64{"f64": 1e-14, "f32": 1e-6, "bf16": 1e-6}

func TestUpdates(t *testing.T) {
	all := loadGolden(t).Updates
	d := open(t)
	for name, make := range cases {
		for dt, want := range all[name] {
			t.Run(name+"/"+dt, func(t *testing.T) {
				if !d.Supports(dtypes[dt]) {
					t.Skipf("%s has no arithmetic on %s", d, dt)
				}
				vars := variables(d, dtypes[dt], []int{7, 5}, []int{11})
				opt := make(twoGroups(vars))
				for step := range 10 {
					require.NoError(t, opt.Step(stepGradients(t, vars, step)))
				}
				require.Equal(t, 10, opt.Steps())
				for i, v := range vars {
					x := v.Tensor()
					if dt == "bf16" {
						x = opt.Master(v)
						require.Equal(t, tensor.F32, x.DType())
						same(t, v.Tensor(), x.Cast(tensor.BF16))
					}
					near(t, want[i], x, tolerances[dt])
				}
			})
		}
	}
}

// near compares numbers with a tensor.
func near(t testing.TB, want []float64, x *tensor.Tensor, by float64) {
	t.Helper()
	have, err := x.Float64s()
	require.NoError(t, err)
	require.InDeltaSlice(t, want, have, by)
}

// same compares the bits of tensors.
func same(t testing.TB, want, have *tensor.Tensor) {
	t.Helper()
	a, err := want.Bytes()
	require.NoError(t, err)
	b, err := have.Bytes()
	require.NoError(t, err)
	require.Equal(t, want.Shape(), have.Shape())
	require.Equal(t, want.DType(), have.DType())
	require.True(t, string(a) == string(b), "the bits differ")
}

// Large variables, which threads go through several elements at a time, are updated like small
// ones.
func TestUpdatesOfManyElements(t *testing.T) {
	const times = 100 // of 35 elements: some whole blocks, and a part of one
	d := open(t)
	for _, dt := range []tensor.DType{tensor.F32, tensor.BF16} {
		vars := variables(d, dt, []int{1, 35})
		large := []*tensor.Var{tensor.NewVar(vars[0].Tensor().Detach().BroadcastTo(times, 35))}
		for name, make := range cases {
			if strings.HasPrefix(name, "adafactor") {
				continue // has sums over all elements, in an order of their number
			}
			small, big := make([]optim.Group{{Params: vars}}), make([]optim.Group{{Params: large}})
			for step := range 2 {
				g := filled(d, dt, 500*step, 1, 1, 35)
				require.NoError(t, small.Step(gradients(t, vars, []*tensor.Tensor{g})), name)
				require.NoError(t, big.Step(gradients(t, large, []*tensor.Tensor{g.BroadcastTo(times, 35)})), name)
			}
			same(t, vars[0].Tensor().BroadcastTo(times, 35), large[0].Tensor())
		}
	}
}

// Threads that take neighbours, as on devices with vector loads, update the same elements.
func TestVectors(t *testing.T) {
	d := open(t)
	k := jit.Of(kernels.Update[float32, float32, float32])
	const n = 2*1024 + 77
	g, scale := filled(d, tensor.F32, 5, 1, n), tensor.Ones(d, tensor.F32, 1)
	var out [3]*tensor.Tensor
	for i, vec := range []dsl.ConstInt{0, 1, 4} {
		x, s := filled(d, tensor.F32, 3, 1, n), filled(d, tensor.F32, 4, 1, n)
		rule := kernels.Rule[float32]{Beta1: 0.75, Weight1: 0.5, Momentum: true}
		steps := tensor.From(d, []float32{9, 9, 9, 9, 0.5, 0, 0, 0}, 2, 4) // of the second row
		span := kernels.Span{Vec: vec, States: 1, N: n}
		grid := runtime.Blocks(3, 256)
		if vec == 0 {
			grid = runtime.Cover(n, 256) // an element a thread
		}
		require.NoError(t, tensor.Launch(k, grid, x, scale, g, s, scale, scale, scale, steps, 1, rule, span, kernels.SGD[float32]))
		out[i] = tensor.Cat(0, x, s)
	}
	same(t, out[0], out[1])
	same(t, out[0], out[2])
	x := filled(d, tensor.F32, 3, 1, n).Sub(filled(d, tensor.F32, 4, 1, n).MulScalar(0.75).Add(g.MulScalar(0.5)).MulScalar(0.5))
	near(t, floats(t, x), out[2].Narrow(0, 0, n), 1e-6)
}

func TestClipNorm(t *testing.T) {
	want := loadGolden(t).Clip
	d := open(t)
	for dt, by := range map[tensor.DType]float64{tensor.F64: 1e-13, tensor.F32: 1e-6} {
		if !d.Supports(dt) {
			continue
		}
		vars := variables(d, dt, []int{7, 5}, []int{11})
		g := stepGradients(t, vars, 0)
		norm, err := optim.ClipNorm(g, vars, 0.75)
		require.NoError(t, err)
		near(t, []float64{want.Norm}, norm, by)
		require.Empty(t, norm.Shape())
		for i, v := range vars {
			near(t, want.Grads[i], g.Of(v.Tensor()), by)
		}
		again, err := optim.ClipNorm(g, []optim.Group{{Params: vars}}, 10)
		require.NoError(t, err)
		near(t, []float64{0.75}, again, 1e-5)
		for i, v := range vars {
			near(t, want.Grads[i], g.Of(v.Tensor()), by) // which were small enough
		}
		_, err = optim.ClipNorm(g, vars, 0)
		require.ErrorIs(t, err, tensor.ErrArgument)
		_, err = optim.Norm(g, []*tensor.Var{tensor.NewVar(tensor.Fail("bad", tensor.ErrShape))})
		require.ErrorIs(t, err, tensor.ErrShape)
		_, err = optim.ClipNorm(g, []*tensor.Var{}, 1)
		require.ErrorIs(t, err, tensor.ErrArgument)
	}
}

// A large sum has many parts.
func TestNormOfManyElements(t *testing.T) {
	d := open(t)
	vars := []*tensor.Var{tensor.NewVar(tensor.Zeros(d, tensor.F16, 300, 1000)), tensor.NewVar(tensor.Zeros(d, tensor.F32, 2))}
	g := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F16, 300, 1000), tensor.From(d, []float32{300, 400})})
	norm, err := optim.Norm(g, vars)
	require.NoError(t, err)
	near(t, []float64{math.Sqrt(300000 + 250000)}, norm, 1e-3)
}

func TestStepClipped(t *testing.T) {
	d := open(t)
	a, b := variables(d, tensor.F32, []int{7, 5}, []int{11}), variables(d, tensor.F32, []int{7, 5}, []int{11})
	one, two := optim.NewSGD(a, optim.SGD{LR: 0.1, Momentum: 0.9}), optim.NewSGD(b, optim.SGD{LR: 0.1, Momentum: 0.9})
	for step := range 3 {
		g, h := stepGradients(t, a, step), stepGradients(t, b, step)
		n, err := optim.ClipNorm(g, a, 0.5)
		require.NoError(t, err)
		require.NoError(t, one.Step(g))
		m, err := two.StepClipped(h, 0.5)
		require.NoError(t, err)
		same(t, n, m)
	}
	for i := range a {
		same(t, a[i].Tensor(), b[i].Tensor())
	}
}

func TestClipValue(t *testing.T) {
	d := open(t)
	vars := []*tensor.Var{tensor.NewVar(tensor.Zeros(d, tensor.F32, 4))}
	g := gradients(t, vars, []*tensor.Tensor{tensor.From(d, []float32{-3, -0.5, 0.25, 7})})
	require.NoError(t, optim.ClipValue(g, vars, 0.5))
	near(t, []float64{-0.5, -0.5, 0.25, 0.5}, g.Of(vars[0].Tensor()), 0)
	require.ErrorIs(t, optim.ClipValue(g, vars, -1), tensor.ErrArgument)
}

func TestErrors(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{2, 3}, []int{3})
	before := vars[0].Tensor().Detach().Copy()
	opt := optim.NewAdamW(vars, optim.AdamW{})
	require.NoError(t, opt.Err())
	g := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F32, 2, 3), tensor.Ones(d, tensor.F32, 4)})
	require.ErrorIs(t, opt.Step(g), tensor.ErrShape)
	g.Set(vars[1].Tensor(), tensor.Ones(d, tensor.F16, 3))
	require.ErrorIs(t, opt.Step(g), tensor.ErrDTypeMismatch)
	same(t, before, vars[0].Tensor()) // nothing has changed
	require.Equal(t, 0, opt.Steps())

	require.ErrorIs(t, optim.NewSGD([]*tensor.Var{}, optim.SGD{}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, optim.NewSGD([]*tensor.Var{nil}, optim.SGD{}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, optim.NewSGD([]*tensor.Var{vars[0], vars[0]}, optim.SGD{}).Err(), tensor.ErrArgument)
	require.ErrorIs(t, optim.NewSGD([]*tensor.Var{tensor.NewVar(tensor.Ones(d, tensor.I32, 2))}, optim.SGD{}).Err(), tensor.ErrDType)
	bad := optim.NewSGD([]*tensor.Var{nil}, optim.SGD{})
	require.Equal(t, bad.Err(), bad.Step(g))
}

// An update changes what a gradient needs that is asked for later.
func TestChanged(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{2, 3})
	loss := vars[0].Tensor().Sqr().Sum()
	g, err := loss.Backward()
	require.NoError(t, err)
	require.NoError(t, optim.NewAdamW(vars, optim.AdamW{}).Step(g))
	_, err = loss.Backward()
	require.ErrorIs(t, err, tensor.ErrChanged)
}
