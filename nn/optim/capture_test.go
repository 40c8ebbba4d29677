package optim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// captured is an optimiser that steps by a graph, beside one that does not.
type captured struct {
	d                *tensor.Device
	a, b             []*tensor.Var
	plain, byGraph   *optim.Optimizer
	inputs           []*tensor.Var // the gradients of the step
	plainGrad, grads *tensor.Gradients
}

// capturedShapes has variables that are updated together, also with codes, and one that is not.
var capturedShapes = [][]int{{7, 5}, {11}, {70, 70}, {300, 300}}

func newCaptured(t *testing.T, d *tensor.Device, make func([]optim.Group) *optim.Optimizer) *captured {
	c := &captured{d: d, a: variables(d, tensor.BF16, capturedShapes...), b: variables(d, tensor.BF16, capturedShapes...)}
	c.inputs = variables(d, tensor.BF16, capturedShapes...)
	c.plain, c.byGraph = make(twoGroups(c.a)), make(twoGroups(c.b))
	c.plainGrad, c.grads = asGradients(t, c.a, c.inputs), asGradients(t, c.b, c.inputs)
	return c
}

// bring sets the gradients of a step.
func (c *captured) bring(t *testing.T, step int) {
	t.Helper()
	for i, v := range c.inputs {
		require.NoError(t, v.Set(filled(c.d, tensor.BF16, 1000*i+77*step, 1, capturedShapes[i]...)))
	}
}

// capture captures a plain step.
func (c *captured) capture(t *testing.T) *tensor.Graph {
	t.Helper()
	g, err := c.d.Capture(func() error { return c.byGraph.Step(c.grads) })
	require.NoError(t, err)
	return g
}

func (c *captured) same(t *testing.T) {
	t.Helper()
	for i := range c.a {
		same(t, c.a[i].Tensor(), c.b[i].Tensor())
	}
}

// A plain step that was captured has the bits of one that was not, where steps before it were
// clipped or where the state was loaded, and so has a step between launches that is in no graph.
func TestCapturedPlainSteps(t *testing.T) {
	d := open(t)
	for name, make := range everyCase() {
		for _, loaded := range []bool{false, true} {
			c := newCaptured(t, d, make)
			c.bring(t, 0)
			_, err := c.plain.StepClipped(c.plainGrad, 2)
			require.NoError(t, err)
			if loaded {
				state, err := c.plain.State()
				require.NoError(t, err)
				require.NoError(t, c.byGraph.Load(state))
				for i := range c.b {
					require.NoError(t, c.b[i].Set(c.a[i].Tensor().Detach().Copy()))
				}
			} else {
				_, err := c.byGraph.StepClipped(c.grads, 2)
				require.NoError(t, err)
			}
			graph := c.capture(t)
			for step := range 4 {
				c.bring(t, step)
				require.NoError(t, c.plain.Step(c.plainGrad))
				if step%2 == 0 { // the first one without a launch
					require.NoError(t, c.byGraph.Step(c.grads), name)
				} else {
					require.NoError(t, c.byGraph.Advance(), name)
					require.NoError(t, graph.Launch())
				}
				c.same(t)
			}
			require.NoError(t, graph.Close())
		}
	}
}

// What changes with each call on the host is no part of a graph.
func TestCaptureRefusals(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{7}, []int{5})
	grads := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F32, 7), tensor.Ones(d, tensor.F32, 5)})
	opt := optim.NewAdamW(vars, optim.AdamW{})
	require.NoError(t, opt.Step(grads))
	there := interpreted(t)
	state, err := opt.State()
	require.NoError(t, err)
	for name, x := range state { // where they can be read
		state[name] = x.To(there)
	}
	fresh := optim.NewAdamW(vars, optim.AdamW{})
	loss, scaler := tensor.Ones(d, tensor.F32), optim.LossScaler{}
	ramp, err := optim.NewAverage(vars, 0.5)
	require.NoError(t, err)
	ramp.Ramp = true
	sums := optim.NewAccumulator(vars, 2)
	for name, fn := range map[string]func() error{
		"scale":      func() error { return scaler.Scale(loss).Err() },
		"ramp":       ramp.Update,
		"accumulate": func() error { _, err := sums.Add(grads); return err },
		"load":       func() error { return fresh.Load(state) },
	} {
		_, err := d.Capture(fn)
		require.ErrorIs(t, err, runtime.ErrCapturing, name)
	}
	state, err = fresh.State()
	require.NoError(t, err)
	require.Len(t, state, 1)
	require.Zero(t, ramp.Updates())
	require.NoError(t, ramp.Update())
	mean, err := sums.Add(grads)
	require.NoError(t, err)
	require.Nil(t, mean) // the first of two
	require.ErrorIs(t, scaler.Scale(nil).Err(), tensor.ErrArgument)

	plain, err := optim.NewAverage(vars, 0.5)
	require.NoError(t, err)
	require.NoError(t, vars[0].Set(tensor.Zeros(d, tensor.F32, 7)))
	begin := plain.Of(vars[0]).Copy()
	graph, err := d.Capture(plain.Update)
	require.NoError(t, err)
	require.Zero(t, plain.Updates())
	require.NoError(t, graph.Launch())
	same(t, begin.MulScalar(0.5), plain.Of(vars[0]))
}

// interpreted is a second device, the interpreter.
func interpreted(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("cpu:interp")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Devices of which only some capture have no common step.
func TestCaptureOfOneDevice(t *testing.T) {
	d := open(t)
	there := interpreted(t)
	for _, list := range [][]*tensor.Device{{d, there}, {there, d}} {
		var vars []*tensor.Var
		for _, on := range list {
			vars = append(vars, tensor.NewVar(tensor.Ones(on, tensor.F32, 3)))
		}
		opt := optim.NewSGD(vars, optim.SGD{LR: 0.5})
		grads := gradients(t, vars[:1], []*tensor.Tensor{tensor.Ones(list[0], tensor.F32, 3)})
		grads.Set(vars[1].Tensor(), tensor.Ones(list[1], tensor.F32, 3))
		require.NoError(t, opt.Step(grads))
		for _, fn := range []func() error{func() error { return opt.Step(grads) }, opt.Advance} {
			_, err := d.Capture(fn)
			require.ErrorIs(t, err, tensor.ErrDevice)
		}
		require.Equal(t, 1, opt.Steps())
		for _, v := range vars {
			near(t, []float64{0.5, 0.5, 0.5}, v.Tensor(), 0)
		}
	}
}

// Advance counts steps of variables that have states, and says where there are none.
func TestAdvanceErrors(t *testing.T) {
	d := open(t)
	vars := variables(d, tensor.F32, []int{7}, []int{5})
	grads := gradients(t, vars, []*tensor.Tensor{tensor.Ones(d, tensor.F32, 7), tensor.Ones(d, tensor.F32, 5)})
	opt := optim.NewAdamW(vars, optim.AdamW{})
	begin, err := opt.State()
	require.NoError(t, err)
	require.ErrorIs(t, opt.Advance(), tensor.ErrArgument)
	require.NoError(t, opt.Step(gradients(t, vars, []*tensor.Tensor{nil, nil})))
	require.ErrorIs(t, opt.Advance(), tensor.ErrArgument)
	require.Equal(t, 1, opt.Steps())

	require.NoError(t, opt.Step(grads))
	_, err = d.Capture(func() error { return opt.Step(grads) })
	require.NoError(t, err)
	require.NoError(t, opt.Advance())
	require.NoError(t, opt.Load(begin))
	require.ErrorContains(t, opt.Advance(), "parameter 0 has no states since Load")
	require.Zero(t, opt.Steps())
	state, err := opt.State()
	require.NoError(t, err)
	require.Len(t, state, 1)
	require.NoError(t, opt.Load(state))
	require.NoError(t, opt.Step(grads))
	require.NoError(t, opt.Advance())
}
