package quantized

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// fewRows is up to how many rows of activations are multiplied with the blocks as they are read.
// For more of them manyRows are the ways.
const fewRows = 8

// activations are the types that are multiplied with blocks.
var activations = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64}

// scratch is how many elements of a weight are dequantized at a time; tests lower it.
var scratch = 1 << 26

// Linear returns x·Wᵀ for a weight W of (n, k), this tensor: of (…, k) it is (…, n), as
// [tensor.Tensor.Linear] has it, in the type of x, which is F32, F16, BF16 or F64. Sums are in
// float32, or in float64 of F64; they are the same bits whenever they are computed again.
//
// Up to 8 rows of x of F32, F16 or BF16, and on a CPU any number of them, are multiplied with the
// blocks as they are, and are rounded to 8 bits first, as is usual for such formats: each 32 elements
// of a row to multiples of 1/127 of their largest magnitude. Products of these bytes with the integers of the blocks are exact. This adds at
// most the sum of |w|·a/254 to a result, where a is that magnitude for an element w of the weight:
// usually less than half a percent of the sum of |w·x|. A row that has an infinity or NaN gives NaN.
// The order of sums depends on the shape of the weight and on the device. For float32 throughout,
// multiply with q.Dequantize(F32), or x in F64.
//
// On a GPU more than 8 rows are multiplied with the values of the weight, rounded to the type of x. A
// row gives the same bits among any up to 8 of them, and on a CPU among any more, but may give slightly
// other ones among more of them than among few.
//
// The gradient with respect to x is the product with the dequantized weight; the weight has none.
func (q *Tensor) Linear(x *tensor.Tensor) *tensor.Tensor { return q.LinearBy("", x) }

// LinearBy is [Tensor.Linear] by one of [LinearStrategies], whether it is the best or not: for tests and
// benchmarks. No name stands for the best. A strategy that cannot multiply so many rows is an error.
func (q *Tensor) LinearBy(strategy string, x *tensor.Tensor) *tensor.Tensor {
	const op = "quantized linear"
	if err := q.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := x.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	var err error
	switch {
	case len(q.shape) != 2:
		err = fmt.Errorf("%w: a weight of %v: it has two dimensions", tensor.ErrRank, q.shape)
	case x.Rank() == 0:
		err = fmt.Errorf("%w: a single number has no last dimension", tensor.ErrRank)
	case x.Size(-1) != q.shape[1]:
		err = fmt.Errorf("%w: %v and a weight of %v: %d columns and %d",
			tensor.ErrShape, x.Shape(), q.shape, x.Size(-1), q.shape[1])
	case !slices.Contains(activations, x.DType()):
		err = fmt.Errorf("%w: activations of %v: they are of F32, F16, BF16 or F64",
			tensor.ErrDType, x.DType())
	case x.Device() != q.data.Device():
		err = fmt.Errorf("%w: activations on %v, the weight on %v: To brings a tensor to another device",
			tensor.ErrDevice, x.Device(), q.data.Device())
	}
	if err != nil {
		return tensor.Fail(op, err)
	}
	return tensor.Apply1(linear{q, strategy}, x)
}

// linear is Linear as an operation of a program.
type linear struct {
	q  *Tensor
	by string // the strategy, see LinearBy
}

func (linear) Name() string { return "quantized linear" }

func (o linear) Forward(x *tensor.Tensor) *tensor.Tensor {
	shape := x.Shape()
	n, k := o.q.shape[0], o.q.shape[1]
	rows := tensor.Shape(shape[:len(shape)-1]).Count()
	out := append(slices.Clone(shape[:len(shape)-1]), n)
	switch {
	case rows*n == 0 || k == 0:
		return tensor.Zeros(x.Device(), x.DType(), out...)
	case x.DType() == tensor.F64:
		return o.dense(x.Reshape(rows, k)).Reshape(out...)
	case rows > fewRows:
		return o.many(x.Reshape(rows, k).Contiguous(), o.by).Reshape(out...)
	}
	to, from := tensor.Empty(x.Device(), x.DType(), out...), x.Contiguous()
	if to.Err() != nil || from.Err() != nil {
		return tensor.Fail(o.Name(), firstError(to, from))
	}
	return o.few(to, from, rows)
}

// dots multiplies few rows, as bytes, with the blocks.
func (o linear) dots(out, x *tensor.Tensor, rows int) *tensor.Tensor {
	n, k := o.q.shape[0], o.q.shape[1]
	f, err := o.q.of.Block()
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	info := ops.DeviceInfo(x.Device().Runtime())
	c := fewConfig(&info, rows, n, k)
	few, err := o.quantize(x, kernels.Layout{
		Numbers: dsl.ConstInt(kernels.Numbers(f)), Lanes: c.Lanes,
	})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	kernel, err := dots.of(instance{of: o.q.of, out: x.DType()})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	step := int(c.Teams * c.Each)
	g := runtime.Blocks((n+step-1)/step, int(c.Teams*c.Warps)*info.WarpSize)
	out = o.q.launch(out, kernel, g, []any{few}, n, k, c)
	if err := few.Free(); err != nil { // when the product is done
		return tensor.Fail(o.Name(), err)
	}
	return out
}

// fewConfig divides a product of few rows with n rows of a weight: a team is as many warps as have many
// parts of a row for each thread, or more of them where there are too few rows for the device, and
// blocks have 128 threads at least. A thread reads two rows, so that more loads are in flight and
// activations are read less often.
func fewConfig(info *runtime.Info, rows, n, k int) kernels.Few {
	c := kernels.Few{Rows: dsl.ConstInt(rows), Each: 2, Warps: 1}
	const busy = 16 // warps of a multiprocessor
	for threads := info.WarpSize; threads < min(256, info.MaxThreads); threads *= 2 {
		idle := n/int(c.Each)*int(c.Warps) < busy*info.Units
		if parts := k / format.PartLen; parts < 8*threads && (!idle || parts < 2*threads) {
			break
		}
		c.Warps *= 2
	}
	c.Teams, c.Lanes = max(1, dsl.ConstInt(128/info.WarpSize)/c.Warps), 1
	if ops.TraitsOf(info).WarpBlocks {
		c.Warps, c.Teams, c.Lanes, c.Each = 1, 1, dsl.ConstInt(info.WarpSize), 1
	}
	return c
}

// quantize returns activations as parts of a format are multiplied with.
func (o linear) quantize(x *tensor.Tensor, l kernels.Layout) (*tensor.Tensor, error) {
	kernel, err := byteRows.of(instance{of: o.q.of, out: x.DType()})
	if err != nil {
		return nil, err
	}
	words, line := x.Count()/4, o.q.shape[1]/format.PartLen
	lanes := int(l.Lanes)
	padded := (line + lanes - 1) / lanes * lanes * (words / 8 / line)
	out := tensor.Empty(x.Device(), tensor.U32, padded*(8+int(l.Numbers)))
	info := ops.DeviceInfo(x.Device().Runtime())
	threads := min(256, info.MaxThreads)
	if ops.TraitsOf(&info).WarpBlocks {
		threads = info.WarpSize
	}
	blocks := min((words+threads-1)/threads, ops.RowBlocks(&info, threads))
	out = tensor.LaunchInto(out, kernel, runtime.Blocks(blocks, threads), x, line, l)
	return out, out.Err()
}

func firstError(of ...*tensor.Tensor) error {
	for _, t := range of {
		if err := t.Err(); err != nil {
			return err
		}
	}
	return nil
}

// dense multiplies a matrix with the dequantized weight, or with one part of its rows after
// another.
func (o linear) dense(x *tensor.Tensor) *tensor.Tensor {
	n, k := o.q.shape[0], o.q.shape[1]
	step := min(n, max(1, scratch/k))
	var parts []*tensor.Tensor
	for at := 0; at < n; at += step {
		w := o.q.rows(at, min(step, n-at)).Dequantize(x.DType())
		parts = append(parts, x.Linear(w, nil))
		if err := w.Free(); err != nil { // when the product is done
			return tensor.Fail(o.Name(), err)
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(-1, parts...)
}

// Backward is the gradient with respect to the activations.
func (o linear) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor {
	return tensor.Apply1(transposed{o.q}, g)
}

// transposed is the product with the weight itself, g·W, as an operation of a program.
type transposed struct{ q *Tensor }

func (transposed) Name() string { return "quantized linear gradient" }

func (o transposed) Forward(g *tensor.Tensor) *tensor.Tensor {
	shape := g.Shape()
	n, k := o.q.shape[0], o.q.shape[1]
	rows := tensor.Shape(shape[:len(shape)-1]).Count()
	out := append(slices.Clone(shape[:len(shape)-1]), k)
	if rows*n == 0 || k == 0 {
		return tensor.Zeros(g.Device(), g.DType(), out...)
	}
	return o.dense(g.Reshape(rows, n)).Reshape(out...)
}

// dense adds up the products of columns of g with the rows of the dequantized weight, one part
// after another, in float32 at least.
func (o transposed) dense(g *tensor.Tensor) *tensor.Tensor {
	n, k := o.q.shape[0], o.q.shape[1]
	step := min(n, max(1, scratch/k))
	sumType := g.DType()
	if step < n && sumType != tensor.F64 {
		sumType = tensor.F32
	}
	var sum *tensor.Tensor
	for at := 0; at < n; at += step {
		rows := min(step, n-at)
		w := o.q.rows(at, rows).Dequantize(g.DType())
		part := g.Narrow(1, at, rows).MatMul(w).Cast(sumType)
		if err := w.Free(); err != nil { // when the product is done
			return tensor.Fail(o.Name(), err)
		}
		if sum == nil {
			sum = part
		} else {
			sum = sum.Add(part)
		}
	}
	return sum.Cast(g.DType())
}

// Backward is the gradient with respect to the gradient.
func (o transposed) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor {
	return tensor.Apply1(linear{q: o.q}, g)
}
