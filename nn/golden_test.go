package nn_test

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// numbers are those of a tensor in testdata/layers.json.
type numbers struct {
	Shape []int
	Int   bool
	Data  []float64
}

// golden is a case of testdata/layers.json: see testdata/gen.py.
type golden struct {
	Train           bool
	Inputs, Outputs []numbers
	Params          map[string]numbers
	Grads           map[string]numbers
	After           map[string]numbers // buffers
}

var goldens = sync.OnceValues(func() (map[string]*golden, error) {
	data, err := os.ReadFile("testdata/layers.json")
	if err != nil {
		return nil, err
	}
	var out map[string]*golden
	return out, json.Unmarshal(data, &out)
})

func (n *numbers) on(d *tensor.Device, dt tensor.DType) *tensor.Tensor {
	if n.Int {
		dt = tensor.I64
	}
	return tensor.From(d, n.Data).Reshape(n.Shape...).Cast(dt)
}

// model is a layer, and how a case runs it: as a [nn.Layer] if run is nil.
type model struct {
	net any
	run func(in []ten) []ten
}

type ten = *tensor.Tensor

// check compares a model with a case of PyTorch's: names of parameters, outputs, gradients of inputs and
// parameters, and buffers.
func check(t *testing.T, d *tensor.Device, name string, dt tensor.DType, m model) {
	t.Helper()
	all, err := goldens()
	require.NoError(t, err)
	g := all[name]
	require.NotNil(t, g, "no case %q in testdata/layers.json", name)
	tol := 1e-8
	if dt == tensor.F32 {
		tol = 3e-4
	}
	in := prepare(t, d, g, dt, m)
	out := m.results(in)
	require.Len(t, out, len(g.Outputs))
	var loss ten
	for i, n := range g.Outputs {
		near(t, "output", n, out[i], tol)
		seed := make([]float64, len(n.Data))
		for k := range seed {
			seed[k] = math.Cos(float64(k))
		}
		part := out[i].Mul(tensor.From(d, seed).Reshape(n.Shape...).Cast(dt)).Sum()
		if loss == nil {
			loss = part
		} else {
			loss = loss.Add(part)
		}
	}
	grads, err := loss.Backward()
	require.NoError(t, err)
	list, err := nn.List(m.net)
	require.NoError(t, err)
	of := map[string]ten{}
	for _, p := range list {
		of[p.Name] = p.Tensor()
		if !p.IsBuffer() && !p.IsFrozen() {
			require.Contains(t, g.Grads, p.Name, "PyTorch has no gradient of a parameter")
		}
	}
	for i, x := range in {
		of["in"+string(rune('0'+i))] = x
	}
	for _, k := range slices.Sorted(maps.Keys(g.Grads)) {
		require.NotNil(t, of[k], k)
		require.NotNil(t, grads.Of(of[k]), "no gradient of %s", k)
		near(t, "gradient of "+k, g.Grads[k], grads.Of(of[k]), tol*10)
	}
	for k, n := range g.After {
		near(t, k, n, of[k], tol)
	}
}

// prepare loads the parameters of a case into a model, and returns the case's inputs.
func prepare(t *testing.T, d *tensor.Device, g *golden, dt tensor.DType, m model) []ten {
	t.Helper()
	state := nn.Memory{}
	for k, p := range g.Params {
		state[k] = p.on(d, dt)
	}
	_, err := nn.Load(m.net, state, nn.LoadOptions{On: nn.On{Device: d}})
	require.NoError(t, err)
	require.NoError(t, nn.SetTraining(m.net, g.Train))
	in := make([]ten, len(g.Inputs))
	for i, n := range g.Inputs {
		if in[i] = n.on(d, dt); !n.Int {
			in[i] = tensor.NewVar(in[i]).Tensor()
		}
	}
	return in
}

// results are what a model makes of inputs.
func (m model) results(in []ten) []ten {
	if m.run != nil {
		return m.run(in)
	}
	return []ten{m.net.(nn.Layer).Forward(in[0])}
}

func near(t *testing.T, what string, want numbers, got ten, tol float64) {
	t.Helper()
	require.NoError(t, got.Err(), what)
	require.Equal(t, tensor.Shape(want.Shape), append(tensor.Shape{}, got.Shape()...), what)
	x, err := got.Float64s()
	require.NoError(t, err)
	for i := range x {
		require.InDelta(t, want.Data[i], x[i], tol*max(1, math.Abs(want.Data[i])), "%s at %d", what, i)
	}
}

// one is a model of one result.
func one(net any, run func(in []ten) ten) model {
	return model{net, func(in []ten) []ten { return []ten{run(in)} }}
}
