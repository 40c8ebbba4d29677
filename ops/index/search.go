package index

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	search    = ops.NewGeneric("searchsorted", kernels.Search[ops.T, ops.C])
	before    = ops.NewGenericFunc(kernels.Before[ops.C])
	notAfter  = ops.NewGenericFunc(kernels.NotAfter[ops.C])
	histogram = ops.NewGeneric("bincount", kernels.Histogram[ops.T, ops.C])
	binIndex  = ops.NewGenericFunc(kernels.BinIndex[ops.I])
	binOf     = ops.NewGenericFunc(kernels.BinOf[ops.C])
)

// SearchSorted stores in out, of type U32 and the shape of x, where the elements of x belong
// in sorted: how many of its elements are less, or, with right, not more. NaN is more than
// all numbers. Sorted has one dimension, or the dimensions of x with another size of the
// last one: then each line is searched for those of x.
func SearchSorted(s *runtime.Stream, out, x, sorted ops.View, right bool) error {
	const op = "searchsorted"
	shape, lines := x.Layout.Shape(), sorted.Layout.Shape()
	if err := ops.SameShape(op, out.Layout.Shape(), shape); err != nil {
		return err
	}
	if err := ops.SameType(op, sorted, x); err != nil {
		return err
	}
	if !x.DType.Computes() {
		return ops.Unsupported(op, x.DType, ops.Numbers.String())
	}
	if out.DType != dtype.U32 {
		return ops.Unsupported(op+" to", out.DType, dtype.U32.String())
	}
	last := len(lines) - 1
	if last < 0 || last > 0 && (len(shape) != len(lines) || !shape[:last].Equal(lines[:last])) {
		return fmt.Errorf("%w: %s of %v in %v", layout.ErrShape, op, shape, lines)
	}
	n := lines[last]
	if n > math.MaxUint32 {
		return fmt.Errorf("%w: %s in %d elements", layout.ErrTooLarge, op, n)
	}
	strides := make([]int, len(shape))
	if last > 0 {
		copy(strides, sorted.Layout.Strides()[:last])
	}
	begins, err := layout.New(shape, strides, sorted.Layout.Offset())
	if err != nil {
		return err
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, x.Layout, begins); !ok {
		return err
	}
	comes := before
	if right {
		comes = notAfter
	}
	to, from, in := out.Header(), x.Header(), sorted.Header()
	return search.Launch(s, ops.TypeArgs{T: x.DType}, g, ops.SliceArg(dtype.U32, &to), ops.SliceArg(x.DType, &from), ops.SliceArg(x.DType, &in), w, n, sorted.Layout.Strides()[last], comes.In(x.DType.Compute()))
}

// Bincount adds to element i of counts, of type U32 and one dimension, how many elements of
// ids are i. Indices that are none count nowhere, others out of range are an error.
func Bincount(s *runtime.Stream, counts, ids ops.View) error {
	const op = "bincount"
	if err := CheckIndices(op, ids.DType); err != nil {
		return err
	}
	zero := dtype.Zero(ids.DType)
	return bins(s, op, counts, ids, true, binIndex, zero, zero, zero)
}

// Histc adds to the elements of counts, of type U32 and one dimension, how many elements of
// x are in each of as many parts, of one size, of the numbers from low to high. The last
// part has high as well; numbers outside and NaN count nowhere.
func Histc(s *runtime.Stream, counts, x ops.View, low, high float64) error {
	const op = "histc"
	if !ops.Floats.Has(x.DType) {
		return ops.Unsupported(op, x.DType, ops.Floats.String())
	}
	if !(low < high) || math.IsInf(high-low, 0) {
		return fmt.Errorf("%s from %v to %v: want two numbers, the smaller one first", op, low, high)
	}
	c := x.DType.Compute()
	return bins(s, op, counts, x, false, binOf, dtype.FromFloat(c, low), dtype.FromFloat(c, high), dtype.FromFloat(c, float64(counts.Layout.Count())))
}

const (
	mostBins   = 4096 // that blocks count in shared memory
	leastCount = 16   // elements that a thread counts at least, where there are enough
)

// bins counts elements by their bins.
func bins(s *runtime.Stream, op string, counts, x ops.View, checked bool, fn *ops.GenericFunc, low, high, n dtype.Scalar) error {
	if counts.DType != dtype.U32 {
		return ops.Unsupported(op+" to", counts.DType, dtype.U32.String())
	}
	if counts.Layout.Rank() != 1 || !counts.Layout.IsContiguous() {
		return fmt.Errorf("%w: counts of %s in %v, want one dimension without gaps", layout.ErrShape, op, counts.Layout)
	}
	size := counts.Layout.Count()
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, x.Layout, layout.Contiguous(x.Layout.Shape())); !ok {
		return err
	}
	ops.RandomAccess(&w, x.Layout.Count())
	info := ops.DeviceInfo(s.Device())
	threads := min(ops.MaxThreads, info.MaxThreads, info.ThreadsPerUnit)
	blocks := 4 * info.Units * max(1, info.ThreadsPerUnit/threads)
	w.Part = ops.RoundUp(max((w.N+blocks-1)/blocks, min(leastCount*threads, w.N)), threads)
	room := dsl.ConstInt(0)
	if size <= mostBins {
		room = 256
		for int(room) < size {
			room *= 2
		}
	}
	c := x.DType.Compute()
	a := kernels.Axis{Op: kernels.OpBincount, None: NoIndex(x.DType), Size: size}
	grid := runtime.Blocks((w.N+w.Part-1)/w.Part, threads)
	to, from, l, h, b := counts.Header(), x.Header(), low.Bits(), high.Bits(), n.Bits()
	return histogram.Launch(s, ops.TypeArgs{T: x.DType}, grid, ops.SliceArg(dtype.U32, &to), ops.SliceArg(x.DType, &from), w, a, room, dsl.ConstBool(checked), ops.ScalarArg(c, &l), ops.ScalarArg(c, &h), ops.ScalarArg(c, &b), fn.Of(ops.TypeArgs{C: c, I: c}))
}
