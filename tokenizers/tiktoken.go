package tokenizers

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// Patterns of published vocabularies of tiktoken, in the syntax of Rust's
// packages.
const (
	// PatternGPT2 splits for r50k_base and p50k_base.
	PatternGPT2 = `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|` +
		`\s+(?!\S)|\s`
	// PatternCL100K splits for cl100k_base, Llama 3 and others.
	PatternCL100K = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|` +
		` ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
	// PatternO200K splits for o200k_base and o200k_harmony.
	PatternO200K = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` +
		`(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+` +
		`[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|` +
		` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// FromTiktoken reads a file of tiktoken: a line for each token, its bytes in
// base64 and its rank, which is its id. Such files do not say how text is split
// nor which special tokens there are.
func FromTiktoken(r io.Reader, split string, special map[string]int32) (*Tokenizer, error) {
	tokens := map[string]int64{}
	scan := bufio.NewScanner(io.LimitReader(r, MaxFile))
	for line := 1; scan.Scan(); line++ {
		if scan.Text() == "" {
			continue
		}
		code, rank, _ := strings.Cut(scan.Text(), " ")
		b, err := base64.StdEncoding.DecodeString(code)
		id, errRank := strconv.ParseUint(rank, 10, 31)
		if err != nil || errRank != nil || len(b) == 0 {
			return nil, fmt.Errorf("line %d is not the base64 of a token and its rank: %.60q", line,
				scan.Text())
		}
		tokens[byteString(b)] = int64(id)
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	return fromRanks(tokens, split, special)
}

// fromRanks makes a tokenizer of ranks of tokens, which are in the byte-level
// alphabet: of neighbouring tokens those are merged first whose union has the
// lowest rank.
func fromRanks(tokens map[string]int64, split string, special map[string]int32) (
	*Tokenizer, error) {
	if len(tokens) == 0 {
		return nil, errors.New("the file has no tokens")
	}
	v, err := newVocab(tokens)
	if err != nil {
		return nil, err
	}
	m, err := newBPE(v, nil, bpeOptions{ignoreMerges: true})
	if err != nil {
		return nil, err
	}
	for b, id := range m.mapped {
		if id < 0 {
			return nil, fmt.Errorf("the vocabulary has no token for byte 0x%02x", b)
		}
	}
	if err := m.mergesOfTokens(func(id int32) uint32 { return uint32(id) }); err != nil {
		return nil, err
	}
	p, err := pattern.CompileRust(split)
	if err != nil {
		return nil, err
	}
	t := newTokenizer(m)
	t.pre = preTokenizers{
		&splitter{pattern: p, behaviour: removed, invert: true}, &byteLevel{lazy: true},
	}
	t.decoder = byteLevelDecoder{}
	for name, id := range special {
		a := addedToken{ID: int64(id), Content: name, Special: true}
		if err := t.addTokens([]addedToken{a}); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// maxRanked is how many bytes of a token merges are made of: there is one for
// each place at which two tokens make it.
const maxRanked = 1 << 12

// mergesOfTokens makes merges of all pairs of tokens that make a third.
func (m *bpe) mergesOfTokens(rank func(id int32) uint32) error {
	for token, id := range m.ids {
		if len(token) > maxRanked {
			return fmt.Errorf("token %d has %d bytes, more than %d", id, len(token), maxRanked)
		}
		for i := range token {
			if i == 0 {
				continue
			}
			left, ok := m.ids[token[:i]]
			right, okRight := m.ids[token[i:]]
			if ok && okRight {
				m.merges.set(pairKey(left, right), uint64(rank(id))<<32|uint64(id))
			}
		}
	}
	return nil
}

// tekken is Mistral's file of a byte-pair vocabulary.
type tekken struct {
	Config struct {
		Pattern  string `json:"pattern"`
		Size     int    `json:"default_vocab_size"`
		Specials int    `json:"default_num_special_tokens"`
	} `json:"config"`
	Vocab []struct {
		Rank  int    `json:"rank"`
		Bytes []byte `json:"token_bytes"`
	} `json:"vocab"`
	Special []struct {
		Rank int    `json:"rank"`
		Text string `json:"token_str"`
	} `json:"special_tokens"`
}

// tekkenSpecials are those of files that do not list them.
var tekkenSpecials = []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]",
	"[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>",
	"[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]",
	"[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"}

// FromTekken reads Mistral's tekken.json. Mistral's own library never takes
// special tokens out of a text: Options.PlainText does the same.
func FromTekken(r io.Reader) (*Tokenizer, error) {
	b, err := readLimited(r)
	if err != nil {
		return nil, err
	}
	var f tekken
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("tekken.json: %w", err)
	}
	t, err := f.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("tekken.json: %w", err)
	}
	return t, nil
}

func (f *tekken) tokenizer() (*Tokenizer, error) {
	n := f.Config.Specials
	if n < 0 || f.Config.Size < n || f.Config.Size > math.MaxInt32 {
		return nil, fmt.Errorf("config: %d special tokens in a vocabulary of %d", n, f.Config.Size)
	}
	tokens := map[string]int64{}
	for i, v := range f.Vocab {
		if v.Rank != i || len(v.Bytes) == 0 {
			return nil, fmt.Errorf("vocab[%d] has rank %d and %d bytes", i, v.Rank, len(v.Bytes))
		}
		if i < f.Config.Size-n {
			tokens[byteString(v.Bytes)] = int64(n + i)
		}
	}
	special, err := f.specials()
	if err != nil {
		return nil, err
	}
	t, err := fromRanks(tokens, f.Config.Pattern, special)
	if err != nil {
		return nil, err
	}
	if id, ok := special["<s>"]; ok {
		t.post = bosTemplate("<s>", id)
	}
	return t, nil
}

// specials returns the special tokens, which come first.
func (f *tekken) specials() (map[string]int32, error) {
	out := map[string]int32{}
	for _, s := range f.Special {
		if s.Rank < 0 || s.Rank >= f.Config.Specials || s.Text == "" {
			return nil, fmt.Errorf("special token %q has rank %d of %d", s.Text, s.Rank,
				f.Config.Specials)
		}
		out[s.Text] = int32(s.Rank)
	}
	if f.Config.Specials > maxAdded {
		return nil, fmt.Errorf("%d special tokens, more than %d", f.Config.Specials, maxAdded)
	}
	for i := range f.Config.Specials {
		switch {
		case i < len(f.Special):
		case i < len(tekkenSpecials) && len(f.Special) == 0:
			out[tekkenSpecials[i]] = int32(i)
		default:
			out[fmt.Sprintf("<SPECIAL_%d>", i)] = int32(i)
		}
	}
	return out, nil
}

// bosTemplate puts a token in front of each text.
func bosTemplate(name string, id int32) *template {
	bos := slotOf{-1, 0, []int32{id}, []string{name}}
	return &template{
		single: []slotOf{bos, {text: 0}}, pair: []slotOf{bos, {text: 0}, bos, {text: 1}},
	}
}
