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
		"experts":    {"nemotron_h", map[string]any{"layers_block_type": []string{"mamba", "moe", "mlp", "mlp"}}, "experts"},
		"mlp":        {"nemotron_h", map[string]any{"mlp_hidden_act": "so"}, "so"},
		"attention":  {"granitemoehybrid", map[string]any{"num_key_value_heads": 3}, "no divisor"},
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
	first := floats(t, m.StepAll(s, g.Prompt[:6]))
	err = s.Truncate(5)
	require.ErrorIs(t, err, ErrSequence)
	require.ErrorContains(t, err, "layer 0 keeps those from 6 on")
	require.Equal(t, 6, s.Len())
	require.NoError(t, s.Truncate(6))
	rest := floats(t, m.StepAll(s, g.Prompt[6:])) // nothing was lost by the error
	require.InDeltaSlice(t, g.logits(), append(first, rest...), 1e-4)
	require.NoError(t, s.Truncate(0))
	require.Equal(t, first, floats(t, m.StepAll(s, g.Prompt[:6])))

	for _, name := range []string{"mamba", "mamba2", "granitemoehybrid"} {
		m, err := open(t, name, nil, Options{DType: tensor.BF16})
		require.NoError(t, err)
		want := all[name].logits()
		for i, x := range floats(t, m.StepAll(m.NewSequence(), all[name].Prompt)) {
			require.InDelta(t, want[i], x, 0.3, name) // of a deviation of 1.5
		}
	}
}
