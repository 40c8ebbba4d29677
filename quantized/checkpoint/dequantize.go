package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/tensor"
)

var (
	dequantize = newFamily(kernels.Dequantize[scheme, scaled, result])
	gatherRows = newFamily(kernels.Embedding[scheme, scaled, result])
)

// Dequantize returns the elements in a floating-point type, of (out, in), each rounded once from
// the float32 that the definition of the scheme gives:
//
//	integers      (code - zero)·scale, which is exact in float32 for scales of F16 and BF16. In the
//	              type of the scales it is what the references' arithmetic in that type gives
//	bitsandbytes  value·absmax; of double quantization, absmax = value·nested_absmax + nested_offset
//	              with both operations rounded
//	FP8           element·scale
func (w *Weight) Dequantize(dt tensor.DType) *tensor.Tensor {
	const op = "dequantize"
	if err := w.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := w.computes(dt); err != nil {
		return tensor.Fail(op, err)
	}
	all := w.rows(0, w.shape[0], dt)
	if w.place != nil {
		return all.IndexSelect(w.place, 1)
	}
	return all
}

// computes is an error if elements can't be had in a type.
func (w *Weight) computes(dt tensor.DType) error {
	if !dt.IsFloat() || !dt.Computes() {
		return fmt.Errorf("%w: %s to %v: it is for floating-point types that compute",
			tensor.ErrDType, w.method, dt)
	}
	return nil
}

// rows returns n rows from row first on, with columns as they are stored.
func (w *Weight) rows(first, n int, dt tensor.DType) *tensor.Tensor {
	return tensor.Apply1(dequantizing{w, first, n, dt}, w.codes)
}

// dequantizing is rows as an operation of a program.
type dequantizing struct {
	w        *Weight
	first, n int
	dt       tensor.DType
}

func (dequantizing) Name() string { return "dequantize" }

func (o dequantizing) Forward(codes *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(codes.Device(), o.dt, o.n, o.w.shape[1])
	if out.Err() != nil {
		return out
	}
	g := gridOf(codes.Device(), out.Count()/kernels.RunLen)
	return o.w.launch(out, dequantize, g, nil, o.first)
}

// Embedding returns the rows of the weight at indices, integers in any shape, in a floating-point
// type, as [Weight.Dequantize] has them: the result has the shape of ids and the dimension of a
// row. An index that is out of range is an error when the device is next waited for.
func (w *Weight) Embedding(ids *tensor.Tensor, dt tensor.DType) *tensor.Tensor {
	const op = "quantized embedding"
	if err := w.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := ids.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := w.computes(dt); err != nil {
		return tensor.Fail(op, err)
	}
	switch {
	case !ids.DType().IsInt():
		return tensor.Fail(op, fmt.Errorf("%w: indices of %v: they are integers",
			tensor.ErrDType, ids.DType()))
	case ids.Device() != w.codes.Device():
		return tensor.Fail(op, fmt.Errorf("%w: indices on %v, rows on %v: To brings them together",
			tensor.ErrDevice, ids.Device(), w.codes.Device()))
	}
	rows := tensor.Apply1(embedding{w, dt}, ids)
	if w.place != nil {
		return rows.IndexSelect(w.place, -1)
	}
	return rows
}

// embedding is Embedding as an operation of a program, with columns as they are stored.
type embedding struct {
	w  *Weight
	dt tensor.DType
}

func (embedding) Name() string { return "quantized embedding" }

func (o embedding) Forward(ids *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(ids.Device(), o.dt, append(slices.Clone(ids.Shape()), o.w.shape[1])...)
	if out.Err() != nil || out.Count() == 0 {
		return out
	}
	g := gridOf(ids.Device(), out.Count()/kernels.RunLen)
	list := ids.Cast(tensor.I64).Contiguous()
	return o.w.launch(out, gatherRows, g, []any{list}, o.w.shape[0])
}
