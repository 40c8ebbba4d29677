package tokenizers

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// publishedFolder has published tokenizers, texts, and the ids that
// `testdata/gen.py ids` had the reference make of them.
const publishedFolder = "KILN_TOKENIZERS"

// published is what lies beside each tokenizer.
type published struct {
	Rows  [][]int32
	Files map[string][]int32
}

func TestPublished(t *testing.T) {
	folder := os.Getenv(publishedFolder)
	if folder == "" {
		t.Skipf("%s names no folder with published tokenizers", publishedFolder)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.ids.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, paths, "run testdata/gen.py ids %s", folder)
	for _, path := range paths {
		path = strings.TrimSuffix(path, ".ids.gz")
		t.Run(filepath.Base(path), func(t *testing.T) { checkPublished(t, folder, path) })
	}
}

func checkPublished(t *testing.T, folder, path string) {
	f, err := os.Open(path + ".ids.gz")
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	var want published
	require.NoError(t, json.NewDecoder(z).Decode(&want))
	k, err := Open(path)
	require.NoError(t, err)
	plain := strings.HasPrefix(filepath.Base(path), "tekken")
	for i, s := range golden().Texts {
		ids, err := k.IDs(s, Options{SpecialTokens: true, PlainText: plain})
		require.NoError(t, err)
		require.Equal(t, want.Rows[i], append([]int32{}, ids...), "%q", s)
	}
	for file, ids := range want.Files {
		text, err := os.ReadFile(filepath.Join(folder, file))
		require.NoError(t, err)
		got, err := k.IDs(string(text), Options{})
		require.NoError(t, err)
		sameIDs(t, k, ids, got)
	}
}

// sameIDs says where ids differ first.
func sameIDs(t *testing.T, k *Tokenizer, want, got []int32) {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			a, _ := k.Decode(want[max(0, i-5):min(i+5, len(want))], false)
			b, _ := k.Decode(got[max(0, i-5):min(i+5, len(got))], false)
			t.Fatalf("token %d of %d: want %d, got %d, in %q and %q", i, len(want), want[i],
				got[i], a, b)
		}
	}
	require.Len(t, got, len(want))
}
