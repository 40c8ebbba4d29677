package index

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Indices are elements of any integer type. The largest value of the type stands for
// no index: what reads gives 0 there, and what writes passes over it. Other indices that
// are out of range, negative ones among them, touch no memory and make the next call
// that waits for the stream an error, which names the operation, the index and its
// position.

var (
	gather = ops.NewGeneric("gather", kernels.Gather[ops.T, ops.I])
	take   = ops.NewGeneric("take", kernels.Take[ops.T, ops.I])
	oneHot = ops.NewGeneric("one_hot", kernels.OneHot[ops.T, ops.I])

	fromEnd = ops.NewGeneric("index_put", kernels.FromEnd[ops.I])
)

// NoIndex is the index of a type that stands for none: -1, or the number of an unsigned type that
// has its bits.
func NoIndex(d dtype.DType) int {
	if d.IsUnsigned() {
		return 1<<d.Bits() - 1
	}
	return -1
}

func CheckIndices(op string, d dtype.DType) error {
	if !d.IsInt() {
		return ops.Unsupported(op+" with indices", d, ops.Ints.String())
	}
	return nil
}

// Within returns the layout of elements of l whose indices are those of shape s, but
// for dimension d, of which the first counts for all.
func Within(l layout.Layout, s layout.Shape, d int) (layout.Layout, error) {
	strides := slices.Clone(l.Strides())
	strides[d] = 0
	for i, n := range s {
		if i != d && n > l.Shape()[i] {
			return l, fmt.Errorf("%w: %v and %v differ in dimension %d", layout.ErrShape, s, l.Shape(), i)
		}
	}
	return layout.New(s, strides, l.Offset())
}

// Gather stores in out, which has the shape of ids, the elements of x whose index in
// dimension d is that of ids and whose other indices are their own.
func Gather(s *runtime.Stream, out, x, ids ops.View, d int) error {
	shape := ids.Layout.Shape()
	d, err := layout.Dim(d, len(shape))
	if err != nil {
		return fmt.Errorf("gather: %w", err)
	}
	if err := ops.SameShape("gather", out.Layout.Shape(), shape); err != nil {
		return err
	}
	if x.Layout.Rank() != len(shape) {
		return fmt.Errorf("%w: gather of %v with indices %v", layout.ErrRank, x.Layout.Shape(), shape)
	}
	from, err := Within(x.Layout, shape, d)
	if err != nil {
		return fmt.Errorf("gather: %w", err)
	}
	a := kernels.Axis{Op: kernels.OpGather, Size: x.Layout.Shape()[d], Step: x.Layout.Strides()[d]}
	return runGather(s, out, x, ids, a, ids.Layout, from, layout.Contiguous(shape))
}

// runGather gathers elements of x that lie as from says, by indices that lie as at says
// and are counted by pos. All have the shape of out.
func runGather(s *runtime.Stream, out, x, ids ops.View, a kernels.Axis, at, from, pos layout.Layout) error {
	if err := ops.SameType("gather", out, x); err != nil {
		return err
	}
	if err := CheckIndices("gather", ids.DType); err != nil {
		return err
	}
	t, vec := ops.Carrier(x.DType), dsl.ConstInt(0)
	to, of := out.Header(), x.Header()
	info := ops.DeviceInfo(s.Device())
	if ops.TraitsOf(&info).VectorAccess && a.Size > 0 {
		vec = 1
	}
	if wide, n := Widen(&info, out.Layout, at, from, x.Layout, a.Step, t.Size()); n > 1 {
		// Contiguous rows are moved so many bytes at a time.
		out.Layout, at, from, x.Layout = wide[0], wide[1], wide[2], wide[3]
		if vec > 0 {
			vec = dsl.ConstInt(n)
		} else {
			t, to, of = dtype.I64, out.Header(), x.Header()
		}
		a.Step /= n
		strides := slices.Clone(pos.Strides())
		strides[len(strides)-1] *= n
		pos, _ = layout.New(at.Shape(), strides, 0) // as at is
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, at, from, pos); !ok {
		return err
	}
	if vec > 0 {
		SmallBlocks(&w, &g, &info)
	}
	a.None = NoIndex(ids.DType)
	index := ids.Header()
	return gather.Launch(s, ops.TypeArgs{T: t, I: ids.DType}, g, ops.SliceArg(t, &to), ops.SliceArg(ids.DType, &index), ops.SliceArg(t, &of), w, a, vec)
}

// SmallBlocks makes blocks that go along short rows so small that each thread has as many elements
// as kernels load before they store one.
func SmallBlocks(w *core.Walk, g *runtime.Grid, info *runtime.Info) {
	const atOnce = 4
	if threads := ops.RoundUp((w.N+atOnce-1)/atOnce, info.WarpSize); w.Mode == core.Rows && threads < g.Threads.X {
		g.Threads.X, g.Blocks.X, w.Part = threads, 1, ops.RoundUp(w.N, threads)
	}
}

// Widen returns the layouts of a gather for elements of as many bytes as the device
// moves at once, 8 where threads are lanes of vectors, in place of smaller ones, and how
// many of these are one, or 1 if runs of elements are not moved together.
// The first is the result's, then come that of the indices, which all elements of a run
// share, and two of the input.
func Widen(info *runtime.Info, out, at, from, x layout.Layout, step, size int) (wide [4]layout.Layout, n int) {
	if !ops.TraitsOf(info).VectorAccess {
		return widenedTo(8/size, out, at, from, x, step)
	}
	for n = ops.VectorBytes / size; n > 1; n /= 2 {
		if wide, m := widenedTo(n, out, at, from, x, step); m > 1 {
			return wide, m
		}
	}
	return wide, 1
}

func widenedTo(n int, out, at, from, x layout.Layout, step int) (wide [4]layout.Layout, _ int) {
	last := out.Rank() - 1
	if n == 1 || last < 0 || at.Strides()[last] != 0 || at.Shape()[last] == 1 || !ops.Multiples(n, step) {
		return wide, 1
	}
	for i, l := range []layout.Layout{out, at, from, x} {
		// The input has dimensions of its own, of which the last is that of a run too.
		d := l.Rank() - 1
		shape, strides, offset := slices.Clone(l.Shape()), slices.Clone(l.Strides()), l.Offset()
		if i != 1 {
			if strides[d] != 1 || !ops.Multiples(n, shape[d], offset) || !ops.Multiples(n, strides[:d]...) {
				return wide, 1
			}
			offset /= n
			for e := range d {
				strides[e] /= n
			}
		}
		shape[d] /= n
		wide[i], _ = layout.New(shape, strides, offset) // smaller than those that were right
	}
	return wide, n
}

// IndexSelect stores in out the elements of x whose indices in dimension d are those
// of ids, which has one dimension.
func IndexSelect(s *runtime.Stream, out, x, ids ops.View, d int) error {
	d, err := layout.Dim(d, x.Layout.Rank())
	if err != nil {
		return fmt.Errorf("index_select: %w", err)
	}
	if ids.Layout.Rank() != 1 {
		return fmt.Errorf("%w: index_select with indices of shape %v, want one dimension", layout.ErrRank, ids.Layout.Shape())
	}
	shape := slices.Clone(x.Layout.Shape())
	shape[d] = ids.Layout.Count()
	if err := ops.SameShape("index_select", out.Layout.Shape(), shape); err != nil {
		return err
	}
	from, err := Within(x.Layout, shape, d)
	if err != nil {
		return err
	}
	a := kernels.Axis{Op: kernels.OpIndexSelect, Size: x.Layout.Shape()[d], Step: x.Layout.Strides()[d]}
	at := ops.BroadcastAlong(shape, map[int]int{d: ids.Layout.Strides()[0]})
	return runGather(s, out, x, ids, a, at, from, ops.BroadcastAlong(shape, map[int]int{d: 1}))
}

// Embedding stores in out, which has the shape of ids and one dimension more, the rows of
// x at the indices of ids.
func Embedding(s *runtime.Stream, out, x, ids ops.View) error {
	if x.Layout.Rank() != 2 {
		return fmt.Errorf("%w: embedding of %v, want two dimensions", layout.ErrRank, x.Layout.Shape())
	}
	rows, row := ids.Layout.Shape(), x.Layout.Shape()[1]
	shape := append(slices.Clone(rows), row)
	if err := ops.SameShape("embedding", out.Layout.Shape(), shape); err != nil {
		return err
	}
	last := len(rows)
	at, err := layout.New(shape, append(slices.Clone(ids.Layout.Strides()), 0), ids.Layout.Offset())
	if err != nil {
		return err
	}
	pos, err := layout.New(shape, append(rows.Strides(), 0), 0)
	if err != nil {
		return err
	}
	a := kernels.Axis{Op: kernels.OpEmbedding, Size: x.Layout.Shape()[0], Step: x.Layout.Strides()[0]}
	return runGather(s, out, x, ids, a, at, ops.BroadcastAlong(shape, map[int]int{last: x.Layout.Strides()[1]}), pos)
}

// Take stores in out, which has the shape of ids, the elements of x that ids count in
// row-major order.
func Take(s *runtime.Stream, out, x, ids ops.View) error {
	shape := ids.Layout.Shape()
	if err := ops.SameShape("take", out.Layout.Shape(), shape); err != nil {
		return err
	}
	if err := ops.SameType("take", out, x); err != nil {
		return err
	}
	if err := CheckIndices("take", ids.DType); err != nil {
		return err
	}
	if x.Layout.Rank() == 1 { // the index is the position
		from, err := layout.New(shape, make([]int, len(shape)), x.Layout.Offset())
		if err != nil {
			return err
		}
		a := kernels.Axis{Op: kernels.OpTake, Size: x.Layout.Count(), Step: x.Layout.Strides()[0]}
		return runGather(s, out, x, ids, a, ids.Layout, from, layout.Contiguous(shape))
	}
	t := ops.Carrier(x.DType)
	var w, of core.Walk
	var g, unused runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, ids.Layout, out.Layout, layout.Contiguous(shape)); !ok {
		return err
	}
	if _, err := ops.PlanWalk(s, &of, &unused, x.Layout); err != nil {
		return err
	}
	ops.RandomAccess(&of, x.Layout.Count())
	a := kernels.Axis{Op: kernels.OpTake, Size: x.Layout.Count(), None: NoIndex(ids.DType)}
	to, index, from := out.Header(), ids.Header(), x.Header()
	return take.Launch(s, ops.TypeArgs{T: t, I: ids.DType}, g, ops.SliceArg(t, &to), ops.SliceArg(ids.DType, &index), ops.SliceArg(t, &from), w, of, a)
}

// FromEnd stores in out, of type I64, the indices of ids for n positions, of which negative
// ones count from the end. The largest value of a type is an index as others are.
func FromEnd(s *runtime.Stream, out, ids ops.View, n int) error {
	if err := ops.SameShape("index_put", out.Layout.Shape(), ids.Layout.Shape()); err != nil {
		return err
	}
	if err := CheckIndices("index_put", ids.DType); err != nil {
		return err
	}
	if out.DType != dtype.I64 {
		return ops.Unsupported("index_put with places", out.DType, dtype.I64.String())
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, ids.Layout, layout.Contiguous(ids.Layout.Shape())); !ok {
		return err
	}
	a := kernels.Axis{Op: kernels.OpIndexPut, Size: n}
	to, index := out.Header(), ids.Header()
	return fromEnd.Launch(s, ops.TypeArgs{I: ids.DType}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(ids.DType, &index), w, a)
}

// OneHot stores on where the index along the last dimension of out is the one of ids,
// which has the shape of out without it, and off elsewhere. A row of -1, as one of
// no index, is off throughout.
func OneHot(s *runtime.Stream, out, ids ops.View, on, off dtype.Scalar) error {
	shape, rows := out.Layout.Shape(), ids.Layout.Shape()
	last := len(rows)
	if len(shape) != last+1 || !shape[:last].Equal(rows) {
		return fmt.Errorf("%w: one_hot of indices %v in %v", layout.ErrShape, rows, shape)
	}
	if err := CheckIndices("one_hot", ids.DType); err != nil {
		return err
	}
	t := ops.Carrier(out.DType)
	at, err := layout.New(shape, append(slices.Clone(ids.Layout.Strides()), 0), ids.Layout.Offset())
	if err != nil {
		return err
	}
	pos, err := layout.New(shape, append(rows.Strides(), 0), 0)
	if err != nil {
		return err
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, out.Layout, at, ops.BroadcastAlong(shape, map[int]int{last: 1}), pos); !ok {
		return err
	}
	a := kernels.Axis{Op: kernels.OpOneHot, None: NoIndex(ids.DType), Size: shape[last]}
	to, index, yes, no := out.Header(), ids.Header(), on.Bits(), off.Bits()
	return oneHot.Launch(s, ops.TypeArgs{T: t, I: ids.DType}, g, ops.SliceArg(t, &to), ops.SliceArg(ids.DType, &index), w, a, ops.ScalarArg(t, &yes), ops.ScalarArg(t, &no))
}
