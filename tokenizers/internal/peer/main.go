package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gokiln/kiln/tokenizers"
)

// request names a tokenizer and what is asked of it. Without File and JSON it is the one before.
type request struct {
	File  string
	JSON  string // a tokenizer.json
	Cases []inputs
}

// inputs are one text or a pair, and how they are encoded.
type inputs struct {
	Text, Pair []byte // bytes, which need not be UTF-8
	IsPair     bool
	Special    bool
	Truncation *tokenizers.Truncation
	Padding    *tokenizers.Padding
}

// answer is that to one request.
type answer struct {
	Error string `json:",omitempty"` // of the file
	Cases []result
}

// result is what became of one case.
type result struct {
	Error         string `json:",omitempty"`
	Parts         []part // what truncation leaves out follows the first
	Decoded, Kept string // the first part without and with special tokens
	Streamed      string // as Kept, id by id
	IDs           []int32
}

// part has the names that the reference gives its fields. Offsets are in characters.
type part struct {
	IDs     []int32  `json:"ids"`
	Tokens  []string `json:"tokens"`
	Offsets [][2]int `json:"offsets"`
	Types   []int32  `json:"type_ids"`
	Words   []int32  `json:"word_ids"`
	Texts   []int32  `json:"sequence_ids"`
	Special []int    `json:"special_tokens_mask"`
	Mask    []int    `json:"attention_mask"`
}

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve answers requests until there are no more.
func serve(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(bufio.NewReader(r)), json.NewEncoder(w)
	out.SetEscapeHTML(false)
	var t *tokenizers.Tokenizer
	for {
		var q request
		if err := in.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		a := answer{}
		if q.File != "" || q.JSON != "" {
			var err error
			if t, err = open(q); err != nil {
				a.Error = err.Error()
			}
		}
		for _, c := range q.Cases {
			if t != nil {
				a.Cases = append(a.Cases, run(t, c))
			}
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
}

func open(q request) (*tokenizers.Tokenizer, error) {
	if q.File != "" {
		return tokenizers.Open(q.File)
	}
	return tokenizers.FromJSON(strings.NewReader(q.JSON))
}

// run makes the tokens of one case, twice: words are remembered the second time.
func run(t *tokenizers.Tokenizer, c inputs) result {
	t.Truncation, t.Padding = c.Truncation, c.Padding
	o := tokenizers.Options{SpecialTokens: c.Special}
	r := result{}
	err := r.encode(t, c, o)
	if err == nil {
		r = result{}
		err = r.encode(t, c, o)
	}
	if err == nil {
		err = r.decode(t)
	}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (r *result) encode(t *tokenizers.Tokenizer, c inputs, o tokenizers.Options) error {
	text, pair := string(c.Text), string(c.Pair)
	var list []*tokenizers.Encoding
	var err error
	if c.IsPair {
		list, err = t.PartsPair(text, pair, o)
	} else if list, err = t.Parts(text, o); err == nil {
		r.IDs, err = t.IDs(text, o)
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		r.Parts = append(r.Parts, partOf(e, text, pair))
	}
	return nil
}

func partOf(e *tokenizers.Encoding, text, pair string) part {
	p := part{IDs: e.IDs, Tokens: e.Tokens, Types: e.TypeIDs, Words: e.Words, Texts: e.Texts}
	for _, o := range e.Runes(text, pair) {
		p.Offsets = append(p.Offsets, [2]int{o.Start, o.End})
	}
	for i := range e.IDs {
		p.Special = append(p.Special, bit(e.Special[i]))
		p.Mask = append(p.Mask, bit(e.Mask[i]))
	}
	return p
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fails is not of ids that have no token, of which the reference makes no text and no error.
func fails(err error) bool { return err != nil && !errors.Is(err, tokenizers.ErrNoToken) }

// decode makes text of the first part, in one and id by id.
func (r *result) decode(t *tokenizers.Tokenizer) error {
	ids := r.Parts[0].IDs
	var err error
	if r.Decoded, err = t.Decode(ids, true); fails(err) {
		return err
	}
	if r.Kept, err = t.Decode(ids, false); fails(err) {
		return err
	}
	s := t.Stream(false)
	for _, id := range ids {
		text, err := s.Next(id)
		if fails(err) {
			return err
		}
		r.Streamed += text
	}
	text, err := s.Flush()
	r.Streamed += text
	return err
}
