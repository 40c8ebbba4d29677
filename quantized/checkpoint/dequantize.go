package checkpoint

import (
	"fmt"

	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/tensor"
)

var dequantize = newFamily(kernels.Dequantize[scheme, scaled, result])

// Dequantize returns the elements in a floating-point type, of (out, in), each rounded once from
// the float32 that the definition of the scheme gives:
//
//	GPTQ, AWQ     (code - zero)·scale, which is exact in float32 for scales of F16 and BF16. As F16 it
//	              is what the references' arithmetic in F16 gives bit for bit
//	bitsandbytes  value·absmax; of double quantization, absmax = value·nested_absmax + nested_offset
//	              with both operations rounded
//	FP8           element·scale
func (w *Weight) Dequantize(dt tensor.DType) *tensor.Tensor {
	const op = "dequantize"
	if err := w.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if !dt.IsFloat() || !dt.Computes() {
		return tensor.Fail(op, fmt.Errorf("%w: %s to %v: it is for floating-point types that compute",
			tensor.ErrDType, w.method, dt))
	}
	all := w.rows(0, w.shape[0], dt)
	if w.place != nil {
		return all.IndexSelect(w.place, 1)
	}
	return all
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
