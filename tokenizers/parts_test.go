package tokenizers

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParts compares texts in parts with those of the reference: see testdata/gen_overflow.py.
func TestParts(t *testing.T) {
	b, err := os.ReadFile("testdata/overflow.json.gz")
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	var golden struct {
		Tokenizer json.RawMessage
		Cases     []struct {
			Strategy, First string
			Second          *string
			Most, Stride    int
			Left, Special   bool
			Error           string
			Parts           []struct {
				IDs, Types []int32
				Offsets    [][2]int
				Special    []int
			}
		}
	}
	require.NoError(t, json.NewDecoder(z).Decode(&golden))
	tok, err := FromJSON(bytes.NewReader(golden.Tokenizer))
	require.NoError(t, err)
	failed := 0
	for _, c := range golden.Cases {
		tok.Truncation = &Truncation{
			MaxLength: c.Most, Left: c.Left, Strategy: c.Strategy, Stride: c.Stride}
		o, what := Options{SpecialTokens: c.Special}, *tok.Truncation
		encode, parts := tok.Encode, tok.Parts
		if c.Second != nil {
			encode = func(s string, o Options) (*Encoding, error) { return tok.EncodePair(s, *c.Second, o) }
			parts = func(s string, o Options) ([]*Encoding, error) { return tok.PartsPair(s, *c.Second, o) }
		}
		got, err := parts(c.First, o)
		if c.Error != "" {
			require.ErrorIs(t, err, ErrTruncation, "%+v %q: %s", what, c.First, c.Error)
			failed++
			continue
		}
		require.NoError(t, err, "%+v %q", what, c.First)
		require.Len(t, got, len(c.Parts), "%+v %q", what, c.First)
		for i, want := range c.Parts {
			require.Len(t, got[i].IDs, len(want.IDs))
			for j, id := range want.IDs {
				require.Equal(t, id, got[i].IDs[j], "%+v %q: part %d, token %d", what, c.First, i, j)
				require.Equal(t, want.Types[j], got[i].TypeIDs[j])
			}
			for j, at := range want.Offsets {
				require.Equal(t, Span{at[0], at[1]}, got[i].Offsets[j])
				require.Equal(t, want.Special[j] == 1, got[i].Special[j])
			}
		}
		one, err := encode(c.First, o)
		require.NoError(t, err)
		require.Equal(t, got[0].IDs, one.IDs)
	}
	require.Greater(t, failed, 50)
	tok.Truncation = nil
	all, err := tok.Parts("a b c", Options{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	tok.Truncation, tok.Padding = &Truncation{MaxLength: 2, Stride: 1}, &Padding{ID: 9, Length: 3}
	all, err = tok.Parts("a b c", Options{})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []int32{3, 4, 9}, all[1].IDs)
}
