package tokenizers

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ggufFolder has llama.cpp's vocabularies, models/ggml-vocab-*.gguf, with the texts and ids beside
// them.
const ggufFolder = "KILN_GGUF_VOCABULARIES"

func TestGGUFVocabularies(t *testing.T) {
	folder := os.Getenv(ggufFolder)
	if folder == "" {
		t.Skipf("%s names no folder with vocabularies of llama.cpp", ggufFolder)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.gguf"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkGGUFVocabulary(t, path) })
	}
}

func checkGGUFVocabulary(t *testing.T, path string) {
	k, err := Open(path)
	require.NoError(t, err)
	in, err := os.ReadFile(path + ".inp")
	if os.IsNotExist(err) {
		return // a vocabulary alone
	}
	require.NoError(t, err)
	out, err := os.ReadFile(path + ".out")
	require.NoError(t, err)
	texts := strings.Split(string(in), "\n__ggml_vocab_test__\n")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for i, line := range lines {
		want := []int32{}
		for _, s := range strings.Fields(line) {
			id, err := strconv.Atoi(s)
			require.NoError(t, err)
			want = append(want, int32(id))
		}
		ids, err := k.IDs(texts[i], Options{})
		require.NoError(t, err)
		require.Equal(t, want, append([]int32{}, ids...), "%q", texts[i])
	}
}

// TestGGUFGolden compares with llama.cpp's ids of a small byte-level vocabulary.
func TestGGUFGolden(t *testing.T) {
	k, err := Open("testdata/llamacpp.gguf")
	require.NoError(t, err)
	b, err := os.ReadFile("testdata/llamacpp.json")
	require.NoError(t, err)
	var cases []struct {
		Text    string
		IDs     []int32
		Special []int32 `json:"ids_special"` // special tokens in the text are found
	}
	require.NoError(t, json.Unmarshal(b, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		ids, err := k.IDs(c.Text, Options{PlainText: true})
		require.NoError(t, err)
		require.Equal(t, c.IDs, append([]int32{}, ids...), "%q", c.Text)
		ids, err = k.IDs(c.Text, Options{})
		require.NoError(t, err)
		require.Equal(t, c.Special, append([]int32{}, ids...), "%q", c.Text)
	}
}
