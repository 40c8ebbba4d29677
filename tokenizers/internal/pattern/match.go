package pattern

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrBudget says that a pattern was tried in too many ways on a text.
var ErrBudget = errors.New("the pattern backtracks too much")

// Steps that one search may take: so many, and so many for each byte.
const (
	freeSteps    = 1 << 20
	stepsPerByte = 256
	maxStack     = 1 << 16 // nodes that one match goes through in a row, of those that recurse
)

type matcher struct {
	text  []byte
	words *class
	last  []int // where each loop was entered last
	steps int
	depth int
}

// Find appends start and end of each match of the pattern in text, from left
// to right and without overlap, to dst. A match of no characters counts, but not
// at the end of another.
func (p *Pattern) Find(dst []int32, text []byte) ([]int32, error) {
	m := matcher{text: text, words: p.words, steps: freeSteps + stepsPerByte*len(text)}
	if p.loops > 0 {
		m.last = make([]int, p.loops)
		for i := range m.last {
			m.last[i] = -1
		}
	}
	last := -1
	for pos := 0; pos <= len(text); {
		if p.first != nil && (pos == len(text) || !p.first[text[pos]]) {
			pos += step(text[pos:])
			continue
		}
		end := m.match(p.start, pos)
		if m.steps < 0 {
			return dst, fmt.Errorf("pattern %q on a text of %d bytes: %w", p.src, len(text), ErrBudget)
		}
		if end < 0 {
			pos += step(text[pos:])
			continue
		}
		if end > pos || pos != last {
			dst = append(dst, int32(pos), int32(end))
		}
		last = end
		if end == pos {
			end += step(text[pos:])
		}
		pos = end
	}
	return dst, nil
}

// step returns the length of the first character, 1 at the end of the text.
func step(b []byte) int {
	if len(b) == 0 || b[0] < utf8.RuneSelf {
		return 1
	}
	_, n := utf8.DecodeRune(b)
	return n
}

// match returns the end of the first way through n from pos on, or -1.
func (m *matcher) match(n *node, pos int) int {
	for {
		if m.steps--; m.steps < 0 {
			return -1
		}
		switch n.kind {
		case kindAccept:
			return pos
		case kindSet:
			k := n.set.next(m.text[pos:])
			if k == 0 {
				return -1
			}
			pos += k
		case kindRun:
			length, count := n.set.run(m.text[pos:], n.max)
			m.steps -= length >> 3
			if count < n.min {
				return -1
			}
			if n.lazy || !n.hold && n.next.kind != kindAccept && count > n.min {
				return m.runs(n, pos, length, count)
			}
			pos += length
		case kindAlt:
			return m.alternatives(n, pos)
		case kindLoop:
			return m.loop(n, pos)
		case kindAtomic:
			if pos = m.deeper(n.alts[0], pos); pos < 0 {
				return -1
			}
		default:
			if !m.holds(n, pos) {
				return -1
			}
		}
		n = n.next
	}
}

// deeper is match, for nodes that come back: it bounds how deep.
func (m *matcher) deeper(n *node, pos int) int {
	if m.depth++; m.depth > maxStack {
		m.steps = -1
		return -1
	}
	end := m.match(n, pos)
	m.depth--
	return end
}

// runs tries to go on behind a run of characters, and behind shorter ones.
func (m *matcher) runs(n *node, pos, length, count int) int {
	if n.lazy {
		return m.lazyRuns(n, pos, length, count)
	}
	for end := pos + length; ; count-- {
		if to := m.deeper(n.next, end); to >= 0 || m.steps < 0 {
			return to
		}
		if count == n.min {
			return -1
		}
		for end--; !utf8.RuneStart(m.text[end]); end-- {
		}
	}
}

func (m *matcher) lazyRuns(n *node, pos, length, count int) int {
	end := pos
	for i := 0; ; i++ {
		if i >= n.min {
			if to := m.deeper(n.next, end); to >= 0 || m.steps < 0 {
				return to
			}
		}
		if i == count {
			return -1
		}
		end += step(m.text[end : pos+length])
	}
}

func (m *matcher) alternatives(n *node, pos int) int {
	for i, a := range n.alts {
		if f := n.first[i]; f != nil && (pos == len(m.text) || !f[m.text[pos]]) {
			continue
		}
		if end := m.deeper(a, pos); end >= 0 || m.steps < 0 {
			return end
		}
	}
	return -1
}

// loop goes through a repeated group once more, or on. A round that took no
// characters ends it, since it would come back for ever.
func (m *matcher) loop(n *node, pos int) int {
	last := m.last[n.id]
	if last == pos {
		return m.leave(n, pos)
	}
	if n.lazy {
		if end := m.leave(n, pos); end >= 0 || m.steps < 0 {
			return end
		}
	}
	m.last[n.id] = pos
	end := m.deeper(n.alts[0], pos)
	m.last[n.id] = last
	if end >= 0 || m.steps < 0 || n.lazy {
		return end
	}
	return m.leave(n, pos)
}

// leave goes on behind a loop. Another one around it may enter it again.
func (m *matcher) leave(n *node, pos int) int {
	last := m.last[n.id]
	m.last[n.id] = -1
	end := m.deeper(n.next, pos)
	m.last[n.id] = last
	return end
}

// holds reports whether a condition that takes no characters is met.
func (m *matcher) holds(n *node, pos int) bool {
	switch n.kind {
	case kindLook:
		return (m.deeper(n.alts[0], pos) >= 0) != n.not
	case kindBehind:
		return m.before(n.set, pos) != n.not
	}
	return m.at(n.edge, pos)
}

// before reports whether the character in front of pos is in the set.
func (m *matcher) before(c *class, pos int) bool {
	if pos == 0 {
		return false
	}
	_, n := utf8.DecodeLastRune(m.text[:pos])
	return c.next(m.text[pos-n:]) > 0
}

func (m *matcher) at(e edge, pos int) bool {
	end := len(m.text)
	switch e {
	case textStart:
		return pos == 0
	case textEnd:
		return pos == end
	case lastLineEnd:
		return pos == end || pos == end-1 && m.text[pos] == '\n'
	case lineStart:
		return pos == 0 || m.text[pos-1] == '\n' && pos < end
	case lineEnd:
		return pos == end || m.text[pos] == '\n'
	}
	edge := m.before(m.words, pos) != (m.words.next(m.text[pos:]) > 0)
	return edge == (e == wordEdge)
}
