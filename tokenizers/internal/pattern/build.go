package pattern

import (
	"unicode/utf8"
)

// edge is a place between characters.
type edge uint8

const (
	textStart   edge = iota // \A
	textEnd                 // \z
	lastLineEnd             // \Z: the end, or a newline at it
	lineStart               // ^
	lineEnd                 // $
	wordEdge                // \b
	noWordEdge              // \B
)

type kind uint8

const (
	kindAccept kind = iota
	kindSet         // one character
	kindRun         // characters of one class, from min to max
	kindAlt         // the first alternative that leads on
	kindLoop        // a group repeated: alternatives with a check for no progress
	kindLook        // lookahead
	kindBehind      // lookbehind at a character
	kindAtomic      // a part that is not tried again
	kindEdge
)

// node is a step of a pattern.
type node struct {
	kind     kind
	edge     edge
	lazy     bool
	hold     bool // possessive
	not      bool
	set      *class
	id       int // of a loop
	min, max int
	next     *node
	alts     []*node
	first    []*[256]bool // by which bytes each alternative can start; nil is all
}

// Pattern is a compiled regular expression. It is safe for concurrent use.
type Pattern struct {
	src   string
	start *node
	first *[256]bool
	words *class
	loops int
}

type builder struct {
	sets  map[string]*class
	nodes int
	loops int
	p     *parser
}

// Compile compiles a pattern in Oniguruma's syntax.
func Compile(src string) (*Pattern, error) { return compile(src, false) }

// CompileRust compiles a pattern in the syntax of Rust's package regex, whose
// \w has letters of more kinds and whose $ is the end of the text.
func CompileRust(src string) (*Pattern, error) { return compile(src, true) }

func compile(src string, rust bool) (*Pattern, error) {
	p := &parser{src: src, rust: rust}
	if len(src) > maxPattern {
		return nil, p.fail("it is longer than %d bytes", maxPattern)
	}
	if !utf8.ValidString(src) {
		return nil, p.fail("it is not UTF-8")
	}
	e, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if p.more() {
		return nil, p.fail("a parenthesis is closed that was not opened")
	}
	b := &builder{sets: map[string]*class{}, p: p}
	start, err := b.build(e, &node{})
	if err != nil {
		return nil, err
	}
	return &Pattern{
		src: src, start: start, first: firstBytes(start), words: b.class(p.word()), loops: b.loops,
	}, nil
}

// String returns the pattern as it was written.
func (p *Pattern) String() string { return p.src }

func (b *builder) class(r ranges) *class {
	key := string(r)
	if b.sets[key] == nil {
		b.sets[key] = newClass(r)
	}
	return b.sets[key]
}

// build returns the nodes of e with next behind them.
func (b *builder) build(e expr, next *node) (*node, error) {
	if b.nodes++; b.nodes > maxNodes {
		return nil, b.p.fail("it is larger than %d steps", maxNodes)
	}
	switch e := e.(type) {
	case exprSet:
		return &node{kind: kindSet, set: b.class(e.set), next: next}, nil
	case exprSeq:
		for i := len(e.parts) - 1; i >= 0; i-- {
			n, err := b.build(e.parts[i], next)
			if err != nil {
				return nil, err
			}
			next = n
		}
		return next, nil
	case exprAlt:
		return b.alternatives(e.parts, next)
	case exprRepeat:
		return b.repeat(e, next)
	case exprAtomic:
		return b.inner(kindAtomic, e.of, next)
	case exprLook:
		return b.look(e, next)
	}
	return &node{kind: kindEdge, edge: e.(exprEdge).kind, next: next}, nil
}

func (b *builder) look(e exprLook, next *node) (*node, error) {
	if e.behind {
		set := e.of.(exprSet).set
		return &node{kind: kindBehind, set: b.class(set), not: e.not, next: next}, nil
	}
	n, err := b.inner(kindLook, e.of, next)
	if err == nil {
		n.not = e.not
	}
	return n, err
}

// inner returns a node whose part ends in an acceptance of its own.
func (b *builder) inner(k kind, e expr, next *node) (*node, error) {
	part, err := b.build(e, &node{})
	if err != nil {
		return nil, err
	}
	return &node{kind: k, alts: []*node{part}, next: next}, nil
}

func (b *builder) alternatives(parts []expr, next *node) (*node, error) {
	n := &node{kind: kindAlt}
	for _, e := range parts {
		a, err := b.build(e, next)
		if err != nil {
			return nil, err
		}
		n.alts = append(n.alts, a)
		n.first = append(n.first, firstBytes(a))
	}
	return n, nil
}

func (b *builder) repeat(e exprRepeat, next *node) (*node, error) {
	if set, ok := single(e.of); ok {
		n := &node{kind: kindRun, set: b.class(set), min: e.min, max: e.max, next: next}
		if n.max < 0 {
			n.max = int(^uint(0) >> 1)
		}
		n.lazy, n.hold = e.lazy, e.hold
		return n, nil
	}
	if e.hold {
		plain := e
		plain.hold = false
		return b.build(exprAtomic{plain}, next)
	}
	return b.group(e, next)
}

// group writes repetitions of a group out: those that may be absent as
// alternatives, those without end as a loop.
func (b *builder) group(e exprRepeat, next *node) (*node, error) {
	tail := next
	var err error
	if e.max < 0 {
		loop := &node{kind: kindLoop, id: b.loops, lazy: e.lazy, next: next}
		b.loops++
		body, err := b.build(e.of, loop)
		if err != nil {
			return nil, err
		}
		loop.alts = []*node{body}
		tail = loop
	}
	for i := e.max - e.min; e.max >= 0 && i > 0; i-- {
		if tail, err = b.optional(e, tail, next); err != nil {
			return nil, err
		}
	}
	for range e.min {
		if tail, err = b.build(e.of, tail); err != nil {
			return nil, err
		}
	}
	return tail, nil
}

func (b *builder) optional(e exprRepeat, tail, next *node) (*node, error) {
	body, err := b.build(e.of, tail)
	if err != nil {
		return nil, err
	}
	n := &node{kind: kindAlt, alts: []*node{body, next}}
	if e.lazy {
		n.alts[0], n.alts[1] = next, body
	}
	n.first = []*[256]bool{firstBytes(n.alts[0]), firstBytes(n.alts[1])}
	return n, nil
}

// firstBytes returns the bytes that a match from n on can start with, nil if
// it may be empty or nothing is known.
func firstBytes(n *node) *[256]bool {
	var out [256]bool
	if !addFirst(n, &out) {
		return nil
	}
	return &out
}

func addFirst(n *node, out *[256]bool) bool {
	switch n.kind {
	case kindSet:
		addClass(n.set, out)
		return true
	case kindRun:
		addClass(n.set, out)
		return n.min > 0 || addFirst(n.next, out)
	case kindAlt:
		for i, a := range n.alts {
			if n.first != nil && n.first[i] != nil {
				for c, ok := range n.first[i] {
					out[c] = out[c] || ok
				}
			} else if !addFirst(a, out) {
				return false
			}
		}
		return true
	case kindBehind, kindEdge, kindLook:
		return addFirst(n.next, out)
	}
	return false
}

func addClass(c *class, out *[256]bool) {
	for i, ok := range c.ascii {
		out[i] = out[i] || ok
	}
	for i := utf8.RuneSelf; i < 256; i++ {
		out[i] = true
	}
}
