package train_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// trained is a network with dropout and its optimiser.
type trained struct {
	net *nn.TransformerEncoder
	opt *optim.Optimizer
	all []*tensor.Var
}

func newTrained(t *testing.T, d *tensor.Device) *trained {
	d.SetSeed(1)
	o := nn.TransformerOptions{Width: 48, NormFirst: true, Dropout: 0.25}
	n := &trained{net: nn.NewTransformerEncoder(2, 24, 3, o)}
	require.NoError(t, nn.Init(n.net, nn.On{Device: d}))
	require.NoError(t, nn.SetTraining(n.net, true))
	var err error
	n.all, err = nn.Trainable(n.net)
	require.NoError(t, err)
	n.opt = optim.NewAdamW(n.all, optim.AdamW{LR: 1e-2, WeightDecay: 0.1})
	require.NoError(t, n.opt.Err())
	return n
}

// step is forward and backward passes and the update.
func (n *trained) step(x *tensor.Tensor) error {
	s := tensor.OpenScope()
	grads, err := n.net.Forward(x.In(s)).Sqr().Mean().Backward()
	if err == nil {
		_, err = n.opt.StepClipped(grads, 1)
	}
	if e := s.Close(); err == nil {
		err = e
	}
	return err
}

// A step of training with dropout that was captured allocates nothing on the device, and as many
// launches of it have the bits of as many steps that are not captured.
func TestCapturedTraining(t *testing.T) {
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 8, 24)
	plain, byGraph := newTrained(t, d), newTrained(t, d)
	d.SetSeed(9)
	for range 5 {
		require.NoError(t, plain.step(x))
	}
	d.SetSeed(9)
	require.NoError(t, byGraph.step(x)) // makes the states of the optimiser
	graph, err := d.Capture(func() error { return byGraph.step(x) })
	require.NoError(t, err)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what is collected would hide what is allocated
	runtime.GC()
	require.NoError(t, d.Stream().Sync())
	d.ResetPeak()
	before := d.PeakBytes()
	for range 4 {
		require.NoError(t, byGraph.opt.Advance())
		require.NoError(t, graph.Launch())
	}
	require.NoError(t, d.Stream().Sync())
	require.Equal(t, before, d.PeakBytes(), "bytes on the device")
	for i, v := range plain.all {
		want, err := v.Tensor().Bytes()
		require.NoError(t, err)
		got, err := byGraph.all[i].Tensor().Bytes()
		require.NoError(t, err)
		require.Equal(t, want, got, "variable %d", i)
	}
	d.ResetPeak()
	before = d.PeakBytes()
	require.NoError(t, plain.step(x))
	require.Greater(t, d.PeakBytes(), before, "a step that is not captured allocates")
}
