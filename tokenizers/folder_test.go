package tokenizers

import (
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFolders compares folders without tokenizer.json with transformers, as testdata/gen_folders.py
// recorded it.
func TestFolders(t *testing.T) {
	f, err := os.Open("testdata/folders.json.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var g struct {
		Texts   []string
		Folders []struct {
			Files   map[string][]byte
			Config  raw
			IDs     [][]int32
			Pair    []int32
			Decoded []string
		}
	}
	require.NoError(t, json.NewDecoder(z).Decode(&g))
	require.NotEmpty(t, g.Folders)
	for _, c := range g.Folders {
		t.Run(name(c.Config), func(t *testing.T) {
			dir := t.TempDir()
			write := func(name string, b []byte) {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
			}
			for name, text := range c.Files {
				write(name, text)
			}
			write("tokenizer_config.json", c.Config)
			k, err := Open(dir)
			require.NoError(t, err)
			for i, s := range g.Texts {
				ids, err := k.IDs(s, Options{SpecialTokens: true})
				require.NoError(t, err)
				require.Equal(t, c.IDs[i], append([]int32{}, ids...), "%q", s)
				text, err := k.Decode(ids, true)
				require.NoError(t, err)
				require.Equal(t, c.Decoded[i], text, "%q", s)
			}
			e, err := k.EncodePair(g.Texts[0], g.Texts[1], Options{SpecialTokens: true})
			require.NoError(t, err)
			require.Equal(t, c.Pair, e.IDs)

			// What another class does with these files is in its code.
			write("tokenizer_config.json", []byte(`{"tokenizer_class": "OtherTokenizer"}`))
			for name := range c.Files {
				if strings.HasSuffix(name, ".model") || name == "merges.txt" {
					_, err = Open(dir)
					require.ErrorIs(t, err, ErrUnsupported)
					require.ErrorContains(t, err, "OtherTokenizer")
				}
			}
		})
	}
}

func TestFolderErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "spiece.model")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("merges.txt", "a b\n")
	_, err = Open(dir)
	require.ErrorContains(t, err, "merges.txt without vocab.json")
	require.NotErrorIs(t, err, fs.ErrNotExist) // which says that there is no tokenizer
	write("vocab.json", `{"a": 0, "b": 1, "ab": 2}`)
	k, err := Open(dir)
	require.NoError(t, err)
	ids, err := k.IDs("ab", Options{})
	require.NoError(t, err)
	require.Equal(t, []int32{2}, ids)
	write("tokenizer_config.json", `{"tokenizer_class": "OtherTokenizer"}`)
	_, err = Open(dir)
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "OtherTokenizer")
	write("tokenizer_config.json", `[`)
	_, err = Open(dir)
	require.ErrorContains(t, err, "tokenizer_config.json")
}
