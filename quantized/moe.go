package quantized

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	indexedDots = newFamily(kernels.IndexedDots[prototype, float32, int32])
	expertIDs   = newFamily(kernels.Experts[int32])
)

// IndexedMoE returns the products of tokens with the weights of the experts that each of them goes
// to, as layers of a mixture of experts have them. This tensor is the weights of all experts,
// (experts, n, k); x is (tokens, topk, k), or (tokens, 1, k) if all experts of a token get the
// same; ids, integers, are (tokens, topk). The result is (tokens, topk, n) in the type of x, which
// is F32, F16, BF16 or F64. An id that is out of range is an error when the device is next waited
// for.
//
// Few products, up to 8 of each expert on average, are of the blocks as they are, and tokens are
// rounded to 8 bits, as [Tensor.Linear] rounds few rows. For more of them tokens are sorted by
// expert on the device, and weights dequantized for one grouped product: see
// [tensor.Tensor.GroupedMatMul]. Nothing waits for the ids.
//
// The gradient with respect to x is of products with the dequantized weights, which have none. For
// fewer products than there are experts, those of their experts alone are dequantized.
func (q *Tensor) IndexedMoE(x, ids *tensor.Tensor) *tensor.Tensor {
	const op = "indexed moe"
	if err := q.Err(); err != nil {
		return tensor.Fail(op, err)
	}
	if err := firstError(x, ids); err != nil {
		return tensor.Fail(op, err)
	}
	if err := q.checkIndexed(x, ids); err != nil {
		return tensor.Fail(op, err)
	}
	return tensor.Apply2(indexed{q}, x, ids)
}

const wantIndexed = "%w: tokens of %v and experts of %v: " +
	"they are (tokens, 1 or topk, k) and (tokens, topk)"

func (q *Tensor) checkIndexed(x, ids *tensor.Tensor) error {
	s, of := x.Shape(), ids.Shape()
	switch {
	case len(q.shape) != 3:
		return fmt.Errorf("%w: weights of %v: they are (experts, n, k)", tensor.ErrRank, q.shape)
	case len(s) != 3 || len(of) != 2:
		return fmt.Errorf(wantIndexed, tensor.ErrRank, s, of)
	case s[0] != of[0] || s[1] != 1 && s[1] != of[1]:
		return fmt.Errorf(wantIndexed, tensor.ErrShape, s, of)
	case s[2] != q.shape[2]:
		return fmt.Errorf("%w: tokens of %v and weights of %v: %d columns and %d",
			tensor.ErrShape, s, q.shape, s[2], q.shape[2])
	case !slices.Contains(activations, x.DType()):
		return fmt.Errorf("%w: tokens of %v: they are of F32, F16, BF16 or F64",
			tensor.ErrDType, x.DType())
	case !ids.DType().IsInt():
		return fmt.Errorf("%w: experts of %v: they are integers", tensor.ErrDType, ids.DType())
	case q.shape[0] == 0 && ids.Count() > 0:
		return fmt.Errorf("%w: weights of no experts", tensor.ErrRange)
	case x.Device() != q.data.Device() || ids.Device() != q.data.Device():
		return fmt.Errorf("%w: tokens on %v, experts on %v, weights on %v: "+
			"To brings a tensor to another device", tensor.ErrDevice,
			x.Device(), ids.Device(), q.data.Device())
	}
	return nil
}

// indexed is IndexedMoE as an operation of a program.
type indexed struct{ q *Tensor }

func (indexed) Name() string { return "indexed moe" }

func (o indexed) Forward(x, ids *tensor.Tensor) *tensor.Tensor {
	experts, n, k := o.q.shape[0], o.q.shape[1], o.q.shape[2]
	shape := tensor.Shape{ids.Size(0), ids.Size(1), n}
	switch {
	case shape.Count() == 0 || k == 0:
		return tensor.Zeros(x.Device(), x.DType(), shape...)
	case ids.Count() > fewRows*experts || x.DType() == tensor.F64:
		return o.q.grouped(o.Name(), x, ids, false)
	}
	out, from, of := tensor.Empty(x.Device(), x.DType(), shape...), x.Contiguous(), ids.Contiguous()
	if err := firstError(out, from, of); err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return o.dots(out, from, of)
}

// dots multiplies few vectors, as bytes, with the blocks.
func (o indexed) dots(out, x, ids *tensor.Tensor) *tensor.Tensor {
	n, k := o.q.shape[1], o.q.shape[2]
	f, err := o.q.of.Block()
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	info := ops.DeviceInfo(x.Device().Runtime())
	c := fewConfig(&info, 1, n, k)
	matrix := linear{q: &Tensor{o.q.of, tensor.Shape{n, k}, o.q.data, o.q.first}}
	bytes, err := matrix.quantize(x, kernels.Layout{
		Numbers: dsl.ConstInt(kernels.Numbers(f)), Lanes: c.Lanes,
	})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	kernel, err := indexedDots.of(instance{of: o.q.of, out: x.DType(), id: ids.DType()})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	step, wide := int(c.Teams*c.Each), int(c.Teams*c.Warps)*info.WarpSize
	blocks := ids.Count() * ((n + step - 1) / step)
	g := runtime.Blocks(min(blocks, ops.RowBlocks(&info, wide)), wide)
	out = o.q.launch(out, kernel, g, []any{bytes, ids},
		o.q.shape[0], n, k, ids.Size(1)/x.Size(1), c)
	if err := bytes.Free(); err != nil { // when the product is done
		return tensor.Fail(o.Name(), err)
	}
	return out
}

// Backward is the gradient with respect to the tokens.
func (o indexed) Backward(g, x, ids, _ *tensor.Tensor) (dx, none *tensor.Tensor) {
	dx = tensor.Apply2(indexedTransposed(o), g, ids)
	if dx.Err() == nil && x.Size(1) != dx.Size(1) {
		dx = dx.SumKeep(1)
	}
	return dx, nil
}

// indexedTransposed is the products with the weights themselves: of g, (tokens, topk, n), it is
// (tokens, topk, k).
type indexedTransposed struct{ q *Tensor }

func (indexedTransposed) Name() string { return "indexed moe gradient" }

func (o indexedTransposed) Forward(g, ids *tensor.Tensor) *tensor.Tensor {
	shape := tensor.Shape{g.Size(0), g.Size(1), o.q.shape[2]}
	if shape.Count() == 0 || o.q.shape[1] == 0 {
		return tensor.Zeros(g.Device(), g.DType(), shape...)
	}
	return o.q.grouped(o.Name(), g, ids, true)
}

// Backward is the gradient with respect to the gradient.
func (o indexedTransposed) Backward(g, _, ids, _ *tensor.Tensor) (dx, none *tensor.Tensor) {
	return tensor.Apply2(indexed(o), g, ids), nil
}

// grouped multiplies tokens with the dequantized weights of their experts, transposed or not: of
// one part of the experts after another, so that no more than scratch elements are dequantized at
// a time. The tokens of the experts of a part are sorted to the front, one group for each expert.
// All others are behind the last group, where products are 0.
func (q *Tensor) grouped(op string, x, ids *tensor.Tensor, transposed bool) *tensor.Tensor {
	experts, each := q.shape[0], ids.Size(1)/x.Size(1)
	checked, err := q.checked(ids)
	if err != nil {
		return tensor.Fail(op, err)
	}
	if n := ids.Count(); n < experts && n*q.shape[1]*q.shape[2] <= scratch {
		return q.gathered(op, x, checked.Reshape(ids.Shape()...), transposed)
	}
	x = x.Reshape(x.Size(0)*x.Size(1), x.Size(2))
	step := min(experts, max(1, scratch/max(1, q.shape[1]*q.shape[2])))
	var sum *tensor.Tensor
	for at := 0; at < experts; at += step {
		n := min(step, experts-at)
		of := checked.SubScalar(float64(at)).MinimumScalar(float64(n)) // those below wrap to the largest
		order := of.ArgSort(0, false)
		ends := of.Bincount(n+1).Narrow(0, 0, n).CumSum(0)
		w := q.experts(at, n).Dequantize(x.DType())
		u := w
		if !transposed {
			u = w.T()
		}
		rows := x.IndexSelect(order.Cast(tensor.I64).DivScalar(float64(each)), 0)
		part := rows.GroupedMatMul(u, ends).IndexSelect(order.ArgSort(0, false), 0)
		if err := w.Free(); err != nil { // when the product is done
			return tensor.Fail(op, err)
		}
		if sum == nil {
			sum = part
		} else {
			sum = sum.Add(part)
		}
	}
	return sum.Reshape(ids.Size(0), ids.Size(1), sum.Size(-1))
}

// gathered multiplies each token with the dequantized weights of its experts, which are gathered for
// it: of fewer of them than there are experts, and of no others.
func (q *Tensor) gathered(op string, x, ids *tensor.Tensor, transposed bool) *tensor.Tensor {
	n, count := q.shape[1], ids.Count()
	rows := ids.Cast(tensor.I64).Reshape(count, 1).MulScalar(float64(n)).
		Add(tensor.Arange[int64](ids.Device(), 0, int64(n)))
	table := &Tensor{q.of, tensor.Shape{q.shape[0] * n, q.shape[2]}, q.data, q.first}
	w := table.Embedding(rows, x.DType()) // (count, n, k)
	u := w
	if !transposed {
		u = w.T()
	}
	y := x.Expand(ids.Size(0), ids.Size(1), x.Size(2)).Reshape(count, 1, x.Size(2)).MatMul(u)
	if err := w.Free(); err != nil { // when the product is done
		return tensor.Fail(op, err)
	}
	return y.Reshape(ids.Size(0), ids.Size(1), y.Size(-1))
}

// checked is ids in one dimension, of type U32, with the error of those that are out of range.
func (q *Tensor) checked(ids *tensor.Tensor) (*tensor.Tensor, error) {
	k, err := expertIDs.of(instance{of: q.of, id: ids.DType()})
	if err != nil {
		return nil, err
	}
	out := tensor.Empty(ids.Device(), tensor.U32, ids.Count())
	out = tensor.LaunchInto(out, k, gridOf(ids.Device(), ids.Count()), ids.Contiguous(), q.shape[0])
	return out, out.Err()
}

// experts is a view of the weights of n experts, from number i on.
func (q *Tensor) experts(i, n int) *Tensor {
	f, err := q.of.Block()
	if err != nil {
		return failed("experts", err)
	}
	first := q.first + i*q.shape[1]*(q.shape[2]/f.Elems())
	return &Tensor{q.of, tensor.Shape{n, q.shape[1], q.shape[2]}, q.data, first}
}
