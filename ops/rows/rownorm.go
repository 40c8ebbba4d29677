package rows

import (
	"fmt"
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	softmax = ops.TypedKernel{Name: "softmax", Kernel: jit.Of(kernels.Softmax[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), FoldType, c, ops.BoolType, ops.ConstBoolType}
	}}
	softmaxAgain = ops.TypedKernel{Name: "softmax", Kernel: jit.Of(kernels.SoftmaxAgain[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), FoldType, c, ops.BoolType, ops.ConstBoolType}
	}}
	softmaxOf = ops.TypedKernel{Name: "softmax", Kernel: jit.Of(kernels.SoftmaxOf[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), reflect.SliceOf(c), reflect.SliceOf(c), ops.WalkType, ops.FuncType(3, c, c)}
	}}
	norm = ops.TypedKernel{Name: "norm", Kernel: jit.Of(kernels.Norm[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		ts := reflect.SliceOf(t)
		return []reflect.Type{ts, ts, ts, ts, FoldType, c, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType}
	}}
	normOf = ops.TypedKernel{Name: "norm", Kernel: jit.Of(kernels.NormOf[float32, float32]), Params: func(t, c reflect.Type) []reflect.Type {
		ts, cs := reflect.SliceOf(t), reflect.SliceOf(c)
		return []reflect.Type{ts, ts, ts, ts, cs, cs, ops.WalkType, ops.ConstBoolType, ops.ConstBoolType, ops.ConstBoolType}
	}}
	keepParts = ops.TypedKernel{Name: "reduction", Kernel: jit.Of(kernels.KeepParts[float32]), Params: func(c, _ reflect.Type) []reflect.Type {
		cs := reflect.SliceOf(c)
		return []reflect.Type{cs, cs, cs, cs, cs, ops.Int64SliceType, FoldType, c, c, reflect.FuncOf([]reflect.Type{accOf(c), accOf(c)}, []reflect.Type{accOf(c)}, false), ops.FuncType(3, c, c)}
	}}
	shares = [2]*jit.Fn{jit.Func(kernels.Share[float32]), jit.Func(kernels.LogShare[float32])}
	sums   = [2]*jit.Fn{jit.Func(kernels.Inverse[float32]), jit.Func(kernels.Logarithm[float32])}
	roots  = jit.Func(kernels.InverseRoot[float32])
)

// accOf returns the type of the accumulators of a reduction in type c.
func accOf(c reflect.Type) reflect.Type {
	for _, a := range accTypes {
		if a != nil && a.Field(0).Type == c {
			return a
		}
	}
	return nil
}

const (
	keptInWarp  = 8  // elements of a short row that a thread keeps
	keptByWarp  = 32 // at most
	keptInBlock = 16 // of a long one, while there are more threads
	mostKept    = 64
	keptInLanes = 16      // elements of a row that a lane keeps where blocks are one warp
	longRow     = 1 << 17 // rows from this size on are divided where there are few and blocks are one warp
)

// RowOp is an operation that goes through each row of a tensor, a Group of threads
// for each, and stores a row.
type RowOp struct {
	Name   string
	out, X ops.View
	Dim    int
	normed bool // with weights
	Kept   [2]layout.Layout
	fold   kernels.Fold
	grid   runtime.Grid
}

// newLines checks the operands, which are floating-point numbers.
func newLines(name string, out, x ops.View, dim int) (l RowOp, err error) {
	if !ops.Floats.Has(x.DType) {
		return l, ops.Unsupported(name, x.DType, ops.Floats.String())
	}
	return newRows(name, out, x, dim)
}

// Len is how many elements a row has.
func (l *RowOp) Len() int { return l.X.Layout.Shape()[l.Dim] }

// Ways to go through rows.
const (
	severalTimes = iota // from memory
	inThreads           // which keep them
	inParts             // that blocks keep, or that are whole rows
	inBlocks            // which have one after the other
)

// rowPlan is how to go through rows that are contiguous.
type rowPlan struct {
	way, parts int
	room       int // resident blocks of a multiprocessor, where the kernel is to know
	fold       kernels.Fold
	grid       runtime.Grid
}

var rowPlans [2]ops.PlanCache[rowPlan] // of softmax and of norms

// choose chooses a way, and says how many parts a row has and how many blocks are resident.
func (l *RowOp) choose(dev *runtime.Device, parts, room *int) (way int) {
	info := ops.DeviceInfo(dev)
	call := ops.PlanKey{Device: ops.LimitsOf(&info), DType: l.X.DType, X: l.X.Layout, Out: l.out.Layout, Number: l.Dim}
	plans := &rowPlans[0]
	if l.normed {
		plans = &rowPlans[1]
	}
	p := plans.Find(&call)
	if p == nil {
		p = new(rowPlan)
		if l.plan(dev) {
			p.way = inThreads
		} else if p.room = l.hold(&info); p.room > 0 {
			p.way = inBlocks
		} else if p.parts, p.room = l.split(&info); p.parts > 0 {
			p.way = inParts
		}
		p.fold, p.grid = l.fold, l.grid
		plans.Keep(call, *p)
	}
	l.fold, l.grid, *parts, *room = p.fold, p.grid, p.parts, p.room
	return p.way
}

// plan chooses how the kernels that keep rows go through them. It reports false if rows
// have to be read more than once from memory, or are not contiguous.
func (l *RowOp) plan(dev *runtime.Device) bool {
	info := ops.DeviceInfo(dev)
	w, n := &l.fold, l.Len()
	unit := func(v *ops.View) bool { return n == 1 || v.Layout.Strides()[l.Dim] == 1 }
	if !unit(&l.X) || !unit(&l.out) {
		return false
	}
	if err := KeepDims(w, l.Kept); err != nil {
		return false // the other way says so
	}
	w.Unit, w.Ins, w.N = true, 1, n
	w.InSize[0], w.InStep[0], w.OutIn = n, 1, 1
	w.Wide = dsl.ConstBool(w.Rows > math.MaxInt32)
	w.Vec = 1
	threads := info.WarpSize
	switch {
	case ops.SerialBlocks(&info):
		if n >= longRow && w.Rows < info.Units {
			return false
		}
		w.Group, w.Whole, w.Runs = dsl.ConstInt(threads), true, true
		if k := n / threads; k*threads == n && k <= keptInLanes && k&(k-1) == 0 {
			w.Keep, w.Full = dsl.ConstInt(k), true
		}
	default:
		if own, _ := l.alone(&info); own > 0 || n > splitRow && l.splits(&info) > 0 {
			return false
		}
		if threads = l.keep(&info); threads == 0 {
			return false
		}
	}
	per := 1
	if w.Group > 0 {
		per = threads / int(w.Group)
	}
	blocks := (w.Rows + per - 1) / per
	if ops.SerialBlocks(&info) {
		blocks = min(blocks, 4*info.Units)
	}
	l.grid = runtime.Grid{Blocks: runtime.Dim3{X: min(blocks, math.MaxInt32)}, Threads: runtime.Dim3{X: threads}}
	return true
}

// keep divides a row among threads that keep it, and returns how many a block has, 0 if
// there is no room. Blocks of more than 256 threads have to do with few registers: they are
// for rows that need no care at their end.
func (l *RowOp) keep(info *runtime.Info) int {
	w := &l.fold
	warp, n := info.WarpSize, l.fold.N
	threads, g, keep, first := min(ops.MaxThreads, info.MaxThreads), 1, 1, keptInWarp
	if l.X.DType.Size() <= 2 {
		first *= 2 // as many bytes
	}
	for g < warp && g*first < n {
		g *= 2
	}
	for g*keep < n && keep < keptByWarp {
		keep *= 2
	}
	w.Group = dsl.ConstInt(g)
	if g*keep < n {
		keep, threads = keptInBlock, warp
		for threads*keep < n && threads*2 <= min(ops.MaxThreads, info.MaxThreads) {
			threads *= 2
		}
		for threads*keep < n && keep < mostKept {
			keep *= 2
		}
		if large := 2 * ops.MaxThreads; keep == mostKept && large <= info.MaxThreads && (n == large*keep || n == large*keep/2) {
			threads, keep = large, n/large
		}
		if threads*keep < n {
			return 0
		}
		w.Group, w.Block, g = 0, dsl.ConstInt(threads), threads
	}
	w.Keep, w.Full = dsl.ConstInt(keep), g*keep == n
	w.Vec = l.vector(keep)
	return threads
}

// vector is how many neighbours a thread that keeps so many elements of a row can move at
// once.
func (l *RowOp) vector(keep int) dsl.ConstInt {
	w, v := &l.fold, 16/l.X.DType.Size()
	if keep%v != 0 || w.N%v != 0 {
		return 1
	}
	for d := range int(w.Outs) {
		if w.XStep[d]%v != 0 || w.OutStep[d]%v != 0 {
			return 1
		}
	}
	return dsl.ConstInt(v)
}

// stats reduces each row, and returns V of the accumulators, and f of W, or of V if W
// means nothing, and of the number of elements and eps. They go through the elements as x
// does. The kernels are compiled at the same time as then, which is to be launched next.
func (l *RowOp) stats(s *runtime.Stream, r *Reduction, f *jit.Fn, eps float64, room *ops.Scratch, then func() jit.Wanted) (v, w ops.View, err error) {
	in, err := r.instance(l.X.DType)
	if err != nil {
		return v, w, err
	}
	kept := l.rows()
	reduced, err := layout.New(layout.Shape{l.Len()}, []int{l.X.Layout.Strides()[l.Dim]}, 0)
	if err != nil {
		return v, w, err
	}
	p := foldPlan{r: r, in: in, x: l.X}
	info := ops.DeviceInfo(s.Device())
	if err := p.make(s.Device(), [2]layout.Layout{l.Kept[0], kept}, reduced); err != nil {
		return v, w, err
	}
	if l.X.Layout.IsContiguous() && p.goDown(&info) {
		return l.statsDown(s, &p, f, eps, room, then)
	}
	p.planParts(&info)
	c, n := l.X.DType.Compute(), kept.Count()
	k, err := keepParts.Of(c, c)
	if err != nil {
		return v, w, err
	}
	grid, of := p.joinGrid(s), f.As(ops.FuncType(3, c.Type(), c.Type()))
	if fns := in.fns; !k.Loaded(s.Device(), nil, nil, nil, nil, nil, nil, p.second, nil, nil, fns[2], of) {
		if err := jit.Prefetch(s.Device(), then(),
			jit.Wanted{Kernel: p.partial(), Consts: []any{p.fold, fns[0], fns[1], fns[2]}},
			jit.Wanted{Kernel: k, Consts: []any{p.second, fns[2], of}}); err != nil {
			return v, w, err
		}
	}
	var parts ops.Scratch
	args, err := p.runParts(s, &parts)
	if err != nil {
		return v, w, err
	}
	defer parts.Free(s)
	if err := room.Alloc(s, 2*n*c.Size()); err != nil {
		return v, w, fmt.Errorf("%s: %w", l.Name, err)
	}
	size, e := dtype.FromInt(c, int64(l.Len())).Bits(), dtype.FromFloat(c, eps).Bits()
	h := [2]runtime.SliceHeader{room.Take(c.Size(), n), room.Take(c.Size(), n)}
	if err := k.Launch(s, grid, ops.SliceArg(c, &h[0]), ops.SliceArg(c, &h[1]), args[0], args[1], args[2], args[3], p.second, ops.ScalarArg(c, &size), ops.ScalarArg(c, &e), in.fns[2], of); err != nil {
		room.Free(s)
		return v, w, err
	}
	return l.spread(c, kept, h[0]), l.spread(c, kept, h[1]), nil
}

// rows is the layout of one number for each row.
func (l *RowOp) rows() layout.Layout { return layout.Contiguous(l.Kept[0].Shape()) }

// spread is one number for each row as a view of the shape of the operand.
func (l *RowOp) spread(d dtype.DType, kept layout.Layout, h runtime.SliceHeader) ops.View {
	at, _ := layout.New(kept.Shape(), kept.Strides(), h.Off)
	at, _ = at.BroadcastTo(l.X.Layout.Shape()) // the sizes are those of x, or 1
	return ops.View{Buf: h.Buf, DType: d, Layout: at}
}

// Softmax stores exp(x) over the sum of it along a dimension, and the logarithm of that
// if log. A row of which the largest element is infinite is NaN.
func Softmax(s *runtime.Stream, out, x ops.View, dim int, log bool) error {
	l, err := newLines("softmax", out, x, dim)
	if err != nil || x.Layout.Count() == 0 {
		return err
	}
	c := x.DType.Compute()
	xh, oh := x.Header(), out.Header()
	var parts, room int
	switch l.choose(s.Device(), &parts, &room) {
	case inThreads:
		f := &softmax
		if l.fold.Keep == 0 {
			f = &softmaxAgain
		}
		k, err := f.Of(x.DType, c)
		if err != nil {
			return err
		}
		bottom := dtype.FromFloat(c, math.Inf(-1)).Bits()
		return k.Launch(s, l.grid, ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &xh), l.fold, ops.ScalarArg(c, &bottom), log, dsl.ConstBool(x.DType.Size() <= 2))
	case inParts:
		k, err := softmaxSplit.Of(x.DType, c)
		if err != nil {
			return err
		}
		return l.withWords(s, parts, func(words any) error {
			return k.Launch(s, l.grid, ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &xh), words, l.fold, dsl.ConstInt(room), parts, float32(math.Inf(-1)), dsl.ConstBool(parts == 1), dsl.ConstBool(log), dsl.ConstBool(x.DType.Size() <= 2))
		})
	case inBlocks:
		return softmaxHeld.Launch(s, l.grid, ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &xh), l.fold, dsl.ConstInt(room), float32(math.Inf(-1)), log)
	}
	var known ops.Scratch
	f, of := shares[0], sums[0]
	if log {
		f, of = shares[1], sums[1]
	}
	if how, ok := l.shareDown(s.Device()); ok {
		return l.softmaxDown(s, &how, of, log, &known)
	}
	k, err := softmaxOf.Of(x.DType, c)
	if err != nil {
		return err
	}
	var walk core.Walk
	var grid runtime.Grid
	if _, err := ops.PlanViews(&walk, &grid, s.Device(), []ops.View{out, x, l.spread(c, l.rows(), runtime.SliceHeader{})}); err != nil {
		return err
	}
	fn := f.As(ops.FuncType(3, c.Type(), c.Type()))
	v, w, err := l.stats(s, LogSumExp, of, 0, &known, func() jit.Wanted { return jit.Wanted{Kernel: k, Consts: []any{walk, fn}} })
	if err != nil {
		return err
	}
	defer known.Free(s)
	vh, wh := v.Header(), w.Header()
	return k.Launch(s, grid, ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &xh), ops.SliceArg(c, &vh), ops.SliceArg(c, &wh), walk, fn)
}

// RMSNorm stores x over the root of the mean of its squares and eps along a dimension,
// times scale, one number for each index of it. A scale without memory is none.
func RMSNorm(s *runtime.Stream, out, x, scale ops.View, dim int, eps float64) error {
	return normalize(s, "rms_norm", out, x, scale, ops.View{}, dim, eps, false)
}

// LayerNorm subtracts the mean of x along a dimension, and stores that over the root of
// its variance and eps, times scale, plus shift, of which there is one number for each
// index of the dimension. A scale or shift without memory is none.
func LayerNorm(s *runtime.Stream, out, x, scale, shift ops.View, dim int, eps float64) error {
	return normalize(s, "layer_norm", out, x, scale, shift, dim, eps, true)
}

func normalize(s *runtime.Stream, name string, out, x, scale, shift ops.View, dim int, eps float64, center bool) error {
	l, err := newLines(name, out, x, dim)
	if err != nil || x.Layout.Count() == 0 {
		return err
	}
	l.normed = true
	var weights [2]weight
	for i, v := range []ops.View{scale, shift} {
		if err := weights[i].take(s, &l, v); err != nil {
			return err
		}
		defer weights[i].room.Free(s)
	}
	c := x.DType.Compute()
	xh, oh := x.Header(), out.Header()
	var sh, bh runtime.SliceHeader
	if scale.Buf != nil {
		sh = weights[0].Header()
	}
	if shift.Buf != nil {
		bh = weights[1].Header()
	}
	e := dtype.FromFloat(c, eps).Bits()
	flags := [3]dsl.ConstBool{dsl.ConstBool(center), dsl.ConstBool(scale.Buf != nil), dsl.ConstBool(shift.Buf != nil)}
	o, i, sc, bi := ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &xh), ops.SliceArg(x.DType, &sh), ops.SliceArg(x.DType, &bh)
	var parts, room int
	switch l.choose(s.Device(), &parts, &room) {
	case inThreads:
		k, err := norm.Of(x.DType, c)
		if err != nil {
			return err
		}
		return k.Launch(s, l.grid, o, i, sc, bi, l.fold, ops.ScalarArg(c, &e), flags[0], flags[1], flags[2])
	case inParts:
		k, err := normSplit.Of(x.DType, c)
		if err != nil {
			return err
		}
		return l.withWords(s, parts, func(words any) error {
			return k.Launch(s, l.grid, o, i, sc, bi, words, l.fold, parts, float32(eps), dsl.ConstBool(parts == 1), flags[0], flags[1], flags[2])
		})
	case inBlocks:
		if x.DType == dtype.F32 {
			return normHeld.Launch(s, l.grid, o, i, sc, bi, l.fold, dsl.ConstInt(room), float32(eps), flags[0], flags[1], flags[2])
		}
		k, err := normFetched.Of(x.DType, c)
		if err != nil {
			return err
		}
		return k.Launch(s, l.grid, o, i, sc, bi, l.fold, dsl.ConstInt(room), float32(eps), flags[0], flags[1], flags[2])
	}
	var known ops.Scratch
	of := SumSqr
	if center {
		of = Var
	}
	k, err := normOf.Of(x.DType, c)
	if err != nil {
		return err
	}
	var walk core.Walk
	var grid runtime.Grid
	if _, err := ops.PlanViews(&walk, &grid, s.Device(), []ops.View{out, x, l.spread(c, l.rows(), runtime.SliceHeader{}), l.indices()}); err != nil {
		return err
	}
	v, w, err := l.stats(s, of, roots, eps, &known, func() jit.Wanted {
		return jit.Wanted{Kernel: k, Consts: []any{walk, flags[0], flags[1], flags[2]}}
	})
	if err != nil {
		return err
	}
	defer known.Free(s)
	vh, wh := v.Header(), w.Header()
	return k.Launch(s, grid, o, i, sc, bi, ops.SliceArg(c, &vh), ops.SliceArg(c, &wh), walk, flags[0], flags[1], flags[2])
}

// indices is what a vector along the dimension of the rows looks like in the shape of
// the operand.
func (l *RowOp) indices() ops.View {
	shape := l.X.Layout.Shape()
	stride := make([]int, len(shape))
	stride[l.Dim] = 1
	at, _ := layout.New(shape, stride, 0)
	return ops.View{Layout: at}
}

// weight is a vector whose elements are contiguous.
type weight struct {
	ops.View
	room ops.Scratch
}

// take checks a vector, and copies it if its elements are not contiguous.
func (w *weight) take(s *runtime.Stream, l *RowOp, v ops.View) error {
	if v.Buf == nil {
		return nil
	}
	if v.DType != l.X.DType {
		return fmt.Errorf("%w: %s of %s with weights of %s", ops.ErrDType, l.Name, l.X.DType, v.DType)
	}
	if !v.Layout.Shape().Equal(layout.Shape{l.Len()}) {
		return fmt.Errorf("%w: %s along %d elements with weights of shape %v", layout.ErrShape, l.Name, l.Len(), v.Layout.Shape())
	}
	w.View = v
	if v.Layout.IsContiguous() {
		return nil
	}
	if err := w.room.Alloc(s, v.DType.Size()*l.Len()); err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	w.View = ops.View{Buf: w.room.Buf, DType: v.DType, Layout: layout.Contiguous(v.Layout.Shape())}
	return elementwise.Copy(s, w.View, v)
}
