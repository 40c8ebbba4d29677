package models

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// errEager is the reason of [Options.Eager].
var errEager = errors.New("graphs are off by Options.Eager")

// Most graphs that are kept of steps: of sequences in pages, of all of which a model has those of
// each number of sequences, and of sequences with memory of their own, which keep their graphs
// themselves.
const (
	mostPaged = 64
	mostOwn   = 4
)

// graphs are captured steps.
type graphs struct {
	list []*stepGraph // the one that was used last is the last
	seen []string     // keys of steps that were taken once without a graph
}

// stepGraph is a step that was captured.
type stepGraph struct {
	key     string
	numbers runtime.Slice[int32]
	graph   *tensor.Graph
	logits  *tensor.Tensor // which each launch writes
	y       *tensor.Tensor // of what follows, or nil
	step    *step          // keeps tensors that the graph reads
}

// follow is what follows the scores of a step: see [LM.StepThen].
type follow struct {
	key     string
	numbers []int32
	then    func(logits, numbers *tensor.Tensor) *tensor.Tensor
}

// stepper is the steps of a model.
type stepper struct {
	eager   bool
	plan    stepPlan
	graphs  graphs // of sequences in pages
	weights uint64 // [nn.Changes] of the graphs
	why     error  // that the last step of one token was not replayed
}

// Replayed is nil if the last step of one token for each sequence was a launch of a graph, and else
// says why it was not: the first step of a number of sequences, and of so many tokens, never is.
func (m *LM) Replayed() error { return m.steps.why }

// errNone is the reason before a step was taken.
var errNone = errors.New("no step of one token for each sequence was taken")

// errFirst is the reason of a step that is the first of its kind.
var errFirst = errors.New("it is the first of its number of sequences and tokens")

// takeStep takes a step whose lengths are on the device, by a graph if there is one: behind the
// first step of its kind, as that compiles kernels and allocates what is kept. It reports false if
// the step has to be taken as any other. y is the scores if nothing follows.
func (m *LM) takeStep(b *batch, f *follow) (y, logits *tensor.Tensor, ok bool) {
	s := &m.steps
	if s.why = s.plan.plan(m, b); s.why != nil {
		s.why = fmt.Errorf("models: the step is not replayed: %w", s.why)
		return nil, nil, false
	}
	s.plan.then(f)
	if now := nn.Changes(); now != s.weights {
		s.graphs.drop()
		s.weights = now
	}
	all := &s.graphs
	if s.plan.pages == 0 {
		all = b.list[0].ownGraphs(s.weights)
	}
	g := all.of(s.plan.key)
	switch {
	case g != nil:
	case s.eager:
		s.why = errEager
	case all.first(string(s.plan.key)):
		s.why = errFirst
	default:
		if g, s.why = m.capture(b, f); g != nil {
			all.add(g, s.plan.pages > 0)
		}
	}
	if g == nil {
		y, logits = m.eagerStep(b, f)
	} else {
		y, logits = g.launch(s.plan.list)
	}
	for _, sequence := range b.list {
		switch {
		case logits.Err() == nil:
			sequence.advance()
		case len(m.states) > 0: // which may have changed
			sequence.Close()
		}
	}
	return y, logits, true
}

// advance counts a token that a step has fed.
func (s *Sequence) advance() {
	for _, l := range s.layers {
		l.(stepState).advance()
	}
	s.n++
}

// eagerStep takes a step without a graph, by the same operations.
func (m *LM) eagerStep(b *batch, f *follow) (y, logits *tensor.Tensor) {
	list := m.steps.plan.list
	numbers := tensor.From(m.Device, list, len(list))
	if numbers.Err() != nil {
		return numbers, numbers
	}
	scope := tensor.OpenScope()
	defer scope.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	y, logits = m.compute(b, m.steps.plan.on(scope.Own(numbers)), f)
	return scope.Keep(y), scope.Keep(logits)
}

// compute computes a step, and what follows.
func (m *LM) compute(b *batch, s *step, f *follow) (y, logits *tensor.Tensor) {
	b.step, b.ids = s, s.ids
	logits = m.Net.logits(m.Net.hidden(b))
	if f == nil || logits.Err() != nil {
		return logits, logits
	}
	return f.then(logits, s.then), logits
}

// capture makes a graph of a step.
func (m *LM) capture(b *batch, f *follow) (*stepGraph, error) {
	p := &m.steps.plan
	if len(m.states) > 0 {
		if _, err := b.onRows(); err != nil { // a copy, which is no part of the graph
			return nil, err
		}
	}
	numbers := tensor.Empty(m.Device, tensor.I32, len(p.list))
	if numbers.Err() != nil {
		return nil, numbers.Err()
	}
	g := &stepGraph{key: string(p.key), step: p.on(numbers)}
	var err error
	if g.numbers, err = runtime.View[int32](numbers.Buffer()); err != nil {
		return nil, err
	}
	g.graph, err = m.Device.Capture(func() error {
		scope := tensor.OpenScope()
		y, logits := m.compute(b, p.on(numbers.In(scope)), f)
		if g.logits = scope.Keep(logits); f != nil {
			g.y = scope.Keep(y)
		}
		return errors.Join(y.Err(), scope.Close())
	})
	if err != nil {
		return nil, fmt.Errorf("models: the step is not replayed: %w", err)
	}
	return g, nil
}

// launch takes a step of other numbers. Scores that nothing follows are a copy, which the next one
// leaves as it is.
func (g *stepGraph) launch(list []int32) (y, logits *tensor.Tensor) {
	if err := g.numbers.Slice(0, len(list)).CopyFromAsync(g.step.numbers.Device().Stream(), list); err != nil {
		bad := tensor.Fail("models: step", err)
		return bad, bad
	}
	if err := g.graph.Launch(); err != nil {
		bad := tensor.Fail("models: step", err)
		return bad, bad
	}
	if g.y != nil {
		return g.y, g.logits
	}
	y = g.logits.Copy()
	return y, y
}

// of returns the graph of a key, nil if there is none.
func (g *graphs) of(key []byte) *stepGraph {
	for i := len(g.list) - 1; i >= 0; i-- {
		if one := g.list[i]; one.key == string(key) {
			copy(g.list[i:], g.list[i+1:])
			g.list[len(g.list)-1] = one
			return one
		}
	}
	return nil
}

// first reports whether a key is new, and notes it.
func (g *graphs) first(key string) bool {
	for _, k := range g.seen {
		if k == key {
			return false
		}
	}
	if len(g.seen) == mostPaged {
		g.seen = g.seen[1:]
	}
	g.seen = append(g.seen, key)
	return true
}

// add keeps a graph, in place of the one that was not used for the longest time if there are too
// many.
func (g *graphs) add(one *stepGraph, pages bool) {
	most := mostOwn
	if pages {
		most = mostPaged
	}
	if len(g.list) == most {
		// One that cannot be closed is closed by Go, as its memory is.
		_ = g.list[0].graph.Close()
		g.list = append(g.list[:0], g.list[1:]...)
	}
	g.list = append(g.list, one)
}

// drop gives all graphs up.
func (g *graphs) drop() {
	for _, one := range g.list {
		_ = one.graph.Close() // as in add
	}
	*g = graphs{}
}

// ownGraphs are those of steps whose first sequence it is.
func (s *Sequence) ownGraphs(weights uint64) *graphs {
	if s.weights != weights {
		s.graphs.drop()
		s.weights = weights
	}
	return &s.graphs
}
