package models

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim/devices"
)

// TestDevices runs three models in the interpreter and on simulated GPUs: a prompt, a token behind
// it, and two sequences together. Simulated GPUs, whose compilers take long for all kernels of a
// model, are for KILN_SWEEP.
func TestDevices(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		if d.Kind() != "cpu" && os.Getenv("KILN_DEVICE") == "" {
			tooltest.Sweep(t, "the interpreter")
		}
		for _, name := range []string{"llama", "qwen3_moe sparse", "mamba2"} {
			g := all[name]
			m, err := Open(g.folder(t), Options{Device: d, DType: tensor.F32})
			require.NoError(t, err, name)
			want, vocab := g.logits(), m.Config.VocabSize
			s := m.NewSequence()
			got := floats(t, m.StepAll(s, g.Prompt[:6]))
			require.InDeltaSlice(t, want[:6*vocab], got, 1e-4, name)
			got = floats(t, m.Step([]*Sequence{s, m.NewSequence()}, [][]int32{g.Prompt[6:7], g.Prompt[:3]}))
			require.InDeltaSlice(t, want[6*vocab:7*vocab], got[:vocab], 1e-4, name)
			require.InDeltaSlice(t, want[2*vocab:3*vocab], got[vocab:], 1e-4, name)
			for at := 7; at < 10; at++ { // the second of these is captured as a graph
				got = floats(t, m.Step([]*Sequence{s}, [][]int32{g.Prompt[at : at+1]}))
				require.InDeltaSlice(t, want[at*vocab:(at+1)*vocab], got, 1e-4, name)
			}
		}
	})
}
