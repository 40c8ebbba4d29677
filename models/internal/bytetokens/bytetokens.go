package bytetokens

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tokenizers"
)

// EOS is the token that ends texts.
const EOS = 256

// New returns a tokenizer with a token for each byte, and EOS.
func New(t testing.TB) *tokenizers.Tokenizer {
	t.Helper()
	vocab, extra := map[string]int{}, rune(256)
	for b := range 256 {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE) {
			r, extra = extra, extra+1
		}
		vocab[string(r)] = b
	}
	data, err := json.Marshal(map[string]any{
		"version": "1.0",
		"added_tokens": []any{map[string]any{"id": EOS, "content": "<eos>", "special": true, "normalized": false,
			"single_word": false, "lstrip": false, "rstrip": false}},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false, "trim_offsets": false},
		"decoder":       map[string]any{"type": "ByteLevel"},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	})
	require.NoError(t, err)
	tok, err := tokenizers.FromJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return tok
}
