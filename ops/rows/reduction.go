package rows

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

const (
	stepItems     = 8  // items per thread that are loaded at once in a reduction
	fewestCols    = 16 // below, threads do not run across rows
	colWidth      = 32 // threads of a block of columns that run across rows
	nestedRow     = 64 // innermost dimensions of rows from this size on are gone through one by one
	serialPart    = 8192
	partsOf       = 16 // elements that parts have a multiple of where they are not short
	partsThread   = 4  // parts of a row that a thread joins at least
	longReduction = 4  // iterations over a row of a thread at least, where there are enough rows
)

// reductionPlan is how a reduction is launched.
type reductionPlan struct {
	r         *Reduction
	in        *reducer
	out, x    ops.View
	reduction kernels.RowReduction
	grid      runtime.Grid
	across    bool // threads run across rows
	down      bool // blocks go down all of some columns
	parts     int  // of each row
	scans     bool // a scan goes through the parts of a row, a thread or warp through each
	second    kernels.RowReduction
}

// adds reports whether errors of long chains of steps add up: sums of integers are exact.
func (p *reductionPlan) adds() bool { return p.r.adds && p.x.DType.IsFloat() }

// tree has a thread that takes so many steps merge their partial sums in a tree. Where blocks come
// one after the other that costs short rows nothing, and one kernel is for rows of all lengths,
// of reductions and of scans.
func (p *reductionPlan) tree(info *runtime.Info, steps int) {
	p.reduction.Tree = dsl.ConstBool(p.adds() && (ops.TraitsOf(info).SerialParts || steps > core.TreeSteps))
}

// longest bounds the parts of a row that threads share which load so much of it at once.
func (p *reductionPlan) longest(together int) int {
	if !p.adds() {
		return math.MaxInt
	}
	return core.TreeSteps * core.TreeSteps * together
}

// make chooses how threads go through the rows.
func (p *reductionPlan) make(dev *runtime.Device, kept [2]layout.Layout, reduced layout.Layout) error {
	info := ops.DeviceInfo(dev)
	w := &p.reduction
	w.Form, w.InFlight = dsl.ConstInt(p.r.form), dsl.ConstInt(stepItems)
	if p.x.DType.Size() <= 2 && ops.TraitsOf(&info).HidesLatency {
		w.InFlight *= 2 // as many bytes
	}
	if !p.r.ordered {
		reduced = byStride(reduced)[0]
	}
	if err := KeepDims(w, kept); err != nil {
		return fmt.Errorf("%s: %w", p.r.name, err)
	}
	ins := layout.Merge(reduced)
	if err := fits(len(ins.Sizes), reduced); err != nil {
		return fmt.Errorf("%s: %w", p.r.name, err)
	}
	w.Ins = dsl.ConstInt(len(ins.Sizes))
	for d, n := range ins.Sizes {
		w.InSize[d], w.InDiv[d], w.InStep[d] = n, ops.Divisor(n), ins.Strides[0][d]
	}
	w.N = reduced.Count()
	w.Wide = dsl.ConstBool(max(w.Rows, w.N) > math.MaxInt32)
	p.second = *w
	p.across = w.Outs > 0 && w.OutSize[0] >= fewestCols && (len(ins.Sizes) == 0 || w.XStep[0] < w.InStep[0])
	if p.across {
		p.planCols(&info)
	} else {
		p.planRows(&info)
	}
	if p.parts > 1 {
		p.planParts(&info)
	}
	return nil
}

// rowThreads chooses how many threads share a row of n elements, of which each loads so
// many per iteration, and returns how many a block has.
func rowThreads(info *runtime.Info, w *kernels.RowReduction, n, each int) (threads int) {
	warp := info.WarpSize
	if ops.TraitsOf(info).WarpBlocks {
		threads = warp
	} else {
		threads = min(ops.MaxThreads, info.MaxThreads)
	}
	g := 1
	for g < warp && g*each < n {
		g *= 2
	}
	few := w.Rows*warp < info.Units*info.ThreadsPerUnit // warps would leave threads without work
	if g == warp && threads > warp && n >= threads && n > each*warp {
		// Blocks of fewer threads for rows that are not long, in which each loads elements
		// a few times.
		for !few && threads > warp && n < longReduction*each*threads {
			threads /= 2
		}
		if threads > warp {
			w.Group, w.Whole, w.Block = 0, false, dsl.ConstInt(threads)
			return threads
		}
		threads = min(ops.VectorThreads, info.MaxThreads)
	}
	w.Group, w.Whole, w.Block, w.Runs = dsl.ConstInt(g), g == threads, 0, dsl.ConstBool(ops.TraitsOf(info).SerialParts)
	return threads
}

func (p *reductionPlan) planRows(info *runtime.Info) {
	w := &p.reduction
	w.Contiguous = dsl.ConstBool(w.Ins > 0 && w.InStep[0] == 1)
	w.Nested = dsl.ConstBool(w.Ins > 1 && w.InSize[0] >= nestedRow)
	if p.r.form != kernels.Single && ops.TraitsOf(info).HidesLatency {
		w.InFlight *= 2 // a step takes more than an addition, and is shared by more
	}
	span, length := w.N, w.N // what is cut into parts, and elements along threads
	if w.Nested {
		length = w.InSize[0]
		span = w.N / length
		w.N, w.Outer = length, span
	}
	if w.Ins == 0 {
		w.Ins, w.InSize[0], w.InStep[0] = 1, 1, 0
	}
	threads := rowThreads(info, w, length, int(w.InFlight))
	per := 1
	if w.Group > 0 && !w.Whole {
		per = threads / int(w.Group)
	}
	blocks := (w.Rows + per - 1) / per
	least := threads * stepItems * 4 // elements of a part
	if ops.TraitsOf(info).SerialParts {
		least = serialPart
	}
	if w.Nested {
		least = max(1, least/length)
	}
	step, from := partsOf, 4*partsOf
	if !w.Nested && w.Group == 0 {
		step = threads * int(w.InFlight) // parts end with a whole iteration of the threads
		from = step
	}
	together := max(int(w.Group), int(w.Block)) * int(w.InFlight)
	most, steps := p.longest(together), 1
	if w.Nested {
		steps = (length + together - 1) / together
		most = max(1, most/steps/together)
	} else if p.scans {
		most = min(most, p.longest(info.WarpSize)) // which the scan has one after the other
	}
	p.cut(rowParts(info, w.Form, threads), blocks, span, least, step, from, most)
	if w.Nested {
		p.tree(info, steps*w.Part)
	} else {
		p.tree(info, w.Part/together)
	}
	w.Vec = 1
	if v := 16 / p.x.DType.Size(); ops.TraitsOf(info).VectorAccess && p.fits(v) {
		w.Vec = dsl.ConstInt(v)
	}
	if ops.TraitsOf(info).HidesLatency {
		w.Full = dsl.ConstBool(w.N%together == 0 && (bool(w.Nested) || w.Part%together == 0))
		w.Twice = w.Vec > 1 && p.r.form != kernels.Pair // exponentials want threads, not registers
		w.Block = dsl.ConstInt(threads)
	}
	p.grid = runtime.Grid{Blocks: runtime.Dim3{X: min(blocks, ops.RowBlocks(info, threads)), Y: p.parts}, Threads: runtime.Dim3{X: threads}}
}

// fits reports whether all that threads go through begins at multiples of v elements, side
// by side.
func (p *reductionPlan) fits(v int) bool {
	w := &p.reduction
	if !bool(w.Contiguous) || w.Ins > 1 && !bool(w.Nested) || v > int(w.InFlight) || !bool(w.Nested) && p.parts > 1 && w.Part%v != 0 {
		return false
	}
	for d := 1; d < int(w.Ins); d++ {
		if w.InStep[d]%v != 0 {
			return false
		}
	}
	for d := range int(w.Outs) {
		if w.XStep[d]%v != 0 {
			return false
		}
	}
	return true
}

// rowParts is how many blocks of so many threads go along rows: just those that are resident
// on the device at once, or more where they take long, of which some end before others.
func rowParts(info *runtime.Info, form dsl.ConstInt, threads int) int {
	if ops.TraitsOf(info).SerialParts {
		return 4 * info.Units
	}
	each := info.ThreadsPerUnit
	if form != kernels.Triple {
		each = min(each, kernels.RowThreads(form))
	}
	return info.Units * max(1, each/threads)
}

// cut divides rows into parts of at least so much if there are too few blocks for the
// device, which wants so many, or if they are longer than most. Parts of more than from are
// multiples of step.
func (p *reductionPlan) cut(want, blocks, span, least, step, from, most int) {
	w := &p.reduction
	p.parts = 1
	if 2*blocks <= want {
		p.parts = max(1, min(want/blocks, span/least))
	}
	p.parts = max(p.parts, (span-1)/most+1)
	w.Part = (span + p.parts - 1) / p.parts
	if w.Part > from {
		w.Part = ops.RoundUp(w.Part, step)
	} else if w.Part > 4*partsOf {
		w.Part = ops.RoundUp(w.Part, partsOf) // for vectors
	}
	p.parts = (span + w.Part - 1) / w.Part
}

func (p *reductionPlan) planCols(info *runtime.Info) {
	w := &p.reduction
	w.Contiguous = w.XStep[0] == 1
	w.Width = w.OutSize[0]
	w.Rows /= w.Width
	threads, x := min(ops.MaxThreads, info.MaxThreads), colWidth
	w.Cols, w.Vec = 1, 1
	if w.InFlight > stepItems && w.Width >= 4*colWidth {
		w.Cols = 4
		if fitCols(w, 4) {
			w.Vec = 4
		}
	}
	if ops.TraitsOf(info).WarpBlocks {
		threads, x = info.WarpSize, info.WarpSize
		for w.Cols < 8 && int(w.Cols)*2*x <= w.Width {
			w.Cols *= 2
		}
	}
	y := max(1, threads/x)
	for y > 1 && y*stepItems > w.N {
		y /= 2
	}
	tile := x * int(w.Cols)
	tiles := (w.Width + tile - 1) / tile
	least := y * stepItems * 4
	if ops.TraitsOf(info).SerialParts {
		least = max(1, serialPart/tile)
	}
	step, want := y*int(w.InFlight)/int(w.Cols), ops.ResidentBlocks(info, x*y)
	if ops.TraitsOf(info).SerialParts {
		want = 4 * info.Units
	}
	together := y * int(w.InFlight/w.Cols)
	most := p.longest(together)
	if p.scans {
		most = min(most, p.longest(1))
	}
	p.cut(want, tiles*w.Rows, w.N, least, step, 4*step, most)
	p.tree(info, w.Part/together)
	p.grid = runtime.Grid{
		Blocks:  runtime.Dim3{X: tiles, Y: p.parts, Z: min(w.Rows, ops.MaxBlocks())},
		Threads: runtime.Dim3{X: x, Y: y},
	}
}

// fitCols reports whether v neighbouring columns are contiguous everywhere, at multiples
// of v elements.
func fitCols(w *kernels.RowReduction, v int) bool {
	for d := range int(w.Ins) {
		if w.InStep[d]%v != 0 {
			return false
		}
	}
	for d := 1; d < int(w.Outs); d++ {
		if w.XStep[d]%v != 0 {
			return false
		}
	}
	return bool(w.Contiguous)
}

const (
	downThreads = 1024 // of a block that goes down columns; or half where accumulators are large
	downMost    = 8    // neighbouring columns of a thread
	downBytes   = 64   // of an iteration of a thread, while as many are in flight
	downLeast   = 16   // elements of such an iteration at least
	downLine    = 128  // bytes of the columns of a block that are contiguous, or half as many
)

// downVec is how many neighbouring columns of elements of a size a thread has that goes down
// them: few where adding the loaded elements of each takes long.
func downVec(form dsl.ConstInt, size int) int {
	switch form {
	case kernels.Single:
		return min(16/size, downMost)
	case kernels.Indexed:
		return min(max(16/size, 2), 4)
	}
	return min(max(8/size, 2), 4)
}

// goDown has each block go down all of some columns, if there are about as many blocks then as
// the device has multiprocessors, so that no parts are joined later, and reports whether there are.
func (p *reductionPlan) goDown(info *runtime.Info) bool {
	w, size := p.reduction, p.x.DType.Size()
	vec, threads := downVec(w.Form, size), downThreads
	if w.Form == kernels.Triple || p.r.computes(p.x.DType).Size() > 4 {
		threads /= 2
	}
	threads = min(threads, info.WarpSize*info.WarpSize) // a warp merges the accumulators of so many warps
	if !p.across || p.parts == 1 || !ops.TraitsOf(info).BlockTiles || info.MaxThreads < threads || !fitCols(&w, vec) || w.Width%vec != 0 {
		return false
	}
	for line := downLine; line >= downLine/2; line /= 2 {
		lanes := min(line/(size*vec), info.WarpSize)
		strips := (w.Width + lanes*vec - 1) / (lanes * vec)
		turns := (strips*w.Rows + info.Units - 1) / info.Units
		inFlight := min(downBytes/size, kernels.MaxInFlight)
		for inFlight > downLeast && w.N < 2*inFlight/vec*threads/lanes {
			inFlight /= 2
		}
		if 8*strips*w.Rows < 7*turns*info.Units || w.N < 2*inFlight/vec*threads/lanes {
			continue // multiprocessors would be idle
		}
		w.Block, w.Group, w.Vec, w.Whole, w.InFlight = dsl.ConstInt(threads), dsl.ConstInt(lanes), dsl.ConstInt(vec), false, dsl.ConstInt(inFlight)
		p.reduction, p.down, p.parts = w, true, 1
		p.tree(info, w.N/(inFlight/vec*threads/lanes))
		p.grid = runtime.Grid{Blocks: runtime.Dim3{X: strips, Z: min(w.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: threads}}
		return true
	}
	return false
}

// planParts chooses how partial results are merged.
func (p *reductionPlan) planParts(info *runtime.Info) {
	w := &p.second
	w.N = p.parts
	if w.Outs == 0 {
		w.Outs, w.OutSize[0], w.OutDiv[0] = 1, 1, ops.Divisor(1) // one kernel for one result and for several
	}
	rowThreads(info, w, w.N, eachPart(info))
}

// eachPart is how many parts of a row a thread joins at least. Where blocks come one after the
// other there are few parts, and one thread joins them as fast as several: one kernel is for
// sums of everything and of columns. The bound keeps chains of additions short.
func eachPart(info *runtime.Info) int {
	if ops.TraitsOf(info).SerialParts {
		return core.TreeSteps
	}
	return partsThread
}

// run launches the kernels.
func (p *reductionPlan) run(s *runtime.Stream) error {
	f := p.in.fns
	xh, oh := p.x.Header(), p.out.Header()
	x, out := ops.SliceArg(p.x.DType, &xh), ops.SliceArg(p.out.DType, &oh)
	if p.parts == 1 {
		k := p.in.rows
		switch {
		case p.down:
			k = p.in.down
		case p.across:
			k = p.in.cols
		}
		return k.Launch(s, p.grid, out, x, p.reduction, f[0], f[1], f[2], f[3])
	}
	grid := p.joinGrid(s)
	if !p.in.parts.Loaded(s.Device(), nil, nil, nil, nil, nil, p.second, f[2], f[3]) {
		if err := p.prefetch(s.Device()); err != nil {
			return err
		}
	}
	var scratch ops.Scratch
	args, err := p.runParts(s, &scratch)
	if err != nil {
		return err
	}
	defer scratch.Free(s)
	return p.in.parts.Launch(s, grid, out, args[0], args[1], args[2], args[3], p.second, f[2], f[3])
}

// prefetch has both kernels compiled at the same time.
func (p *reductionPlan) prefetch(dev *runtime.Device) error {
	f := p.in.fns
	return jit.Prefetch(dev,
		jit.Wanted{Kernel: p.partial(), Consts: []any{p.reduction, f[0], f[1], f[2]}},
		jit.Wanted{Kernel: p.in.parts, Consts: []any{p.second, f[2], f[3]}})
}

// partial is the kernel that stores the partial results.
func (p *reductionPlan) partial() *jit.Kernel {
	if p.across {
		return p.in.partCols
	}
	return p.in.partRows
}

// runParts launches the kernel that stores the partial results, and returns where.
func (p *reductionPlan) runParts(s *runtime.Stream, scratch *ops.Scratch) (args [4]any, err error) {
	c, n := p.r.computes(p.x.DType), p.parts*p.second.Rows
	if err := scratch.Alloc(s, n*(3*c.Size()+8)); err != nil {
		return args, fmt.Errorf("%s: %w", p.r.name, err)
	}
	h := new([4]runtime.SliceHeader)
	h[3] = scratch.Take(8, n)
	args[3] = ops.SliceArg(dtype.I64, &h[3])
	for i := range 3 {
		h[i] = scratch.Take(c.Size(), n)
		args[i] = ops.SliceArg(c, &h[i])
	}
	f, xh := p.in.fns, p.x.Header()
	err = p.partial().Launch(s, p.grid, args[0], args[1], args[2], args[3], ops.SliceArg(p.x.DType, &xh), p.reduction, f[0], f[1], f[2])
	if err != nil {
		scratch.Free(s)
	}
	return args, err
}

// joinGrid is the grid for a kernel that joins parts.
func (p *reductionPlan) joinGrid(s *runtime.Stream) runtime.Grid {
	info := ops.DeviceInfo(s.Device())
	threads := rowThreads(&info, &p.second, p.parts, eachPart(&info))
	per := 1
	if p.second.Group > 0 && !p.second.Whole {
		per = threads / int(p.second.Group)
	}
	blocks := (p.second.Rows + per - 1) / per
	return runtime.Grid{Blocks: runtime.Dim3{X: min(blocks, ops.RowBlocks(&info, threads))}, Threads: runtime.Dim3{X: threads}}
}
