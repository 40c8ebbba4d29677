// Package tokenizers measures tokenizers beside the reference library, on one
// thread and with published vocabularies; reference.py is the other half.
package tokenizers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tokenizers"
)

// eachPublished runs a benchmark for each tokenizer and text of a folder.
func eachPublished(b *testing.B, run func(b *testing.B, t *tokenizers.Tokenizer, text string)) {
	folder := os.Getenv("KILN_TOKENIZERS")
	if folder == "" {
		b.Skip("KILN_TOKENIZERS names no folder with published tokenizers")
	}
	models, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(b, err)
	texts, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	require.NoError(b, err)
	for _, model := range models {
		t, err := tokenizers.Open(model)
		require.NoError(b, err)
		for _, path := range texts {
			text, err := os.ReadFile(path)
			require.NoError(b, err)
			name := strings.TrimSuffix(filepath.Base(model), ".json") + "/" + filepath.Base(path)
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				run(b, t, string(text))
			})
		}
	}
}

// BenchmarkIDs makes ids of whole files.
func BenchmarkIDs(b *testing.B) {
	eachPublished(b, func(b *testing.B, t *tokenizers.Tokenizer, text string) {
		for b.Loop() {
			_, err := t.IDs(text, tokenizers.Options{})
			require.NoError(b, err)
		}
	})
}

// BenchmarkEncode makes ids, tokens and offsets of whole files.
func BenchmarkEncode(b *testing.B) {
	eachPublished(b, func(b *testing.B, t *tokenizers.Tokenizer, text string) {
		for b.Loop() {
			_, err := t.Encode(text, tokenizers.Options{})
			require.NoError(b, err)
		}
	})
}

// BenchmarkLines makes ids of the lines of files, one by one.
func BenchmarkLines(b *testing.B) {
	eachPublished(b, func(b *testing.B, t *tokenizers.Tokenizer, text string) {
		lines := strings.Split(text, "\n")
		for b.Loop() {
			for _, s := range lines {
				_, err := t.IDs(s, tokenizers.Options{})
				require.NoError(b, err)
			}
		}
	})
}

// BenchmarkDecode makes text of the ids of whole files.
func BenchmarkDecode(b *testing.B) {
	eachPublished(b, func(b *testing.B, t *tokenizers.Tokenizer, text string) {
		ids, err := t.IDs(text, tokenizers.Options{})
		require.NoError(b, err)
		for b.Loop() {
			_, err := t.Decode(ids, false)
			require.NoError(b, err)
		}
	})
}
