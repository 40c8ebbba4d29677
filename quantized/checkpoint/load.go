package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Load brings the weight of a layer to a device: that of the tensors whose names begin with prefix
// and a dot, or of those without a prefix if it is "". Tensors that do not fit each other are an
// error of kind [ErrFormat], variants that are not read one of kind [ErrUnsupported], and a layer
// without a quantized weight one of kind [file.ErrNotFound]. The bias of the layer is not part of
// the weight.
//
// It allocates no more than a few times what the tensors have in the file.
func Load(d *tensor.Device, set *file.Set, prefix string, c Config) (*Weight, error) {
	if d == nil || set == nil {
		return nil, fmt.Errorf("checkpoint: load %q: %w: no device or no file",
			prefix, tensor.ErrArgument)
	}
	l := &loader{dev: d, set: set, prefix: prefix, config: c}
	if prefix != "" {
		l.prefix += "."
	}
	w, err := l.load()
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: load %q: %w", prefix, err)
	}
	return w, nil
}

// loader is a call of Load.
type loader struct {
	dev    *tensor.Device
	set    *file.Set
	prefix string
	config Config
}

// load finds out the scheme by the names and types of tensors.
func (l *loader) load() (*Weight, error) {
	var found Method
	var read func() (*Weight, error)
	switch e, err := l.set.Get(l.prefix + "weight"); {
	case l.has("qweight"):
		if found, read = GPTQ, l.gptq; l.config.Method == AWQ || l.config.Method == "" && l.likeAWQ() {
			found, read = AWQ, l.awq
		}
	case l.state() != "":
		found, read = BitsAndBytes, l.bitsAndBytes
	case e != nil && e.DType == tensor.F8E4M3:
		if found, read = FP8, l.fp8; l.config.Method == CompressedTensors {
			found = CompressedTensors
		}
	case l.has("weight_packed"):
		found, read = CompressedTensors, l.packed
	case l.has("SCB"), l.has("weight.SCB"):
		return nil, unsupported("SCB, 8-bit integers of bitsandbytes")
	case e != nil:
		return nil, fmt.Errorf("%w: weight is of %s, without scales or codes: load it as a tensor",
			file.ErrNotFound, e.Stored)
	default:
		return nil, err
	}
	if m := l.config.Method; m != "" && m != found {
		return nil, malformed("the tensors are those of %s, and the model's method is %s",
			found, m)
	}
	return read()
}

func (l *loader) has(name string) bool { return l.set.Has(l.prefix + name) }

// entry returns a tensor, which has one of some types and so many dimensions.
func (l *loader) entry(name string, rank int, types ...tensor.DType) (*file.Entry, error) {
	e, err := l.set.Get(l.prefix + name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case !slices.Contains(types, e.DType):
		return nil, malformed("%s is of %s, want %v", name, e.Stored, types)
	case len(e.Shape()) != rank:
		return nil, malformed("%s has shape %v, want %d dimensions", name, e.Shape(), rank)
	case e.Layout.Count() == 0 || !e.Layout.IsContiguous():
		return nil, malformed("%s has shape %v and strides %v: want elements without gaps",
			name, e.Shape(), e.Layout.Strides())
	}
	return e, nil
}

// shaped is entry for a tensor of a known shape.
func (l *loader) shaped(name string, shape []int, types ...tensor.DType) (*file.Entry, error) {
	e, err := l.entry(name, len(shape), types...)
	if err == nil && !slices.Equal(e.Shape(), shape) {
		err = malformed("%s has shape %v, want %v", name, e.Shape(), shape)
	}
	return e, err
}

// scaleTypes are those of scales.
var scaleTypes = []tensor.DType{tensor.F16, tensor.BF16, tensor.F32}
