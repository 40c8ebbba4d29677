package quantized

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	dequantize = newFamily(kernels.Dequantize[prototype, float32])
	gatherRows = newFamily(kernels.Rows[prototype, float32, int32])
)

// Dequantize returns the numbers in a floating-point type, each rounded once from the float32 that
// the format's definition gives bit for bit.
func (q *Tensor) Dequantize(dt tensor.DType) *tensor.Tensor {
	const op = "dequantize"
	if err := q.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if !dt.IsFloat() || !dt.Computes() {
		return tensor.Fail(op, fmt.Errorf("%w: %v to %v: it is for floating-point types that compute",
			tensor.ErrDType, q.of, dt))
	}
	return tensor.Apply1(dequantizing{q, dt}, q.data)
}

// dequantizing is Dequantize as an operation of a program.
type dequantizing struct {
	q  *Tensor
	dt tensor.DType
}

func (dequantizing) Name() string { return "dequantize" }

func (o dequantizing) Forward(data *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(data.Device(), o.dt, o.q.shape...)
	if out.Err() != nil || out.Count() == 0 {
		return out
	}
	k, err := dequantize.of(instance{of: o.q.of, out: o.dt})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return o.q.launch(out, k, gridOf(data.Device(), out.Count()/format.RunLen), nil, o.q.first)
}

// Embedding returns the rows of a tensor of two dimensions at indices, integers in any shape, in a
// floating-point type: the result has the shape of ids and the dimension of a row. An index that is
// out of range is an error when the device is next waited for.
func (q *Tensor) Embedding(ids *tensor.Tensor, dt tensor.DType) *tensor.Tensor {
	const op = "quantized embedding"
	if err := q.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	switch {
	case ids.Err() != nil:
		return tensor.Fail(op, ids.Err())
	case len(q.shape) != 2:
		return tensor.Fail(op, fmt.Errorf("%w: rows of %v: a table has two dimensions",
			tensor.ErrRank, q.shape))
	case !ids.DType().IsInt():
		return tensor.Fail(op, fmt.Errorf("%w: indices of %v: they are integers",
			tensor.ErrDType, ids.DType()))
	case !dt.IsFloat() || !dt.Computes():
		return tensor.Fail(op, fmt.Errorf("%w: rows in %v: it is for floating-point types that compute",
			tensor.ErrDType, dt))
	}
	return tensor.Apply2(embedding{q, dt}, ids, q.data)
}

type embedding struct {
	q  *Tensor
	dt tensor.DType
}

func (embedding) Name() string { return "quantized embedding" }

func (o embedding) Forward(ids, data *tensor.Tensor) *tensor.Tensor {
	if ids.Device() != data.Device() {
		return tensor.Fail(o.Name(), fmt.Errorf("%w: indices on %v, rows on %v: To brings a tensor to another device",
			tensor.ErrDevice, ids.Device(), data.Device()))
	}
	out := tensor.Empty(data.Device(), o.dt, append(slices.Clone(ids.Shape()), o.q.shape[1])...)
	if out.Err() != nil || out.Count() == 0 {
		return out
	}
	k, err := gatherRows.of(instance{of: o.q.of, out: o.dt, id: ids.DType()})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	g := gridOf(data.Device(), out.Count()/format.RunLen)
	return o.q.launch(out, k, g, []any{ids.Contiguous()}, o.q.shape[0], o.q.shape[1])
}

// gridOf is a grid that has a thread for each of n runs, or as many as keep the device busy.
func gridOf(d *tensor.Device, n int) runtime.Grid {
	info := ops.DeviceInfo(d.Runtime())
	threads := min(256, info.MaxThreads)
	if ops.TraitsOf(&info).WarpBlocks {
		threads = info.WarpSize
	}
	blocks := min((n+threads-1)/threads, 4*ops.ResidentBlocks(&info, threads))
	return runtime.Blocks(blocks, threads)
}
