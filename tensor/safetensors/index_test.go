package safetensors_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// shards writes two files, both with a tensor "both".
func shards(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	of := func(name string, x byte) *file.Entry {
		return memory(t, name, dtype.U8, layout.Shape{1}, []byte{x})
	}
	require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "m-1.safetensors"), map[string]string{"format": "pt"}, of("a", 1), of("both", 2)))
	require.NoError(t, safetensors.WriteFile(filepath.Join(dir, "sub", "m-2.safetensors"), nil, of("b", 3), of("both", 4)))
	return dir
}

func values(t *testing.T, set *file.Set) map[string]uint8 {
	t.Helper()
	out := map[string]uint8{}
	for e := range set.All() {
		v, err := file.Values[uint8](e)
		require.NoError(t, err)
		out[e.Name] = v[0]
	}
	return out
}

func TestSeveralFiles(t *testing.T) {
	dir := shards(t)
	first, second := filepath.Join(dir, "m-1.safetensors"), filepath.Join(dir, "sub", "m-2.safetensors")
	set, err := safetensors.OpenAll(first, second)
	require.NoError(t, err)
	require.Equal(t, map[string]uint8{"a": 1, "both": 4, "b": 3}, values(t, set))
	require.Equal(t, []string{"a", "both", "b"}, set.Names())
	require.Equal(t, map[string]string{"format": "pt"}, set.Metadata())
	require.NoError(t, set.Close())
	set, err = safetensors.OpenAll(second, first)
	require.NoError(t, err)
	require.EqualValues(t, 2, values(t, set)["both"])
	require.NoError(t, set.Close())
	_, err = safetensors.OpenAll(first, filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestIndex(t *testing.T) {
	dir := shards(t)
	path := filepath.Join(dir, "model.safetensors.index.json")
	open := func(text string) (*file.Set, error) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return safetensors.OpenIndex(path)
	}
	set, err := open(`{"metadata": {"total_size": 3, "kind": "test", "list": [1, {"x": 2}]}, "new": [1],
		"weight_map": {"b": "sub/m-2.safetensors", "both": "m-1.safetensors"}}`)
	require.NoError(t, err)
	require.Equal(t, map[string]uint8{"b": 3, "both": 2}, values(t, set))
	require.Equal(t, map[string]string{"total_size": "3", "kind": "test", "format": "pt", "list": `[1, {"x": 2}]`}, set.Metadata())
	require.NoError(t, set.Close())

	for _, c := range []struct{ name, text, at, want string }{
		{"no map", `{"metadata":{}}`, `{"m`, "no weight_map"},
		{"outside", `{"weight_map":{"a":"../x"}}`, `"../x"`, "no file beside or below"},
		{"absolute", `{"weight_map":{"a":"/etc/passwd"}}`, `"/etc`, "no file beside or below"},
		{"empty", `{"weight_map":{"a":""}}`, `""`, "no file beside or below"},
		{"no text", `{"weight_map":{"a":1}}`, "1", "must be a string"},
		{"not there", `{"weight_map":{"b":"m-1.safetensors","c":"m-1.safetensors"}}`, `"b"`, `tensor "b": m-1.safetensors does not have it`},
		{"twice", `{"weight_map":{"a":"m-1.safetensors","a":"m-1.safetensors"}}`, `"a":"m-1.safetensors"}`, `"a" twice`},
		{"more", `{"weight_map":{}} x`, "x", "more behind the end"},
		{"cut", `{"weight_map":{"a"`, "", "too early"},
		{"not UTF-8", "{\"\xc0\":1}", "\xc0", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := open(c.text)
			require.ErrorIs(t, err, file.ErrFormat)
			require.ErrorContains(t, err, c.want)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.EqualValues(t, strings.LastIndex(c.text, c.at), f.Offset, "%v", err)
		})
	}
	_, err = open(`{"weight_map":{"a":"none.safetensors"}}`)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = safetensors.OpenIndex(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
