package rows

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Softmax and its relatives along a dimension whose elements are not contiguous, where
// those of another do: the accumulators of the columns first, and then the results.

var (
	keepStrips = ops.TypedKernel{Name: "reduction", Kernel: jit.Of(kernels.KeepStrips[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		cs, acc := reflect.SliceOf(c), accOf(c)
		many := reflect.FuncOf([]reflect.Type{acc, reflect.PointerTo(reflect.ArrayOf(kernels.MostAhead, c)), ops.IntType, ops.IntType, ops.IntType, ops.IntType}, []reflect.Type{acc}, false)
		return []reflect.Type{cs, cs, reflect.SliceOf(t), FoldType, c, c, reflect.FuncOf([]reflect.Type{c}, []reflect.Type{acc}, false), many, reflect.FuncOf([]reflect.Type{acc, acc}, []reflect.Type{acc}, false), ops.FuncType(3, c, c)}
	}}
	shareStrips = ops.TypedKernel{Name: "softmax", Kernel: jit.Of(kernels.ShareStrips[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		ts, cs := reflect.SliceOf(t), reflect.SliceOf(c)
		return []reflect.Type{ts, ts, cs, cs, FoldType, ops.ConstBoolType, ops.ConstBoolType}
	}}
)

const (
	shareLanes = 32  // threads of a block that are contiguous
	shareRows  = 128 // of a block
)

// statsDown is [lines.stats] of columns that blocks go down.
func (l *RowOp) statsDown(s *runtime.Stream, p *foldPlan, f *jit.Fn, eps float64, room *ops.Scratch, then func() jit.Wanted) (v, w ops.View, err error) {
	c, kept := l.X.DType.Compute(), l.rows()
	k, err := keepStrips.Of(l.X.DType, c)
	if err != nil {
		return v, w, err
	}
	fns, of := p.in.fns, f.As(ops.FuncType(3, c.Type(), c.Type()))
	if !k.Loaded(s.Device(), nil, nil, nil, p.fold, nil, nil, fns[0], fns[1], fns[2], of) {
		if err := jit.Prefetch(s.Device(), jit.Wanted{Kernel: k, Consts: []any{p.fold, fns[0], fns[1], fns[2], of}}, then()); err != nil {
			return v, w, err
		}
	}
	n := kept.Count()
	if err := room.Alloc(s, 2*n*c.Size()); err != nil {
		return v, w, fmt.Errorf("%s: %w", l.Name, err)
	}
	size, e := dtype.FromInt(c, int64(l.Len())).Bits(), dtype.FromFloat(c, eps).Bits()
	h := [2]runtime.SliceHeader{room.Take(c.Size(), n), room.Take(c.Size(), n)}
	xh := l.X.Header()
	if err := k.Launch(s, p.grid, ops.SliceArg(c, &h[0]), ops.SliceArg(c, &h[1]), ops.SliceArg(l.X.DType, &xh), p.fold, ops.ScalarArg(c, &size), ops.ScalarArg(c, &e), fns[0], fns[1], fns[2], of); err != nil {
		room.Free(s)
		return v, w, err
	}
	return l.spread(c, kept, h[0]), l.spread(c, kept, h[1]), nil
}

// downPlan is how the softmax of columns is stored.
type downPlan struct {
	fold kernels.Fold
	grid runtime.Grid
}

// shareDown plans how the softmax of columns is stored, given V and W of [lines.stats]. It
// reports false where columns are not contiguous.
func (l *RowOp) shareDown(dev *runtime.Device) (how downPlan, ok bool) {
	info, fold := ops.DeviceInfo(dev), &how.fold
	vec := min(16/l.X.DType.Size(), downMost)
	if ops.SerialBlocks(&info) || info.MaxThreads < ops.MaxThreads || !l.X.Layout.IsContiguous() || !l.out.Layout.IsContiguous() || KeepDims(fold, l.Kept) != nil {
		return how, false
	}
	stride := l.X.Layout.Strides()[l.Dim]
	if fold.Outs == 0 || fold.OutSize[0] != stride || stride%vec != 0 {
		return how, false
	}
	fold.Ins, fold.N, fold.Unit, fold.Width = 1, l.Len(), true, stride
	fold.InSize[0], fold.InStep[0], fold.OutIn = l.Len(), stride, stride
	fold.Rows /= stride
	fold.Wide = fold.Rows > math.MaxInt32
	fold.Block, fold.Group, fold.Vec, fold.Part = ops.MaxThreads, shareLanes, dsl.ConstInt(vec), shareRows
	how.grid = runtime.Grid{Threads: runtime.Dim3{X: ops.MaxThreads}, Blocks: runtime.Dim3{
		X: (stride + shareLanes*vec - 1) / (shareLanes * vec), Y: (l.Len() + shareRows - 1) / shareRows, Z: min(fold.Rows, ops.MaxBlocks()),
	}}
	return how, how.grid.Blocks.Y <= ops.MaxGridY
}

// softmaxDown stores the softmax of columns.
func (l *RowOp) softmaxDown(s *runtime.Stream, how *downPlan, of *jit.Fn, log bool, known *ops.Scratch) error {
	c := l.X.DType.Compute()
	k, err := shareStrips.Of(l.X.DType, c)
	if err != nil {
		return err
	}
	flags := [2]dsl.ConstBool{dsl.ConstBool(log), dsl.ConstBool(l.X.DType.Size() <= 2)}
	v, w, err := l.stats(s, LogSumExp, of, 0, known, func() jit.Wanted {
		return jit.Wanted{Kernel: k, Consts: []any{how.fold, flags[0], flags[1]}}
	})
	if err != nil {
		return err
	}
	defer known.Free(s)
	xh, oh, vh, wh := l.X.Header(), l.out.Header(), v.Header(), w.Header()
	return k.Launch(s, how.grid, ops.SliceArg(l.out.DType, &oh), ops.SliceArg(l.X.DType, &xh), ops.SliceArg(c, &vh), ops.SliceArg(c, &wh), how.fold, flags[0], flags[1])
}
