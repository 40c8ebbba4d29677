package tokenizers

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/gokiln/kiln/quantized/gguf"
)

// Keys of the metadata of GGUF files. Types of tokens are those of SentencePiece's pieces.
const (
	keyGGUF       = "tokenizer.ggml."
	keyGGUFModel  = keyGGUF + "model"
	keyGGUFTokens = keyGGUF + "tokens"
	keyGGUFScores = keyGGUF + "scores"
	keyGGUFTypes  = keyGGUF + "token_type"
	keyGGUFMerges = keyGGUF + "merges"
)

// ggufVocab is what the metadata of a GGUF file says of a tokenizer.
type ggufVocab struct {
	meta   *gguf.Metadata
	model  string
	tokens []string
	scores []float32 // of each token; nil if the file has none
	types  []int32   // of each token; nil if the file has none
	vocab  *vocab
	family *bpeFamily // of the kind gpt2
}

// FromGGUF returns the tokenizer that the metadata of a GGUF file describe, of the kinds gpt2
// (byte-level BPE, with the pre-tokenizers of llama.cpp), gemma4, llama (SentencePiece BPE), t5
// (SentencePiece Unigram), bert (WordPiece) and rwkv. Options.SpecialTokens adds the tokens that
// the file, or else its kind, wants around a text.
func FromGGUF(m *gguf.Metadata) (*Tokenizer, error) {
	g, err := readGGUFVocab(m)
	if err != nil {
		return nil, fmt.Errorf("GGUF tokenizer: %w", err)
	}
	t, err := g.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("GGUF tokenizer %q: %w", g.model, err)
	}
	return t, nil
}

// openGGUF reads the tokenizer of a GGUF file.
func openGGUF(path string) (*Tokenizer, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := FromGGUF(f.Meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func readGGUFVocab(m *gguf.Metadata) (*ggufVocab, error) {
	g := &ggufVocab{meta: m}
	var err error
	if g.model, err = gguf.Get[string](m, keyGGUFModel); err != nil {
		return nil, err
	}
	list, err := gguf.GetList[string](m, keyGGUFTokens)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("the file has no tokens")
	}
	if err := g.readTokens(list); err != nil {
		return nil, err
	}
	if g.scores, err = optionalList[float32](m, keyGGUFScores, len(list)); err != nil {
		return nil, err
	}
	for i, s := range g.scores {
		if s != s {
			return nil, fmt.Errorf("metadata %q: the score of token %d is NaN", keyGGUFScores, i)
		}
	}
	g.types, err = optionalList[int32](m, keyGGUFTypes, len(list))
	return g, err
}

// readTokens makes the vocabulary. An empty token gets the name that llama.cpp gives it.
func (g *ggufVocab) readTokens(list []string) error {
	g.tokens = make([]string, len(list))
	ids := make(map[string]int64, len(list))
	for i, s := range list {
		if s == "" {
			s = fmt.Sprintf("[EMPTY_%d]", i)
		}
		if old, ok := ids[s]; ok {
			return fmt.Errorf("tokens %d and %d are both %.60q", old, i, s)
		}
		g.tokens[i], ids[s] = s, int64(i)
	}
	var err error
	g.vocab, err = newVocab(ids)
	return err
}

// optionalList returns an array with an element for each token, or nil if the key is absent.
func optionalList[T gguf.Scalar](m *gguf.Metadata, key string, n int) ([]T, error) {
	if _, ok := m.Value(key); !ok {
		return nil, nil
	}
	list, err := gguf.GetList[T](m, key)
	if err == nil && len(list) < n {
		err = fmt.Errorf("metadata %q has %d elements for %d tokens", key, len(list), n)
	}
	return list, err
}

// option returns the value of a key, or what holds without it.
func option[T gguf.Scalar](g *ggufVocab, key string, without T) (T, error) {
	if _, ok := g.meta.Value(keyGGUF + key); !ok {
		return without, nil
	}
	return gguf.Get[T](g.meta, keyGGUF+key)
}

// typeOf returns the type of a token.
func (g *ggufVocab) typeOf(id int) uint64 {
	if g.types == nil {
		return pieceNormal
	}
	return uint64(g.types[id])
}

func (g *ggufVocab) tokenizer() (*Tokenizer, error) {
	var t *Tokenizer
	var err error
	around := ggufAround{bos: -1, eos: -1, sep: -1}
	switch g.model {
	case "gpt2":
		if t, err = g.byteLevel(); err == nil {
			around = ggufAround{bos: 11, eos: 11, sep: -1, addBOS: g.family.bos}
		}
	case "gemma4":
		t, err = g.spacedBPE()
		around.addBOS = true
	case "llama":
		t, err = g.sentencePiece(2)
		around = ggufAround{bos: 1, eos: 2, sep: -1, addBOS: true}
	case "t5":
		t, err = g.sentencePiece(1)
		around = ggufAround{bos: -1, eos: 1, sep: -1, addEOS: true}
	case "bert":
		t, err = g.wordPiece()
		around = ggufAround{bos: 101, eos: -1, sep: 102, addBOS: true, bert: true}
	case "rwkv":
		t, err = g.longestMatch()
		around.never = true
	default:
		return nil, fmt.Errorf("metadata %q: the kind %q is %w", keyGGUFModel, g.model,
			ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	if err := t.addTokens(g.added()); err != nil {
		return nil, err
	}
	return t, around.apply(g, t)
}

// added returns the tokens that are found in a text: those of the user, which are never special,
// and control tokens.
func (g *ggufVocab) added() []addedToken {
	var list []addedToken
	strips := g.strips()
	for i, s := range g.tokens {
		kind := g.typeOf(i)
		if kind != pieceUser && kind != pieceControl && kind != pieceUnknown {
			continue
		}
		a := addedToken{ID: int64(i), Content: s, Special: kind != pieceUser}
		a.LStrip, a.RStrip = strips(s)
		list = append(list, a)
	}
	return list
}

// strips returns a function that says which added tokens take in the whitespace around them: GGUF
// has no key for it, and readers go by names of models.
func (g *ggufVocab) strips() func(token string) (left, right bool) {
	pre, _ := option(g, "pre", "")
	name, _ := gguf.Get[string](g.meta, "general.name")
	arch, _ := gguf.Get[string](g.meta, gguf.KeyArchitecture)
	name = strings.ToLower(name)
	switch {
	case strings.HasPrefix(pre, "jina-v2"), arch == "nomic-bert-moe", arch == "jina-bert-v3":
		return func(s string) (bool, bool) { return s == "<mask>", false }
	case strings.Contains(name, "phi-3"), strings.Contains(name, "phi3"):
		return func(s string) (bool, bool) {
			return false, s != "<unk>" && s != "<s>" && s != "<|endoftext|>"
		}
	case strings.Contains(name, "modern-bert"):
		return func(s string) (bool, bool) { return s == "[MASK]", false }
	}
	return func(string) (bool, bool) { return false, false }
}

// ggufAround says which tokens stand around a text.
type ggufAround struct {
	bos, eos, sep  int32 // ids, -1 if there is none
	addBOS, addEOS bool
	bert, never    bool
}

// apply reads what the file says of it, and makes the post-processor.
func (a ggufAround) apply(g *ggufVocab, t *Tokenizer) error {
	if a.never {
		return nil
	}
	var err error
	read := func(key string, id *int32) {
		if err == nil {
			*id, err = option(g, key, *id)
		}
	}
	read("cls_token_id", &a.bos)
	read("bos_token_id", &a.bos)
	read("eos_token_id", &a.eos)
	read("seperator_token_id", &a.sep) // so spelt in the format
	if err == nil && !a.bert {
		a.addBOS, err = option(g, "add_bos_token", a.addBOS)
	}
	if err == nil && !a.bert {
		a.addEOS, err = option(g, "add_eos_token", a.addEOS)
	}
	if err != nil {
		return err
	}
	if g.family != nil && g.family.spaced {
		a.addBOS = true // files of Gemma 4 say otherwise by mistake; llama.cpp has the same
	}
	return a.template(t)
}

func (a ggufAround) template(t *Tokenizer) error {
	if a.bert {
		a.eos, a.addEOS = a.sep, true
	}
	front, err := around1(t, "bos_token_id", a.bos, a.addBOS)
	if err != nil {
		return err
	}
	back, err := around1(t, "eos_token_id", a.eos, a.addEOS)
	if err != nil || front == nil && back == nil {
		return err
	}
	one := func(text int, typeID int32, front, back []slotOf) []slotOf {
		list := append([]slotOf{}, front...)
		list = append(append(list, slotOf{text: text, typeID: typeID}), back...)
		for i := range list {
			list[i].typeID = typeID
		}
		return list
	}
	single := one(0, 0, front, back)
	if a.bert {
		t.post = &template{single, append(one(0, 0, front, back), one(1, 1, nil, back)...)}
		return nil
	}
	t.post = &template{single, append(one(0, 0, front, back), one(1, 0, front, back)...)}
	return nil
}

// around1 returns the place of a token, none if it is not to be added.
func around1(t *Tokenizer, key string, id int32, add bool) ([]slotOf, error) {
	if !add {
		return nil, nil
	}
	name, ok := t.Token(id)
	if !ok {
		return nil, fmt.Errorf("metadata %q: id %d, which is to be added to texts, has no token",
			keyGGUF+key, id)
	}
	return []slotOf{{-1, 0, []int32{id}, []string{name}}}, nil
}

// merges returns the merges of a BPE vocabulary; a token may contain spaces behind its start.
func (g *ggufVocab) merges() ([]mergeRule, error) {
	lines, err := gguf.GetList[string](g.meta, keyGGUFMerges)
	if err != nil {
		return nil, err
	}
	rules := make([]mergeRule, len(lines))
	for i, s := range lines {
		at := -1
		if len(s) > 0 {
			at = strings.IndexByte(s[1:], ' ') + 1
		}
		if at < 1 {
			return nil, fmt.Errorf("metadata %q: element %d, %.60q, is not two tokens",
				keyGGUFMerges, i, s)
		}
		rules[i] = mergeRule{s[:at], s[at+1:]}
	}
	return rules, nil
}

// byteLevel makes a tokenizer of the kind gpt2.
func (g *ggufVocab) byteLevel() (*Tokenizer, error) {
	pre, err := option(g, "pre", "default")
	if err != nil {
		return nil, err
	}
	if g.family, err = bpeFamilyOf(pre); err != nil {
		return nil, err
	}
	if g.family.spaced {
		return g.spacedBPE()
	}
	m, err := g.byteLevelModel(pre)
	if err != nil {
		return nil, err
	}
	t := newTokenizer(m)
	if t.pre, err = splittersOf(g.family.split); err != nil {
		return nil, err
	}
	t.pre = append(t.pre.(preTokenizers), &byteLevel{lazy: true})
	t.decoder = byteLevelDecoder{}
	return t, nil
}

func (g *ggufVocab) byteLevelModel(pre string) (*bpe, error) {
	o := bpeOptions{ignoreMerges: g.family.ignoreMerges}
	if _, ok := g.meta.Value(keyGGUFMerges); !ok && pre == "kimi-k2" {
		// Its merges are the ranks of tokens, which are their ids.
		m, err := newBPE(g.vocab, nil, bpeOptions{ignoreMerges: true})
		if err == nil {
			err = m.mergesOfTokens(func(id int32) uint32 { return uint32(id) })
		}
		return m, err
	}
	merges, err := g.merges()
	if err != nil {
		return nil, err
	}
	return newBPE(g.vocab, merges, o)
}

// spacedBPE makes a tokenizer whose merges go over the spaces between words, for which it has a
// visible character, and that has tokens of bytes for unknown characters.
func (g *ggufVocab) spacedBPE() (*Tokenizer, error) {
	g.family = gemmaFamily
	merges, err := g.merges()
	if err != nil {
		return nil, err
	}
	m, err := newBPE(g.vocab, merges, bpeOptions{byteFallback: true})
	if err != nil {
		return nil, err
	}
	m.newlines = true
	t := newTokenizer(m)
	t.normalizer = &replace{plain: []byte(" "), with: wordStart}
	if t.pre, err = splittersOf(g.family.split); err != nil {
		return nil, err
	}
	t.decoder = &spDecoder{m: &spModel{}, kinds: g.decodedAs()}
	return t, nil
}

// decodedAs returns how tokens decode: all as they are but those of bytes.
func (g *ggufVocab) decodedAs() map[string]uint64 {
	kinds := map[string]uint64{}
	for i, s := range g.tokens {
		if _, ok := byteToken(s); ok && (g.types == nil || g.typeOf(i) == pieceByte) {
			kinds[s] = pieceByte
		}
	}
	return kinds
}

// sentencePiece makes a tokenizer of the kinds llama and t5.
func (g *ggufVocab) sentencePiece(kind uint64) (*Tokenizer, error) {
	m := &spModel{kind: kind}
	unk, err := g.pieces(m)
	if err != nil {
		return nil, err
	}
	if m.prefix, err = option(g, "add_space_prefix", kind == 2); err != nil {
		return nil, err
	}
	n := &spNormalizer{prefix: m.prefix, user: newFinder()}
	if kind == 1 {
		if err := g.normalization(m, n); err != nil {
			return nil, err
		}
	}
	model, err := m.model(g.vocab, unk)
	if err != nil {
		return nil, err
	}
	t := newTokenizer(model)
	t.normalizer, t.decoder = n, &spDecoder{m: m, kinds: g.decodedAs()}
	return t, nil
}

// pieces makes the pieces of a SentencePiece model, and returns which is the unknown one.
func (g *ggufVocab) pieces(m *spModel) (int32, error) {
	if g.scores == nil || g.types == nil {
		return 0, fmt.Errorf("metadata has no %q or no %q", keyGGUFScores, keyGGUFTypes)
	}
	m.pieces = make([]spPiece, len(g.tokens))
	unk := int32(-1)
	for i, s := range g.tokens {
		if !utf8.ValidString(s) {
			return 0, fmt.Errorf("token %d, %q, is not UTF-8", i, s)
		}
		p := spPiece{s, g.scores[i], g.typeOf(i)}
		switch {
		case p.kind == pieceUnknown && unk < 0:
			unk = int32(i)
		case p.kind == pieceUnused:
			p.kind = pieceControl // no text becomes it
		case p.kind == pieceByte:
			m.bytes = true
		}
		m.pieces[i] = p
	}
	unk, err := option(g, "unknown_token_id", unk)
	if err == nil && (unk < 0 || int(unk) >= len(g.tokens)) {
		err = fmt.Errorf("the unknown token has id %d in a vocabulary of %d", unk, len(g.tokens))
	}
	return unk, err
}

// normalization reads what comes before a Unigram model.
func (g *ggufVocab) normalization(m *spModel, n *spNormalizer) (err error) {
	if m.collapse, err = option(g, "remove_extra_whitespaces", false); err != nil {
		return err
	}
	n.collapse = m.collapse
	if m.charsmap, err = g.charsmap(); err != nil {
		return err
	}
	table, err := newPrecompiled(m.charsmap)
	if err == nil {
		n.table, _ = table.(*precompiled)
	}
	return err
}

// charsmap returns the table of replacements, whose bytes are of either sign.
func (g *ggufVocab) charsmap() ([]byte, error) {
	const key = keyGGUF + "precompiled_charsmap"
	v, ok := g.meta.Value(key)
	if !ok {
		return nil, nil
	}
	if v.Elem() != gguf.Int8 {
		return gguf.GetList[uint8](g.meta, key)
	}
	list, err := gguf.GetList[int8](g.meta, key)
	b := make([]byte, len(list))
	for i, c := range list {
		b[i] = byte(c)
	}
	return b, err
}

// maxWordChars is how long a word may be before BERT takes it for unknown.
const maxWordChars = 100

// wordPiece makes a tokenizer of the kind bert. The file marks tokens that words start with; the
// names here are those of published tokenizers, which mark the others.
func (g *ggufVocab) wordPiece() (*Tokenizer, error) {
	ids := make(map[string]int64, len(g.tokens))
	for i, s := range g.tokens {
		if rest, ok := strings.CutPrefix(s, wordStart); ok && rest != "" {
			s = rest
		} else if !strings.HasPrefix(s, "[") || !strings.HasSuffix(s, "]") {
			s = "##" + s
		}
		if old, ok := ids[s]; ok {
			return nil, fmt.Errorf("tokens %d and %d are both %.60q", old, i, s)
		}
		ids[s], g.tokens[i] = int64(i), s
	}
	v, err := newVocab(ids)
	if err != nil {
		return nil, err
	}
	unk, err := option(g, "unknown_token_id", int32(100))
	if err != nil {
		return nil, err
	}
	name, ok := v.token(unk)
	if !ok {
		return nil, fmt.Errorf("the unknown token has id %d in a vocabulary of %d", unk, len(ids))
	}
	g.vocab = v
	t := newTokenizer(newWordPiece(v, name, "##", maxWordChars))
	t.decoder = &wordPieceDecoder{Prefix: "##", Cleanup: true}
	t.pre, _ = preTokenizerOf("BertPreTokenizer", nil)
	lower, err := option(g, "normalizer.lowercase", true)
	if err != nil {
		return nil, err
	}
	strip, err := option(g, "normalizer.strip_accents", lower)
	t.normalizer = bertSteps(&bertNormalizer{Clean: true, Chinese: true, Lower: lower,
		Accents: &strip})
	return t, err
}

// longest takes the longest token that the rest of a text starts with, again and again (RWKV).
type longest struct {
	*vocab
	trie *trie
	unk  int32 // -1: none
}

func (m *longest) names() *vocab { return m.vocab }

func (m *longest) tokenize(dst []tok, _ *state, piece []byte, _ bool) ([]tok, error) {
	for pos := 0; pos < len(piece); {
		id, n := m.trie.longest(0, piece[pos:])
		if n == 0 {
			if id, n = m.unk, 1; id < 0 {
				return dst, fmt.Errorf("byte 0x%02x: %w", piece[pos], errNoUnknown)
			}
		}
		dst = append(dst, tok{id, int32(pos), int32(pos + n)})
		pos += n
	}
	return dst, nil
}

// longestMatch makes a tokenizer of the kind rwkv, whose tokens are bytes with escapes.
func (g *ggufVocab) longestMatch() (*Tokenizer, error) {
	m := &longest{trie: newTrie(len(g.tokens))}
	ids := make(map[string]int64, len(g.tokens))
	for i, s := range g.tokens {
		b, err := unescape(s)
		if err != nil {
			return nil, fmt.Errorf("token %d: %w", i, err)
		}
		name := byteString(b)
		if _, ok := ids[name]; ok || len(b) == 0 {
			return nil, fmt.Errorf("token %d, %q, is empty or there twice", i, s)
		}
		ids[name], g.tokens[i] = int64(i), name
		if kind := g.typeOf(i); kind != pieceControl && kind != pieceUnknown {
			m.trie.add(string(b), int32(i))
		}
	}
	var err error
	if m.vocab, err = newVocab(ids); err != nil {
		return nil, err
	}
	if m.unk, err = option(g, "unknown_token_id", int32(-1)); err != nil {
		return nil, err
	}
	if int(m.unk) >= len(g.tokens) || m.unk < -1 {
		return nil, fmt.Errorf("the unknown token has id %d of %d", m.unk, len(g.tokens))
	}
	t := newTokenizer(m)
	t.pre, t.decoder = &byteLevel{lazy: true}, byteLevelDecoder{}
	return t, nil
}

// unescape returns the bytes of a token in which others than printable ones are escaped.
func unescape(s string) ([]byte, error) {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i++; i == len(s) {
			return nil, fmt.Errorf("%q ends within an escape", s)
		}
		switch c := s[i]; c {
		case 't':
			out = append(out, '\t')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 'x':
			n, ok := hexByte(s[i+1:])
			if !ok {
				return nil, fmt.Errorf("%q has an escape without two digits", s)
			}
			out = append(out, n)
			i += 2
		default:
			out = append(out, c)
		}
	}
	return out, nil
}

func hexByte(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s[:2]) {
		d := strings.IndexByte("0123456789abcdef", c|0x20)
		if d < 0 {
			return 0, false
		}
		n = n<<4 | d
	}
	return byte(n & math.MaxUint8), true
}
