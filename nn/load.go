package nn

import (
	"errors"
	"fmt"
	"maps"
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

// Init gives all parameters and buffers of a network that have no value yet memory and first values.
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
		if err := p.Set(p.init(on.Device, on.DType, p.shape)); err != nil {
			return fmt.Errorf("nn: init %s: %w", p.Name, err)
		}
	}
	return nil
}

// Source is tensors by their names: a file, see [File], or memory, see [Memory].
type Source interface {
	// Names lists all tensors.
	Names() []string
	// Tensor returns one on a device. It is not called for names that are not in the list.
	Tensor(d *tensor.Device, name string) *tensor.Tensor
}

type files struct{ set *file.Set }

// File is the tensors of files: those that packages safetensors, npy and torch open, one or several.
// Only what is asked for is read, straight from the mapped file to the device.
func File(set *file.Set) Source { return files{set} }

func (f files) Names() []string { return f.set.Names() }

func (f files) Tensor(d *tensor.Device, name string) *tensor.Tensor {
	e, err := f.set.Get(name)
	if err != nil {
		return tensor.Fail("load", err)
	}
	return tensor.Load(d, e)
}

// Memory is tensors by name in memory, such as those of [State].
type Memory map[string]*tensor.Tensor

// Names lists all tensors in order.
func (m Memory) Names() []string { return slices.Sorted(maps.Keys(m)) }

// Tensor returns one on a device.
func (m Memory) Tensor(d *tensor.Device, name string) *tensor.Tensor { return m[name].To(d) }

// LoadOptions are how a network is loaded.
type LoadOptions struct {
	On
	Prefix   string                                             // names in the source begin with it and a dot
	Rename   func(name string) string                           // from the network's name to that in the source, before Prefix; nil for none
	Convert  func(name string, t *tensor.Tensor) *tensor.Tensor // what is done to a tensor of the source, such as a transposition; nil for nothing
	Lenient  bool                                               // names that are missing or unexpected are reported only
	Progress func(done, all int)                                // called behind each parameter
}

// Report is what did not fit in [Load].
type Report struct {
	Missing    []string // parameters that are not in the source
	Unexpected []string // tensors of the source below Prefix that are no parameters
}

// Load gives the parameters of a network the values of a source. Those that have memory keep it, and
// values are converted to its type; others get memory. Each must have the same shape there. A parameter
// that is shared may have any of its names in the source.
//
// Unless o is lenient, a parameter that the source has not, or a tensor that the network has not, is an
// error of kind [ErrNames] with all their names. Nothing is changed then.
func Load(m any, from Source, o LoadOptions) (*Report, error) {
	list, err := List(m)
	if err != nil {
		return nil, err
	}
	names, r := match(list, from.Names(), &o)
	if err := r.err(); err != nil && !o.Lenient {
		return r, err
	}
	for i, p := range list {
		if names[i] == "" {
			continue
		}
		if err := p.load(from, names[i], &o); err != nil {
			return r, err
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
		d = p.t.Device()
	}
	if d == nil {
		return fmt.Errorf("nn: load: %w: no device", tensor.ErrArgument)
	}
	t := from.Tensor(d, name)
	if o.Convert != nil {
		t = o.Convert(p.Name, t)
	}
	switch {
	case t.Err() != nil:
	case p.HasValue():
		t = t.To(p.t.Device()).Cast(p.t.DType())
	case o.DType != 0 && t.DType().IsFloat():
		t = t.Cast(o.DType)
	}
	if err := p.Set(t); err != nil {
		return fmt.Errorf("nn: load %s from %q: %w", p.Name, name, err)
	}
	return nil
}

// State returns the parameters and buffers of a network by their names, without copies: a later step
// changes them. Shared ones have their first name only.
func State(m any) (Memory, error) {
	list, err := List(m)
	if err != nil {
		return nil, err
	}
	out := Memory{}
	for _, p := range list {
		if !p.HasValue() {
			return nil, fmt.Errorf("nn: state: %w", p.Tensor().Err())
		}
		out[p.Name] = p.t.Detach()
	}
	return out, nil
}

// Save writes the parameters and buffers of a network to a safetensors file, which replaces one of the
// name when it is whole. Metadata may be nil.
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
