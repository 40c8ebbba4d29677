package models

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// step is a step of one token of each sequence, in which nothing that changes from one token to the
// next is of the host: ids, positions, places in caches and lengths are numbers on the device, so
// that a graph can hold it.
type step struct {
	numbers *tensor.Tensor // all of them: see [stepPlan.number]
	ids, at *tensor.Tensor // (sequences): ids and positions

	all, window attention.Step // of layers without a window and with one
	ropes       []attention.Rotation
	then        *tensor.Tensor // numbers for what follows, or nil
}

// stepState is the state of a layer that can take a step.
type stepState interface {
	layerState
	// reserve makes room for one more token, and for so many in all where memory is in one piece.
	reserve(tokens int) error
	// memory is what a graph of steps has the addresses of.
	memory() (keys, values *tensor.Tensor)
	advance() // counts the token
}

// stepNetwork is a network that can take a step.
type stepNetwork interface {
	// stepRopes returns the tables of rotary embeddings for tokens behind the last of all
	// sequences, none of which has more than so many then.
	stepRopes(b *batch, tokens int) ([]attention.Rotation, error)
}

// leastTokens is the smallest number of tokens that a step has room for; others are powers of two.
const leastTokens = cacheStep

// stepPlan is the host's part of a step: its sizes, its numbers and the key of its graph.
type stepPlan struct {
	n              int // sequences
	tokens, window int // the most that a sequence has at layers without a window and with one
	pages          int // in the table for each sequence, 0 for memory in one piece
	ropes          []attention.Rotation
	list           []int32 // the numbers of a step
	own            int     // how many of them are not for what follows
	key            []byte  // which graph: its sizes, and all memory that changes with sequences
}

// plan makes room for a step, and says what its numbers are. An error says why there can be none.
func (p *stepPlan) plan(m *LM, b *batch) error {
	net, ok := m.Net.(stepNetwork)
	if !ok {
		return fmt.Errorf("a %T has no steps whose lengths are on the device", m.Net)
	}
	p.n, p.tokens, p.window, p.pages, p.key = len(b.list), leastTokens, 0, 0, p.key[:0]
	for _, s := range b.list {
		if s.n == 0 {
			return fmt.Errorf("%w: a sequence is empty", ErrSequence)
		}
		p.tokens = max(p.tokens, 1<<bits.Len(uint(s.n)))
	}
	for _, s := range b.list {
		for i, l := range s.layers {
			state, ok := l.(stepState)
			if !ok {
				return fmt.Errorf("layer %d: a %T has no place on the device", i, l)
			}
			if err := state.reserve(p.tokens); err != nil {
				return fmt.Errorf("layer %d: %w", i, err)
			}
		}
	}
	for j, s := range b.list {
		if err := p.use(s, j == 0); err != nil {
			return err
		}
	}
	var err error
	if p.ropes, err = net.stepRopes(b, p.tokens); err != nil {
		return err
	}
	for _, r := range p.ropes {
		p.keyOf(r.Cos)
	}
	for _, s := range m.states {
		if s.t != nil {
			p.keyOf(s.t)
		}
	}
	for _, s := range b.list {
		if len(m.states) > 0 {
			p.keyBy(s.stateRow())
		}
	}
	p.keyBy(p.n)
	p.keyBy(p.tokens)
	p.keyBy(p.pages)
	p.number(b)
	return nil
}

// use takes the memory of a sequence into the key; that of pools, which all have, only if it is the
// first.
func (p *stepPlan) use(s *Sequence, first bool) error {
	var pages []int32
	for i, l := range s.layers {
		state := l.(stepState)
		k, v := state.memory()
		c, pool := l.(*paged)
		if k != nil && (!pool || first) {
			p.keyOf(k)
			p.keyOf(v)
		}
		if c, ok := l.(*keysValues); ok && c.ring != nil {
			p.window = k.Size(-2)
		}
		if pool {
			p.pages = p.tokens / PageTokens
			of := c.s.Pages()
			if pages == nil {
				pages = of
			}
			// Pools of layers do the same in the same order, so that one table is for all.
			if len(of) != len(pages) || !slices.Equal(of[s.samePages:], pages[s.samePages:]) {
				return fmt.Errorf("layer %d has other pages than those before it", i)
			}
		}
	}
	s.samePages, s.pages = len(pages), pages
	return nil
}

// keyBy takes a number into the key.
func (p *stepPlan) keyBy(n int) { p.key = binary.LittleEndian.AppendUint64(p.key, uint64(n)) }

// keyOf takes the address of a tensor into the key. A graph holds what it uses, so that nothing
// else gets the address as long as there is the graph.
func (p *stepPlan) keyOf(t *tensor.Tensor) {
	p.key = binary.LittleEndian.AppendUint64(p.key, t.Buffer().Addr())
}

// number lists the numbers of a step: ids, positions, places at layers without a window, the pages,
// and places at layers with one.
func (p *stepPlan) number(b *batch) {
	p.list = append(p.list[:0], b.all...)
	for _, s := range b.list {
		p.list = append(p.list, int32(s.n))
	}
	for i, s := range b.list {
		p.list = attention.Place{Token: s.n, Page: i * p.pages, Keys: s.n + 1}.Numbers(p.list)
	}
	if p.pages > 0 {
		for _, s := range b.list {
			from := len(p.list)
			p.list = append(p.list, s.pages...)
			for len(p.list) < from+p.pages {
				p.list = append(p.list, 0)
			}
		}
	}
	if p.window > 0 {
		for _, s := range b.list {
			p.list = attention.Place{Token: s.n % p.window, Keys: min(s.n+1, p.window)}.Numbers(p.list)
		}
	}
}

// then has what follows a step be a part of it. Its numbers begin at a multiple of 8 bytes.
func (p *stepPlan) then(f *follow) {
	if p.own = len(p.list); f == nil {
		return
	}
	if p.own%2 > 0 {
		p.list, p.own = append(p.list, 0), p.own+1
	}
	p.list = append(p.list, f.numbers...)
	p.keyBy(len(f.numbers))
	p.key = append(p.key, f.key...)
}

// on returns the step whose numbers are in a tensor.
func (p *stepPlan) on(numbers *tensor.Tensor) *step {
	at := 0
	next := func(n int) *tensor.Tensor {
		at += n
		return numbers.Narrow(0, at-n, n)
	}
	s := &step{numbers: numbers, ids: next(p.n), at: next(p.n), ropes: p.ropes}
	s.all = attention.Step{Table: next(p.n * (placeNumbers + p.pages)), MaxKeys: p.tokens}
	if p.window > 0 {
		s.window = attention.Step{Table: next(p.n * placeNumbers), MaxKeys: p.window}
	}
	if n := len(p.list) - p.own; n > 0 {
		s.then = numbers.Narrow(0, p.own, n)
	}
	return s
}

// placeNumbers is how many numbers a place has.
var placeNumbers = len(attention.Place{}.Numbers(nil))

// of is the step of sequence i alone, of sequences whose memory is in one piece.
func (s *step) of(i int, all attention.Step) attention.Step {
	all.Table = all.Table.Narrow(0, i*placeNumbers, placeNumbers)
	return all
}

// stepRopes returns the tables, which have to be the same for all sequences.
func (d *Decoder) stepRopes(b *batch, tokens int) ([]attention.Rotation, error) {
	var out []attention.Rotation
	for _, r := range d.ropes {
		if r.scaling.Type == fn.RopeDynamic {
			return nil, fmt.Errorf("rotary embeddings of type %v change with the length", r.scaling.Type)
		}
		var t attention.Rotation
		for i, s := range b.list {
			of := r.reach(b.device, s.n+1, tokens)
			if i > 0 && of.Cos != t.Cos {
				return nil, fmt.Errorf("rotary embeddings of type %v differ between sequences", r.scaling.Type)
			}
			t = of
		}
		out = append(out, t)
	}
	return out, nil
}

// step stores keys and values of a token of each sequence, and returns (sequences, heads·size) of
// rotated queries, all of them (1, heads, sequences, size).
func (a *Attention) step(q, k, v *tensor.Tensor, b *batch, layer int) *tensor.Tensor {
	var keys *attention.Rotation
	if a.rope >= 0 {
		r := b.rows[a.rope]
		keys = &attention.Rotation{Cos: r.Cos, Sin: r.Sin, Interleaved: a.interleaved}
	}
	return b.attendStep(q, k, v, keys, layer, a.options).Reshape(len(b.list), a.heads*a.size)
}

// attendStep is attention of (1, heads, sequences, size) at a layer: (sequences, heads, 1, size).
func (b *batch) attendStep(
	q, k, v *tensor.Tensor, keys *attention.Rotation, layer int, o attention.Options,
) *tensor.Tensor {
	if p, ok := b.list[0].layers[layer].(*paged); ok {
		of := func(t *tensor.Tensor) *tensor.Tensor { return t.Transpose(0, 2) }
		s := b.step.all
		s.Keys = keys
		return p.of.pool.AttendStep(of(q), of(k), of(v), s, o)
	}
	parts := make([]*tensor.Tensor, len(b.list))
	for i, sequence := range b.list {
		of := func(t *tensor.Tensor) *tensor.Tensor { return t.Narrow(2, i, 1) }
		c, s := sequence.layers[layer].(*keysValues), b.step.all
		if c.ring != nil {
			s = b.step.window
		}
		if s = b.step.of(i, s); keys != nil {
			s.Keys = &attention.Rotation{Cos: keys.Cos.Narrow(0, i, 1), Sin: keys.Sin.Narrow(0, i, 1), Interleaved: keys.Interleaved}
		}
		if c.ring != nil {
			parts[i] = c.ring.AttendStep(of(q), of(k), of(v), s, o)
		} else {
			parts[i] = c.all.AttendStep(of(q), of(k), of(v), s, o)
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(0, parts...)
}

func (c *keysValues) reserve(tokens int) error {
	if c.ring != nil {
		return nil
	}
	return c.all.Reserve(tokens)
}

func (c *keysValues) memory() (keys, values *tensor.Tensor) {
	if c.ring != nil {
		return c.ring.Memory()
	}
	return c.all.Memory()
}

func (c *keysValues) advance() {
	if c.ring != nil {
		c.ring.Advance()
		return
	}
	c.all.Advance()
}

func (p *paged) reserve(int) error {
	pool := p.of.pool
	if pool.Free() == 0 {
		if err := pool.Grow(pool.Count()); err != nil {
			return err
		}
	}
	return p.s.Reserve(1)
}

func (p *paged) memory() (keys, values *tensor.Tensor) { return p.of.pool.Memory() }

func (p *paged) advance() { p.s.Advance() }
