package grammar

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// ErrGrammar is the kind of errors of grammars, expressions and schemas.
var ErrGrammar = errors.New("grammar")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrGrammar}, args...)...)
}

// expr is what a part of a text may be.
type expr interface{}

type (
	literal string   // these bytes
	class   []span   // one character of these ranges
	seq     []expr   // one behind the other
	alt     []expr   // one of them
	ref     string   // what a rule has
	repeat  struct { // min to max times; any number if max is -1
		of       expr
		min, max int
	}
)

// span is characters from lo up to hi.
type span struct{ lo, hi rune }

// anyRune is any character.
var anyRune = class{{0, utf8.MaxRune}}

// sorted is c in order.
func (c class) sorted() class {
	slices.SortFunc(c, func(x, y span) int { return int(x.lo - y.lo) })
	return c
}

// inverted is all characters that are not of c, which is in order.
func (c class) inverted() class {
	out, from := class{}, rune(0)
	for _, s := range c {
		if s.lo > from {
			out = append(out, span{from, s.lo - 1})
		}
		from = max(from, s.hi+1)
	}
	if from <= utf8.MaxRune {
		out = append(out, span{from, utf8.MaxRune})
	}
	return out
}

func optional(e expr) expr { return repeat{e, 0, 1} }

func many(e expr) expr { return repeat{e, 0, -1} }

// Limits of grammars.
const (
	maxText  = 1 << 20 // bytes of a grammar or schema
	maxNodes = 1 << 18 // of all rules
	maxDepth = 500     // of expressions in expressions
)

// node is a place in a rule.
type node struct {
	kind      kind
	lo, hi    byte  // of a kind that takes a byte
	next, alt int32 // next is behind a byte or a rule
	rule      int32 // that is called
}

type kind uint8

const (
	takes  kind = iota // a byte
	splits             // goes on at next and at alt
	calls              // a rule, then next
	ends               // of a rule
	fails              // leads nowhere
)

// Grammar is rules that texts follow. It is safe for concurrent use.
type Grammar struct {
	nodes []node
	start []int32 // of each rule; the first is where texts begin
	lazy  *automaton
}

// builder makes nodes of expressions.
type builder struct {
	g     *Grammar
	names map[string]int32
	depth int
	work  int // expressions gone through, as those of no places can be repeated, too
	err   error
}

// compile makes a grammar of rules; order has their names, the first of which is where texts begin.
func compile(rules map[string]expr, order []string) (*Grammar, error) {
	b := &builder{g: &Grammar{}, names: map[string]int32{}}
	for i, name := range order {
		b.names[name] = int32(i)
	}
	end := b.add(node{kind: ends})
	for _, name := range order {
		b.g.start = append(b.g.start, b.expr(rules[name], end))
		if b.err != nil {
			return nil, fmt.Errorf("%w (in rule %s)", b.err, name)
		}
	}
	if err := b.recursion(order); err != nil {
		return nil, err
	}
	b.g.lazy = newAutomaton(b.g)
	return b.g, nil
}

func (b *builder) add(n node) int32 {
	if len(b.g.nodes) >= maxNodes {
		if b.err == nil {
			b.err = bad("it is too large: more than %d places", maxNodes)
		}
		return 0
	}
	b.g.nodes = append(b.g.nodes, n)
	return int32(len(b.g.nodes) - 1)
}

// expr returns where an expression begins that goes on at next.
func (b *builder) expr(e expr, next int32) int32 {
	if b.depth++; b.depth > maxDepth && b.err == nil {
		b.err = bad("expressions are nested more than %d deep", maxDepth)
	}
	defer func() { b.depth-- }()
	if b.work++; b.work > 4*maxNodes && b.err == nil {
		b.err = bad("it is too large: more than %d parts", 4*maxNodes)
	}
	if b.err != nil {
		return next
	}
	switch e := e.(type) {
	case literal:
		for i := len(e) - 1; i >= 0; i-- {
			next = b.add(node{kind: takes, lo: e[i], hi: e[i], next: next})
		}
	case class:
		return b.class(e, next)
	case seq:
		for i := len(e) - 1; i >= 0; i-- {
			next = b.expr(e[i], next)
		}
	case alt:
		at := b.add(node{kind: fails})
		for i := len(e) - 1; i >= 0; i-- {
			at = b.either(b.expr(e[i], next), at)
		}
		return at
	case repeat:
		return b.repeat(e, next)
	case ref:
		rule, ok := b.names[string(e)]
		if !ok {
			b.err = bad("there is no rule %s", string(e))
			return next
		}
		return b.add(node{kind: calls, rule: rule, next: next})
	}
	return next
}

func (b *builder) either(x, y int32) int32 {
	if b.g.nodes[y].kind == fails {
		return x
	}
	return b.add(node{kind: splits, next: x, alt: y})
}

// repeat: what must be there, then a loop, or as many more as there may be.
func (b *builder) repeat(r repeat, next int32) int32 {
	if r.min < 0 || r.max >= 0 && r.max < r.min {
		b.err = bad("repeated %d to %d times", r.min, r.max)
		return next
	}
	if r.max < 0 {
		loop := b.add(node{kind: splits, alt: next})
		b.g.nodes[loop].next = b.expr(r.of, loop)
		next = loop
	} else {
		end := next
		for i := r.min; i < r.max && b.err == nil; i++ {
			next = b.add(node{kind: splits, next: b.expr(r.of, next), alt: end})
		}
	}
	for i := 0; i < r.min && b.err == nil; i++ {
		next = b.expr(r.of, next)
	}
	return next
}

// class is the alternatives of sequences of bytes.
func (b *builder) class(c class, next int32) int32 {
	at := b.add(node{kind: fails})
	for _, s := range c {
		for _, bytes := range encoded(s) {
			to := next
			for i := len(bytes) - 1; i >= 0; i-- {
				to = b.add(node{kind: takes, lo: bytes[i][0], hi: bytes[i][1], next: to})
			}
			at = b.either(to, at)
		}
	}
	return at
}

// encoded is the ranges of bytes that the characters of a span have in UTF-8: parts of it are taken
// that have the same length, and whose bytes behind the first that differs are all there are.
func encoded(s span) (out [][][2]byte) {
	const firstSurrogate, lastSurrogate = 0xD800, 0xDFFF
	if s.lo > s.hi || s.hi > utf8.MaxRune || s.lo < 0 {
		return nil
	}
	if s.lo <= lastSurrogate && s.hi >= firstSurrogate { // these are no characters
		return append(encoded(span{s.lo, firstSurrogate - 1}), encoded(span{lastSurrogate + 1, s.hi})...)
	}
	for _, most := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if s.lo <= most && s.hi > most {
			return append(encoded(span{s.lo, most}), encoded(span{most + 1, s.hi})...)
		}
	}
	for bits := 6; bits < 6*utf8.RuneLen(s.lo); bits += 6 {
		low := rune(1)<<bits - 1
		if s.lo&^low == s.hi&^low {
			break
		}
		if s.lo&low != 0 {
			return append(encoded(span{s.lo, s.lo | low}), encoded(span{s.lo | low + 1, s.hi})...)
		}
		if s.hi&low != low {
			return append(encoded(span{s.lo, s.hi&^low - 1}), encoded(span{s.hi &^ low, s.hi})...)
		}
	}
	lo, hi := utf8.AppendRune(nil, s.lo), utf8.AppendRune(nil, s.hi)
	var bytes [][2]byte
	for i := range lo {
		bytes = append(bytes, [2]byte{lo[i], hi[i]})
	}
	return [][][2]byte{bytes}
}

// recursion refuses rules that can begin with themselves, which no place would be the next of.
func (b *builder) recursion(order []string) error {
	empty := b.emptyRules()
	state := make([]int, len(order)) // 1 while it is gone through, 2 behind that
	var rule func(r int32) error
	rule = func(r int32) error {
		if state[r] == 1 {
			return bad("rule %s begins with itself; write what comes first in front", order[r])
		}
		if state[r] == 2 {
			return nil
		}
		state[r] = 1
		err := b.firsts(b.g.start[r], empty, rule)
		state[r] = 2
		return err
	}
	for r := range order {
		if err := rule(int32(r)); err != nil {
			return err
		}
	}
	return nil
}

// firsts visits the rules that may be called at a place before a byte is taken.
func (b *builder) firsts(at int32, empty []bool, visit func(rule int32) error) error {
	seen, list := map[int32]bool{}, []int32{at}
	for len(list) > 0 {
		at, list = list[len(list)-1], list[:len(list)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch n := b.g.nodes[at]; n.kind {
		case splits:
			list = append(list, n.next, n.alt)
		case calls:
			if err := visit(n.rule); err != nil {
				return err
			}
			if empty[n.rule] {
				list = append(list, n.next)
			}
		}
	}
	return nil
}

// emptyRules says which rules can be no text at all.
func (b *builder) emptyRules() []bool {
	empty := make([]bool, len(b.g.start))
	for changed := true; changed; {
		changed = false
		for r, start := range b.g.start {
			if !empty[r] && b.reachesEnd(start, empty) {
				empty[r], changed = true, true
			}
		}
	}
	return empty
}

func (b *builder) reachesEnd(at int32, empty []bool) bool {
	seen, list := map[int32]bool{}, []int32{at}
	for len(list) > 0 {
		at, list = list[len(list)-1], list[:len(list)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch n := b.g.nodes[at]; {
		case n.kind == ends:
			return true
		case n.kind == splits:
			list = append(list, n.next, n.alt)
		case n.kind == calls && empty[n.rule]:
			list = append(list, n.next)
		}
	}
	return false
}
