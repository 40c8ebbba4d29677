package models

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tensor/torch"
)

// asTorch makes the weights of a folder files of PyTorch, one or several with an index.
func asTorch(t *testing.T, dir string, files int) {
	t.Helper()
	path := filepath.Join(dir, "model.safetensors")
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	defer set.Close()
	parts, index := make([][]*file.Entry, files), map[string]string{}
	i := 0
	for e := range set.All() {
		index[e.Name] = fmt.Sprintf("pytorch_model-%05d-of-%05d.bin", i%files+1, files)
		parts[i%files] = append(parts[i%files], e)
		i++
	}
	if files == 1 {
		require.NoError(t, torch.WriteFile(filepath.Join(dir, "pytorch_model.bin"), parts[0]...))
	} else {
		for _, list := range parts {
			require.NoError(t, torch.WriteFile(filepath.Join(dir, index[list[0].Name]), list...))
		}
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{}, "weight_map": index})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pytorch_model.bin.index.json"), text, 0o644))
	}
	require.NoError(t, os.Remove(path))
}

// TestTorch opens golden models whose weights are in files of PyTorch.
func TestTorch(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	for name, files := range map[string]int{"llama": 3, "gpt2": 1} {
		g := all[name]
		dir := g.folder(t)
		asTorch(t, dir, files)
		paths := []string{dir, filepath.Join(dir, "pytorch_model.bin")}
		if files > 1 {
			paths[1] += ".index.json"
		}
		for _, path := range paths {
			m, err := Open(path, Options{Device: cpu(t)})
			require.NoError(t, err)
			require.InDeltaSlice(t, g.logits(), floats(t, m.StepAll(m.NewSequence(), g.Prompt)), 1e-4)
		}
	}
}

// TestWeightsOfFolder has folders with files that are none, or too many.
func TestWeightsOfFolder(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	g := all["llama"]
	odd := filepath.Join(t.TempDir(), "[a]*")
	require.NoError(t, os.Rename(g.folder(t), odd))
	_, err = Open(odd, Options{Device: cpu(t)})
	require.NoError(t, err)

	require.NoError(t, os.Remove(filepath.Join(odd, "model.safetensors")))
	_, err = Open(odd, Options{Device: cpu(t)})
	require.ErrorContains(t, err, "no safetensors files and no pytorch_model.bin in ")
	index := filepath.Join(odd, "pytorch_model.bin.index.json")
	text := `{"weight_map":{"lm_head.weight":"pytorch_model.bin.index.json"}}`
	require.NoError(t, os.WriteFile(index, []byte(text), 0o644))
	_, err = Open(odd, Options{Device: cpu(t)}) // an index is no file of tensors
	require.ErrorIs(t, err, file.ErrFormat)
	asked := filepath.Join(odd, "training_args.bin")
	require.NoError(t, os.WriteFile(asked, []byte("x"), 0o644))
	_, err = Open(asked, Options{Device: cpu(t)})
	require.ErrorIs(t, err, file.ErrFormat)
}
