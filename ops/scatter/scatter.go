package scatter

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise"
	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	indexops "github.com/gokiln/kiln/ops/index"
	indexkernels "github.com/gokiln/kiln/ops/index/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/scatter/kernels"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/runtime"
)

// ScatterBy is how [ScatterReduce] combines elements.
type ScatterBy struct {
	name string
	op   dsl.ConstInt
	fn   *ops.GenericFunc
	mean bool
	set  bool // the last element counts
	adds bool // results of elements that are combined are rounded
}

// The strategies of a scatter that combines elements.
var (
	second = ops.NewGenericFunc(indexkernels.Second[ops.C])

	ScatterSum  = &ScatterBy{name: "scatter_add", op: indexkernels.OpScatterAdd, fn: ops.Add, adds: true}
	ScatterProd = &ScatterBy{name: "scatter_mul", op: indexkernels.OpScatterReduce, fn: ops.NewGenericFunc(elementwisekernels.Mul[ops.C]), adds: true}
	ScatterMax  = &ScatterBy{name: "scatter_max", op: indexkernels.OpScatterReduce, fn: ops.NewGenericFunc(elementwisekernels.Maximum[ops.C])}
	ScatterMin  = &ScatterBy{name: "scatter_min", op: indexkernels.OpScatterReduce, fn: ops.NewGenericFunc(elementwisekernels.Minimum[ops.C])}
	ScatterMean = &ScatterBy{name: "scatter_mean", op: indexkernels.OpScatterReduce, fn: ops.Add, mean: true, adds: true}

	scatterLast = &ScatterBy{name: "scatter", op: indexkernels.OpScatter, fn: second, set: true}
	unpool      = &ScatterBy{name: "max_unpool", op: indexkernels.OpMaxUnpool, fn: second, set: true}
	indexAdd    = &ScatterBy{name: "index_add", op: indexkernels.OpIndexAdd, fn: ops.Add, adds: true}
)

// Name is the operation's name.
func (b *ScatterBy) Name() string { return b.name }

// Scatter stores the elements of src in out: at the index of ids in dimension d, and at
// their own indices in the others. ids has the shape of src. Where indices are the same
// the last one counts.
func Scatter(s *runtime.Stream, out, ids, src ops.View, d int) error {
	return scatterBy(s, scatterLast, out, ids, src, d, true)
}

// MaxUnpool is [Scatter] of the results of [conv.MaxPool], to the positions of these.
func MaxUnpool(s *runtime.Stream, out, ids, src ops.View, d int) error {
	return scatterBy(s, unpool, out, ids, src, d, true)
}

// ScatterAdd adds where [Scatter] stores: [ScatterReduce] with [ScatterSum].
func ScatterAdd(s *runtime.Stream, out, ids, src ops.View, d int) error {
	return scatterBy(s, ScatterSum, out, ids, src, d, true)
}

// ScatterReduce combines the elements of src where [Scatter] stores them, in the order of
// the indices, and, if self, before them the element that is there; else only elements
// that no index is for keep what they are. Sums and products of types of 16 bits and less
// are computed in F32 and rounded once.
func ScatterReduce(s *runtime.Stream, by *ScatterBy, out, ids, src ops.View, d int, self bool) error {
	return scatterBy(s, by, out, ids, src, d, self)
}

func scatterBy(s *runtime.Stream, by *ScatterBy, out, ids, src ops.View, d int, self bool) error {
	shape := src.Layout.Shape()
	d, err := layout.Dim(d, len(shape))
	if err != nil {
		return fmt.Errorf("%s: %w", by.name, err)
	}
	if err := ops.SameShape(by.name, ids.Layout.Shape(), shape); err != nil {
		return err
	}
	return runScatter(s, &scattering{by: by, out: out, ids: ids, src: src, d: d, at: ids.Layout, pos: layout.Contiguous(shape), self: self})
}

// IndexAdd adds the parts of src along dimension d to those of out at the indices of
// ids, which has one dimension. Other sizes are the same. The sums are those of
// [ScatterAdd].
func IndexAdd(s *runtime.Stream, out, ids, src ops.View, d int) error {
	shape := src.Layout.Shape()
	d, err := layout.Dim(d, len(shape))
	if err != nil {
		return fmt.Errorf("index_add: %w", err)
	}
	if err := ops.SameShape("index_add", ids.Layout.Shape(), layout.Shape{shape[d]}); err != nil {
		return err
	}
	at := ops.BroadcastAlong(shape, map[int]int{d: ids.Layout.Strides()[0]})
	at, err = layout.New(shape, at.Strides(), ids.Layout.Offset())
	if err != nil {
		return err
	}
	return runScatter(s, &scattering{by: indexAdd, out: out, ids: ids, src: src, d: d, at: at, pos: ops.BroadcastAlong(shape, map[int]int{d: 1}), self: true})
}

// scattering is a scatter of src by indices that lie as at says and are counted by pos,
// both of the shape of src.
type scattering struct {
	by            *ScatterBy
	out, ids, src ops.View
	d             int
	at, pos       layout.Layout
	to            layout.Layout // of out, of the shape of src, without dimension d
	self          bool
	axis          indexkernels.Axis
	own           []int // dimensions that have lines of indices of their own
	lines         int   // how many lines of indices there are
	keys          int   // and how many indices in all
	targets       int   // elements of the result that lines with indices of their own can meet
	info          runtime.Info
}

// runScatter checks the operands and chooses the strategy.
func runScatter(s *runtime.Stream, c *scattering) (err error) {
	shape := c.src.Layout.Shape()
	if c.out.Layout.Rank() != len(shape) {
		return fmt.Errorf("%w: %s of %v to %v", layout.ErrRank, c.by.name, shape, c.out.Layout.Shape())
	}
	if err := ops.SameType(c.by.name, c.out, c.src); err != nil {
		return err
	}
	if err := indexops.CheckIndices(c.by.name, c.ids.DType); err != nil {
		return err
	}
	if c.to, err = indexops.Within(c.out.Layout, shape, c.d); err != nil {
		return fmt.Errorf("%s: %w", c.by.name, err)
	}
	if c.by.set {
		c.out.DType = ops.Carrier(c.out.DType)
		c.src.DType = c.out.DType
	}
	if !ops.Numbers.Has(c.out.DType) {
		return ops.Unsupported(c.by.name, c.out.DType, ops.Numbers.String())
	}
	if shape.Count() == 0 {
		return nil
	}
	size := c.out.Layout.Shape()[c.d]
	c.axis = indexkernels.Axis{Op: c.by.op, None: indexops.NoIndex(c.ids.DType), Size: size, Step: c.out.Layout.Strides()[c.d]}
	c.lines = 1
	for e, n := range shape {
		if e != c.d && n > 1 && c.at.Strides()[e] != 0 {
			c.own = append(c.own, e)
			c.lines *= n
		}
	}
	c.info = ops.DeviceInfo(s.Device())
	c.keys, c.targets = c.lines*shape[c.d], c.lines*size
	return scatters.Run(s, c)
}

// scatters are the strategies of a scatter.
var scatters = ops.NewStrategies(
	ops.Strategy[scattering]{Name: "last", Fits: (*scattering).fitsLast, Run: runLast},
	ops.Strategy[scattering]{Name: "sorted", Fits: (*scattering).fitsReduce, Run: runReduce},
	// Positions in the order of their indices: those that combine nothing, or round once anyway.
	ops.Strategy[scattering]{Name: "in order", Fits: func(c *scattering) bool { return !c.reduces() && (!c.by.adds || c.out.DType.Compute() == c.out.DType) }, Run: runInOrder},
	ops.Strategy[scattering]{Name: "in order, wide", Fits: func(c *scattering) bool { return !c.reduces() }, Run: runInOrderWide},
	ops.Strategy[scattering]{Name: "none", Fits: ops.Always[scattering], Run: func(_ *runtime.Stream, c *scattering) error {
		return fmt.Errorf("%w: %s of %d indices", layout.ErrTooLarge, c.by.name, c.keys)
	}},
)

// reduces reports whether only a reduction of sorted indices gives the result: a mean, or one without the elements that
// were there.
func (c *scattering) reduces() bool { return c.by.mean || !c.self }

func (c *scattering) fitsLast() bool {
	return c.by.set && ops.TraitsOf(&c.info).FastSort && c.targets <= 16*c.keys+1<<20 && c.src.Layout.Shape()[c.d] < math.MaxUint32
}

// fitsReduce reports whether elements are combined by sorting their indices. Where threads are lanes
// of a vector that pays only for a result of which few of many elements would be widened.
func (c *scattering) fitsReduce() bool {
	if c.keys >= math.MaxUint32 {
		return false
	}
	few := c.by.adds && c.out.DType.Compute() != c.out.DType && c.out.Layout.Count() > wideScatter*c.src.Layout.Shape().Count()
	return few || !c.by.set && (c.reduces() || ops.TraitsOf(&c.info).FastSort)
}

// wideScatter is for how many elements of the result per operand these are all widened.
const wideScatter = 16

// runInOrderWide is runInOrder with the elements of out in the type that is computed in, so that
// what is combined is rounded once.
func runInOrderWide(s *runtime.Stream, c *scattering) (err error) {
	out, d := c.out, c.out.DType.Compute()
	wide := ops.View{DType: d, Layout: layout.Contiguous(out.Layout.Shape())}
	if wide.Buf, err = s.Alloc(wide.Layout.Count() * d.Size()); err != nil {
		return fmt.Errorf("%s: %w", c.by.name, err)
	}
	defer wide.Buf.FreeOn(s) //nolint:errcheck // what is launched says more
	if err := elementwise.Copy(s, wide, out); err != nil {
		return err
	}
	if c.to, err = indexops.Within(wide.Layout, c.src.Layout.Shape(), c.d); err != nil {
		return err
	}
	c.out, c.axis.Step = wide, wide.Layout.Strides()[c.d]
	if err := runInOrder(s, c); err != nil {
		return err
	}
	return elementwise.Copy(s, out, wide)
}

var (
	scatter       = ops.NewGeneric("scatter", indexkernels.Scatter[ops.O, ops.T, ops.C, ops.I])
	scatterSet    = ops.NewGeneric("scatter", kernels.ScatterSet[ops.T, ops.I])
	scatterMark   = ops.NewGeneric("scatter", kernels.ScatterLast[ops.I])
	scatterKeys   = ops.NewGeneric("scatter", kernels.ScatterKeys[ops.I, ops.K])
	scatterChunks = jit.Of(kernels.ScatterChunks)
	scatterReduce = ops.NewGeneric("scatter", kernels.ScatterReduce[ops.T, ops.C, ops.K])
)

// runInOrder has a thread, or a few, go along each line.
func runInOrder(s *runtime.Stream, c *scattering) error {
	info := &c.info
	shape, t := c.src.Layout.Shape(), c.src.DType
	l := indexkernels.Lines{N: shape[c.d], Step: [core.Operands]int{0, c.at.Strides()[c.d], c.src.Layout.Strides()[c.d], c.pos.Strides()[c.d]}}
	var lines [4]layout.Layout
	var err error
	for i, from := range []layout.Layout{c.to, c.at, c.src.Layout, c.pos} {
		if lines[i], err = from.Index(c.d, 0); err != nil {
			return err
		}
	}
	var w core.Walk
	var g runtime.Grid
	if ok, err := ops.PlanWalk(s, &w, &g, lines[:]...); !ok {
		return err
	}
	g.Blocks.Z = sharers(info, lines[0].Count(), l.N, c.axis.Size)
	if ops.TraitsOf(info).WarpBlocks && w.Mode == core.Rows && w.Kind[1] == core.Same && w.Kind[3] == core.Same {
		shareIndices(&w, &g, info, c.axis.Size)
	}
	dst, index, from := c.out.Header(), c.ids.Header(), c.src.Header()
	return scatter.Launch(s, ops.TypeArgs{T: t, O: c.out.DType, I: c.ids.DType}, g, ops.SliceArg(c.out.DType, &dst), ops.SliceArg(c.ids.DType, &index), ops.SliceArg(t, &from), w, l, c.axis, c.by.fn.In(t.Compute()))
}

// shareIndices has blocks go along rows of elements that have one index as far as they are
// contiguous, and divides the indices among blocks, where the hardware prefetches what follows.
func shareIndices(w *core.Walk, g *runtime.Grid, info *runtime.Info, size int) {
	blocks := g.Blocks.X * g.Blocks.Y
	w.Part = min(max(w.Part, sharedRun), ops.RoundUp(w.N, info.WarpSize))
	g.Blocks.X = (w.N + w.Part - 1) / w.Part
	g.Blocks.Z = max(1, min(blocks/(g.Blocks.X*g.Blocks.Y), size, maxSharers))
}

// sharedRun is how many elements of a row that have one index a block goes along at least.
const sharedRun = 1024

// sharers is how many threads share a line of n indices below size, of so many lines:
// enough for all multiprocessors of the device to have work. Each reads all the indices.
func sharers(info *runtime.Info, lines, n, size int) int {
	if n < info.WarpSize {
		return 1
	}
	resident := info.Units * info.ThreadsPerUnit / max(lines, info.WarpSize)
	return max(1, min(resident, size, maxSharers))
}

const maxSharers = 1024

// numbered returns a layout of a shape whose elements are those of the dimensions with
// lines of their own, counted in steps of n, as far as the shape has them.
func (c *scattering) numbered(shape layout.Shape, n int) layout.Layout {
	strides := map[int]int{}
	for _, e := range slices.Backward(c.own) {
		strides[e] = n
		n *= shape[e]
	}
	return ops.BroadcastAlong(shape, strides)
}

// indices returns layouts of the indices without what shares them, of one shape.
func (c *scattering) indices(of ...layout.Layout) []layout.Layout {
	out := make([]layout.Layout, len(of))
	for i, l := range of {
		shape := slices.Clone(l.Shape())
		for e := range shape {
			if e != c.d && !slices.Contains(c.own, e) {
				shape[e] = 1
			}
		}
		out[i], _ = layout.New(shape, l.Strides(), l.Offset()) // smaller than one that was right
	}
	return out
}

// runLast stores elements whose number is the largest for their position.
func runLast(s *runtime.Stream, c *scattering) error {
	shape, size := c.src.Layout.Shape(), c.axis.Size
	mark, err := scatterMark.Of(ops.TypeArgs{I: c.ids.DType})
	if err != nil {
		return err
	}
	last, err := runtime.AllocOn[uint32](s, max(1, c.lines*size))
	if err != nil {
		return fmt.Errorf("scatter: %w", err)
	}
	defer last.FreeOn(s) //nolint:errcheck // what is launched says more
	if err := last.ZeroAsync(s); err != nil {
		return err
	}
	number := ops.BroadcastAlong(shape, map[int]int{c.d: 1})
	var w core.Walk
	var g runtime.Grid
	if _, err := ops.PlanWalk(s, &w, &g, c.indices(c.at, c.pos, number, c.numbered(shape, size))...); err != nil {
		return err
	}
	index := c.ids.Header()
	if err := mark.Launch(s, g, last, ops.SliceArg(c.ids.DType, &index), w, c.axis); err != nil {
		return err
	}
	return c.store(s, last, number)
}

// store stores the elements that last names.
func (c *scattering) store(s *runtime.Stream, last runtime.Slice[uint32], number layout.Layout) error {
	t, a, src, to, at := c.out.DType, c.axis, c.src.Layout, c.to, c.at
	dst, index, from := c.out.Header(), c.ids.Header(), c.src.Header()
	info, vec := ops.DeviceInfo(s.Device()), dsl.ConstInt(1)
	if wide, n := indexops.Widen(&info, src, at, to, c.out.Layout, a.Step, t.Size()); n > 1 && wide[3].Rank() > 0 {
		vec = dsl.ConstInt(n)
		src, at, to = wide[0], wide[1], wide[2]
		a.Step /= n
		number = ops.BroadcastAlong(src.Shape(), map[int]int{c.d: 1})
	}
	var w core.Walk
	var g runtime.Grid
	if _, err := ops.PlanWalk(s, &w, &g, to, at, src, number, c.numbered(src.Shape(), a.Size)); err != nil {
		return err
	}
	indexops.SmallBlocks(&w, &g, &info)
	return scatterSet.Launch(s, ops.TypeArgs{T: t, I: c.ids.DType}, g, ops.SliceArg(t, &dst), ops.SliceArg(c.ids.DType, &index), ops.SliceArg(t, &from), last, w, a, vec)
}

const (
	leastChunk = 256  // keys of a part that is sorted by a block
	mostChunk  = 4096 // what fits a block
)

// runReduce combines elements that have been sorted by position.
func runReduce(s *runtime.Stream, c *scattering) error {
	info := &c.info
	n := c.src.Layout.Shape()[c.d]
	r := kernels.Runs{N: c.lines * n, Line: n, Size: c.axis.Size, Lines: len(c.own) > 0, Self: dsl.ConstBool(c.self), Mean: dsl.ConstBool(c.by.mean)}
	r.Step = [2]int{c.axis.Step, c.src.Layout.Strides()[c.d]}
	if !bool(r.Lines) && n <= kernels.Chunks*mostChunk && ops.TraitsOf(info).FastSort && c.axis.Size < math.MaxUint32 {
		return c.byChunks(s, info, &r)
	}
	return c.bySorting(s, info, &r)
}

// places launches the kernel that gives each index the number of its position.
func (c *scattering) places(s *runtime.Stream, keys any, key reflect.Type, masks runtime.Slice[uint32]) error {
	shape := c.src.Layout.Shape()
	number := c.numbered(shape, shape[c.d])
	strides := slices.Clone(number.Strides())
	strides[c.d] = 1
	number, err := layout.New(shape, strides, 0)
	if err != nil {
		return err
	}
	var w core.Walk
	var g runtime.Grid
	if _, err := ops.PlanWalk(s, &w, &g, c.indices(c.at, c.pos, c.numbered(shape, c.axis.Size), number)...); err != nil {
		return err
	}
	index := c.ids.Header()
	return scatterKeys.Launch(s, ops.TypeArgs{I: c.ids.DType, K: key}, g, keys, masks, ops.SliceArg(c.ids.DType, &index), w, c.axis)
}

// byChunks sorts parts of one line of indices.
func (c *scattering) byChunks(s *runtime.Stream, info *runtime.Info, r *kernels.Runs) error {
	chunk := leastChunk
	for chunk*kernels.Chunks < r.N {
		chunk *= 2
	}
	parts := (r.N + chunk - 1) / chunk
	scratch, err := runtime.AllocOn[uint32](s, r.N+2*parts*chunk+2*r.Size)
	if err != nil {
		return fmt.Errorf("%s: %w", c.by.name, err)
	}
	defer scratch.FreeOn(s) //nolint:errcheck // what is launched says more
	masks, keys, rest := scratch.Slice(0, 2*r.Size), scratch.Slice(2*r.Size, 2*r.Size+r.N), 2*r.Size+r.N
	sorted, from := scratch.Slice(rest, rest+parts*chunk), scratch.Slice(rest+parts*chunk, rest+2*parts*chunk)
	if err := c.places(s, keys, ops.Uint32Type, masks); err != nil {
		return err
	}
	threads := min(chunk/2, ops.MaxThreads, info.MaxThreads)
	if err := scatterChunks.Launch(s, runtime.Blocks(parts, threads), sorted, from, masks, keys, dsl.ConstInt(chunk), chunk); err != nil {
		return err
	}
	r.Chunk, r.N = dsl.ConstInt(chunk), parts*chunk
	return c.join(s, info, r, ops.Uint32Type, sorted, from, masks)
}

// bySorting sorts all indices of all lines.
func (c *scattering) bySorting(s *runtime.Stream, info *runtime.Info, r *kernels.Runs) error {
	places := c.lines * r.Size
	wide := places >= math.MaxUint32
	sort := sort.Radix{Rows: 1, N: r.N, Wide: wide, End: bits.Len(uint(places))} // none has all bits, and comes last
	if err := sort.Alloc(s, info); err != nil {
		return fmt.Errorf("%s: %w", c.by.name, err)
	}
	defer sort.Scratch.Free(s)
	key := ops.Uint32Type
	if wide {
		key = ops.Uint64Type
	}
	if err := c.places(s, sort.Keys[0], key, runtime.Slice[uint32]{}); err != nil {
		return err
	}
	at, err := sort.Run(s, info)
	if err != nil {
		return err
	}
	return c.join(s, info, r, key, sort.Keys[at], sort.At[at], runtime.Slice[uint32]{})
}

// join launches the kernel that combines.
func (c *scattering) join(s *runtime.Stream, info *runtime.Info, r *kernels.Runs, key reflect.Type, keys, from any, masks runtime.Slice[uint32]) error {
	shape, t := c.src.Layout.Shape(), c.out.DType
	shared, lines := slices.Clone(shape), slices.Clone(shape)
	shared[c.d], lines[c.d] = 1, 1
	for e := range shape {
		if slices.Contains(c.own, e) {
			shared[e] = 1
		} else {
			lines[e] = 1
		}
	}
	var w, l core.Walk
	var unused runtime.Grid
	for i, walk := range []*core.Walk{&w, &l} {
		of := []layout.Shape{shared, lines}[i]
		a, _ := layout.New(of, c.to.Strides(), 0) // smaller than those that were right
		b, _ := layout.New(of, c.src.Layout.Strides(), 0)
		if _, err := ops.PlanWalk(s, walk, &unused, a, b); err != nil {
			return err
		}
		ops.RandomAccess(walk, of.Count())
	}
	grid := c.shape(r, &w, info)
	dst, src := c.out.Header(), c.src.Header()
	return scatterReduce.Launch(s, ops.TypeArgs{T: t, K: key}, grid, ops.SliceArg(t, &dst), ops.SliceArg(t, &src), keys, from, masks, w, l, *r, c.by.fn.In(t.Compute()), ops.Div.In(t.Compute()))
}

// shape chooses how threads lie: as many as can be along what has the same index.
func (c *scattering) shape(r *kernels.Runs, w *core.Walk, info *runtime.Info) runtime.Grid {
	r.Vec, r.Each = 1, 1
	threads := min(ops.MaxThreads, info.MaxThreads)
	if ops.TraitsOf(info).WarpBlocks {
		threads = info.WarpSize
	}
	row := w.N
	if vec := 16 / c.out.DType.Size(); ops.TraitsOf(info).VectorAccess && (w.Rank <= 1 || w.Mode == core.Flat) {
		near := w.Mode == core.Flat || w.Step[0][0] == 1 && w.Step[1][0] == 1
		vec = min(vec, 8)
		if near && vec > 1 && ops.Multiples(vec, row, r.Step[0], r.Step[1], c.out.Layout.Offset(), c.src.Layout.Offset()) && c.linesEven(vec) {
			r.Vec, row = dsl.ConstInt(vec), row/vec
		}
	}
	for r.Each < 4 && r.Each*r.Vec < 16 && 2*int(r.Each) <= row {
		r.Each *= 2
	}
	x := 1
	for x < threads && x*int(r.Each) < row {
		x *= 2
	}
	y := max(1, threads/x)
	across := (row + x*int(r.Each) - 1) / (x * int(r.Each))
	return runtime.Grid{Blocks: runtime.Dim3{X: across, Y: min((r.N+y-1)/y, ops.MaxBlocks())}, Threads: runtime.Dim3{X: x, Y: y}}
}

// linesEven reports whether all lines begin at multiples of n.
func (c *scattering) linesEven(n int) bool {
	for _, e := range c.own {
		if !ops.Multiples(n, c.to.Strides()[e], c.src.Layout.Strides()[e]) {
			return false
		}
	}
	return true
}
