package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderConfig is what tokenizer_config.json says where there is no tokenizer.json.
type folderConfig struct {
	Class   string                `json:"tokenizer_class"`
	AddBOS  bool                  `json:"add_bos_token"`
	AddEOS  bool                  `json:"add_eos_token"`
	Prefix  bool                  `json:"add_prefix_space"`
	Lower   *bool                 `json:"do_lower_case"`
	Accents *bool                 `json:"strip_accents"`
	Chinese *bool                 `json:"tokenize_chinese_chars"`
	Extra   *int                  `json:"extra_ids"`
	Added   map[string]addedToken `json:"added_tokens_decoder"` // by id
	BOS     tokenName             `json:"bos_token"`
	EOS     tokenName             `json:"eos_token"`
	UNK     tokenName             `json:"unk_token"`
	PAD     tokenName             `json:"pad_token"`
	CLS     tokenName             `json:"cls_token"`
	SEP     tokenName             `json:"sep_token"`
	Mask    tokenName             `json:"mask_token"`
}

// tokenName is written as a string or as an object.
type tokenName string

// UnmarshalJSON takes either form.
func (n *tokenName) UnmarshalJSON(b []byte) error {
	var a addedToken
	if json.Unmarshal(b, (*string)(n)) == nil {
		return nil
	}
	err := json.Unmarshal(b, &a)
	*n = tokenName(a.Content)
	return err
}

func (n tokenName) or(name string) string {
	if n == "" {
		return name
	}
	return string(n)
}

// openFolder reads the tokenizer of a model from its folder.
func openFolder(dir string) (*Tokenizer, error) {
	c := &folderConfig{}
	b, err := os.ReadFile(filepath.Join(dir, "tokenizer_config.json"))
	if err == nil {
		err = json.Unmarshal(b, c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "tokenizer_config.json"), err)
	}
	c.Class = strings.TrimSuffix(c.Class, "Fast")
	files := []struct { // the first that is there
		name string
		read func(dir, name string, c *folderConfig) (*Tokenizer, error)
	}{
		{"tokenizer.json", openFile}, {"tekken.json", openFile}, {"source.spm", openMarian},
		{"tokenizer.model", openPieces}, {"spiece.model", openPieces},
		{"sentencepiece.bpe.model", openPieces}, {"merges.txt", openMerges}, {"vocab.txt", openWords},
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
		if _, err := os.Stat(filepath.Join(dir, f.name)); err != nil {
			continue
		}
		t, err := f.read(dir, f.name, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		return t, nil
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*.gguf")); len(list) == 1 {
		return openGGUF(list[0])
	}
	return nil, fmt.Errorf("%s has none of %s, and not one GGUF file alone: %w", dir,
		strings.Join(names, ", "), fs.ErrNotExist)
}

func openFile(dir, name string, _ *folderConfig) (*Tokenizer, error) {
	return Open(filepath.Join(dir, name))
}

// object makes JSON of a part.
func object(fields map[string]any) raw {
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of strings and numbers alone
	}
	return b
}

// addedList returns the added tokens of a vocabulary: those that the file lists, and special ones.
func (c *folderConfig) addedList(v *vocab, special ...string) []addedToken {
	var list []addedToken
	for id, a := range c.Added {
		if _, err := fmt.Sscan(id, &a.ID); err == nil {
			list = append(list, a)
		}
	}
	for _, name := range special {
		known := slices.ContainsFunc(list, func(a addedToken) bool { return a.Content == name })
		if id := v.id(name); id >= 0 && !known {
			list = append(list, addedToken{ID: int64(id), Content: name, Special: true})
		}
	}
	slices.SortFunc(list, func(a, b addedToken) int { return int(a.ID - b.ID) })
	return list
}

// around sets tokens in front of and behind a text, and between texts. Those that the vocabulary
// lacks are left out.
func (t *Tokenizer) around(front, back, between string, second int32) {
	token := func(name string, typeID int32) []slotOf {
		id, ok := t.ID(name)
		if !ok || name == "" {
			return nil
		}
		return []slotOf{{text: -1, typeID: typeID, ids: []int32{id}, tokens: []string{name}}}
	}
	p := &template{}
	p.single = slices.Concat(token(front, 0), []slotOf{{text: 0}}, token(back, 0))
	p.pair = slices.Concat(p.single, token(between, 0), []slotOf{{text: 1, typeID: second}},
		token(back, second))
	t.post = p
}

// openWords reads a vocab.txt, a token a line: WordPiece with the text clean-up of BERT.
func openWords(dir, name string, c *folderConfig) (*Tokenizer, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	ids := map[string]int64{}
	for i, s := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		ids[strings.TrimSuffix(s, "\r")] = int64(i)
	}
	v, err := newVocab(ids)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	isOn := func(b *bool) bool { return b == nil || *b }
	f := file{
		Normalizer: object(map[string]any{"type": "BertNormalizer", "clean_text": true,
			"handle_chinese_chars": isOn(c.Chinese), "strip_accents": c.Accents,
			"lowercase": isOn(c.Lower)}),
		PreTokenizer: raw(`{"type": "BertPreTokenizer"}`),
		Decoder:      raw(`{"type": "WordPiece"}`),
		Model: object(map[string]any{"type": "WordPiece", "vocab": ids,
			"unk_token": c.UNK.or("[UNK]"), "continuing_subword_prefix": "##"}),
		AddedTokens: c.addedList(v, c.PAD.or("[PAD]"), c.UNK.or("[UNK]"), c.CLS.or("[CLS]"),
			c.SEP.or("[SEP]"), c.Mask.or("[MASK]")),
	}
	t, err := f.tokenizer()
	if err == nil {
		t.around(c.CLS.or("[CLS]"), c.SEP.or("[SEP]"), "", 1)
	}
	return t, err
}

// endOfText is GPT-2's only special token.
const endOfText = "<|endoftext|>"

// vocabBeside reads vocab.json, which has the ids of what another file of the folder names.
func vocabBeside(dir, name string) (map[string]int64, *vocab, error) {
	b, err := os.ReadFile(filepath.Join(dir, "vocab.json"))
	if err != nil { // the folder has a tokenizer, of which this is missing
		return nil, nil, fmt.Errorf("%s without vocab.json: %v", name, err)
	}
	var ids map[string]int64
	if err := json.Unmarshal(b, &ids); err != nil {
		return nil, nil, fmt.Errorf("vocab.json: %w", err)
	}
	v, err := newVocab(ids)
	if err != nil {
		return nil, nil, fmt.Errorf("vocab.json: %w", err)
	}
	return ids, v, nil
}

// openMerges reads vocab.json and merges.txt: the byte-level BPE of GPT-2 and RoBERTa.
func openMerges(dir, name string, c *folderConfig) (*Tokenizer, error) {
	ids, v, err := vocabBeside(dir, name)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	merges := slices.DeleteFunc(strings.Split(strings.ReplaceAll(string(b), "\r", ""), "\n"),
		func(s string) bool { return s == "" || strings.HasPrefix(s, "#version") })
	f := file{
		PreTokenizer: object(map[string]any{"type": "ByteLevel", "add_prefix_space": c.Prefix}),
		Decoder:      raw(`{"type": "ByteLevel"}`),
		Model:        object(map[string]any{"type": "BPE", "vocab": ids, "merges": merges}),
	}
	switch c.Class {
	case "", "GPT2Tokenizer":
		f.AddedTokens = c.addedList(v, c.BOS.or(endOfText), c.EOS.or(endOfText), c.UNK.or(endOfText))
	case "RobertaTokenizer", "BartTokenizer", "LongformerTokenizer", "LEDTokenizer":
		f.AddedTokens = c.addedList(v, "<s>", "<pad>", "</s>", "<unk>", "<mask>")
		for i, a := range f.AddedTokens {
			f.AddedTokens[i].LStrip = a.LStrip || a.Content == "<mask>"
		}
	default:
		return nil, fmt.Errorf("vocab.json and merges.txt of tokenizer_class %q %w: how it splits"+
			" text is not in the files; save a tokenizer.json with the library it is from", c.Class, ErrUnsupported)
	}
	t, err := f.tokenizer()
	if err != nil {
		return nil, err
	}
	if c.Class != "" && c.Class != "GPT2Tokenizer" {
		t.around(c.CLS.or("<s>"), c.SEP.or("</s>"), c.SEP.or("</s>"), 0)
	} else if c.AddBOS {
		t.around(c.BOS.or(endOfText), "", c.BOS.or(endOfText), 1)
	}
	return t, nil
}

// openPieces reads a SentencePiece model, and numbers and special tokens of its tokenizer's class.
func openPieces(dir, name string, c *folderConfig) (*Tokenizer, error) {
	t, err := Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	class := c.Class
	if class == "" && name == "tokenizer.model" {
		class = "LlamaTokenizer" // Llama's first folders do not say
	}
	switch class {
	case "XLMRobertaTokenizer":
		err = t.fairseq(c.Mask.or("<mask>"))
		t.around("<s>", "</s>", "</s>", 0)
	case "T5Tokenizer", "MT5Tokenizer":
		n := 100
		if c.Extra != nil {
			n = *c.Extra
		}
		list := c.addedList(&vocab{})
		for size := int64(t.VocabSize()); len(list) == 0 && n > 0; n-- {
			list = append(list, addedToken{ID: size, Content: fmt.Sprintf("<extra_id_%d>", n-1),
				Special: true})
			size++
		}
		err = t.addTokens(list)
		t.around("", c.EOS.or("</s>"), "", 0)
	case "LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "YiTokenizer",
		"BaichuanTokenizer", "InternLMTokenizer", "InternLM2Tokenizer": // the numbers of the file
		front, back := "", ""
		if c.AddBOS {
			front = c.BOS.or("<s>")
		}
		if c.AddEOS {
			back = c.EOS.or("</s>")
		}
		err = t.addTokens(c.addedList(&vocab{}))
		t.around(front, back, front, 1)
	default:
		return nil, fmt.Errorf("%s of tokenizer_class %q %w: its numbers are not those of the file;"+
			" save a tokenizer.json with the library it is from, or open the file alone", name, class, ErrUnsupported)
	}
	return t, err
}

// renumbered is a model whose tokens have other ids.
type renumbered struct {
	model
	to   []int32 // by the id of the model
	with *vocab
}

func (m *renumbered) names() *vocab { return m.with }

func (m *renumbered) tokenize(dst []tok, s *state, piece []byte, mapped bool) ([]tok, error) {
	n := len(dst)
	dst, err := m.model.tokenize(dst, s, piece, mapped)
	for i := n; i < len(dst); i++ {
		dst[i].id = m.to[dst[i].id]
	}
	return dst, err
}

// renumber gives tokens the ids of a vocabulary; those that it lacks become the unknown one.
func (t *Tokenizer) renumber(v *vocab, unk int32) {
	m := &renumbered{model: t.model, with: v}
	for _, name := range t.model.names().tokens {
		id := v.id(name)
		if id < 0 {
			id = unk
		}
		m.to = append(m.to, id)
	}
	added := t.added
	t.model, t.added, t.addedIDs = m, map[int32]addedToken{}, map[string]int32{}
	for _, a := range added {
		if id := v.id(a.Content); id >= 0 {
			a.ID = int64(id)
			t.added[id], t.addedIDs[a.Content] = a, id
		}
	}
}

// fairseq numbers pieces as fairseq does: four tokens of its own in front, and the mask behind.
func (t *Tokenizer) fairseq(mask string) error {
	ids := map[string]int64{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
	names := t.model.names().tokens
	for i, name := range names[min(3, len(names)):] {
		ids[name] = int64(4 + i)
	}
	ids[mask] = int64(len(names) + 1)
	v, err := newVocab(ids)
	if err != nil {
		return err
	}
	t.renumber(v, 3)
	list := (&folderConfig{}).addedList(v, "<s>", "<pad>", "</s>", "<unk>")
	return t.addTokens(append(list,
		addedToken{ID: ids[mask], Content: mask, Special: true, LStrip: true}))
}

// trimmed is a decoder whose text has no space around it.
type trimmed struct{ decoder }

func (d trimmed) decode(parts []string) ([]string, error) {
	parts, err := d.decoder.decode(parts)
	return []string{strings.TrimSpace(strings.Join(parts, ""))}, err
}

// openMarian reads source.spm and vocab.json: pieces of the one by the numbers of the other. Pieces of
// target.spm, which answers are of, are in vocab.json, too.
func openMarian(dir, name string, c *folderConfig) (*Tokenizer, error) {
	t, err := Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	_, v, err := vocabBeside(dir, name)
	if err != nil {
		return nil, err
	}
	unk := v.id(c.UNK.or("<unk>"))
	if unk < 0 {
		return nil, fmt.Errorf("vocab.json has no %s", c.UNK.or("<unk>"))
	}
	t.renumber(v, unk)
	t.decoder = trimmed{t.decoder}
	list := c.addedList(v, c.EOS.or("</s>"), c.UNK.or("<unk>"), c.PAD.or("<pad>"))
	if err := t.addTokens(list); err != nil {
		return nil, err
	}
	t.around("", c.EOS.or("</s>"), "", 0)
	p := t.post.(*template)
	p.pair = slices.Insert(slices.Clone(p.single), 1, slotOf{text: 1}) // one end alone
	return t, nil
}
