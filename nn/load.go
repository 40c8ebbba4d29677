package nn

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// ErrNames is the kind of error of a file that has not the parameters of a network.
var ErrNames = errors.New("names of parameters")

// On says where parameters are, and of what type.
type On struct {
	Device *tensor.Device
	DType  tensor.DType // of floating-point parameters; Invalid: F32 for Init, as in the source for Load
}

// Init gives all parameters and buffers of a network that have no value yet memory and first
// values.
func Init(m any, on On) error {
	if on.Device == nil {
		return fmt.Errorf("nn: init: %w: no device", tensor.ErrArgument)
	}
	if on.DType == 0 {
		on.DType = tensor.F32
	}
	list, err := List(m)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.HasValue() {
			continue
		}
		if p.init == nil {
			return fmt.Errorf("nn: init: %w: %s has no initialiser: load it", ErrNoValue, p.Name)
		}
		if err := p.shape.Check(); err != nil {
			return fmt.Errorf("nn: init %s: %w", p.Name, err)
		}
		if err := p.Set(p.init(on.Device, p.in(on.DType), p.shape)); err != nil {
			return fmt.Errorf("nn: init %s: %w", p.Name, err)
		}
	}
	return nil
}

// Source is tensors by their names: a file, see [File], or memory, see [Memory].
type Source interface {
	// Names lists all tensors.
	Names() []string
	// Tensor returns one on a device, or a part of it. It is not called for names that are not in
	// the list.
	Tensor(d *tensor.Device, name string, part Shard) *tensor.Tensor
}

// Shard is one of equal parts of a tensor along a dimension, as processes have that compute a layer
// together. The zero Shard is all of it.
type Shard struct {
	Dim   int
	Rank  int // which part, from 0
	Count int // how many parts there are
}

// Of returns where the part begins in a tensor of a name and shape, along dimension Dim, and how
// long it is.
func (s Shard) Of(name string, shape tensor.Shape) (start, n int, err error) {
	switch {
	case s.Dim < 0 || s.Dim >= len(shape):
		return 0, 0, fmt.Errorf("%w: %q has shape %v, and is to be divided along dimension %d", tensor.ErrDim, name, shape, s.Dim)
	case s.Rank < 0 || s.Rank >= s.Count:
		return 0, 0, fmt.Errorf("%w: part %d of %d of %q", tensor.ErrRange, s.Rank, s.Count, name)
	case shape[s.Dim]%s.Count != 0:
		return 0, 0, fmt.Errorf("%w: %q has shape %v, whose dimension %d does not divide into %d equal parts", tensor.ErrShape, name, shape, s.Dim, s.Count)
	}
	n = shape[s.Dim] / s.Count
	return s.Rank * n, n, nil
}

type files struct{ set *file.Set }

// File is the tensors of files: those that packages safetensors, npy, torch and gguf open, one or
// several. Quantized tensors of GGUF files are an error here; package qnn has a source of them.
// Only what is asked for is read, straight from the mapped file to the device.
func File(set *file.Set) Source { return files{set} }

func (f files) Names() []string { return f.set.Names() }

func (f files) Tensor(d *tensor.Device, name string, part Shard) *tensor.Tensor {
	e, err := f.set.Get(name)
	if err == nil && part.Count > 0 {
		var start, n int
		if start, n, err = part.Of(name, e.Shape()); err == nil {
			e, err = e.Narrow(part.Dim, start, n) // only these bytes are read
		}
	}
	if err != nil {
		return tensor.Fail("load", err)
	}
	return tensor.Load(d, e)
}

// Memory is tensors by name in memory, such as those of [State].
type Memory map[string]*tensor.Tensor

// Names lists all tensors in order.
func (m Memory) Names() []string { return slices.Sorted(maps.Keys(m)) }

// Tensor returns one on a device, or a part of it.
func (m Memory) Tensor(d *tensor.Device, name string, part Shard) *tensor.Tensor {
	t := m[name]
	if t.Err() == nil && part.Count > 0 {
		start, n, err := part.Of(name, t.Shape())
		if err != nil {
			return tensor.Fail("load", err)
		}
		t = t.Narrow(part.Dim, start, n)
	}
	return t.To(d)
}

// LoadOptions are how a network is loaded.
type LoadOptions struct {
	On
	Prefix string // names in the source begin with it and a dot
	// Rename gives the name in the source of a parameter, before Prefix: see [Replace]. It may be
	// nil.
	Rename func(name string) string
	// Convert changes a tensor of the source, such as by a transposition. It may be nil.
	Convert func(name string, t *tensor.Tensor) *tensor.Tensor
	// Shard says which part of a tensor the parameter is. It may be nil.
	Shard func(name string) Shard
	// Dequantize says which parameters get plain numbers, of DType or else F32, where a
	// [QuantizedSource] has others. It may be nil, for none. Buffers, those of one dimension, those
	// that have plain numbers already and those that are converted get them anyway.
	Dequantize func(name string) bool
	Lenient    bool                // names that are missing or unexpected are reported only
	Progress   func(done, all int) // called behind each parameter
	// Join says that layers which have the same input share memory as soon as they are loaded: see
	// [Join].
	Join bool
}

// Replace returns a function for [LoadOptions.Rename], by rules of a regular expression and what
// replaces its matches, with $1 for a group, one after the other. It is an error if an expression
// is none.
//
//	rename, err := nn.Replace([2]string{`^blocks\.(\d+)`, "h.$1"}, [2]string{"in_proj", "c_attn"})
func Replace(rules ...[2]string) (func(name string) string, error) {
	list := make([]*regexp.Regexp, len(rules))
	for i, r := range rules {
		var err error
		if list[i], err = regexp.Compile(r[0]); err != nil {
			return nil, fmt.Errorf("nn: replace: %w: %w", tensor.ErrArgument, err)
		}
	}
	return func(name string) string {
		for i, r := range list {
			name = r.ReplaceAllString(name, rules[i][1])
		}
		return name
	}, nil
}

// Report is what did not fit in [Load].
type Report struct {
	Missing    []string // parameters that are not in the source
	Unexpected []string // tensors of the source below Prefix that are no parameters
}

// Load gives the parameters of a network the values of a source. Those that have memory keep it,
// and values are converted to its type; others get memory. Each must have the same shape there. A
// parameter that is shared may have any of its names in the source.
//
// Unless o is lenient, a parameter that the source has not, or a tensor that the network has not,
// is an error of kind [ErrNames] with all their names. Nothing is changed then.
func Load(m any, from Source, o LoadOptions) (*Report, error) {
	list, err := List(m)
	if err != nil {
		return nil, err
	}
	names, r := match(list, from.Names(), &o)
	if err := r.err(); err != nil && !o.Lenient {
		return r, err
	}
	joins, err := joinsOf(m, list, o.Join)
	if err != nil {
		return nil, err
	}
	for i, p := range list {
		if names[i] == "" {
			continue
		}
		if err := p.load(from, names[i], &o); err != nil {
			return r, err
		}
		for _, l := range joins[p.Param] {
			if err := l.Join(); err != nil {
				return r, err
			}
		}
		if o.Progress != nil {
			o.Progress(i+1, len(list))
		}
	}
	return r, nil
}

// match finds the name of each parameter in the source, "" if it has none.
func match(list []Named, in []string, o *LoadOptions) ([]string, *Report) {
	has := map[string]bool{}
	for _, n := range in {
		has[n] = true
	}
	names, r := make([]string, len(list)), &Report{}
	for i, p := range list {
		for _, n := range append([]string{p.Name}, p.Aliases...) {
			if o.Rename != nil {
				n = o.Rename(n)
			}
			if n = join(o.Prefix, n); has[n] {
				names[i] = n
				delete(has, n)
			}
		}
		if names[i] == "" {
			r.Missing = append(r.Missing, p.Name)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(has)) {
		if o.Prefix == "" || strings.HasPrefix(n, o.Prefix+".") {
			r.Unexpected = append(r.Unexpected, n)
		}
	}
	return names, r
}

// err is an error if names did not fit.
func (r *Report) err() error {
	if len(r.Missing)+len(r.Unexpected) == 0 {
		return nil
	}
	return fmt.Errorf("nn: load: %w: missing: %s; unexpected: %s", ErrNames, few(r.Missing), few(r.Unexpected))
}

// few is a list of names, in which there may be thousands.
func few(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > 8:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:8], ", "), n-8)
	}
	return strings.Join(names, ", ")
}

// load gives a parameter the values of a tensor in the source.
func (p *Named) load(from Source, name string, o *LoadOptions) error {
	d := o.Device
	if d == nil && p.HasValue() {
		d = p.device()
	}
	if d == nil {
		return fmt.Errorf("nn: load: %w: no device", tensor.ErrArgument)
	}
	var part Shard
	if o.Shard != nil {
		part = o.Shard(p.Name)
	}
	var t *tensor.Tensor
	if from, ok := from.(QuantizedSource); ok {
		var q Quantized
		if q, t = p.quantized(from, d, name, part, o); q != nil {
			if err := p.SetQuantized(q, o.DType); err != nil {
				return fmt.Errorf("nn: load %s from %q: %w", p.Name, name, err)
			}
			return nil
		}
	}
	if t == nil {
		t = from.Tensor(d, name, part)
	}
	if o.Convert != nil {
		t = o.Convert(p.Name, t)
	}
	switch {
	case t.Err() != nil:
	case p.t != nil:
		t = t.To(p.t.Device()).Cast(p.t.DType())
	case o.DType != 0 && t.DType().IsFloat():
		t = t.Cast(p.in(o.DType))
	}
	if err := p.Set(t); err != nil {
		return fmt.Errorf("nn: load %s from %q: %w", p.Name, name, err)
	}
	return nil
}

// State returns the parameters and buffers of a network by their names, without copies: a later
// step changes them. Shared ones have their first name only, and quantized ones are an error.
func State(m any) (Memory, error) {
	list, err := List(m)
	if err != nil {
		return nil, err
	}
	out := Memory{}
	for _, p := range list {
		switch {
		case !p.HasValue():
			return nil, fmt.Errorf("nn: state: %w", p.Tensor().Err())
		case p.q != nil:
			return nil, fmt.Errorf("nn: state: %w, or save the adapters alone", errQuantized(p.Param))
		}
		out[p.Name] = p.t.Detach()
	}
	return out, nil
}

// Save writes the parameters and buffers of a network to a safetensors file, which replaces one of
// the name when it is whole. Metadata may be nil.
func Save(path string, m any, metadata map[string]string) error {
	state, err := State(m)
	if err != nil {
		return err
	}
	var entries []*file.Entry
	for _, name := range state.Names() {
		e, err := state[name].Entry(name)
		if err != nil {
			return fmt.Errorf("nn: save %s: %w", name, err)
		}
		entries = append(entries, e)
	}
	return safetensors.WriteFile(path, metadata, entries...)
}
