package qnn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// weights is the tensors of a quantized checkpoint, with one name for all that a weight is made of.
type weights struct {
	nn.Source
	set    *file.Set
	config checkpoint.Config
	layers map[string]string // by the names of weights, those of their layers
	names  []string
}

// parts are the tensors of a weight behind the name of its layer, but for those of bitsandbytes.
var parts = []string{
	"qweight", "qzeros", "scales", "g_idx", "weight_scale", "weight_scale_inv", "input_scale",
	"weight_packed", "weight_shape", "weight_zero_point", "weight_g_idx",
}

// Checkpoint is the tensors of quantized checkpoints in safetensors files, as [nn.File] has them,
// for [nn.Load]: what package checkpoint reads, such as GPTQ and FP8, is one tensor with the name of
// the layer and "weight". Parameters get it as it is, see [nn.Param.SetQuantized]. A
// part of it is an error of kind [checkpoint.ErrUnsupported].
func Checkpoint(set *file.Set, c checkpoint.Config) nn.QuantizedSource {
	w := weights{Source: nn.File(set), set: set, config: c, layers: map[string]string{}}
	for _, name := range set.Names() {
		if layer, ok := w.layer(name); ok {
			w.layers[layer+"weight"] = layer
		}
	}
	w.names = slices.Collect(maps.Keys(w.layers))
	for _, name := range set.Names() {
		if !w.within(name) {
			w.names = append(w.names, name)
		}
	}
	slices.Sort(w.names)
	return w
}

// layer returns the name of the layer, with a dot behind it if it has one, of a tensor that only
// quantized weights have.
func (w weights) layer(name string) (string, bool) {
	if layer, _, ok := strings.Cut(name, "weight.quant_state."); ok {
		return layer, true
	}
	for _, codes := range []string{"qweight", "weight_packed"} {
		if layer, ok := strings.CutSuffix(name, codes); ok {
			return layer, true
		}
	}
	layer, ok := strings.CutSuffix(name, "weight")
	if !ok {
		return "", false
	}
	e, err := w.set.Get(name)
	return layer, err == nil && e.DType == tensor.F8E4M3
}

// within reports whether a tensor is one of those that a quantized weight is made of.
func (w weights) within(name string) bool {
	if _, ok := w.layers[name]; ok {
		return true
	}
	if layer, _, ok := strings.Cut(name, "weight."); ok {
		_, ok = w.layers[layer+"weight"]
		return ok
	}
	at := strings.LastIndexByte(name, '.') + 1
	_, ok := w.layers[name[:at]+"weight"]
	return ok && slices.Contains(parts, name[at:])
}

// Names lists all tensors, quantized weights by one name each.
func (w weights) Names() []string { return w.names }

// Quantized returns the weight of a name, nil if it is not quantized.
func (w weights) Quantized(d *tensor.Device, name string, part nn.Shard) (nn.Quantized, error) {
	layer, ok := w.layers[name]
	if !ok {
		return nil, nil
	}
	if part.Count > 0 {
		return nil, fmt.Errorf("%w: part %d of %d of %q", checkpoint.ErrUnsupported, part.Rank,
			part.Count, name)
	}
	q, err := checkpoint.Load(d, w.set, strings.TrimSuffix(layer, "."), w.config)
	if err != nil {
		return nil, err
	}
	return q, nil
}
