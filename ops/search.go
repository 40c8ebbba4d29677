package ops

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	search = family{name: "searchsorted", kernel: jit.Of(kernels.Search[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		ts := reflect.SliceOf(t)
		return []reflect.Type{uint32s, ts, ts, walkType, intType, intType, function(2, c, boolType)}
	}}
	before    = jit.Func(kernels.Before[float32])
	notAfter  = jit.Func(kernels.NotAfter[float32])
	histogram = jit.Of(kernels.Histogram[float32, float32])
	binIndex  = jit.Func(kernels.BinIndex[int32])
	binOf     = jit.Func(kernels.BinOf[float32])
)

// SearchSorted stores in out, of type U32 and the shape of x, where the elements of x belong
// in sorted: how many of its elements are less, or, with right, not more. NaN is more than
// all numbers. Sorted has one dimension, or the dimensions of x with another size of the
// last one: then each line is searched for those of x.
func SearchSorted(s *runtime.Stream, out, x, sorted View, right bool) error {
	const op = "searchsorted"
	shape, lines := x.Layout.Shape(), sorted.Layout.Shape()
	if err := sameShape(op, out.Layout.Shape(), shape); err != nil {
		return err
	}
	if err := sameType(op, sorted, x); err != nil {
		return err
	}
	if out.DType != dtype.U32 {
		return unsupported(op+" to", out.DType, dtype.U32.String())
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
	k, err := search.of(x.DType, x.DType.Compute())
	if err != nil {
		return err
	}
	var w kernels.Walk
	var g runtime.Grid
	if ok, err := walkOver(s, &w, &g, out.Layout, x.Layout, begins); !ok {
		return err
	}
	comes := before
	if right {
		comes = notAfter
	}
	to, from, in := out.header(), x.header(), sorted.header()
	return k.Launch(s, g, slice(dtype.U32, &to), slice(x.DType, &from), slice(x.DType, &in), w, n, sorted.Layout.Strides()[last], comes.As(function(2, x.DType.Compute().Type(), boolType)))
}

// Bincount adds to element i of counts, of type U32 and one dimension, how many elements of
// ids are i. Indices that are none count nowhere, others out of range are an error.
func Bincount(s *runtime.Stream, counts, ids View) error {
	const op = "bincount"
	if err := checkIDs(op, ids.DType); err != nil {
		return err
	}
	zero := dtype.Zero(ids.DType)
	return bins(s, op, counts, ids, true, binIndex, zero, zero, zero)
}

// Histc adds to the elements of counts, of type U32 and one dimension, how many elements of
// x are in each of as many parts, of one size, of the numbers from low to high. The last
// part has high as well; numbers outside and NaN count nowhere.
func Histc(s *runtime.Stream, counts, x View, low, high float64) error {
	const op = "histc"
	if !floats.has(x.DType) {
		return unsupported(op, x.DType, floats.String())
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
func bins(s *runtime.Stream, op string, counts, x View, checked bool, fn *jit.Fn, low, high, n dtype.Scalar) error {
	if counts.DType != dtype.U32 {
		return unsupported(op+" to", counts.DType, dtype.U32.String())
	}
	if counts.Layout.Rank() != 1 || !counts.Layout.IsContiguous() {
		return fmt.Errorf("%w: counts of %s in %v, want one dimension without gaps", layout.ErrShape, op, counts.Layout)
	}
	size := counts.Layout.Count()
	var w kernels.Walk
	var g runtime.Grid
	if ok, err := walkOver(s, &w, &g, x.Layout, layout.Contiguous(x.Layout.Shape())); !ok {
		return err
	}
	anyOrder(&w, x.Layout.Count())
	info := infoOf(s.Device())
	threads := min(maxThreads, info.MaxThreads, info.ThreadsPerUnit)
	blocks := 4 * info.Units * max(1, info.ThreadsPerUnit/threads)
	w.Part = up(max((w.N+blocks-1)/blocks, min(leastCount*threads, w.N)), threads)
	room := dsl.ConstInt(0)
	if size <= mostBins {
		room = 256
		for int(room) < size {
			room *= 2
		}
	}
	c := x.DType.Compute()
	fnType := function(4, c.Type(), intType)
	k := histogram.As(kernelType(uint32s, reflect.SliceOf(x.DType.Type()), walkType, axisType, reflect.TypeFor[dsl.ConstInt](), constBool, c.Type(), c.Type(), c.Type(), fnType))
	a := kernels.Axis{Op: kernels.OpBincount, None: noIndex(x.DType), Size: size}
	grid := runtime.Blocks((w.N+w.Part-1)/w.Part, threads)
	to, from, l, h, b := counts.header(), x.header(), low.Bits(), high.Bits(), n.Bits()
	return k.Launch(s, grid, slice(dtype.U32, &to), slice(x.DType, &from), w, a, room, dsl.ConstBool(checked), word(c, &l), word(c, &h), word(c, &b), fn.As(fnType))
}
