package ops

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Softmax and its relatives along a dimension whose elements do not lie side by side, where
// those of another do: what is known of each column first, and then the results.

var (
	keepStrips = family{name: "reduction", kernel: jit.Of(kernels.KeepStrips[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		cs, acc := reflect.SliceOf(c), accOf(c)
		many := reflect.FuncOf([]reflect.Type{acc, reflect.PointerTo(reflect.ArrayOf(kernels.MostAhead, c)), intType, intType, intType, intType}, []reflect.Type{acc}, false)
		return []reflect.Type{cs, cs, reflect.SliceOf(t), foldType, c, c, reflect.FuncOf([]reflect.Type{c}, []reflect.Type{acc}, false), many, reflect.FuncOf([]reflect.Type{acc, acc}, []reflect.Type{acc}, false), function(3, c, c)}
	}}
	shareStrips = family{name: "softmax", kernel: jit.Of(kernels.ShareStrips[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		ts, cs := reflect.SliceOf(t), reflect.SliceOf(c)
		return []reflect.Type{ts, ts, cs, cs, foldType, constBool, constBool}
	}}
)

const (
	shareLanes = 32  // threads of a block that lie side by side
	shareRows  = 128 // of a block
)

// statsDown is [lines.stats] of columns that blocks go down.
func (l *lines) statsDown(s *runtime.Stream, p *foldPlan, f *jit.Fn, eps float64, room *scratch, then func() jit.Wanted) (v, w View, err error) {
	c, kept := l.x.DType.Compute(), l.rows()
	k, err := keepStrips.of(l.x.DType, c)
	if err != nil {
		return v, w, err
	}
	fns, of := p.in.fns, f.As(function(3, c.Type(), c.Type()))
	if !k.Loaded(s.Device(), nil, nil, nil, p.fold, nil, nil, fns[0], fns[1], fns[2], of) {
		if err := jit.Prefetch(s.Device(), jit.Wanted{Kernel: k, Consts: []any{p.fold, fns[0], fns[1], fns[2], of}}, then()); err != nil {
			return v, w, err
		}
	}
	n := kept.Count()
	if err := room.alloc(s, 2*n*c.Size()); err != nil {
		return v, w, fmt.Errorf("%s: %w", l.name, err)
	}
	size, e := dtype.FromInt(c, int64(l.size())).Bits(), dtype.FromFloat(c, eps).Bits()
	h := [2]runtime.SliceHeader{room.take(c.Size(), n), room.take(c.Size(), n)}
	xh := l.x.header()
	if err := k.Launch(s, p.grid, slice(c, &h[0]), slice(c, &h[1]), slice(l.x.DType, &xh), p.fold, word(c, &size), word(c, &e), fns[0], fns[1], fns[2], of); err != nil {
		room.free(s)
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
// reports false where columns do not lie side by side.
func (l *lines) shareDown(dev *runtime.Device) (how downPlan, ok bool) {
	info, fold := infoOf(dev), &how.fold
	vec := min(16/l.x.DType.Size(), downMost)
	if serial(&info) || info.MaxThreads < maxThreads || !l.x.Layout.IsContiguous() || !l.out.Layout.IsContiguous() || keepDims(fold, l.kept) != nil {
		return how, false
	}
	stride := l.x.Layout.Strides()[l.dim]
	if fold.Outs == 0 || fold.OutSize[0] != stride || stride%vec != 0 {
		return how, false
	}
	fold.Ins, fold.N, fold.Unit, fold.Width = 1, l.size(), true, stride
	fold.InSize[0], fold.InStep[0], fold.OutIn = l.size(), stride, stride
	fold.Rows /= stride
	fold.Wide = fold.Rows > math.MaxInt32
	fold.Block, fold.Group, fold.Vec, fold.Part = maxThreads, shareLanes, dsl.ConstInt(vec), shareRows
	how.grid = runtime.Grid{Threads: runtime.Dim3{X: maxThreads}, Blocks: runtime.Dim3{
		X: (stride + shareLanes*vec - 1) / (shareLanes * vec), Y: (l.size() + shareRows - 1) / shareRows, Z: min(fold.Rows, mostBlocks),
	}}
	return how, how.grid.Blocks.Y <= maxBlocksY
}

// softmaxDown stores the softmax of columns.
func (l *lines) softmaxDown(s *runtime.Stream, how *downPlan, of *jit.Fn, log bool, known *scratch) error {
	c := l.x.DType.Compute()
	k, err := shareStrips.of(l.x.DType, c)
	if err != nil {
		return err
	}
	flags := [2]dsl.ConstBool{dsl.ConstBool(log), dsl.ConstBool(l.x.DType.Size() <= 2)}
	v, w, err := l.stats(s, LogSumExp, of, 0, known, func() jit.Wanted {
		return jit.Wanted{Kernel: k, Consts: []any{how.fold, flags[0], flags[1]}}
	})
	if err != nil {
		return err
	}
	defer known.free(s)
	xh, oh, vh, wh := l.x.header(), l.out.header(), v.header(), w.header()
	return k.Launch(s, how.grid, slice(l.out.DType, &oh), slice(l.x.DType, &xh), slice(c, &vh), slice(c, &wh), how.fold, flags[0], flags[1])
}
