package tokenizers

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// goldenTokenizerOf returns one of the tokenizers of the golden file.
func goldenTokenizerOf(t testing.TB, name string) *Tokenizer {
	for _, c := range golden().Tokenizers {
		if c.Name == name {
			k, err := FromJSON(strings.NewReader(string(c.JSON)))
			require.NoError(t, err)
			return k
		}
	}
	t.Fatalf("the golden file has no tokenizer %q", name)
	return nil
}

func TestBroken(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{``, "unexpected end"},
		{`{}`, "has no model"},
		{`{"model": {"type": "Other"}}`, `type "Other" not supported`},
		{`{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}`, `token "a" has id -1`},
		{`{"model": {"type": "BPE", "vocab": {"a": 9999999}, "merges": []}}`, "out of range"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []}}`, "same id 0"},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`, `token "b" is not in`},
		{`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a"]]}}`, "has 1 tokens"},
		{`{"model": {"type": "BPE", "dropout": 0.1, "vocab": {}, "merges": []}}`, "dropout 0.1"},
		{`{"model": {"type": "Unigram", "unk_id": 3, "vocab": [["a", 0.5]]}}`, "unk_id is 3"},
		{`{"model": {"type": "Unigram", "vocab": [["a"]]}}`, "entry 0"},
		{`{"normalizer": {"type": "Odd"}, "model": {"type": "WordLevel"}}`, "normalizer: Odd"},
		{`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"},
			"model": {"type": "WordLevel"}}`, "not closed"},
		{`{"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a)\\1"}, "behavior": "Isolated"},
			"model": {"type": "WordLevel"}}`, `escape \1 is not supported`},
		{`{"decoder": {"type": "Metaspace", "replacement": "ab"}, "model": {"type": "WordLevel"}}`,
			"want one character"},
		{`{"added_tokens": [{"id": -5, "content": "x"}], "model": {"type": "WordLevel"}}`,
			"out of range"},
		{`{"padding": {"strategy": "Some"}, "model": {"type": "WordLevel"}}`, "padding: strategy"},
		{`{"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="},
			"model": {"type": "WordLevel"}}`, "a trie of"},
		{`{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}]},
			"model": {"type": "WordLevel"}}`, `no ids for "x"`},
	} {
		_, err := FromJSON(strings.NewReader(c.json))
		require.ErrorContains(t, err, c.want, c.json)
	}
}

func TestMissingTokens(t *testing.T) {
	for _, model := range []string{
		`{"type": "WordLevel", "vocab": {"a": 0}}`,
		`{"type": "WordPiece", "vocab": {"a": 0}}`,
		`{"type": "Unigram", "vocab": [["a", -1.5]]}`,
	} {
		k, err := FromJSON(strings.NewReader(`{"model": ` + model + `}`))
		require.NoError(t, err)
		_, err = k.Encode("b", Options{})
		require.ErrorIs(t, err, errNoUnknown, model)
		text, err := k.Decode([]int32{0, 7, -1}, false)
		require.ErrorIs(t, err, ErrNoToken)
		require.ErrorContains(t, err, "7 (position 1")
		require.Equal(t, "a", text)
	}
}

func TestTruncationTooShort(t *testing.T) {
	k := goldenTokenizerOf(t, "bert")
	k.Truncation = &Truncation{MaxLength: 1}
	_, err := k.Encode("a", Options{SpecialTokens: true})
	require.ErrorIs(t, err, ErrTruncation)
	k.Truncation = &Truncation{MaxLength: 3, Strategy: "only_second"}
	_, err = k.Encode("one two three", Options{})
	require.ErrorIs(t, err, ErrTruncation)
}

func TestPlainText(t *testing.T) {
	k := goldenTokenizerOf(t, "gpt2")
	end, ok := k.ID("<|endoftext|>")
	require.True(t, ok)
	require.True(t, k.IsSpecial(end))
	ids, err := k.IDs("a<|endoftext|>", Options{})
	require.NoError(t, err)
	require.Contains(t, ids, end)
	ids, err = k.IDs("a<|endoftext|>", Options{PlainText: true})
	require.NoError(t, err)
	require.NotContains(t, ids, end)
	text, err := k.Decode(ids, false)
	require.NoError(t, err)
	require.Equal(t, "a<|endoftext|>", text)
}

func TestOpenOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tiktoken")
	require.NoError(t, os.WriteFile(path, []byte("YQ== 0\n"), 0o600))
	_, err := Open(path)
	require.ErrorIs(t, err, ErrUnsupported)
	require.ErrorContains(t, err, "FromTiktoken")
	_, err = Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, golden().SentencePiece[0].Model, 0o600))
	_, err = Open(path)
	require.NoError(t, err)
}

func FuzzSentencePiece(f *testing.F) {
	for _, c := range golden().SentencePiece {
		f.Add(c.Model, "Hello  xx wörld <new> 你好")
	}
	f.Fuzz(func(t *testing.T, model []byte, s string) {
		k, err := FromSentencePiece(bytes.NewReader(model))
		if err == nil {
			checkAnything(t, k, s)
		}
	})
}

// TestStreamBroken looks at ids that never make a character: the stream goes on.
func TestStreamBroken(t *testing.T) {
	for _, name := range []string{"gpt2", "llama2"} {
		k := goldenTokenizerOf(t, name)
		ids, err := k.IDs("\u4f60", Options{PlainText: true})
		require.NoError(t, err)
		s := k.Stream(false)
		var b strings.Builder
		for range 50 {
			out, err := s.Next(ids[len(ids)-1]) // the last byte of a character, again and again
			require.NoError(t, err)
			b.WriteString(out)
		}
		require.NotEmpty(t, b.String(), name)
		_, err = s.Next(1 << 30)
		require.ErrorIs(t, err, ErrNoToken)
	}
}

func TestStreamWholeCharacters(t *testing.T) {
	k := goldenTokenizerOf(t, "gpt2")
	const text = "héllo 😀 世界"
	ids, err := k.IDs(text, Options{})
	require.NoError(t, err)
	s := k.Stream(false)
	var b strings.Builder
	for _, id := range ids {
		out, err := s.Next(id)
		require.NoError(t, err)
		require.NotContains(t, out, string(utf8.RuneError))
		b.WriteString(out)
	}
	require.Equal(t, text, b.String())
}

// TestBatch encodes on several goroutines and pads.
func TestBatch(t *testing.T) {
	k := goldenTokenizerOf(t, "bert")
	k.Padding = &Padding{Token: "[PAD]", MultipleOf: 4}
	texts := golden().Texts
	list, err := k.EncodeBatch(texts, Options{SpecialTokens: true})
	require.NoError(t, err)
	k.Padding = nil
	for i, e := range list {
		require.Len(t, e.IDs, len(list[0].IDs))
		require.Zero(t, len(e.IDs)%4)
		alone, err := k.IDs(texts[i], Options{SpecialTokens: true})
		require.NoError(t, err)
		require.Equal(t, alone, e.IDs[:len(alone)])
	}
}

// TestWordsApart compares pieces that are split where no merge crosses with
// pieces that are not.
func TestWordsApart(t *testing.T) {
	const model = `{"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
		"model": {"type": "BPE", "unk_token": "?", "fuse_unk": true,
		"vocab": {"?": 0, "▁": 1, "a": 2, "b": 3, "▁▁": 4, "▁a": 5, "ab": 6, "▁ab": 7},
		"merges": ["▁ ▁", "a b", "▁ a", "▁ ab"]}}`
	k, err := FromJSON(strings.NewReader(model))
	require.NoError(t, err)
	m := k.model.(*bpe)
	require.True(t, m.words)
	for _, s := range append(golden().Texts, strings.Repeat("ab   a zz  b ", 40), "x"+
		strings.Repeat("ab", 200)+strings.Repeat(" ", 200)+"a") {
		m.words = true
		apart, err := k.Encode(s, Options{})
		require.NoError(t, err)
		m.words = false
		whole, err := k.Encode(s, Options{})
		require.NoError(t, err)
		require.Equal(t, whole.IDs, apart.IDs, "%q", s)
		require.Equal(t, whole.Offsets, apart.Offsets, "%q", s)
	}
}

// TestLongInput gives every tokenizer texts that hurt those of quadratic time.
func TestLongInput(t *testing.T) {
	const n = 100_000
	texts := []string{strings.Repeat("a", n), strings.Repeat("ab", n/2), strings.Repeat(" ", n),
		strings.Repeat("\u0301", n/2), strings.Repeat("[", n), strings.Repeat("é😀", n/6)}
	for _, c := range golden().Tokenizers {
		k := goldenTokenizerOf(t, c.Name)
		for _, s := range texts {
			start := time.Now()
			e, err := k.Encode(s, Options{})
			require.NoError(t, err)
			require.Less(t, time.Since(start), 20*time.Second, "%s: %.10q", c.Name, s)
			_, err = k.Decode(e.IDs, true)
			require.NoError(t, err)
		}
	}
}

func TestPatternBudget(t *testing.T) {
	k, err := FromJSON(strings.NewReader(`{"pre_tokenizer": {"type": "Split", "behavior": "Isolated",
		"pattern": {"Regex": "(a|aa)+(a|aa)+(a|aa)+c"}}, "model": {"type": "WordLevel",
		"unk_token": "u", "vocab": {"u": 0}}}`))
	require.NoError(t, err)
	_, err = k.Encode(strings.Repeat("a", 5000), Options{})
	require.True(t, errors.Is(err, pattern.ErrBudget), "%v", err)
}

// TestGrowth has chains of steps each of which makes a text longer.
func TestGrowth(t *testing.T) {
	const words = `"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}`
	replace := strings.Repeat(`{"type": "Replace", "pattern": {"String": "a"}, "content": "aaaa"},`, 99)
	prepend := strings.Repeat(`{"type": "Prepend", "prepend": "`+strings.Repeat("b", 3000)+`"},`, 900)
	for _, steps := range []string{replace, prepend} {
		k, err := FromJSON(strings.NewReader(`{"normalizer": {"type": "Sequence", "normalizers": [` +
			steps + `{"type": "NFC"}]}, ` + words))
		require.NoError(t, err)
		_, err = k.Encode("a a", Options{})
		require.ErrorIs(t, err, ErrTooLong)
	}
	k, err := FromJSON(strings.NewReader(`{"decoder": {"type": "Sequence", "decoders": [` + replace +
		`{"type": "Fuse"}]}, ` + words))
	require.NoError(t, err)
	_, err = k.Decode([]int32{0}, false)
	require.ErrorIs(t, err, ErrTooLong)
}

func FuzzJSON(f *testing.F) {
	for _, c := range golden().Tokenizers {
		if len(c.JSON) < 20_000 {
			f.Add(string(c.JSON), "Hello <mask> wörld 你好")
		}
	}
	const words = `"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}`
	for _, c := range golden().Normalizers {
		f.Add(`{"normalizer": `+string(c.Config)+`, `+words, "a b")
	}
	for _, c := range golden().PreTokenizers {
		f.Add(`{"pre_tokenizer": `+string(c.Config)+`, `+words, "a b")
	}
	for _, c := range golden().Decoders {
		f.Add(`{"decoder": `+string(c.Config)+`, `+words, "a b")
	}
	f.Fuzz(func(t *testing.T, config, s string) {
		k, err := FromJSON(strings.NewReader(config))
		if err != nil {
			return
		}
		checkAnything(t, k, s)
	})
}

// FuzzText gives tokenizers of all kinds any bytes.
func FuzzText(f *testing.F) {
	var list []*Tokenizer
	for _, c := range golden().Tokenizers {
		k := goldenTokenizerOf(f, c.Name)
		k.Truncation, k.Padding = nil, nil
		list = append(list, k)
	}
	for _, s := range golden().Texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range list {
			checkAnything(t, k, s)
		}
	})
}

// checkAnything encodes and decodes, and looks at what holds for all texts.
func checkAnything(t *testing.T, k *Tokenizer, s string) {
	e, err := k.Encode(s, Options{SpecialTokens: true})
	if err != nil {
		return
	}
	for i, o := range e.Offsets {
		if o.Start < 0 || o.End < o.Start || o.End > len(s) {
			t.Fatalf("token %d of %q has offsets %v", i, s, o)
		}
	}
	n := len(e.IDs)
	require.Len(t, e.Tokens, n)
	require.Len(t, e.Offsets, n)
	require.Len(t, e.TypeIDs, n)
	require.Len(t, e.Texts, n)
	require.Len(t, e.Words, n)
	require.Len(t, e.Special, n)
	require.Len(t, e.Mask, n)
	e.Runes(s)
	text, _ := k.Decode(e.IDs, false)
	require.True(t, utf8.ValidString(text) || !utf8.ValidString(strings.Join(e.Tokens, "")))
	stream := k.Stream(true)
	for _, id := range e.IDs {
		if _, err := stream.Next(id); err != nil && !errors.Is(err, ErrNoToken) {
			return
		}
	}
	if _, err := stream.Flush(); err != nil {
		return
	}
}
