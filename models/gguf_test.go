package models

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
	"github.com/gokiln/kiln/tokenizers"
)

// llamaCpp are golden models that llama.cpp made, in testdata or in the folder that
// KILN_GOLDEN_MODELS names. Logits are those of a model in float64 with the numbers of the file.
func llamaCpp(t *testing.T) []string {
	list := []string{"testdata/llama_a.Q4_K_M.gguf"}
	if dir := os.Getenv("KILN_GOLDEN_MODELS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.gguf"))
		require.NoError(t, err)
		list = append(list, more...)
	}
	return list
}

func tensorOf[T tensor.Element](t *testing.T, set *file.Set, name string) []T {
	t.Helper()
	e, err := set.Get(name)
	require.NoError(t, err)
	list, err := file.Values[T](e)
	require.NoError(t, err)
	return list
}

func TestGGUF(t *testing.T) {
	for _, path := range llamaCpp(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			m, err := Open(path, Options{Device: cpu(t)})
			require.NoError(t, err)
			require.NoError(t, m.TokenizerErr)
			e, err := m.Tokenizer.Encode("hello world", tokenizers.Options{})
			require.NoError(t, err)
			require.NotEmpty(t, e.IDs)
			set, err := safetensors.Open(path[:len(path)-len("gguf")] + "golden.safetensors")
			require.NoError(t, err)
			defer set.Close()
			prompt := tensorOf[int32](t, set, "prompt")
			want := tensorOf[float32](t, set, "logits")
			exact, err := Open(path, Options{Device: cpu(t)})
			require.NoError(t, err)
			_, err = nn.Dequantize(exact.Net, 0) // activations are not rounded to 8 bits then
			require.NoError(t, err)
			for m, within := range map[*LM]float64{exact: 1e-3, m: 0.5} {
				got := floats(t, m.StepAll(m.NewSequence(), prompt).Cast(tensor.F32))
				require.Len(t, got, len(want))
				for i, w := range want {
					require.InDelta(t, w, got[i], within)
				}
			}
			require.Equal(t, tensorOf[int32](t, set, "greedy"), greedy(t, m, prompt, 32))
		})
	}
}

func cpu(t testing.TB) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	return d
}

func floats(t testing.TB, x *tensor.Tensor) []float32 {
	t.Helper()
	list, err := tensor.ToSlice[float32](x)
	require.NoError(t, err)
	return list
}

// greedy feeds a prompt and n tokens one by one, and returns the tokens.
func greedy(t *testing.T, m *LM, prompt []int32, n int) (out []int32) {
	t.Helper()
	s, next := m.NewSequence(), prompt
	for range n {
		best := argmax(floats(t, m.Step([]*Sequence{s}, [][]int32{next})))
		out, next = append(out, best), []int32{best}
	}
	require.Equal(t, len(prompt)+n-1, s.Len())
	return out
}
