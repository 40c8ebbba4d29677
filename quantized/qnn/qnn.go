package qnn

import (
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
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
// [nn.LoadOptions] says Shard, has whole blocks that follow each other: so it is a part of its
// first dimension.
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
