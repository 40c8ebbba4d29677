package models

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// TestNew steps a model with random weights, and refuses an architecture that there is none of.
func TestNew(t *testing.T) {
	c, err := ParseConfig([]byte(`{"model_type": "llama", "vocab_size": 64, "hidden_size": 32,
		"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
		"intermediate_size": 48, "max_position_embeddings": 128}`))
	require.NoError(t, err)
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	m, err := New(c, Options{Device: d})
	require.NoError(t, err)
	s := m.NewSequence()
	y := m.Step([]*Sequence{s}, [][]int32{{1, 2, 3}})
	require.NoError(t, y.Err())
	require.Equal(t, tensor.Shape{1, 64}, y.Shape())
	require.Equal(t, 3, s.Len())

	_, err = New(&Config{ModelType: "nothing"}, Options{Device: d})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "nothing")
}

// TestOpenOthers opens what is no model.
func TestOpenOthers(t *testing.T) {
	folder := t.TempDir()
	_, err := Open(folder, Options{})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "no config.json, and not one GGUF file alone")

	name := filepath.Join(folder, "README.md")
	require.NoError(t, os.WriteFile(name, []byte("# A model\n"), 0o600))
	_, err = Open(name, Options{})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "README.md: ")
	require.ErrorContains(t, err, "no GGUF file, and has no config.json beside it")
}
