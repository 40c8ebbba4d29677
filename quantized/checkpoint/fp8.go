package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// fp8 reads a weight of E4M3 with scales.
func (l *loader) fp8() (*Weight, error) {
	e, err := l.entry("weight", 2, tensor.F8E4M3)
	if err != nil {
		return nil, err
	}
	method := FP8
	if l.config.Method == CompressedTensors {
		method = CompressedTensors
	}
	w, err := newWeight(method, kernels.E4M3{}, e.Shape()...)
	if err != nil {
		return nil, err
	}
	name := "weight_scale_inv"
	if !l.has(name) {
		name = "weight_scale"
	}
	s, err := l.set.Get(l.prefix + name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case !slices.Contains(scaleTypes, s.DType):
		return nil, unsupported("%s is of %s, want %v", name, s.Stored, scaleTypes)
	}
	if err := l.fp8Blocks(w, name, s); err != nil {
		return nil, err
	}
	w.scaleName, w.scaleShape = name, slices.Clone(s.Shape())
	w.codes = words(l.dev, e)
	w.scales = tensor.Load(l.dev, s).Reshape(s.Layout.Count())
	return w, nil
}

// fp8Blocks finds out from the shape of scales what has one: all elements, a row, or a block.
func (l *loader) fp8Blocks(w *Weight, name string, s *file.Entry) error {
	n, k := w.shape[0], w.shape[1]
	block := l.config.BlockSize
	if block == [2]int{} {
		block = [2]int{128, 128}
	}
	if block[0] <= 0 || block[1] <= 0 {
		return malformed("blocks of %v", block)
	}
	shape := s.Shape()
	switch {
	case !s.Layout.IsContiguous():
	case len(shape) <= 2 && s.Layout.Count() == 1:
		return w.setBlocks(n, k)
	case slices.Equal(shape, []int{n}), slices.Equal(shape, []int{n, 1}):
		return w.setBlocks(1, k)
	case slices.Equal(shape, []int{ceil(n, block[0]), ceil(k, block[1])}):
		return w.setBlocks(block[0], block[1])
	}
	return malformed("%s has shape %v for a weight of %v in blocks of %v: "+
		"want one, one for each row or one for each block", name, shape, w.shape, block)
}
