package models

import (
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

// PageTokens is how many tokens a page of [Options.Paged] has.
const PageTokens = 32

// firstPages is how many pages a pool has at first. One that is full grows by as many as it has.
const firstPages = 64

// paged is what a sequence keeps for a layer, in pages of the layer's pool.
type paged struct {
	of *Attention
	lm *LM
	s  *attention.Sequence // nil before anything is fed
}

func (p *paged) oldest() int { return 0 }

func (p *paged) truncate(n int) error { return p.s.Truncate(n) }

func (p *paged) reset() {
	if p.s != nil {
		p.s.Close()
	}
}

// open opens the sequence, and the pool if this is the first one.
func (p *paged) open(dt tensor.DType) error {
	if p.s != nil {
		return nil
	}
	if a := p.of; a.pool == nil {
		pool, err := attention.NewPaged(p.lm.Device, dt, attention.Pages{
			Count: firstPages, Tokens: PageTokens, Heads: a.kvHeads, KeySize: a.size, ValueSize: a.size,
		})
		if err != nil {
			return err
		}
		a.pool = pool
	}
	p.s = p.of.pool.Open()
	return nil
}

// paged reports whether the sequences of a batch are in pages at a layer, as all are or none.
func (b *batch) paged(layer int) bool {
	_, ok := b.list[0].layers[layer].(*paged)
	return ok
}

// attendPaged stores keys and values, and returns (tokens, heads·size): for the first sequences, as far
// as they get one token each, by one call, for others one by one.
func (a *Attention) attendPaged(q, k, v *tensor.Tensor, b *batch, layer int) *tensor.Tensor {
	const op = "attention of pages"
	if q.Err() != nil {
		return q
	}
	list, pages := make([]*attention.Sequence, len(b.list)), 0
	for i, s := range b.list {
		p := s.layers[layer].(*paged)
		if err := p.open(k.DType()); err != nil {
			return tensor.Fail(op, err)
		}
		list[i] = p.s
		pages += (b.count(i) + PageTokens - 1) / PageTokens
		pages++
	}
	if less := pages - a.pool.Free(); less > 0 {
		if err := a.pool.Grow(max(less, a.pool.Count())); err != nil {
			return tensor.Fail(op, err)
		}
	}
	k = a.rotated(k, b)
	ones := 0
	for ones < len(list) && b.count(ones) == 1 {
		ones++
	}
	var parts []*tensor.Tensor
	if ones > 1 {
		each := func(t *tensor.Tensor) *tensor.Tensor {
			return t.Narrow(2, 0, ones).Squeeze(0).Transpose(0, 1).Unsqueeze(2)
		}
		if err := a.pool.AppendEach(list[:ones], each(k), each(v)); err != nil {
			return tensor.Fail(op, err)
		}
		y := a.pool.Attend(each(q), list[:ones], a.options)
		parts = append(parts, y.Reshape(ones, a.heads*a.size))
	} else {
		ones = 0
	}
	for i := ones; i < len(list); i++ {
		of := func(t *tensor.Tensor) *tensor.Tensor { return t.Narrow(2, b.starts[i], b.count(i)) }
		if err := list[i].Append(of(k).Squeeze(0), of(v).Squeeze(0)); err != nil {
			return tensor.Fail(op, err)
		}
		y := a.pool.Attend(of(q), list[i:i+1], a.options)
		parts = append(parts, y.Transpose(1, 2).Reshape(b.count(i), a.heads*a.size))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(0, parts...)
}
