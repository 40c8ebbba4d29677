package models

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// TestHybridHalf runs models with recurrent states in 16 bits. Logits, of about 2, differ from the
// reference's in 32 bits: for the first three by 0.021, 0.12 and 0.14 in the mean if the reference runs
// in 16 bits itself.
func TestHybridHalf(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for name, within := range map[string]float64{
		"lfm2": 0.025, "qwen3_5": 0.15, "recurrent_gemma": 0.17, "rwkv7": 0.05,
	} {
		g := all[name]
		m, err := Open(g.folder(t), Options{Device: cpu(t), DType: tensor.BF16})
		require.NoError(t, err)
		s, at := m.NewSequence(), 0
		var got []float32
		for _, n := range []int{1, 5, 1, len(g.Prompt) - 7} {
			got = append(got, floats(t, m.StepAll(s, g.Prompt[at:at+n]))...)
			at += n
		}
		sum := 0.0
		for i, w := range g.logits() {
			sum += math.Abs(float64(w - got[i]))
		}
		require.Less(t, sum/float64(len(got)), within, name)
	}
}

// TestPlainExperts multiplies experts without gates in blocks.
func TestPlainExperts(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	g := all["nemotron_h latent"]
	m, err := Open(g.folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	n, err := nn.Quantize(m.Net, func(name string, w *tensor.Tensor) nn.Quantized {
		if !strings.Contains(name, ".experts.") {
			return nil
		}
		return quantized.Quantize(w, format.Q8_0)
	})
	require.NoError(t, err)
	require.Equal(t, 4, n)
	sum, got := 0.0, floats(t, m.StepAll(m.NewSequence(), g.Prompt))
	for i, w := range g.logits() {
		sum += math.Abs(float64(w - got[i]))
	}
	require.Less(t, sum/float64(len(got)), 0.03)
	require.Greater(t, sum, 0.0)
}

// TestHybridMistakes opens configurations of which there is no model.
func TestHybridMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		keys map[string]any
		text string
	}{
		"qwen3_next":      {map[string]any{"linear_num_value_heads": 3}, "3 heads with 2 of keys"},
		"qwen3_5":         {map[string]any{"linear_key_head_dim": 300}, "linear_key_head_dim is 300"},
		"recurrent_gemma": {map[string]any{"lru_width": 50}, "lru_width 50 of 4 heads"},
		"lfm2":            {map[string]any{"conv_L_cache": 1}, "conv_L_cache is 1, want 2 to 32"},
		"rwkv7":           {map[string]any{"head_dim": 20}, "head_dim is 20 of hidden_size 48"},
	} {
		_, err := open(t, name, func(dir string) { edited(t, dir, c.keys) }, Options{})
		require.ErrorIs(t, err, ErrConfig, name)
		require.ErrorContains(t, err, c.text)
	}
}

// TestRecurrentStates feeds sequences of a model with states of fixed size: those that end give room
// to others, and nothing can be taken back.
func TestRecurrentStates(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	g := all["qwen3_next"]
	m, err := Open(g.folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	want, vocab := g.logits(), m.Config.VocabSize
	open := map[int]*Sequence{}
	for round := range 12 {
		open[round] = m.NewSequence()
		if round%3 == 2 {
			open[round-1].Close()
			delete(open, round-1)
		}
		var list []*Sequence
		var ids [][]int32
		for _, i := range slices.Sorted(maps.Keys(open)) {
			s := open[i]
			if s.Len() == len(g.Prompt) {
				continue
			}
			list, ids = append(list, s), append(ids, g.Prompt[s.Len():s.Len()+1])
		}
		got := floats(t, m.Step(list, ids))
		for i, s := range list {
			at := (s.Len() - 1) * vocab
			require.InDeltaSlice(t, want[at:at+vocab], got[i*vocab:(i+1)*vocab], 1e-4)
		}
	}
	require.ErrorIs(t, open[0].Truncate(3), ErrSequence)
	require.Equal(t, 12, open[0].Len())
	require.NoError(t, open[0].Truncate(0))
}
