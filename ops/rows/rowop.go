package rows

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// RowOp is an operation that reads each row of a tensor along a dimension, and stores a row.
type RowOp struct {
	Name   string
	out, X ops.View
	Dim    int
	Kept   [2]layout.Layout // the rows of x and of the result: their layouts without the dimension
}

// newRows checks the operands of an operation that makes rows of rows.
func newRows(name string, out, x ops.View, dim int) (l RowOp, err error) {
	switch {
	case out.DType != x.DType:
		return l, fmt.Errorf("%w: %s of %s gives %s, not %s", ops.ErrDType, name, x.DType, x.DType, out.DType)
	case !out.Layout.Shape().Equal(x.Layout.Shape()):
		return l, fmt.Errorf("%w: %s of %v into %v", layout.ErrShape, name, x.Layout.Shape(), out.Layout.Shape())
	}
	if dim, err = layout.Dim(dim, x.Layout.Rank()); err != nil {
		return l, fmt.Errorf("%s: %w", name, err)
	}
	l = RowOp{Name: name, out: out, X: x, Dim: dim}
	for i, of := range []layout.Layout{x.Layout, out.Layout} {
		if l.Kept[i], err = of.Narrow(dim, 0, min(1, of.Shape()[dim])); err != nil {
			return l, err
		}
	}
	return l, nil
}

// Len is how many elements a row has.
func (l *RowOp) Len() int { return l.X.Layout.Shape()[l.Dim] }

// contiguous returns the RowReduction of the rows, or reports false if they are not contiguous or have
// too many dimensions.
func (l *RowOp) contiguous() (w kernels.RowReduction, ok bool) {
	n := l.Len()
	if n != 1 && (l.X.Layout.Strides()[l.Dim] != 1 || l.out.Layout.Strides()[l.Dim] != 1) {
		return w, false
	}
	w.Contiguous, w.Ins, w.N, w.Vec = true, 1, n, 1
	w.InSize[0], w.InStep[0], w.OutIn = n, 1, 1
	return w, KeepDims(&w, l.Kept) == nil
}

// rows is the layout of one number for each row.
func (l *RowOp) rows() layout.Layout { return layout.Contiguous(l.Kept[0].Shape()) }

// spread is one number for each row as a view of the shape of the operand.
func (l *RowOp) spread(d dtype.DType, kept layout.Layout, h runtime.SliceHeader) ops.View {
	at, _ := layout.New(kept.Shape(), kept.Strides(), h.Off)
	at, _ = at.BroadcastTo(l.X.Layout.Shape()) // the sizes are those of x, or 1
	return ops.View{Buf: h.Buf, DType: d, Layout: at}
}

// byStride puts the dimensions of layouts of one shape in the order of the strides of
// the first, the largest first.
func byStride(of ...layout.Layout) []layout.Layout {
	order := make([]int, of[0].Rank())
	for i := range order {
		order[i] = i
	}
	stride := of[0].Strides()
	slices.SortStableFunc(order, func(a, b int) int { return stride[b] - stride[a] })
	out := slices.Clone(of)
	for k := range of {
		out[k], _ = of[k].Permute(order...) // a permutation
	}
	return out
}

// KeepDims joins the dimensions of the results, as the operand and the results have them.
func KeepDims(w *kernels.RowReduction, kept [2]layout.Layout) error {
	outs := layout.Merge(byStride(kept[0], kept[1])...)
	if err := fits(len(outs.Sizes), kept[0]); err != nil {
		return err
	}
	w.Rows, w.Outs = kept[0].Count(), dsl.ConstInt(len(outs.Sizes))
	for d, n := range outs.Sizes {
		w.OutSize[d], w.OutDiv[d], w.XStep[d], w.OutStep[d] = n, ops.Divisor(n), outs.Strides[0][d], outs.Strides[1][d]
	}
	return nil
}

// fits reports if kernels cannot go over so many dimensions, which are those of a layout
// that cannot be joined.
func fits(n int, of layout.Layout) error {
	if n > core.MaxRank {
		return fmt.Errorf("%w: %d dimensions of %v cannot be joined, kernels go over %d", layout.ErrRank, n, of.Shape(), core.MaxRank)
	}
	return nil
}
