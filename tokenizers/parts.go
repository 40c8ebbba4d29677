package tokenizers

import (
	"fmt"
	"slices"
)

// Parts returns the tokens of a text in parts of at most as many as [Tokenizer.Truncation] says,
// special tokens included: what Encode returns, and then what it leaves out. Each part begins, or
// with Left ends, with as many tokens of the one before as its Stride says. Without a Truncation
// there is one part.
func (t *Tokenizer) Parts(text string, o Options) ([]*Encoding, error) {
	e := &Encoding{}
	if err := t.encode(e, text, o, 0); err != nil {
		return nil, err
	}
	return t.parts([]*Encoding{e}, o)
}

// PartsPair is [Tokenizer.Parts] of two texts that belong together, such as a question and a
// paragraph. Where both are too long, all parts of one are paired with all parts of the other.
func (t *Tokenizer) PartsPair(first, second string, o Options) ([]*Encoding, error) {
	a, b := &Encoding{}, &Encoding{}
	if err := t.encode(a, first, o, 0); err != nil {
		return nil, err
	}
	if err := t.encode(b, second, o, 1); err != nil {
		return nil, err
	}
	return t.parts([]*Encoding{a, b}, o)
}

// parts cuts encodings, and adds special tokens and padding to each part.
func (t *Tokenizer) parts(list []*Encoding, o Options) ([]*Encoding, error) {
	first, second := list[:1], []*Encoding(nil)
	if len(list) > 1 {
		second = list[1:]
	}
	if t.Truncation != nil {
		n, err := t.Truncation.lengths(list, t.addedTokens(len(list) > 1, o))
		if err != nil {
			return nil, err
		}
		if first, err = t.Truncation.cut(list[0], n[0]); err != nil {
			return nil, err
		}
		if second != nil {
			if second, err = t.Truncation.cut(list[1], n[1]); err != nil {
				return nil, err
			}
		}
	}
	var out []*Encoding
	add := func(i, j int) {
		list := []*Encoding{first[i].clone()}
		if second != nil {
			list = append(list, second[j].clone())
		}
		if t.post != nil {
			list = t.post.process(list, o.SpecialTokens)
		}
		out = append(out, joined(list))
	}
	add(0, 0)
	for i := 1; i < len(first); i++ {
		for j := range max(len(second), 1) {
			add(i, j)
		}
	}
	for j := 1; j < len(second); j++ {
		add(0, j)
	}
	if t.Padding != nil {
		return out, t.Padding.apply(out, out[:1])
	}
	return out, nil
}

// cut returns the parts of an encoding that have n tokens at most.
func (t *Truncation) cut(e *Encoding, n int) ([]*Encoding, error) {
	size := len(e.IDs)
	switch {
	case size <= n:
		return []*Encoding{e}, nil
	case n == 0:
		return []*Encoding{e.part(0, 0), e}, nil
	case t.Stride < 0 || t.Stride >= n:
		return nil, fmt.Errorf("%w: a stride of %d for parts of %d tokens without special tokens",
			ErrTruncation, t.Stride, n)
	}
	var out []*Encoding
	for at := 0; ; at += n - t.Stride {
		lo, hi := at, min(at+n, size)
		if t.Left {
			lo, hi = max(size-at-n, 0), size-at
		}
		out = append(out, e.part(lo, hi))
		if at+n >= size {
			return out, nil
		}
	}
}

// part returns tokens lo to hi.
func (e *Encoding) part(lo, hi int) *Encoding {
	p := e.clone()
	p.truncate(hi, false)
	p.truncate(hi-lo, true)
	return p
}

// clone returns a copy that can be changed.
func (e *Encoding) clone() *Encoding {
	c := *e
	c.IDs, c.Tokens, c.Offsets = slices.Clone(e.IDs), slices.Clone(e.Tokens), slices.Clone(e.Offsets)
	c.TypeIDs, c.Texts, c.Words = slices.Clone(e.TypeIDs), slices.Clone(e.Texts), slices.Clone(e.Words)
	c.Special, c.Mask = slices.Clone(e.Special), slices.Clone(e.Mask)
	return &c
}
