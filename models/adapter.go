package models

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Adapter is a low-rank adapter of a model (LoRA, Hu et al., 2021): a folder as PEFT writes it,
// with adapter_config.json and adapter_model.safetensors, or, for a GGUF model, a GGUF file of
// llama.cpp's converter. Parameters that were trained as a whole take the place of the model's.
type Adapter struct {
	Path  string
	Scale float64 // times that of its configuration; 0 for 1
}

// adapter is the tensors of an adapter.
type adapter struct {
	path       string
	set        *file.Set
	parts      map[string]*lowRank                   // by the names of weights
	whole      *file.Set                             // parameters as a whole, by their names
	scale      func(module string, rank int) float64 // of B·A
	transposed bool                                  // weights stored as (in, out) have adapters of (out, in)
	gguf       bool

	of   func(name string) *origin
	left map[string]bool // weights of parts that are still to be found
}

// lowRank is the adapter of a weight.
type lowRank struct{ a, b, magnitude *file.Entry }

// ErrAdapter is the kind of error of adapters that do not fit a model or are not supported.
var ErrAdapter = errors.New("adapter")

// adapt adds adapters to a network with weights.
func (p *published) adapt(
	m *LM, net any, a *architecture, of func(string) *origin, o Options,
) error {
	var list []*adapter
	for _, from := range o.Adapters {
		ad, err := p.openAdapter(from, a, of)
		if err != nil {
			return fmt.Errorf("%w %s: %w", ErrAdapter, from.Path, err)
		}
		defer ad.set.Close()
		ad.path = from.Path
		if err := ad.replace(m, net); err != nil {
			return fmt.Errorf("%w %s: %w", ErrAdapter, from.Path, err)
		}
		list = append(list, ad)
	}
	on := &adapting{p: p, m: m, a: a}
	for _, ad := range list {
		if !o.Merge {
			break
		}
		plain := func(l *nn.Linear) bool { return l.Weight.Quantized() == nil }
		if err := on.add(net, []*adapter{ad}, plain); err != nil {
			return err
		}
		if err := nn.Merge(net, false); err != nil {
			return err
		}
	}
	rest := func(l *nn.Linear) bool { return !o.Merge || l.Weight.Quantized() != nil }
	if err := on.add(net, list, rest); err != nil {
		return err
	}
	for _, ad := range list {
		if names := slices.Sorted(maps.Keys(ad.left)); len(names) > 0 {
			return fmt.Errorf("%w %s: %w: the model has no linear layers for %s", ErrAdapter, ad.path,
				nn.ErrNames, listed(names))
		}
	}
	return nil
}

// openAdapter opens an adapter, and finds out what its tensors are called.
func (p *published) openAdapter(
	from Adapter, a *architecture, of func(string) *origin,
) (ad *adapter, err error) {
	if strings.HasSuffix(from.Path, ".gguf") {
		ad, err = openGGUFAdapter(from)
	} else {
		ad, err = openPEFT(from)
	}
	if err != nil {
		return nil, err
	}
	ad.left = map[string]bool{}
	for name, part := range ad.parts {
		if ad.left[name] = true; part.a == nil || part.b == nil {
			err = fmt.Errorf("%s has only one of A and B", name)
		}
	}
	c := *p.config
	switch c.gguf = ad.gguf; {
	case err != nil:
	case ad.gguf && !p.config.gguf:
		err = errors.New("a GGUF file fits a GGUF model only; load the folder that it was made of")
	case ad.gguf:
		ad.of = of
	default: // the names are those of safetensors files, whatever the model's are
		names := append(slices.Collect(maps.Keys(ad.parts)), ad.whole.Names()...)
		ad.of, err = a.originOf(&c, p.traits, names)
	}
	if err != nil {
		return nil, errors.Join(err, ad.set.Close())
	}
	return ad, nil
}

// replace gives parameters that were trained as a whole their values.
func (ad *adapter) replace(m *LM, net any) error {
	if ad.whole.Len() == 0 {
		return nil
	}
	w, r, err := newWeights(net, ad.whole, nn.File(ad.whole), ad.of, nil)
	if err != nil {
		return err
	}
	if len(r.Unexpected) > 0 {
		return fmt.Errorf("%w: the model has no %s", nn.ErrNames, listed(r.Unexpected))
	}
	on := nn.On{Device: m.Device, DType: m.DType}
	_, err = nn.Load(net, w, nn.LoadOptions{On: on, Lenient: true})
	return err
}

// adapting is where adapters are added.
type adapting struct {
	p *published
	m *LM
	a *architecture
}

// add adds some adapters to the linear layers that is says yes to.
func (on *adapting) add(net any, list []*adapter, is func(l *nn.Linear) bool) error {
	_, err := nn.AdaptEach(net, func(name string, l *nn.Linear) (*nn.LoRA, error) {
		if !is(l) {
			return nil, nil
		}
		var parts []*nn.LoRA
		for _, ad := range list {
			part, err := on.lora(ad, name)
			if err != nil {
				return nil, err
			}
			if part != nil {
				parts = append(parts, part)
			}
		}
		return stacked(parts)
	})
	if err == nil {
		return nil
	}
	paths := make([]string, len(list))
	for i, ad := range list {
		paths[i] = ad.path
	}
	return fmt.Errorf("%w %s: %w", ErrAdapter, strings.Join(paths, ", "), err)
}

// lora is the adapter of a layer, nil if there is none.
func (on *adapting) lora(ad *adapter, name string) (*nn.LoRA, error) {
	o := ad.of(name + ".weight")
	part := ad.parts[o.name]
	if part == nil {
		return nil, nil
	}
	delete(ad.left, o.name)
	load := func(e *file.Entry, dt tensor.DType) *tensor.Tensor {
		return tensor.Load(on.m.Device, e).Cast(dt)
	}
	down, up := load(part.a, on.m.DType), on.rows(ad, o, name, load(part.b, on.m.DType))
	if err := cmp.Or(down.Err(), up.Err()); err != nil {
		return nil, err
	}
	if down.Rank() != 2 || down.Size(0) == 0 {
		return nil, fmt.Errorf("%w: A has shape %v", tensor.ErrShape, down.Shape())
	}
	l := &nn.LoRA{A: nn.ParamOf(down), B: nn.ParamOf(up)}
	l.Scale = ad.scale(strings.TrimSuffix(o.name, ".weight"), down.Size(0))
	if part.magnitude == nil {
		return l, nil
	}
	magnitude := on.rows(ad, o, name, load(part.magnitude, tensor.F32))
	l.Magnitude = nn.ParamOf(magnitude)
	return l, magnitude.Err()
}

// rows are those of a tensor of an adapter, (out, …), that belong to a layer, which may have only
// some of those of a tensor of the model.
func (on *adapting) rows(ad *adapter, o *origin, name string, t *tensor.Tensor) *tensor.Tensor {
	if o.change != nil && !ad.transposed {
		t = o.change(t)
	}
	if o.rows > 0 {
		t = t.Narrow(0, o.start, o.rows)
	}
	heads := 0
	switch {
	case ad.gguf || !on.p.config.gguf || !on.a.permuted || t.Err() != nil:
	case strings.HasSuffix(name, "self_attn.q_proj"):
		heads = on.p.config.Heads
	case strings.HasSuffix(name, "self_attn.k_proj"):
		heads = on.p.config.KVHeads
	}
	if heads > 0 && t.Size(0)%(2*heads) == 0 { // the halves of each head as neighbours
		shape, n := t.Shape(), t.Size(0)
		t = t.Reshape(heads, 2, n/heads/2, t.Count()/n).Transpose(1, 2).Reshape(shape...)
	}
	return t
}

// stacked is some adapters of a layer as one: s·B·A + s'·B'·A' is (s·B s'·B')·(A over A').
func stacked(list []*nn.LoRA) (*nn.LoRA, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) == 1 {
		return list[0], nil
	}
	var down, up []*tensor.Tensor
	for _, l := range list {
		if l.Magnitude != nil {
			return nil, errors.New("several adapters, one of them with magnitudes (DoRA): merge them")
		}
		b := l.B.Tensor()
		down = append(down, l.A.Tensor())
		up = append(up, b.Cast(tensor.F32).MulScalar(l.Scale).Cast(b.DType()))
	}
	a, b := tensor.Cat(0, down...), tensor.Cat(1, up...)
	return &nn.LoRA{A: nn.ParamOf(a), B: nn.ParamOf(b), Scale: 1}, cmp.Or(a.Err(), b.Err())
}
