package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// recurrentOps are operations with states, of numbers for tokens, (tokens, width), and of 192 others.
var recurrentOps = map[string]struct {
	width int
	state []int // of a sequence
	order bool  // sums are in another order on CPUs
	run   func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor
}{
	"short convolution": {24, []int{3, 24}, false,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			weight := w.Narrow(0, 0, 96).Reshape(24, 4)
			return recurrent.ShortConv(x, weight, w.Narrow(0, 96, 24), state, on, recurrent.SiLU)
		}},
	"mamba": {12 + 12 + 16 + 16 + 12, []int{12, 16}, false,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			a := w.Reshape(12, 16).Abs().Neg()
			b, c, gate := x.Narrow(1, 24, 16), x.Narrow(1, 40, 16), x.Narrow(1, 56, 12)
			return recurrent.SelectiveScan(x.Narrow(1, 0, 12), x.Narrow(1, 12, 12), a, b, c, state, on,
				recurrent.ScanOptions{Bias: w.Narrow(0, 0, 12), Skip: w.Narrow(0, 12, 12), Gate: gate})
		}},
	"mamba2": {24 + 4 + 26 + 26, []int{24, 13}, false,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			a := w.Narrow(0, 0, 4).Abs().Neg()
			return recurrent.SelectiveScan(x.Narrow(1, 0, 24), x.Narrow(1, 24, 4), a, x.Narrow(1, 28, 26),
				x.Narrow(1, 54, 26), state, on, recurrent.ScanOptions{Low: 0.3, High: 0.9})
		}},
	"gated delta rule": {40 + 40 + 44 + 4 + 4, []int{4, 11, 20}, true,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			bias, rate := w.Narrow(0, 0, 4).Cast(tensor.F32), w.Narrow(0, 4, 4).Cast(tensor.F32).Abs().Neg()
			gate, beta := recurrent.DeltaGates(x.Narrow(1, 124, 4), x.Narrow(1, 128, 4), bias, rate)
			return recurrent.GatedDelta(x.Narrow(1, 0, 40), x.Narrow(1, 40, 40), x.Narrow(1, 80, 44), gate, beta,
				state, on, recurrent.DeltaOptions{Normalise: true})
		}},
	"general delta rule": {48, []int{3, 16, 16}, true,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			k, decay := x.MulScalar(0.2), x.Cast(tensor.F32).Sigmoid()
			return recurrent.GeneralDelta(x, k, x, decay, k, x.Sigmoid(), state, on)
		}},
	"rg-lru": {60, []int{20}, false,
		func(x, w, state *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
			part := func(i int) *tensor.Tensor { return x.Narrow(1, 20*i, 20) }
			return recurrent.RGLRU(part(0), part(1), part(2), w.Narrow(0, 0, 20), state, on)
		}},
}

// TestRecurrent feeds two sequences of different lengths, of which one begins: results and states
// are the same bits on each device, or nearly so.
func TestRecurrent(t *testing.T) {
	list := devices(t)
	types := []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}
	near := map[tensor.DType]float64{tensor.F32: 1e-5, tensor.BF16: 4e-2, tensor.F16: 4e-3}
	for name, op := range recurrentOps {
		x := tensor.Randn(list[0], tensor.F32, 0, 1, 45, op.width)
		w := tensor.Randn(list[0], tensor.F32, 0, 0.5, 192)
		before := tensor.Randn(list[0], tensor.F32, 0, 1, append([]int{3}, op.state...)...)
		on := func(d *tensor.Device, dt tensor.DType) (out, states []float32) {
			s, err := recurrent.NewSequences(d, []recurrent.Sequence{{Tokens: 40, State: 2, Fresh: true}, {Tokens: 5}})
			require.NoError(t, err)
			state := before.Copy().To(d)
			y := op.run(x.Cast(dt).To(d), w.Cast(dt).To(d), state, s)
			require.NoError(t, y.Err(), "%s on %v", name, d)
			return values(t, y.Cast(tensor.F32)), values(t, state)
		}
		for i, d := range list[1:] {
			dt := types[i%len(types)]
			want, states := on(list[0], dt)
			got, end := on(d, dt)
			if op.order {
				require.InDeltaSlice(t, want, got, near[dt], "%s of %s on %v", name, dt, d)
				require.InDeltaSlice(t, states, end, 1e-5, "states of %s of %s on %v", name, dt, d)
				continue
			}
			require.Equal(t, want, got, "%s of %s on %v", name, dt, d)
			require.Equal(t, states, end, "states of %s of %s on %v", name, dt, d)
		}
	}
}
