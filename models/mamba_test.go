package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestMambaMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		model string
		keys  map[string]any
		text  string
	}{
		"state":      {"mamba", map[string]any{"state_size": nil}, "state:0"},
		"negative":   {"mamba", map[string]any{"conv_kernel": -4}, "width:-4"},
		"rank":       {"mamba", map[string]any{"time_step_rank": "some"}, "time_step_rank"},
		"activation": {"mamba", map[string]any{"hidden_act": "relu"}, "want silu"},
		"heads":      {"mamba2", map[string]any{"num_heads": 0}, "0 heads"},
		"groups":     {"mamba2", map[string]any{"n_groups": 3}, "8 heads and 3 groups"},
		"limits":     {"mamba2", map[string]any{"time_step_limit": 7}, "time_step_limit"},
		"experts":    {"nemotron_h", map[string]any{"layers_block_type": []string{"mamba", "moe", "mlp", "mlp"}, "num_experts_per_tok": 9}, "9 of 8 experts"},
		"pattern": {"nemotron_h", map[string]any{"layers_block_type": nil, "num_hidden_layers": 4,
			"hybrid_override_pattern": "MX-*"}, `'X'`},
		"mlp":       {"nemotron_h", map[string]any{"mlp_hidden_act": "so"}, "so"},
		"attention": {"granitemoehybrid", map[string]any{"num_key_value_heads": 3}, "no divisor"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.model, func(dir string) { edited(t, dir, c.keys) }, Options{})
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, c.text)
		})
	}
}

// TestMambaConfigs reads the words of other configurations for the same.
func TestMambaConfigs(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for name, keys := range map[string]map[string]any{
		"mamba":            {"time_step_rank": "auto", "layer_norm_epsilon": nil},
		"mamba2":           {"head_dim": nil, "time_step_limit": nil},
		"granitemoehybrid": {"layer_types": nil, "layers_block_type": []string{"mamba", "attention", "mamba"}, "mamba_d_head": "auto"},
		"nemotron_h": {"layers_block_type": nil, "num_hidden_layers": 4, "hybrid_override_pattern": "M-*-",
			"mlp_hidden_act": nil},
		"bamba": {"rope_parameters": nil, "layer_types": nil},
	} {
		m, err := open(t, name, func(dir string) { edited(t, dir, keys) }, Options{})
		require.NoError(t, err, name)
		require.InDeltaSlice(t, all[name].logits(), floats(t, m.StepAll(m.NewSequence(), all[name].Prompt)), 1e-4, name)
	}
	c, err := ParseConfig([]byte(`{"model_type": "mamba2", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1,
		"time_step_limit": [0.5, Infinity], "state_size": 4, "conv_kernel": 4, "x": [-Infinity,NaN,"NaN \" NaN"]}`))
	require.NoError(t, err)
	s := c.ssm()
	require.Equal(t, []float64{0.5, 0}, []float64{s.low, s.high})
	require.Equal(t, `[null,null,"NaN \" NaN"]`, string(c.keys.of["x"]))
}

// TestMambaSequences has sequences of a model with states and caches, which cannot be truncated but
// to nothing, and numbers of 16 bits.
func TestMambaSequences(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	g := all["granitemoehybrid"]
	m, err := open(t, "granitemoehybrid", nil, Options{})
	require.NoError(t, err)
	s := m.NewSequence()
	want, vocab := g.logits(), m.Config.VocabSize
	has := func(at int, got []float32) {
		t.Helper()
		require.InDeltaSlice(t, want[at*vocab:at*vocab+len(got)], got, 1e-4)
	}
	has(5, floats(t, m.Step([]*Sequence{s}, [][]int32{g.Prompt[:6]})))
	for n := range 6 { // one state for all tokens
		if n > 0 {
			require.ErrorIs(t, s.Truncate(n), ErrSequence)
			require.ErrorContains(t, s.Truncate(n), "layer 0 keeps those from 6 on")
		}
	}
	require.Equal(t, 6, s.Len())
	wrong := []int32{g.Prompt[6], g.Prompt[7], 5, 5, 5}
	for range 2 { // what comes with StepAll can be taken back, as one
		has(6, floats(t, m.StepAll(s, wrong))[:2*vocab])
		require.ErrorContains(t, s.Truncate(8), "layer 0 has a state behind 6 tokens and none between")
		require.Equal(t, 11, s.Len())
		others := []*Sequence{m.NewSequence(), m.NewSequence(), m.NewSequence(), m.NewSequence()}
		for _, o := range others { // for which states move to other memory
			require.NoError(t, m.StepAll(o, wrong).Err())
		}
		require.NoError(t, s.Truncate(6))
	}
	require.Error(t, s.Truncate(5))
	has(8, floats(t, m.Step([]*Sequence{s}, [][]int32{g.Prompt[6:9]})))
	require.ErrorContains(t, s.Truncate(6), "layer 0 keeps those from 9 on")
	require.NoError(t, s.Truncate(9))
	has(9, floats(t, m.StepAll(s, g.Prompt[9:])))
	require.ErrorIs(t, s.Truncate(8), ErrSequence)
	for range 3 { // steps of graphs, too
		require.NoError(t, m.Step([]*Sequence{s}, [][]int32{{1}}).Err())
	}
	require.NoError(t, m.Replayed())
	require.ErrorContains(t, s.Truncate(9), "layer 0 keeps those from 18 on")
	require.NoError(t, s.Truncate(0))
	has(0, floats(t, m.StepAll(s, g.Prompt)))

	for _, name := range []string{"mamba", "mamba2", "granitemoehybrid"} {
		m, err := open(t, name, nil, Options{DType: tensor.BF16})
		require.NoError(t, err)
		want := all[name].logits()
		for i, x := range floats(t, m.StepAll(m.NewSequence(), all[name].Prompt)) {
			require.InDelta(t, want[i], x, 0.3, name) // of a deviation of 1.5
		}
	}
}
