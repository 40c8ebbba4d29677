package tokenizers

import (
	"bytes"
	"compress/bzip2"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// goldenFile is what testdata/gen.py made of the reference.
type goldenFile struct {
	Texts       []string
	Normalizers []struct {
		Config raw
		Out    []string
	}
	PreTokenizers []struct {
		Config raw
		Out    [][][3]any // piece, start and end in characters
	} `json:"pre_tokenizers"`
	Decoders []struct {
		Config raw
		In     [][]string
		Out    []string
	}
	Tokenizers    []goldenTokenizer
	SentencePiece []struct {
		Model   []byte
		IDs     [][]int32
		Decoded []string
	}
	Tiktoken struct {
		File     string
		Patterns []struct {
			Split string
			IDs   [][]int32
		}
	}
}

type goldenTokenizer struct {
	Name    string
	JSON    raw
	Rows    []goldenRow
	Pairs   [][2]raw
	Decoded [][2]string
}

type goldenRow struct {
	IDs     []int32
	Offsets []int
	Types   []int32
	Words   []int32
	Special []int
	Mask    []int
}

var golden = sync.OnceValue(func() *goldenFile {
	f, err := os.Open("testdata/golden.json.bz2")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	g := &goldenFile{}
	if err := json.NewDecoder(bzip2.NewReader(f)).Decode(g); err != nil {
		panic(err)
	}
	for i, s := range g.Texts {
		b, err := hex.DecodeString(s)
		if err != nil {
			panic(err)
		}
		g.Texts[i] = string(b)
	}
	return g
})

// textOf returns a repaired text and its pieces, one of them, and a state.
func textOf(s string) (*text, *state) {
	st := &state{}
	st.norm.track, st.pre.track = true, true
	x := &text{}
	x.b, x.at = repaired(nil, []span{}, s)
	x.pieces = []span{{0, int32(len(x.b))}}
	return x, st
}

func TestNormalizers(t *testing.T) {
	for _, c := range golden().Normalizers {
		t.Run(name(c.Config), func(t *testing.T) {
			n, err := readNormalizer(c.Config)
			require.NoError(t, err)
			for i, s := range golden().Texts {
				x, st := textOf(s)
				require.NoError(t, n.normalize(x, &st.norm))
				if diff := cmp.Diff(c.Out[i], string(x.b)); diff != "" {
					t.Errorf("%q: -want +got\n%s", s, diff)
				}
				require.Len(t, x.at, len(x.b))
			}
		})
	}
}

func name(config raw) string {
	return strings.NewReplacer("/", "|", "\n", " ").Replace(fmt.Sprintf("%.100s", config))
}

func TestPreTokenizers(t *testing.T) {
	for _, c := range golden().PreTokenizers {
		t.Run(name(c.Config), func(t *testing.T) {
			p, err := readPreTokenizer(c.Config)
			require.NoError(t, err)
			for i, s := range golden().Texts {
				checkPieces(t, p, s, c.Out[i])
			}
		})
	}
}

func checkPieces(t *testing.T, p preTokenizer, s string, want [][3]any) {
	x, st := textOf(s)
	require.NoError(t, p.split(x, st), "%q", s)
	counts := runeCounts(s)
	got := [][3]any{}
	for _, piece := range x.pieces {
		if piece.hi == piece.lo {
			continue
		}
		lo, hi := x.origin(int(piece.lo)).lo, x.origin(int(piece.hi-1)).hi
		got = append(got, [3]any{string(x.b[piece.lo:piece.hi]), float64(counts[lo]),
			float64(counts[hi])})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q: -want +got\n%s", s, diff)
	}
}

func TestDecoders(t *testing.T) {
	for _, c := range golden().Decoders {
		t.Run(name(c.Config), func(t *testing.T) {
			d, err := readDecoder(c.Config)
			require.NoError(t, err)
			for i, in := range c.In {
				got, err := d.decode(append([]string{}, in...))
				require.NoError(t, err)
				require.Equal(t, c.Out[i], strings.Join(got, ""), "%q", in)
			}
		})
	}
}

func TestTokenizers(t *testing.T) {
	for _, c := range golden().Tokenizers {
		t.Run(c.Name, func(t *testing.T) {
			k, err := FromJSON(strings.NewReader(string(c.JSON)))
			require.NoError(t, err)
			for i, s := range golden().Texts {
				// Twice: the second time words are remembered.
				checkEncoding(t, k, c.Rows[i], s)
				checkEncoding(t, k, c.Rows[i], s)
				checkDecoding(t, k, c.Rows[i].IDs, c.Decoded[i])
			}
			checkPairs(t, k, c.Pairs)
		})
	}
}

func checkEncoding(t *testing.T, k *Tokenizer, want goldenRow, s string) {
	e, err := k.Encode(s, Options{SpecialTokens: true})
	require.NoError(t, err)
	compare(t, want, e, s)
	ids, err := k.IDs(s, Options{SpecialTokens: true})
	require.NoError(t, err)
	if diff := cmp.Diff(e.IDs, ids); diff != "" {
		t.Errorf("IDs of %q: -Encode +IDs\n%s", s, diff)
	}
}

func compare(t *testing.T, want goldenRow, e *Encoding, texts ...string) {
	t.Helper()
	got := goldenRow{IDs: e.IDs, Types: e.TypeIDs, Words: e.Words}
	for _, o := range e.Runes(texts[0], texts[1:]...) {
		got.Offsets = append(got.Offsets, o.Start, o.End)
	}
	for i := range e.IDs {
		got.Special = append(got.Special, bit(e.Special[i]))
		got.Mask = append(got.Mask, bit(e.Mask[i]))
	}
	if len(want.IDs) == 0 && len(got.IDs) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q: -want +got\n%s", texts, diff)
	}
}

func checkDecoding(t *testing.T, k *Tokenizer, ids []int32, want [2]string) {
	for i, skip := range []bool{true, false} {
		got, err := k.Decode(ids, skip)
		require.NoError(t, err)
		require.Equal(t, want[i], got, "%v", ids)
		s := k.Stream(skip)
		var b strings.Builder
		for _, id := range ids {
			out, err := s.Next(id)
			require.NoError(t, err)
			b.WriteString(out)
		}
		out, err := s.Flush()
		require.NoError(t, err)
		b.WriteString(out)
		if !strings.Contains(want[i], "\ufffd") { // what comes later can change broken characters
			require.Equal(t, want[i], b.String(), "%v", ids)
		}
	}
}

func checkPairs(t *testing.T, k *Tokenizer, pairs [][2]raw) {
	for _, p := range pairs {
		var i int
		require.NoError(t, json.Unmarshal(p[0], &i))
		a, b := golden().Texts[i], golden().Texts[i+1]
		e, err := k.EncodePair(a, b, Options{SpecialTokens: true})
		if string(p[1]) == "null" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		var want goldenRow
		require.NoError(t, json.Unmarshal(p[1], &want))
		compare(t, want, e, a, b)
	}
}

func TestTiktoken(t *testing.T) {
	g := golden().Tiktoken
	end := int32(strings.Count(g.File, "\n"))
	for i, p := range g.Patterns {
		require.Equal(t, p.Split, []string{PatternGPT2, PatternCL100K, PatternO200K}[i])
		k, err := FromTiktoken(strings.NewReader(g.File), p.Split, map[string]int32{"<|endoftext|>": end})
		require.NoError(t, err)
		for j, s := range golden().Texts {
			e, err := k.Encode(s, Options{SpecialTokens: true})
			require.NoError(t, err)
			require.Equal(t, p.IDs[j], append([]int32{}, e.IDs...), "%q", s)
			text, err := k.Decode(e.IDs, false)
			require.NoError(t, err)
			require.Equal(t, string(mustRepair(s)), text)
		}
	}
}

func mustRepair(s string) []byte {
	b, _ := repaired(nil, nil, s)
	return b
}

func TestBrokenRanks(t *testing.T) {
	for file, want := range map[string]string{
		"": "no tokens", "YQ==": "line 1", "YQ== x": "line 1", "YQ== 0\n!! 1": "line 2",
		"YQ== 0": "no token for byte", "YQ== 0\nYg== 0": "same id", "YQ== 99999999": "out of range",
	} {
		_, err := FromTiktoken(strings.NewReader(file), "a", nil)
		require.ErrorContains(t, err, want, file)
	}
	for file, want := range map[string]string{
		`{`: "tekken.json", `{"config": {"default_vocab_size": -1}}`: "config",
		`{"vocab": [{"rank": 1}]}`:                            "vocab[0]",
		`{"special_tokens": [{"rank": 5, "token_str": "x"}]}`: "rank 5",
	} {
		_, err := FromTekken(strings.NewReader(file))
		require.ErrorContains(t, err, want, file)
	}
	_, err := FromTiktoken(strings.NewReader(golden().Tiktoken.File), "(", nil)
	require.ErrorContains(t, err, "not closed")
}

func TestSentencePiece(t *testing.T) {
	for n, c := range golden().SentencePiece {
		k, err := FromSentencePiece(bytes.NewReader(c.Model))
		require.NoError(t, err)
		for i, s := range golden().Texts {
			e, err := k.Encode(s, Options{SpecialTokens: true})
			require.NoError(t, err)
			require.Equal(t, c.IDs[i], append([]int32{}, e.IDs...), "model %d: %q", n, s)
			text, err := k.Decode(e.IDs, false)
			require.NoError(t, err)
			require.Equal(t, c.Decoded[i], text, "model %d: %v", n, e.IDs)
		}
		for i := range 200 { // cut off, it has fewer pieces or is an error
			k, err := FromSentencePiece(bytes.NewReader(c.Model[:len(c.Model)*i/200]))
			if err == nil {
				checkAnything(t, k, "Hello wörld")
			}
		}
	}
}
