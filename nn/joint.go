package nn

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// QuantizedRows is a [Quantized] whose rows are joined with those of others by [Joint.Join].
type QuantizedRows interface {
	// JoinRows returns, each as a [Quantized], a matrix with the rows of all, and each of them as a
	// part of it, whose memory they share; the memory that they had is freed. It returns nil if
	// these cannot be joined.
	JoinRows(others ...any) (whole any, parts []any)
}

// Joiner is a layer that has linear layers of the same input: see [Joint.Join].
type Joiner interface{ Join() error }

// Join has all linear layers of a network that have the same input share memory, as far as a layer
// knows of such: see [Joint.Join]. It is for networks that are not trained, which [SetFrozen]
// froze.
func Join(m any) error {
	var first error
	err := walk(m, func(_ string, l any) {
		if l, ok := l.(Joiner); ok && first == nil {
			first = l.Join()
		}
	})
	return cmp.Or(err, first)
}

// joinsOf are the layers that can be joined when a parameter of a list is loaded, if they are to
// be.
func joinsOf(m any, list []Named, join bool) (map[*Param][]Joiner, error) {
	if !join {
		return nil, nil
	}
	at, out := map[*Param]int{}, map[*Param][]Joiner{}
	for i, p := range list {
		at[p.Param] = i
	}
	err := walk(m, func(_ string, l any) {
		j, ok := l.(Joiner)
		if !ok {
			return
		}
		last := -1
		if params, err := List(l); err == nil { // an error is one of m, too
			for _, p := range params {
				last = max(last, at[p.Param])
			}
		}
		if last >= 0 {
			out[list[last].Param] = append(out[list[last].Param], j)
		}
	})
	return out, err
}

// Joint is linear layers that have the same input. [Joint.Join] has them share memory, so that one
// product is that of several: one launch in place of several, in which an input is read once.
type Joint struct {
	layers []*Linear
	joined []joined
}

// joined is layers that follow each other in a [Joint], and the layer that has all of their rows.
type joined struct {
	first, n int
	whole    *Linear
	held     []held // what the layers had when they were joined
}

// held is what a parameter has.
type held struct {
	t *tensor.Tensor
	q Quantized
}

func heldBy(p *Param) held {
	if p == nil {
		return held{}
	}
	return held{p.t, p.q}
}

// NewJoint returns what computes layers of the same input.
func NewJoint(layers ...*Linear) *Joint { return &Joint{layers: layers} }

// Join gives the parameters of layers that follow each other one piece of memory, as far as they
// can be joined: they are frozen, and of one type or quantized format, and have biases or have
// none. All of them keep their names, shapes and numbers, and each can be changed, saved, adapted
// and unfrozen alone: then the layers are computed one by one. The memory that they had is freed:
// tensors that view it, such as those of [State], cannot be used any more.
func (j *Joint) Join() error {
	j.joined = slices.DeleteFunc(j.joined, func(g joined) bool { return !g.same(j) })
	for i := 0; i < len(j.layers); i++ {
		if g := j.at(i); g != nil {
			i += g.n - 1
			continue
		}
		for n := len(j.layers) - i; n > 1; n-- {
			whole, err := joinLayers(j.layers[i : i+n])
			if err != nil {
				return fmt.Errorf("nn: join: %w", err)
			}
			if whole == nil {
				continue
			}
			g := joined{first: i, n: n, whole: whole}
			for _, l := range j.layers[i : i+n] {
				g.held = append(g.held, heldBy(l.Weight), heldBy(l.Bias))
			}
			j.joined = append(j.joined, g)
			i += n - 1
			break
		}
	}
	return nil
}

// at returns what begins with layer i, nil if nothing does.
func (j *Joint) at(i int) *joined {
	for k := range j.joined {
		if j.joined[k].first == i {
			return &j.joined[k]
		}
	}
	return nil
}

// same reports whether layers still have the memory that they share.
func (g *joined) same(j *Joint) bool {
	for i, l := range j.layers[g.first : g.first+g.n] {
		if heldBy(l.Weight) != g.held[2*i] || heldBy(l.Bias) != g.held[2*i+1] {
			return false
		}
	}
	return true
}

// together reports whether one product is that of all.
func (g *joined) together(j *Joint) bool {
	return g.same(j) && !slices.ContainsFunc(j.layers[g.first:g.first+g.n],
		func(l *Linear) bool { return l.adapted() || l.observer != nil })
}

// Forward returns what each of the layers returns: parts of one tensor where they are joined.
func (j *Joint) Forward(x *tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, 0, len(j.layers))
	for i := 0; i < len(j.layers); i++ {
		g := j.at(i)
		if g == nil || !g.together(j) {
			out = append(out, j.layers[i].Forward(x))
			continue
		}
		y, at := g.whole.Forward(x), 0
		for _, l := range j.layers[i : i+g.n] {
			n := l.Weight.Shape()[0]
			out = append(out, y.Narrow(-1, at, n))
			at += n
		}
		i += g.n - 1
	}
	return out
}

// whole returns what all layers return, in one tensor, or nil if they are not all joined.
func (j *Joint) whole(x *tensor.Tensor) *tensor.Tensor {
	if j == nil || len(j.joined) != 1 || j.joined[0].n != len(j.layers) || !j.joined[0].together(j) {
		return nil
	}
	return j.joined[0].whole.Forward(x)
}

// joinLayers has layers share memory, and returns the layer of all their rows, or nil if they
// cannot be joined.
func joinLayers(layers []*Linear) (*Linear, error) {
	weights, biases := []*Param{}, []*Param{}
	for _, l := range layers {
		if !l.Weight.IsFrozen() || (l.Bias == nil) != (layers[0].Bias == nil) {
			return nil, nil
		}
		if weights = append(weights, l.Weight); l.Bias != nil {
			biases = append(biases, l.Bias)
		}
	}
	if len(biases) > 0 && !mayJoin(biases) {
		return nil, nil
	}
	w, err := joinParams(weights)
	if w == nil || err != nil || len(biases) == 0 {
		return w.linear(nil), err
	}
	b, err := joinParams(biases)
	return w.linear(b), err
}

// linear is a layer, nil without a weight.
func (p *Param) linear(bias *Param) *Linear {
	if p == nil {
		return nil
	}
	return &Linear{Weight: p, Bias: bias}
}

// mayJoin reports whether parameters have plain numbers that can be joined along dimension 0:
// frozen ones of one type on one device, which begin where kernels read them fast.
func mayJoin(list []*Param) bool {
	const align = 16 // bytes: the widest loads
	first := list[0].t
	return first != nil && !slices.ContainsFunc(list, func(p *Param) bool {
		t := p.t
		return t == nil || t.Err() != nil || !p.frozen || p.buffer || p.lent || t.DType() != first.DType() ||
			t.Device() != first.Device() || !t.Shape()[1:].Equal(first.Shape()[1:]) ||
			t.Count()*t.DType().Size()%align != 0
	})
}

// joinParams has parameters share the memory of one with all of their rows, or returns nil.
func joinParams(list []*Param) (*Param, error) {
	rows := 0
	for _, p := range list {
		rows += p.shape[0]
	}
	shape := append(tensor.Shape{rows}, list[0].shape[1:]...)
	whole := &Param{name: list[0].name, shape: shape, frozen: true}
	if q, ok := list[0].q.(QuantizedRows); ok {
		return whole.joinQuantized(q, list)
	}
	if !mayJoin(list) {
		return nil, nil
	}
	var all []*tensor.Tensor
	for _, p := range list {
		all = append(all, p.t.Detach())
	}
	whole.t = tensor.Cat(0, all...)
	if whole.t.Err() != nil {
		return nil, whole.t.Err()
	}
	changed()
	at := 0
	for i, p := range list {
		if err := all[i].Free(); err != nil { // when they are copied
			return nil, err
		}
		p.v, p.t, p.lent = nil, whole.t.Narrow(0, at, p.shape[0]), true
		at += p.shape[0]
	}
	return whole, nil
}

// joinQuantized is joinParams of quantized numbers.
func (p *Param) joinQuantized(q QuantizedRows, list []*Param) (*Param, error) {
	var others []any
	for _, other := range list[1:] {
		if other.q == nil || other.dense != list[0].dense {
			return nil, nil
		}
		others = append(others, other.q)
	}
	whole, parts := q.JoinRows(others...)
	if whole == nil {
		return nil, nil
	}
	all, ok := whole.(Quantized)
	if !ok {
		return nil, fmt.Errorf("%w: rows joined are a %T", tensor.ErrArgument, whole)
	}
	if err := p.SetQuantized(all, list[0].dense); err != nil {
		return nil, err
	}
	for i, part := range parts {
		of, ok := part.(Quantized)
		if !ok {
			return nil, fmt.Errorf("%w: rows joined are a %T", tensor.ErrArgument, part)
		}
		if err := list[i].SetQuantized(of, list[i].dense); err != nil {
			return nil, err
		}
	}
	return p, nil
}
