package index

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	countTrue  = ops.NewGeneric("nonzero", kernels.CountTrue[ops.M, ops.C])
	selectTrue = ops.NewGeneric("masked_select", kernels.SelectTrue[ops.M, ops.T])
	nonzero    = ops.NewGeneric("nonzero", kernels.Nonzero[ops.M, ops.C])
)

// zeroBits are those of the zero of every type.
var zeroBits uint64

// Selection is the elements of a mask that are not 0, counted, so that memory can be
// made for what is taken of them. It must be freed.
type Selection struct {
	mask   ops.View
	n      int
	starts runtime.Slice[int64] // how many there are before the part of each block
	walk   core.Walk
	grid   runtime.Grid
}

// Select counts the elements of a mask that are not 0. It waits for the stream.
func Select(s *runtime.Stream, mask ops.View) (*Selection, error) {
	sel := &Selection{mask: mask}
	k, err := countTrue.Of(ops.TypeArgs{M: mask.DType, C: mask.DType.Compute()})
	if err != nil {
		return nil, err
	}
	if ok, err := sel.plan(s, mask.Layout); !ok {
		return sel, err
	}
	blocks := sel.grid.Blocks.X
	if sel.starts, err = runtime.AllocOn[int64](s, blocks); err != nil {
		return nil, err
	}
	from := mask.Header()
	if err := k.Launch(s, sel.grid, sel.starts, ops.SliceArg(mask.DType, &from), sel.walk, ops.ScalarArg(mask.DType.Compute(), &zeroBits)); err != nil {
		return nil, sel.fail(s, err)
	}
	counts, err := sel.starts.Host()
	if err != nil {
		return nil, sel.fail(s, err)
	}
	for i, n := range counts {
		counts[i] = int64(sel.n)
		sel.n += int(n)
	}
	if err := sel.starts.CopyFromAsync(s, counts); err != nil {
		return nil, sel.fail(s, err)
	}
	return sel, nil
}

func (sel *Selection) fail(s *runtime.Stream, err error) error {
	_ = sel.Free(s) // err says more
	return err
}

// plan gives each block a part of the elements in row-major order.
func (sel *Selection) plan(s *runtime.Stream, of ...layout.Layout) (bool, error) {
	if ok, err := ops.PlanWalk(s, &sel.walk, &sel.grid, of...); !ok {
		return false, err
	}
	n := of[0].Count()
	ops.RandomAccess(&sel.walk, n)
	info := s.Device().Info()
	threads := min(ops.MaxThreads, info.MaxThreads, info.ThreadsPerUnit)
	blocks := max(1, min((n+threads-1)/threads, 4*info.Units*max(1, info.ThreadsPerUnit/threads)))
	sel.walk.Part = ops.RoundUp((n+blocks-1)/blocks, threads)
	sel.grid = runtime.Grid{Blocks: runtime.Dim3{X: (n + sel.walk.Part - 1) / sel.walk.Part}, Threads: runtime.Dim3{X: threads}}
	return true, nil
}

// Count is how many elements there are that are not 0.
func (sel *Selection) Count() int { return sel.n }

// Free frees the memory of the selection after what the stream does with it.
func (sel *Selection) Free(s *runtime.Stream) error {
	if sel.starts.Len() == 0 {
		return nil
	}
	return sel.starts.FreeOn(s)
}

// Masked stores the elements of x, of the shape of the mask, where that, of integers,
// is not 0, in out, which is contiguous and has as many as [Selection.Count] says.
func (sel *Selection) Masked(s *runtime.Stream, out, x ops.View) error {
	if err := ops.SameShape("masked_select", x.Layout.Shape(), sel.mask.Layout.Shape()); err != nil {
		return err
	}
	if !sel.mask.DType.IsInt() {
		return ops.Unsupported("masked_select with a mask", sel.mask.DType, ops.Ints.String())
	}
	if err := ops.SameType("masked_select", out, x); err != nil {
		return err
	}
	if err := sel.fits("masked_select", out, layout.Shape{sel.n}); err != nil || sel.n == 0 {
		return err
	}
	t := ops.Carrier(x.DType)
	both := Selection{}
	if _, err := both.plan(s, sel.mask.Layout, x.Layout); err != nil {
		return err
	}
	to, mask, from := out.Header(), sel.mask.Header(), x.Header()
	return selectTrue.Launch(s, ops.TypeArgs{M: sel.mask.DType, T: t}, both.grid, ops.SliceArg(t, &to), ops.SliceArg(sel.mask.DType, &mask), ops.SliceArg(t, &from), both.walk, sel.starts)
}

// Nonzero stores the indices of the elements that are not 0, in order, in out of type
// I64: a row of them for each, with one for each dimension of the mask.
func (sel *Selection) Nonzero(s *runtime.Stream, out ops.View) error {
	shape := sel.mask.Layout.Shape()
	if out.DType != dtype.I64 {
		return ops.Unsupported("nonzero to", out.DType, dtype.I64.String())
	}
	if len(shape) > core.MaxRank {
		return fmt.Errorf("%w: nonzero of %v", layout.ErrRank, shape)
	}
	if err := sel.fits("nonzero", out, layout.Shape{sel.n, len(shape)}); err != nil || sel.n == 0 || len(shape) == 0 {
		return err
	}
	var size [core.MaxRank]int
	for d, n := range shape {
		size[len(shape)-1-d] = n
	}
	to, mask := out.Header(), sel.mask.Header()
	return nonzero.Launch(s, ops.TypeArgs{M: sel.mask.DType, C: sel.mask.DType.Compute()}, sel.grid, ops.SliceArg(dtype.I64, &to), ops.SliceArg(sel.mask.DType, &mask), sel.walk, sel.starts, dsl.ConstInt(len(shape)), size, ops.ScalarArg(sel.mask.DType.Compute(), &zeroBits))
}

// fits checks what a result of a selection has to be.
func (sel *Selection) fits(op string, out ops.View, want layout.Shape) error {
	if err := ops.SameShape(op, out.Layout.Shape(), want); err != nil {
		return err
	}
	if !out.Layout.IsContiguous() {
		return fmt.Errorf("%w: the result of %s must be contiguous", layout.ErrShape, op)
	}
	return nil
}
