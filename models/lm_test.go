package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
)

// open opens a golden model, in a folder that change may edit before.
func open(t testing.TB, name string, change func(dir string), o Options) (*LM, error) {
	t.Helper()
	all, err := readGolden()
	require.NoError(t, err)
	dir := all[name].folder(t)
	if change != nil {
		change(dir)
	}
	o.Device = cpu(t)
	return Open(dir, o)
}

// edited changes keys of the config.json of a folder.
func edited(t testing.TB, dir string, keys map[string]any) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	var c map[string]any
	require.NoError(t, json.Unmarshal(b, &c))
	for k, v := range keys {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	b, err = json.Marshal(c)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b, 0o644))
}

func TestOpenMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		keys map[string]any
		is   error
		text []string
	}{
		"architecture": {map[string]any{"model_type": "lamma"}, ErrConfig,
			[]string{`"lamma", the model_type in config.json`, "there are", "llama"}},
		"missing": {map[string]any{"num_hidden_layers": 3}, nn.ErrNames,
			[]string{"missing: model.layers.2.input_layernorm.weight", "unexpected: none"}},
		"unexpected": {map[string]any{"num_hidden_layers": 1}, nn.ErrNames,
			[]string{"missing: none", "unexpected: model.layers.1.input_layernorm.weight"}},
		"shape": {map[string]any{"intermediate_size": 81}, tensor.ErrShape,
			[]string{"mlp.gate_proj.weight"}},
		"no layers": {map[string]any{"num_hidden_layers": nil}, ErrConfig,
			[]string{"num_hidden_layers is 0"}},
		"text":     {map[string]any{"hidden_size": "48"}, ErrConfig, []string{"hidden_size"}},
		"negative": {map[string]any{"vocab_size": -1}, ErrConfig, []string{"vocab_size is -1"}},
		"huge": {map[string]any{"num_hidden_layers": 1 << 40}, ErrConfig,
			[]string{"num_hidden_layers"}},
		"heads":      {map[string]any{"num_key_value_heads": 3}, ErrConfig, []string{"no divisor"}},
		"activation": {map[string]any{"hidden_act": "wow"}, ErrConfig, []string{"wow"}},
		"scaling": {map[string]any{"rope_parameters": map[string]any{"rope_type": "spiral"}}, ErrConfig,
			[]string{"spiral"}},
		"factor": {map[string]any{"rope_parameters": map[string]any{"rope_type": "linear", "factor": -2}},
			ErrConfig, []string{"factor -2"}},
		"rotary": {map[string]any{"partial_rotary_factor": 7.5}, ErrConfig,
			[]string{"rotary dimensions"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, "llama", func(dir string) { edited(t, dir, c.keys) }, Options{})
			require.ErrorIs(t, err, c.is)
			for _, text := range c.text {
				require.ErrorContains(t, err, text)
			}
		})
	}
	_, err := Open(filepath.Join(t.TempDir(), "none"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(t.TempDir(), Options{})
	require.ErrorIs(t, err, ErrConfig)
}

// TestPrefixes loads files without the name of the whole network, and those of larger ones.
func TestPrefixes(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for name, of := range map[string]struct{ from, to string }{
		"gpt2":        {"transformer.", ""},
		"bloom":       {"transformer.", ""},
		"gemma3":      {"model.", "language_model.model."},
		"gemma2":      {"model.", "model.language_model."},
		"qwen3_moe":   {"model.", "language_model.model."},
		"llama tied":  {"model.", ""},
		"gpt_bigcode": {"transformer.", ""},
	} {
		g := all[name]
		dir := g.renamed(t, func(n string) string { return strings.Replace(n, of.from, of.to, 1) })
		var inner map[string]any
		require.NoError(t, json.Unmarshal(g.Config, &inner))
		if strings.Contains(of.to, "language_model") { // its configuration is a part, too
			edited(t, dir, map[string]any{"model_type": "x", "text_config": inner})
		} else {
			edited(t, dir, map[string]any{"model_type": inner["model_type"]})
		}
		m, err := Open(dir, Options{Device: cpu(t)})
		require.NoError(t, err, name)
		require.InDeltaSlice(t, g.logits(), floats(t, m.StepAll(m.NewSequence(), g.Prompt)), 1e-4)
	}
}

// The page has all architectures.
func TestPage(t *testing.T) {
	b, err := os.ReadFile("../docs/models.md")
	require.NoError(t, err)
	for _, name := range Architectures() {
		require.Contains(t, string(b), "`"+strings.TrimPrefix(name, "gguf:")+"`")
	}
}

func TestLenient(t *testing.T) {
	m, err := open(t, "llama", func(dir string) {
		edited(t, dir, map[string]any{"num_hidden_layers": 1})
	}, Options{Lenient: true})
	require.NoError(t, err)
	require.Contains(t, m.Report.Unexpected, "model.layers.1.mlp.up_proj.weight")
	require.Empty(t, m.Report.Missing)
	require.NoError(t, m.StepAll(m.NewSequence(), []int32{1, 2}).Err())
}

// Beside the weights are a tokenizer, a template, and which tokens end a text.
func TestBeside(t *testing.T) {
	m, err := open(t, "llama", func(dir string) {
		write := func(name, text string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		write("generation_config.json", `{"eos_token_id": [2, 7]}`)
		write("tokenizer_config.json",
			`{"chat_template": [{"name": "tools", "template": "a"}, {"name": "default", "template": "b"}]}`)
		write("tokenizer.json", `{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}`)
	}, Options{DType: tensor.BF16})
	require.NoError(t, err)
	require.Equal(t, []int32{2, 7}, m.Config.EOS)
	require.True(t, m.Config.IsEOS(7))
	require.Equal(t, "b", m.Template)
	require.NotNil(t, m.Tokenizer)
	require.Equal(t, tensor.BF16, m.DType)
	logits := m.StepAll(m.NewSequence(), []int32{1, 2})
	require.Equal(t, tensor.F32, logits.DType())
	all, err := readGolden()
	require.NoError(t, err)
	want := all["llama"].logits()
	for i, x := range floats(t, m.StepAll(m.NewSequence(), all["llama"].Prompt)) {
		require.InDelta(t, want[i], x, 0.15) // of a deviation of 1.4
	}
}

func TestSequences(t *testing.T) {
	m, err := open(t, "llama", nil, Options{})
	require.NoError(t, err)
	other, err := open(t, "llama", nil, Options{})
	require.NoError(t, err)
	s := m.NewSequence()
	want := floats(t, m.Step([]*Sequence{s}, [][]int32{{5, 6, 7}}))
	for name, f := range map[string]func() *tensor.Tensor{
		"none":     func() *tensor.Tensor { return m.Step(nil, nil) },
		"count":    func() *tensor.Tensor { return m.Step([]*Sequence{s}, nil) },
		"no ids":   func() *tensor.Tensor { return m.StepAll(s, nil) },
		"twice":    func() *tensor.Tensor { return m.Step([]*Sequence{s, s}, [][]int32{{1}, {2}}) },
		"other":    func() *tensor.Tensor { return m.StepAll(other.NewSequence(), []int32{1}) },
		"nil":      func() *tensor.Tensor { return m.StepAll(nil, []int32{1}) },
		"id":       func() *tensor.Tensor { return m.StepAll(s, []int32{1, 96}) },
		"negative": func() *tensor.Tensor { return m.StepAll(s, []int32{-1}) },
	} {
		require.Error(t, f().Err(), name)
		require.Equal(t, 3, s.Len(), name)
	}
	require.ErrorIs(t, s.Truncate(4), ErrSequence)
	require.ErrorIs(t, s.Truncate(-1), ErrSequence)
	require.NoError(t, s.Truncate(2))
	require.InDeltaSlice(t, want, floats(t, m.Step([]*Sequence{s}, [][]int32{{7}})), 1e-5)
	s.Close()
	require.Zero(t, s.Len())
	require.Equal(t, want, floats(t, m.Step([]*Sequence{s}, [][]int32{{5, 6, 7}})))
}
