package tokenizers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// MaxFile is how many bytes a file may have.
const MaxFile = 1 << 30

// Open reads a tokenizer.json, Mistral's tekken.json, a model of SentencePiece,
// or the metadata of a GGUF file, whatever the file is called. Of a folder it reads the first of
// these that is there, or what published models had before: vocab.txt, vocab.json with merges.txt,
// the SentencePiece models of T5, XLM-RoBERTa and Llama, and Marian's source.spm with vocab.json.
// tokenizer_config.json then says what else is to be known.
func Open(path string) (*Tokenizer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return openFolder(path)
	}
	r := bufio.NewReader(f)
	start, _ := r.Peek(16)
	if bytes.HasPrefix(start, []byte("GGUF")) {
		return openGGUF(path)
	}
	read := FromJSON
	if !bytes.HasPrefix(bytes.TrimSpace(start), []byte("{")) {
		if len(start) == 0 || start[0] != '\n' { // its first field is the first piece
			return nil, fmt.Errorf("%s is neither a JSON file, a GGUF file nor a SentencePiece model %w;"+
				" for a vocabulary of tiktoken there is FromTiktoken", path, ErrUnsupported)
		}
		read = FromSentencePiece
	}
	t, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// file is a tokenizer.json.
type file struct {
	Truncation    *truncationConfig `json:"truncation"`
	Padding       *paddingConfig    `json:"padding"`
	AddedTokens   []addedToken      `json:"added_tokens"`
	Normalizer    raw               `json:"normalizer"`
	PreTokenizer  raw               `json:"pre_tokenizer"`
	PostProcessor raw               `json:"post_processor"`
	Decoder       raw               `json:"decoder"`
	Model         raw               `json:"model"`
	Config        raw               `json:"config"` // of a tekken.json
}

// FromJSON reads a tokenizer.json, or what FromTekken reads. What the file asks
// for and this package does not do is an error that wraps ErrUnsupported and
// names it.
func FromJSON(r io.Reader) (*Tokenizer, error) {
	b, err := readLimited(r)
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if absent(f.Model) && !absent(f.Config) {
		return FromTekken(bytes.NewReader(b))
	}
	return f.tokenizer()
}

func readLimited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(b) > MaxFile {
		err = fmt.Errorf("the file has more than %d bytes", MaxFile)
	}
	return b, err
}

func newTokenizer(m model) *Tokenizer {
	return &Tokenizer{
		model: m, added: map[int32]addedToken{}, addedIDs: map[string]int32{}, forms: map[int32]string{},
		plain: newFinder(), normal: newFinder(),
	}
}

func (f *file) tokenizer() (*Tokenizer, error) {
	if absent(f.Model) {
		return nil, errors.New("tokenizer.json has no model")
	}
	m, err := readModel(f.Model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	t := newTokenizer(m)
	if err := f.parts(t); err != nil {
		return nil, err
	}
	t.lazyBytes()
	if t.Truncation, err = f.Truncation.read(); err != nil {
		return nil, fmt.Errorf("truncation: %w", err)
	}
	if t.Padding, err = f.Padding.read(); err != nil {
		return nil, fmt.Errorf("padding: %w", err)
	}
	return t, t.addTokens(f.AddedTokens)
}

// parts reads what comes before and behind the model.
func (f *file) parts(t *Tokenizer) (err error) {
	if !absent(f.Normalizer) {
		if t.normalizer, err = readNormalizer(f.Normalizer); err != nil {
			return fmt.Errorf("normalizer: %w", err)
		}
	}
	if !absent(f.PreTokenizer) {
		if t.pre, err = readPreTokenizer(f.PreTokenizer); err != nil {
			return fmt.Errorf("pre_tokenizer: %w", err)
		}
		t.origins = prependsAtStart(t.pre)
	}
	if !absent(f.PostProcessor) {
		if t.post, err = readPostProcessor(f.PostProcessor); err != nil {
			return fmt.Errorf("post_processor: %w", err)
		}
	}
	if !absent(f.Decoder) {
		if t.decoder, err = readDecoder(f.Decoder); err != nil {
			return fmt.Errorf("decoder: %w", err)
		}
	}
	return nil
}

// prependsAtStart reports whether a pre-tokenizer prepends its mark only where the input starts, as
// prepend_scheme "first" of Metaspace does: it needs offsets into the input.
func prependsAtStart(p preTokenizer) bool {
	if list, ok := p.(preTokenizers); ok {
		return slices.ContainsFunc(list, prependsAtStart)
	}
	m, ok := p.(*metaspace)
	return ok && m.when == "first"
}

// lazyBytes lets a byte-pair model have bytes in the place of characters of
// the byte-level alphabet if nothing comes between.
func (t *Tokenizer) lazyBytes() {
	last := t.pre
	for {
		seq, ok := last.(preTokenizers)
		if !ok || len(seq) == 0 {
			break
		}
		last = seq[len(seq)-1]
	}
	if b, ok := last.(*byteLevel); ok {
		_, b.lazy = t.model.(*bpe)
	}
}

// modelConfig has the fields of all models.
type modelConfig struct {
	Type         string          `json:"type"`
	Vocab        raw             `json:"vocab"`
	Merges       raw             `json:"merges"`
	Unk          string          `json:"unk_token"`
	UnkID        *int32          `json:"unk_id"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	MaxChars     *int            `json:"max_input_chars_per_word"`
	Dropout      json.RawMessage `json:"dropout"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
}

func readModel(r raw) (model, error) {
	c, err := decode(r, modelConfig{})
	if err != nil {
		return nil, err
	}
	if c.Type == "" {
		c.Type = c.guess()
	}
	if c.Type == "Unigram" {
		m, err := c.unigram()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Type, err)
		}
		return m, nil
	}
	var ids map[string]int64
	if err := json.Unmarshal(orEmpty(c.Vocab, "{}"), &ids); err != nil {
		return nil, fmt.Errorf("%s: vocab: %w", c.Type, err)
	}
	v, err := newVocab(ids)
	if err != nil {
		return nil, fmt.Errorf("%s: vocab: %w", c.Type, err)
	}
	switch c.Type {
	case "BPE":
		return c.bpe(v)
	case "WordPiece":
		return c.wordPiece(v)
	case "WordLevel":
		return &wordLevel{v, c.Unk}, nil
	}
	return nil, fmt.Errorf("type %q %w", c.Type, ErrUnsupported)
}

func orEmpty(r raw, empty string) raw {
	if absent(r) {
		return raw(empty)
	}
	return r
}

// guess finds the model of old files, which do not name it.
func (c *modelConfig) guess() string {
	switch {
	case !absent(c.Merges):
		return "BPE"
	case bytes.HasPrefix(c.Vocab, []byte("[")):
		return "Unigram"
	case c.MaxChars != nil || c.Prefix != "":
		return "WordPiece"
	}
	return "WordLevel"
}

func (c *modelConfig) wordPiece(v *vocab) (model, error) {
	if c.MaxChars == nil {
		c.MaxChars = new(100)
	}
	if c.Unk == "" {
		c.Unk = "[UNK]"
	}
	return newWordPiece(v, c.Unk, c.Prefix, *c.MaxChars), nil
}

func (c *modelConfig) bpe(v *vocab) (model, error) {
	if !absent(c.Dropout) && string(c.Dropout) != "0" && string(c.Dropout) != "0.0" {
		return nil, fmt.Errorf("BPE: dropout %s %w: the tokens of a text would be random;"+
			" set it to null", c.Dropout, ErrUnsupported)
	}
	merges, err := readMerges(orEmpty(c.Merges, "[]"))
	if err != nil {
		return nil, fmt.Errorf("BPE: merges: %w", err)
	}
	m, err := newBPE(v, merges, bpeOptions{c.Unk, c.Prefix, c.Suffix, c.FuseUnk,
		c.ByteFallback, c.IgnoreMerges})
	if err != nil {
		return nil, fmt.Errorf("BPE: %w", err)
	}
	return m, nil
}

// readMerges reads merges in either form: "a b" or ["a", "b"].
func readMerges(r raw) ([]mergeRule, error) {
	var lines []string
	if err := json.Unmarshal(r, &lines); err == nil {
		return mergesOf(lines)
	}
	var pairs [][]string
	if err := json.Unmarshal(r, &pairs); err != nil {
		return nil, err
	}
	out := make([]mergeRule, len(pairs))
	for i, p := range pairs {
		if len(p) != 2 {
			return nil, fmt.Errorf("merge %d has %d tokens, want 2", i, len(p))
		}
		out[i] = mergeRule{p[0], p[1]}
	}
	return out, nil
}

// mergesOf reads merges as lines of two tokens.
func mergesOf(lines []string) ([]mergeRule, error) {
	out := make([]mergeRule, 0, len(lines))
	for i, s := range lines {
		if strings.HasPrefix(s, "#version") {
			continue
		}
		left, right, ok := strings.Cut(s, " ")
		if !ok || strings.Contains(right, " ") {
			return nil, fmt.Errorf("merge %d is %q, want two tokens", i, s)
		}
		out = append(out, mergeRule{left, right})
	}
	return out, nil
}

func (c *modelConfig) unigram() (model, error) {
	var rows [][]any
	if err := json.Unmarshal(orEmpty(c.Vocab, "[]"), &rows); err != nil {
		return nil, fmt.Errorf("vocab: %w", err)
	}
	tokens, scores := make([]string, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		var ok, okScore bool
		if len(row) == 2 {
			tokens[i], ok = row[0].(string)
			scores[i], okScore = row[1].(float64)
		}
		if !ok || !okScore {
			return nil, fmt.Errorf("vocab: entry %d is not a token and its score", i)
		}
	}
	unk := int32(-1)
	if c.UnkID != nil {
		unk = *c.UnkID
	}
	m, err := newUnigram(tokens, scores, unk, c.ByteFallback)
	if err != nil {
		return nil, err
	}
	return m, nil
}

type truncationConfig struct {
	Direction string `json:"direction"`
	MaxLength int    `json:"max_length"`
	Strategy  string `json:"strategy"`
	Stride    int    `json:"stride"`
}

func (c *truncationConfig) read() (*Truncation, error) {
	if c == nil {
		return nil, nil
	}
	names := map[string]string{"LongestFirst": "longest_first", "OnlyFirst": "only_first",
		"OnlySecond": "only_second", "": "longest_first"}
	name, ok := names[c.Strategy]
	if !ok {
		return nil, fmt.Errorf("strategy %q %w", c.Strategy, ErrUnsupported)
	}
	left, err := isLeft(c.Direction)
	if c.MaxLength < 0 {
		err = fmt.Errorf("max_length is %d", c.MaxLength)
	}
	if c.Stride < 0 {
		err = fmt.Errorf("stride is %d", c.Stride)
	}
	return &Truncation{MaxLength: c.MaxLength, Left: left, Strategy: name, Stride: c.Stride}, err
}

func isLeft(direction string) (bool, error) {
	if direction != "" && direction != "Left" && direction != "Right" {
		return false, fmt.Errorf("direction %q %w", direction, ErrUnsupported)
	}
	return direction == "Left", nil
}

type paddingConfig struct {
	Strategy   raw    `json:"strategy"`
	Direction  string `json:"direction"`
	MultipleOf *int   `json:"pad_to_multiple_of"`
	ID         int32  `json:"pad_id"`
	TypeID     int32  `json:"pad_type_id"`
	Token      string `json:"pad_token"`
}

func (c *paddingConfig) read() (*Padding, error) {
	if c == nil {
		return nil, nil
	}
	p := &Padding{ID: c.ID, TypeID: c.TypeID, Token: c.Token}
	if c.MultipleOf != nil {
		p.MultipleOf = *c.MultipleOf
	}
	if string(c.Strategy) != `"BatchLongest"` {
		var fixed struct{ Fixed *int }
		if err := json.Unmarshal(c.Strategy, &fixed); err != nil || fixed.Fixed == nil {
			return nil, fmt.Errorf("strategy %s %w", c.Strategy, ErrUnsupported)
		}
		p.Length = *fixed.Fixed
	}
	var err error
	p.Left, err = isLeft(c.Direction)
	if p.Length < 0 || p.Length > maxPadded || p.MultipleOf < 0 || p.MultipleOf > maxPadded {
		err = fmt.Errorf("length %d, multiple of %d are out of range", p.Length, p.MultipleOf)
	}
	return p, err
}
