package checkpoint

import (
	"encoding/json"
	"fmt"
	"math/bits"

	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// quantState is the JSON that bitsandbytes stores beside a weight, as bytes of a tensor.
type quantState struct {
	Type         string   `json:"quant_type"`
	Block        int      `json:"blocksize"`
	DType        string   `json:"dtype"`
	Shape        []int    `json:"shape"`
	NestedBlock  int      `json:"nested_blocksize,omitempty"`
	NestedDType  string   `json:"nested_dtype,omitempty"`
	NestedOffset *float64 `json:"nested_offset,omitempty"`
}

// Names of the tensors of bitsandbytes.
const (
	stateName        = "weight.quant_state.bitsandbytes__"
	absmaxName       = "weight.absmax"
	mapName          = "weight.quant_map"
	nestedAbsmaxName = "weight.nested_absmax"
	nestedMapName    = "weight.nested_quant_map"
)

// maxState is the largest JSON of a weight that is parsed, in bytes.
const maxState = 1 << 16

// state returns the name of the tensor with the JSON, "" if there is none.
func (l *loader) state() string {
	for _, kind := range []string{"nf4", "fp4"} {
		if l.has(stateName + kind) {
			return stateName + kind
		}
	}
	return ""
}

// readState reads and checks the JSON.
func (l *loader) readState() (*quantState, error) {
	e, err := l.entry(l.state(), 1, tensor.U8)
	if err != nil {
		return nil, err
	}
	if e.Size() > maxState {
		return nil, malformed("%s has %d bytes, want %d at most", l.state(), e.Size(), maxState)
	}
	text, err := e.Bytes()
	if err != nil {
		return nil, err
	}
	s := &quantState{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, malformed("%s: %w", l.state(), err)
	}
	isBlock := func(n int) bool { return n >= kernels.RunLen && bits.OnesCount(uint(n)) == 1 }
	switch {
	case len(s.Shape) != 2:
		return nil, unsupported("a weight of shape %v: it has two dimensions", s.Shape)
	case !isBlock(s.Block):
		return nil, unsupported("blocksize %d: it is a power of two from %d on",
			s.Block, kernels.RunLen)
	case s.NestedOffset != nil && !isBlock(s.NestedBlock):
		return nil, unsupported("nested_blocksize %d: it is a power of two from %d on",
			s.NestedBlock, kernels.RunLen)
	case (s.NestedOffset != nil) != l.has(nestedAbsmaxName):
		return nil, malformed("of %s and nested_offset of %s there is one",
			nestedAbsmaxName, l.state())
	}
	return s, nil
}

// bitsAndBytes reads a weight of 4 bits of bitsandbytes.
func (l *loader) bitsAndBytes() (*Weight, error) {
	s, err := l.readState()
	if err != nil {
		return nil, err
	}
	w, err := newWeight(BitsAndBytes, kernels.Codebook{}, s.Shape...)
	if err != nil {
		return nil, err
	}
	w.setState(s)
	e, err := l.set.Get(l.prefix + "weight")
	count := w.shape.Count()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	case !e.DType.Valid() || !e.Layout.IsContiguous() || e.Size() != int64(count/2):
		return nil, malformed("weight is %v of %s, want the %d bytes of %v",
			e.Shape(), e.Stored, count/2, w.shape)
	}
	blocks := ceil(count, s.Block)
	values, err := l.floats(mapName, kernels.ScaleValues)
	if err != nil {
		return nil, err
	}
	if s.NestedOffset == nil {
		absmax, err := l.shaped(absmaxName, []int{blocks}, scaleTypes...)
		if err != nil {
			return nil, err
		}
		w.scales = tensor.Load(l.dev, absmax)
	} else if values, err = l.nested(w, s, values, blocks); err != nil {
		return nil, err
	}
	w.codes, w.values = words(l.dev, e), tensor.From(l.dev, values)
	return w, nil
}

// nested loads scales that are quantized, and returns their values behind those of codes.
func (l *loader) nested(w *Weight, s *quantState, values []float32, blocks int) ([]float32, error) {
	absmax, err := l.shaped(absmaxName, []int{blocks}, tensor.U8)
	if err != nil {
		return nil, err
	}
	outer, err := l.shaped(nestedAbsmaxName, []int{ceil(blocks, s.NestedBlock)}, tensor.F32)
	if err != nil {
		return nil, err
	}
	more, err := l.floats(nestedMapName, kernels.ScaleMean-kernels.ScaleValues)
	if err != nil {
		return nil, err
	}
	w.bytes, w.scales = tensor.Load(l.dev, absmax), tensor.Load(l.dev, outer)
	return append(append(values, more...), float32(*s.NestedOffset)), nil
}

// floats reads a table of n numbers.
func (l *loader) floats(name string, n int) ([]float32, error) {
	e, err := l.shaped(name, []int{n}, tensor.F32)
	if err != nil {
		return nil, err
	}
	return file.Values[float32](e)
}

// setState takes the blocks of a state.
func (w *Weight) setState(s *quantState) {
	w.state = s
	w.layout.Shift = bits.TrailingZeros(uint(s.Block / kernels.RunLen))
	if s.NestedOffset != nil {
		w.scheme = kernels.Nested{}
		w.layout.Nested = bits.TrailingZeros(uint(s.NestedBlock))
	}
}
