package qnn

import (
	"fmt"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// files is tensors of files, with those of blocks as they are.
type files struct {
	nn.Source
	set *file.Set
}

// File is the tensors of files, as [nn.File] has them, for [nn.Load]. Parameters get the blocks of
// those that are quantized, see [nn.Param.SetQuantized]. A part of such a tensor, of which
// [nn.LoadOptions] says Shard, has whole blocks that follow each other: so it is a part of its first
// dimension.
func File(set *file.Set) nn.QuantizedSource { return files{nn.File(set), set} }

// Quantized returns a tensor as the file has it, nil if it has no blocks.
func (f files) Quantized(d *tensor.Device, name string, part nn.Shard) (nn.Quantized, error) {
	e, err := f.set.Get(name)
	if err != nil {
		return nil, err
	}
	if !e.Encoding().Quantized() {
		return nil, nil
	}
	if part.Count > 0 {
		start, n, err := part.Of(name, e.Shape())
		if err != nil {
			return nil, err
		}
		if e, err = e.Narrow(part.Dim, start, n); err != nil {
			return nil, err
		}
	}
	q := quantized.Load(d, e)
	return q, q.Err()
}

// Quantize replaces parameters of a network that have plain numbers by blocks of a format, see
// [quantized.Quantize]: those for which of, which gets name and shape, returns true. Layers that
// multiply with blocks as they are, and gain by it, are [nn.Linear], [nn.Embedding], [nn.MoE],
// [nn.GatedMLP] and the projections of [nn.MultiHeadAttention]. It returns how many parameters it
// replaced; the first that can't be is an error, and those before it stay replaced.
//
// An optimiser of the network's parameters has to be made after it.
func Quantize(m any, of func(name string, shape tensor.Shape) (format.Type, bool)) (int, error) {
	list, err := nn.List(m)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range list {
		t, ok := of(p.Name, p.Shape())
		if !ok || p.Quantized() != nil {
			continue
		}
		w := p.Tensor()
		if err := p.SetQuantized(quantized.Quantize(w, t), typeOf(w)); err != nil {
			return n, fmt.Errorf("qnn: quantize %s: %w", p.Name, err)
		}
		n++
	}
	return n, nil
}

// typeOf is the type of what a parameter is dequantized to.
func typeOf(w *tensor.Tensor) tensor.DType {
	if w.Err() != nil {
		return tensor.F32
	}
	return w.DType()
}
