package grammar

import (
	"encoding/binary"
	"slices"
	"sync"
)

// Limits of an automaton.
const (
	maxPlaces = 1 << 14 // of a state
	maxStates = 1 << 14 // that are kept
	maxStacks = 1 << 20 // of rules that were called
)

// frame is where a rule goes on that called another one, and its own frame.
type frame struct{ next, below int32 }

// place is a node that takes a byte, or the end of the text, and the frame of its rule.
type place struct{ node, frame int32 }

// state is all places where a text can be.
type state struct {
	places []place
	over   bool // the text may end here
	kept   bool
	next   [256]*state // those that are kept
}

// automaton finds states and what leads from one to another, and keeps them.
type automaton struct {
	g      *Grammar
	mu     sync.Mutex
	frames []frame
	ids    map[frame]int32
	states map[string]*state
	start  *state
	err    error
}

// dead is the state that no text leads on from.
var dead = &state{kept: true}

const noFrame = -1

func newAutomaton(g *Grammar) *automaton {
	a := &automaton{g: g, ids: map[frame]int32{}, states: map[string]*state{}}
	a.start = a.state([]place{{g.start[0], noFrame}})
	return a
}

// step is the state that a byte leads to.
func (a *automaton) step(s *state, b byte) *state {
	if s == dead {
		return dead
	}
	if to := s.next[b]; to != nil {
		return to
	}
	var next []place
	for _, p := range s.places {
		if n := a.g.nodes[p.node]; n.lo <= b && b <= n.hi {
			next = append(next, place{n.next, p.frame})
		}
	}
	to := a.state(next)
	if to.kept {
		s.next[b] = to
	}
	return to
}

// state is that of some places and of all that can be gone to from there without a byte.
func (a *automaton) state(from []place) *state {
	s := &state{}
	seen := map[place]bool{}
	for len(from) > 0 {
		p := from[len(from)-1]
		from = from[:len(from)-1]
		if seen[p] {
			continue
		}
		if seen[p] = true; len(seen) > maxPlaces {
			a.err = bad("it is too ambiguous: more than %d places for one text", maxPlaces)
			return dead
		}
		switch n := a.g.nodes[p.node]; n.kind {
		case takes:
			s.places = append(s.places, p)
		case splits:
			from = append(from, place{n.alt, p.frame}, place{n.next, p.frame})
		case calls:
			from = append(from, place{a.g.start[n.rule], a.push(n.next, p.frame)})
		case ends:
			if p.frame == noFrame {
				s.over = true
			} else {
				f := a.frames[p.frame]
				from = append(from, place{f.next, f.below})
			}
		}
	}
	return a.keep(s)
}

// push is the frame of a rule that is called; one that ends behind the call needs none.
func (a *automaton) push(next, below int32) int32 {
	if a.g.nodes[next].kind == ends {
		return below
	}
	f := frame{next, below}
	id, ok := a.ids[f]
	if !ok {
		if len(a.frames) >= maxStacks {
			a.err = bad("rules are nested in more than %d ways", maxStacks)
			return noFrame
		}
		id = int32(len(a.frames))
		a.frames, a.ids[f] = append(a.frames, f), id
	}
	return id
}

// keep returns the state of the same places that there is already.
func (a *automaton) keep(s *state) *state {
	if len(s.places) == 0 && !s.over {
		return dead
	}
	slices.SortFunc(s.places, func(x, y place) int {
		if x.node != y.node {
			return int(x.node - y.node)
		}
		return int(x.frame - y.frame)
	})
	key := make([]byte, 0, 8*len(s.places)+1)
	if s.over {
		key = append(key, 1)
	}
	for _, p := range s.places {
		key = binary.LittleEndian.AppendUint32(key, uint32(p.node))
		key = binary.LittleEndian.AppendUint32(key, uint32(p.frame))
	}
	if old := a.states[string(key)]; old != nil {
		return old
	}
	if len(a.states) < maxStates {
		a.states[string(key)], s.kept = s, true
	}
	return s
}
