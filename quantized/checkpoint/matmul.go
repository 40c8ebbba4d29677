package checkpoint

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/checkpoint/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var matVec = newFamily(kernels.MatVec[scheme, scaled, result])

const (
	// fewRows is up to how many rows of activations are multiplied with the codes as they are read.
	// For more of them the weight is dequantized once, in the type of the activations.
	fewRows = 8
	// threads is how many share a row of the weight, on each device, for sums of one order.
	threads = 64
)

// activations are the types of what weights are multiplied with.
var activations = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64}

// scratch is how many elements of a weight are dequantized at a time; tests lower it.
var scratch = 1 << 26

// Linear returns x·Wᵀ: of (…, in) it is (…, out), in the type of x, which is F32, F16, BF16 or F64.
// Sums are in float32, or in float64 of F64; they are the same bits whenever they are computed
// again.
//
// Up to 8 rows of x are multiplied with the weight as it is stored: sums of 8 products with codes,
// times their scale. For more of them the elements of the weight are rounded to the type of x
// first, as [Weight.Dequantize] does.
//
// The gradient with respect to x is the product with the dequantized weight; the weight has none.
// Scales of activations that a checkpoint has, such as input_scale, are not applied: x is
// multiplied as it is.
func (w *Weight) Linear(x *tensor.Tensor) *tensor.Tensor {
	const op = "quantized linear"
	if err := w.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := x.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	var err error
	switch {
	case x.Rank() == 0:
		err = fmt.Errorf("%w: a single number has no last dimension", tensor.ErrRank)
	case x.Size(-1) != w.shape[1]:
		err = fmt.Errorf("%w: %v and a weight of %v: %d columns and %d",
			tensor.ErrShape, x.Shape(), w.shape, x.Size(-1), w.shape[1])
	case !slices.Contains(activations, x.DType()):
		err = fmt.Errorf("%w: activations of %v: they are of F32, F16, BF16 or F64",
			tensor.ErrDType, x.DType())
	case x.Device() != w.codes.Device():
		err = fmt.Errorf("%w: activations on %v, weight on %v: To brings a tensor to another device",
			tensor.ErrDevice, x.Device(), w.codes.Device())
	}
	if err != nil {
		return tensor.Fail(op, err)
	}
	return tensor.Apply1(linear{w}, x)
}

// linear is Linear as an operation of a program.
type linear struct{ w *Weight }

func (linear) Name() string { return "quantized linear" }

func (o linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	n, k := o.w.shape[0], o.w.shape[1]
	rows, out := split(x, n)
	if rows == 0 {
		return tensor.Zeros(x.Device(), x.DType(), out...)
	}
	x = x.Reshape(rows, k)
	if o.w.order != nil {
		x = x.IndexSelect(o.w.order, 1)
	}
	if rows > fewRows || x.DType() == tensor.F64 {
		return o.dense(x).Reshape(out...)
	}
	info := ops.DeviceInfo(x.Device().Runtime())
	g := runtime.Blocks(min(n, ops.RowBlocks(&info, threads)), threads)
	y := tensor.Empty(x.Device(), x.DType(), out...)
	if err := y.Err(); err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return o.w.launch(y, matVec, g, []any{x.Contiguous()}, n, dsl.ConstInt(rows))
}

// split returns how many rows x has, and its shape with n columns.
func split(x *tensor.Tensor, n int) (rows int, out tensor.Shape) {
	shape := x.Shape()
	lead := shape[:len(shape)-1]
	return lead.Count(), append(slices.Clone(lead), n)
}

// parts calls f with the dequantized rows of the weight, some at a time, and frees them. The
// columns are as they are stored.
func (w *Weight) parts(dt tensor.DType, f func(at, n int, rows *tensor.Tensor)) error {
	n, k := w.shape[0], w.shape[1]
	step := min(n, max(1, scratch/k))
	for at := 0; at < n; at += step {
		part := w.rows(at, min(step, n-at), dt)
		f(at, min(step, n-at), part)
		if err := part.Free(); err != nil { // when the product is done
			return err
		}
	}
	return nil
}

// dense multiplies a matrix with the dequantized weight.
func (o linear) dense(x *tensor.Tensor) *tensor.Tensor {
	var all []*tensor.Tensor
	err := o.w.parts(x.DType(), func(_, _ int, rows *tensor.Tensor) {
		all = append(all, x.Linear(rows, nil))
	})
	switch {
	case err != nil:
		return tensor.Fail(o.Name(), err)
	case len(all) == 1:
		return all[0]
	}
	return tensor.Cat(-1, all...)
}

// Backward is the gradient with respect to the activations.
func (o linear) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor {
	return tensor.Apply1(transposed(o), g)
}

// transposed is the product with the weight itself, g·W, as an operation of a program.
type transposed struct{ w *Weight }

func (transposed) Name() string { return "quantized linear gradient" }

func (o transposed) Forward(g *tensor.Tensor) *tensor.Tensor {
	n, k := o.w.shape[0], o.w.shape[1]
	rows, out := split(g, k)
	if rows == 0 {
		return tensor.Zeros(g.Device(), g.DType(), out...)
	}
	y := o.dense(g.Reshape(rows, n))
	if o.w.place != nil {
		y = y.IndexSelect(o.w.place, 1)
	}
	return y.Reshape(out...)
}

// dense adds up the products of columns of g with the rows of the dequantized weight, one part
// after another, in float32 at least.
func (o transposed) dense(g *tensor.Tensor) *tensor.Tensor {
	sumType := tensor.F32
	if g.DType() == tensor.F64 {
		sumType = tensor.F64
	}
	var sum *tensor.Tensor
	err := o.w.parts(g.DType(), func(at, n int, rows *tensor.Tensor) {
		part := g.Narrow(1, at, n).MatMul(rows)
		switch {
		case n == o.w.shape[0]:
			sum = part
		case sum == nil:
			sum = part.Cast(sumType)
		default:
			sum = sum.Add(part.Cast(sumType))
		}
	})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return sum.Cast(g.DType())
}

// Backward is the gradient with respect to the gradient.
func (o transposed) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor {
	return tensor.Apply1(linear(o), g)
}

// IndexedMoE is an error of kind [tensor.ErrRank]: a weight is one matrix, and not one for each
// expert of a mixture. It is there so that a layer can have a Weight or a tensor of package
// quantized.
func (w *Weight) IndexedMoE(x, ids *tensor.Tensor) *tensor.Tensor {
	const op = "indexed moe"
	if err := w.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	return tensor.Fail(op, fmt.Errorf("%w: a weight of %v: those of experts are (experts, n, k)",
		tensor.ErrRank, w.shape))
}
