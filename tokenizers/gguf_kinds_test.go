package tokenizers

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/gguf"
)

// metadataOf returns metadata of a kind with a list of tokens.
func metadataOf(kind string, tokens []string) *gguf.Metadata {
	m := &gguf.Metadata{}
	m.Set(keyGGUFModel, gguf.Of(kind))
	m.Set(keyGGUFTokens, gguf.ListOf(tokens))
	return m
}

// fromGolden returns metadata with the vocabulary, the merges and the added tokens of a golden
// tokenizer; name changes the names of tokens, if it is not nil.
func fromGolden(t *testing.T, name, kind string, rename func(string) string) *gguf.Metadata {
	var f file
	for _, c := range golden().Tokenizers {
		if c.Name == name {
			require.NoError(t, json.Unmarshal(c.JSON, &f))
		}
	}
	var model struct {
		Vocab  map[string]int
		Merges raw
	}
	require.NoError(t, json.Unmarshal(f.Model, &model))
	n := len(model.Vocab)
	for _, a := range f.AddedTokens {
		n = max(n, int(a.ID)+1)
	}
	tokens, types := make([]string, n), slices.Repeat([]int32{pieceNormal}, n)
	for s, id := range model.Vocab {
		tokens[id] = s
		if rename != nil {
			tokens[id] = rename(s)
		}
	}
	for _, a := range f.AddedTokens {
		tokens[a.ID], types[a.ID] = a.Content, pieceUser
		if a.Special {
			types[a.ID] = pieceControl
		}
	}
	m := metadataOf(kind, tokens)
	m.Set(keyGGUFTypes, gguf.ListOf(types))
	rules, err := readMerges(orEmpty(model.Merges, "[]"))
	require.NoError(t, err)
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = r.left + " " + r.right
	}
	m.Set(keyGGUFMerges, gguf.ListOf(lines))
	return m
}

// sameAs compares the ids that two tokenizers make of all texts but those with added tokens, of
// which GGUF files do not say that whitespace around them or parts of words count.
func sameAs(t *testing.T, want, got *Tokenizer, o Options) {
	for _, s := range golden().Texts {
		if strings.Contains(s, "<") {
			continue
		}
		a, err := want.IDs(s, o)
		require.NoError(t, err)
		b, err := got.IDs(s, o)
		require.NoError(t, err)
		require.Equal(t, append([]int32{}, a...), append([]int32{}, b...), "%q", s)
		textA, err := want.Decode(a, true)
		require.NoError(t, err)
		textB, err := got.Decode(b, true)
		require.NoError(t, err)
		require.Equal(t, textA, textB, "%q", s)
	}
}

func TestGGUFByteLevel(t *testing.T) {
	for name, pre := range map[string]string{"gpt2": "gpt-2", "llama3": "llama-bpe"} {
		m := fromGolden(t, name, "gpt2", nil)
		m.Set("tokenizer.ggml.pre", gguf.Of(pre))
		m.Set("tokenizer.ggml.add_bos_token", gguf.Of(false))
		k, err := FromGGUF(m)
		require.NoError(t, err)
		sameAs(t, goldenTokenizerOf(t, name), k, Options{PlainText: true})
	}
}

func TestGGUFWordPiece(t *testing.T) {
	m := fromGolden(t, "bert", "bert", func(s string) string {
		if rest, ok := strings.CutPrefix(s, "##"); ok {
			return rest
		}
		return wordStart + s
	})
	want := goldenTokenizerOf(t, "bert")
	for key, token := range map[string]string{"unknown": "[UNK]", "cls": "[CLS]", "seperator": "[SEP]"} {
		id, ok := want.ID(token)
		require.True(t, ok)
		m.Set("tokenizer.ggml."+key+"_token_id", gguf.Of(uint32(id)))
	}
	k, err := FromGGUF(m)
	require.NoError(t, err)
	sameAs(t, want, k, Options{PlainText: true, SpecialTokens: true})
	a, err := want.EncodePair("the cat", "on a mat", Options{SpecialTokens: true})
	require.NoError(t, err)
	b, err := k.EncodePair("the cat", "on a mat", Options{SpecialTokens: true})
	require.NoError(t, err)
	require.Equal(t, a, b)
	m.Set("tokenizer.ggml.normalizer.lowercase", gguf.Of(false))
	k, err = FromGGUF(m)
	require.NoError(t, err)
	cased, err := k.IDs("Cat", Options{})
	require.NoError(t, err)
	lower, err := k.IDs("cat", Options{})
	require.NoError(t, err)
	require.NotEqual(t, lower, cased)
}

// TestGGUFSentencePiece compares with SentencePiece's own models, whose pieces of the user are
// found in plain text, while those of GGUF files are added tokens.
func TestGGUFSentencePiece(t *testing.T) {
	kinds := map[uint64]int{}
	for _, c := range golden().SentencePiece {
		sp, err := readSPModel(c.Model)
		require.NoError(t, err)
		if sp.kind == 2 && (sp.collapse || sp.charsmap != nil) {
			continue // kind llama has no key for these
		}
		kinds[sp.kind]++
		k, err := FromGGUF(metadataOfSP(sp))
		require.NoError(t, err)
		want, err := FromSentencePiece(bytes.NewReader(c.Model))
		require.NoError(t, err)
		for _, s := range golden().Texts {
			if strings.Contains(s, "<") || holdsUserPiece(sp, s) {
				continue
			}
			a, err := want.IDs(s, Options{})
			require.NoError(t, err)
			b, err := k.IDs(s, Options{})
			require.NoError(t, err)
			require.Equal(t, append([]int32{}, a...), append([]int32{}, b...), "%q", s)
			text, err := k.Decode(b, false)
			require.NoError(t, err)
			whole, err := want.Decode(a, false)
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(whole, sp.unk, "<unk>"),
				text, "%q", s)
		}
	}
	require.NotZero(t, kinds[1])
	t.Log(kinds)
}

func holdsUserPiece(m *spModel, s string) bool {
	return slices.ContainsFunc(m.pieces, func(p spPiece) bool {
		return p.kind == pieceUser && strings.Contains(s, p.text)
	})
}

func metadataOfSP(sp *spModel) *gguf.Metadata {
	var tokens []string
	var scores []float32
	var types []int32
	for _, p := range sp.pieces {
		tokens, scores = append(tokens, p.text), append(scores, p.score)
		types = append(types, int32(p.kind))
	}
	m := metadataOf(map[uint64]string{1: "t5", 2: "llama"}[sp.kind], tokens)
	m.Set(keyGGUFScores, gguf.ListOf(scores))
	m.Set(keyGGUFTypes, gguf.ListOf(types))
	m.Set("tokenizer.ggml.add_space_prefix", gguf.Of(sp.prefix))
	m.Set("tokenizer.ggml.remove_extra_whitespaces", gguf.Of(sp.collapse))
	signed := make([]int8, len(sp.charsmap))
	for i, b := range sp.charsmap {
		signed[i] = int8(b)
	}
	m.Set("tokenizer.ggml.precompiled_charsmap", gguf.ListOf(signed))
	return m
}

// TestGGUFLlamaSpaces looks at the space that is put in front of a text and behind added tokens.
func TestGGUFLlamaSpaces(t *testing.T) {
	tokens := []string{"<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "b", "▁a", "ab", "▁ab", "<|end|>",
		"bb"}
	m := metadataOf("llama", tokens)
	m.Set(keyGGUFScores, gguf.ListOf([]float32{0, 0, 0, 0, -9, -9, -9, -2, -1, -3, 0, 0}))
	m.Set(keyGGUFTypes, gguf.ListOf([]int32{2, 3, 3, 6, 1, 1, 1, 1, 1, 1, 3, 5}))
	k, err := FromGGUF(m)
	require.NoError(t, err)
	check := func(s string, o Options, want ...int32) {
		ids, err := k.IDs(s, o)
		require.NoError(t, err)
		require.Equal(t, want, ids, s)
	}
	check("ab", Options{}, 9)
	check("ab", Options{SpecialTokens: true}, 1, 9)
	check("ab<|end|>a\n", Options{}, 9, 10, 7, 3)
	text, err := k.Decode([]int32{1, 9, 10, 7, 3}, true)
	require.NoError(t, err)
	require.Equal(t, "ab a\n", text)
	text, err = k.Decode([]int32{9, 10}, false)
	require.NoError(t, err)
	require.Equal(t, "ab<|end|>", text)
	check("bb", Options{}, 4, 6, 6) // the piece of both is not used
	m.Set("tokenizer.ggml.add_space_prefix", gguf.Of(false))
	m.Set("tokenizer.ggml.add_eos_token", gguf.Of(true))
	k, err = FromGGUF(m)
	require.NoError(t, err)
	check("ab", Options{SpecialTokens: true}, 1, 8, 2)
	m.Set("general.name", gguf.Of("Phi-3 mini"))
	k, err = FromGGUF(m)
	require.NoError(t, err)
	check("<|end|>  a", Options{}, 10, 5)
}

// TestGGUFSpaced looks at BPE over spaces, with tokens of bytes and of line ends.
func TestGGUFSpaced(t *testing.T) {
	m := metadataOf("gpt2", []string{"<bos>", "<0xC3>", "<0xA9>", "a", "▁", "\n", "▁a", "▁a▁", "\n\n\n",
		"a▁"})
	m.Set(keyGGUFMerges, gguf.ListOf([]string{"a ▁", "▁ a"}))
	m.Set(keyGGUFTypes, gguf.ListOf([]int32{3, 6, 6, 1, 1, 1, 1, 1, 1, 1}))
	m.Set("tokenizer.ggml.pre", gguf.Of("gemma4"))
	m.Set("tokenizer.ggml.bos_token_id", gguf.Of(uint32(0)))
	m.Set("tokenizer.ggml.add_bos_token", gguf.Of(false)) // as files of Gemma 4 have it
	k, err := FromGGUF(m)
	require.NoError(t, err)
	const s = " a a\n\n\na\n\né<bos>"
	ids, err := k.IDs(s, Options{SpecialTokens: true})
	require.NoError(t, err)
	require.Equal(t, []int32{0, 4, 9, 3, 8, 3, 5, 5, 1, 2, 0}, ids)
	text, err := k.Decode(ids, true)
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(s, "<bos>"), text)
}

// TestGGUFWholeWords has merges that do not make a word that is a token.
func TestGGUFWholeWords(t *testing.T) {
	for name, want := range map[string][]int32{
		"tekken": {3, 2}, "llama-bpe": {3, 2}, "glm4": {2}, "qwen2": {0, 1}, "chatglm-bpe": {0, 1}} {
		m := metadataOf("gpt2", []string{"a", "b", "ab", "<s>"})
		m.Set(keyGGUFMerges, gguf.ListOf([]string{}))
		m.Set("tokenizer.ggml.pre", gguf.Of(name))
		m.Set("tokenizer.ggml.bos_token_id", gguf.Of(uint32(3)))
		k, err := FromGGUF(m)
		require.NoError(t, err)
		ids, err := k.IDs("ab", Options{SpecialTokens: true})
		require.NoError(t, err)
		require.Equal(t, want, ids, name)
	}
}

func TestGGUFRWKV(t *testing.T) {
	m := metadataOf("rwkv", []string{"<s>", `\x00`, `a`, `ab`, `\n`, `\\`, `\xe4\xbd`, `\xa0`, ` b`})
	m.Set(keyGGUFTypes, gguf.ListOf([]int32{3, 1, 1, 1, 1, 1, 1, 1, 1}))
	k, err := FromGGUF(m)
	require.NoError(t, err)
	const s = "aab b\n\\\u4f60\x00"
	ids, err := k.IDs(s, Options{SpecialTokens: true})
	require.NoError(t, err)
	require.Equal(t, []int32{2, 3, 8, 4, 5, 6, 7, 1}, ids)
	text, err := k.Decode(ids, false)
	require.NoError(t, err)
	require.Equal(t, s, text)
	_, err = k.IDs("z", Options{})
	require.ErrorIs(t, err, errNoUnknown)
}

// TestGGUFFamilies makes a tokenizer of each name, and compares some ways to split.
func TestGGUFFamilies(t *testing.T) {
	names := map[string]bool{}
	for _, f := range bpeFamilies {
		for _, name := range f.names {
			require.False(t, names[name], name)
			names[name] = true
			m := fromGolden(t, "gpt2", "gpt2", nil)
			m.Set("tokenizer.ggml.pre", gguf.Of(name))
			m.Set("tokenizer.ggml.bos_token_id", gguf.Of(uint32(0)))
			k, err := FromGGUF(m)
			require.NoError(t, err, name)
			if f.spaced {
				continue
			}
			for _, s := range golden().Texts {
				ids, err := k.IDs(s, Options{PlainText: true})
				require.NoError(t, err)
				text, err := k.Decode(ids, false)
				require.NoError(t, err)
				require.Equal(t, strings.ToValidUTF8(s, ""), strings.ReplaceAll(text, "\ufffd", ""), name)
			}
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"gpt-2", "I'LL see 1234  x", "I|'|LL| see| 1234| | x"},
		{"llama-bpe", "I'LL see 1234  x\n\n!", "I|'LL| see| |123|4| | x|\n\n|!"},
		{"qwen2", "v1234 a!\n", "v|1|2|3|4| a|!\n"},
		{"deepseek-v3", "v1234 漢字kana!x", "v|123|4| |漢字|kana|!x"},
		{"tekken", "HelloWorld don't 12", "Hello|World| don|'t| |1|2"},
		{"gpt-4o", "HelloWORLDs don't a/b/\n", "Hello|WORLDs| don't| a|/b|/\n"},
		{"superbpe", "ab 1234567", "ab |1|234|567"},
		{"afmoe", "1234567 ab", "1|234|567| ab"},
		{"kimi-k2", "漢字kana 12345", "漢字|kana| |123|45"},
		{"bloom", "well, (so) 12", "well|, (|so|)| 12"},
		{"viking", "a 12", "a| |1|2"},
		{"starcoder", "a 12", "a| |1|2"},
		{"falcon", "x=1234", "x|=|123|4"},
		{"deepseek-coder", "int x=12\n", "int| x|=|1|2|\n"},
		{"bailingmoe", "it's 12", "it|'s| |1|2"},
		{"jais-2", "a     b", "a|    | b"},
		{"laguna", "a\n\n b", "a|\n\n| b"},
		{"exaone-moe", "a b 1", "a b| |1"},
		{"seed-coder", "a!\n", "a|!|\n"},
		{"minicpm5", "a1234", "a|123|4"},
		{"chameleon", "IMGIMGABZa!!", "IMGIMGABZ|a|!|!"},
		{"tiny_aya", "1234567", "1|234|567"},
		{"youtu", "가나abc", "가나|abc"},
		{"spark2_5", "a!\n", "a|!|\n"},
	} {
		require.Equal(t, c.want, splitBy(t, c.name, c.text), c.name)
	}
}

func splitBy(t *testing.T, name, s string) string {
	f, err := bpeFamilyOf(name)
	require.NoError(t, err)
	pre, err := splittersOf(f.split)
	require.NoError(t, err)
	x := text{b: []byte(s), pieces: []span{{0, int32(len(s))}}}
	require.NoError(t, pre.split(&x, &state{}))
	var out []string
	for _, p := range x.pieces {
		out = append(out, s[p.lo:p.hi])
	}
	return strings.Join(out, "|")
}

func TestGGUFBroken(t *testing.T) {
	good := func() *gguf.Metadata {
		m := metadataOf("gpt2", []string{"a", "b", "ab"})
		m.Set(keyGGUFMerges, gguf.ListOf([]string{"a b"}))
		return m
	}
	_, err := FromGGUF(good())
	require.NoError(t, err)
	for want, set := range map[string]func(m *gguf.Metadata){
		`"tokenizer.ggml.model"`:    func(m *gguf.Metadata) { m.Delete(keyGGUFModel) },
		`kind "plamo2" is`:          func(m *gguf.Metadata) { m.Set(keyGGUFModel, gguf.Of("plamo2")) },
		`pre-tokenizer "odd" is`:    func(m *gguf.Metadata) { m.Set("tokenizer.ggml.pre", gguf.Of("odd")) },
		"has no tokens":             func(m *gguf.Metadata) { m.Set(keyGGUFTokens, gguf.ListOf([]string{})) },
		`0 and 1 are both "a"`:      func(m *gguf.Metadata) { m.Set(keyGGUFTokens, gguf.ListOf([]string{"a", "a"})) },
		"1 elements for 3 tokens":   func(m *gguf.Metadata) { m.Set(keyGGUFTypes, gguf.ListOf([]int32{1})) },
		`"abc", is not two tokens`:  func(m *gguf.Metadata) { m.Set(keyGGUFMerges, gguf.ListOf([]string{"abc"})) },
		`token "c" is not in`:       func(m *gguf.Metadata) { m.Set(keyGGUFMerges, gguf.ListOf([]string{"a c"})) },
		"id 11, which is to be add": func(m *gguf.Metadata) { m.Set("tokenizer.ggml.add_bos_token", gguf.Of(true)) },
		"add_eos_token":             func(m *gguf.Metadata) { m.Set("tokenizer.ggml.add_eos_token", gguf.Of("x")) },
		`no "tokenizer.ggml.scores"`: func(m *gguf.Metadata) {
			m.Set(keyGGUFModel, gguf.Of("llama"))
		},
		"unknown token has id 100": func(m *gguf.Metadata) { m.Set(keyGGUFModel, gguf.Of("bert")) },
		"an escape without two": func(m *gguf.Metadata) {
			m.Set(keyGGUFModel, gguf.Of("rwkv"))
			m.Set(keyGGUFTokens, gguf.ListOf([]string{`\x1`}))
		},
	} {
		m := good()
		set(m)
		_, err := FromGGUF(m)
		require.ErrorContains(t, err, want)
	}
}

func TestOpenGGUF(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model")
	m := fromGolden(t, "gpt2", "gpt2", nil)
	m.Set("tokenizer.ggml.pre", gguf.Of("gpt-2"))
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, gguf.Write(f, m))
	require.NoError(t, f.Close())
	k, err := Open(path)
	require.NoError(t, err)
	sameAs(t, goldenTokenizerOf(t, "gpt2"), k, Options{PlainText: true})
}

// FuzzGGUF changes metadata of all kinds.
func FuzzGGUF(f *testing.F) {
	kinds := []string{"gpt2", "gemma4", "llama", "t5", "bert", "rwkv"}
	f.Add(int64(1), "gpt-2", "Hello wörld 你好 <|x|>", uint32(3))
	f.Fuzz(func(t *testing.T, seed int64, pre, s string, id uint32) {
		rng := rand.New(rand.NewSource(seed))
		n := 1 + rng.Intn(40)
		tokens, runes := map[string]bool{}, []rune(s+"ab ▁Ġ\\x")
		for len(tokens) < n && len(tokens) < len(runes) {
			at := rng.Intn(len(runes))
			tokens[string(runes[at:min(len(runes), at+1+rng.Intn(3))])] = true
			n--
		}
		list := slices.Sorted(maps.Keys(tokens))
		scores, types := make([]float32, len(list)), make([]int32, len(list))
		for i := range list {
			scores[i], types[i] = rng.Float32(), int32(rng.Intn(8))
		}
		m := metadataOf(kinds[rng.Intn(len(kinds))], list)
		m.Set(keyGGUFScores, gguf.ListOf(scores))
		m.Set(keyGGUFTypes, gguf.ListOf(types))
		m.Set(keyGGUFMerges, gguf.ListOf([]string{}))
		m.Set("tokenizer.ggml.pre", gguf.Of(pre))
		m.Set("tokenizer.ggml.unknown_token_id", gguf.Of(id%64))
		m.Set("tokenizer.ggml.bos_token_id", gguf.Of(id%uint32(len(list))))
		if k, err := FromGGUF(m); err == nil {
			checkAnything(t, k, s)
		}
	})
}
