package sort

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/ops/sort/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	pickCount   = ops.NewGeneric("topk", kernels.PickCount[ops.T, ops.K])
	pickSides   = ops.NewGeneric("topk", kernels.PickSides[ops.T, ops.K])
	pickTake    = ops.NewGeneric("topk", kernels.PickTake[ops.T, ops.K])
	pickBetween = ops.NewGeneric("topk", kernels.PickBetween[ops.T, ops.K, ops.C])
	pickRows    = ops.NewGeneric("topk", kernels.PickRows[ops.T, ops.K])
	pickFirst   = ops.NewGeneric("topk", kernels.PickFirst[ops.T, ops.K])
	pickMiddle  = ops.NewGeneric("topk", kernels.PickMiddle[ops.T, ops.K, ops.C])
)

// TopK stores in values the first elements of x along a dimension in the order of [Sort],
// as many as values has, and in indices, of type U32, the positions that they had. Where
// that is a small part of long rows these are not sorted, but the last one is looked for.
func TopK(s *runtime.Stream, values, indices, x ops.View, dim int, descending bool) error {
	c, err := newSorter(values, indices, x, dim, descending)
	if err != nil || x.Layout.Count() == 0 || c.order.Take == 0 {
		return err
	}
	info := ops.DeviceInfo(s.Device())
	if !c.divided(&info) || c.order.Take > c.Len()/fewest {
		return Sort(s, values, indices, x, dim, descending)
	}
	p := newPicker(c, &info, 1)
	p.Rank[0] = uint32(c.order.Take - 1)
	if ops.TraitsOf(&info).WarpBlocks && c.order.Take <= mostFirst {
		p.once(&info)
	}
	return p.take(s)
}

const (
	mostFirst = 512     // elements of a row that are found by reading it once
	firstRoom = 4       // candidates for each of them
	firstPart = 1 << 14 // elements of a row that blocks share, at least
)

// once has each block find the first elements of a row, or of a part of it if there are fewer
// rows than blocks that run at the same time.
func (p *picker) once(info *runtime.Info) {
	n, take := p.c.ranks.N, p.c.order.Take
	p.Each = pickAtOnce / 2
	p.SharedItems = dsl.ConstInt(firstRoom * mostFirst)
	if take <= mostFirst/4 {
		p.SharedItems /= 4
	}
	p.lists = max(1, min(2*info.Units/p.c.ranks.Rows, n/max(firstPart, 2*take)))
	p.Part = ops.RoundUp((n+p.lists-1)/p.lists, info.WarpSize*int(p.Each))
	p.lists = (n + p.Part - 1) / p.Part
	if n-(p.lists-1)*p.Part < take {
		p.lists, p.Part = 1, n
	}
}

// divided reports whether rows are so long that to sort them takes longer than to pick
// some elements.
func (c *sorter) divided(info *runtime.Info) bool {
	if ops.TraitsOf(info).WarpBlocks {
		return c.Len() > serialRows
	}
	return c.Len() >= shortestPicked
}

// middle stores the quantiles of rows that a block each has by itself.
func (p *picker) middle(s *runtime.Stream, out ops.View, frac float64) error {
	c := p.c
	compute := c.X.DType.Compute()
	h, f := out.Header(), dtype.FromFloat(compute, frac).Bits()
	_, _, x := c.results()
	return pickMiddle.Launch(s, c.args(), p.alone(s), ops.SliceArg(out.DType, &h), x, c.ranks, p.order(), p.Pick, ops.ScalarArg(compute, &f), c.key.fn, c.key.back)
}

// alone is the grid of blocks that have rows by themselves.
func (p *picker) alone(s *runtime.Stream) runtime.Grid {
	info := ops.DeviceInfo(s.Device())
	p.counters(&info)
	g := p.grid()
	g.Blocks.Y = min(g.Blocks.Y, ops.RowBlocks(&info, p.threads))
	return g
}

// serialRows is the size of rows up to which a block of one warp sorts them.
const serialRows = 128

// shortestPicked is the size of rows that are not sorted in a block of several warps,
// although most of them could be.
const shortestPicked = 2048

// pickQuantile stores the quantiles of long rows, whose elements number at and after that are
// looked for. It reports false if rows are to be sorted.
func pickQuantile(s *runtime.Stream, out, x ops.View, dim, at int, frac float64) (bool, error) {
	c, err := newSorter(ops.View{}, ops.View{}, x, dim, false)
	if err != nil {
		return false, err
	}
	info := ops.DeviceInfo(s.Device())
	if !c.divided(&info) {
		return false, nil
	}
	to := out
	if out.Layout.Rank() < x.Layout.Rank() {
		if to.Layout, err = out.Layout.Insert(dim); err != nil {
			return false, err
		}
	}
	if err := c.place(&c.ranks, to); err != nil {
		return false, err
	}
	p := newPicker(c, &info, 3)
	last := c.Len() - 1
	p.Rank = [3]uint32{uint32(at), uint32(min(at+1, last)), uint32(last)}
	if p.blocks == 1 {
		return true, p.middle(s, out, frac)
	}
	if err := p.room.Alloc(s, ops.RoundUp(p.bytes(), 8)); err != nil {
		return false, fmt.Errorf("quantile of %v: %w", x.Layout.Shape(), err)
	}
	defer p.room.Free(s)
	if err := p.count(s); err != nil {
		return false, err
	}
	compute, h := x.DType.Compute(), out.Header()
	f := dtype.FromFloat(compute, frac).Bits()
	g := runtime.Grid{Blocks: runtime.Dim3{X: 1, Y: min(c.ranks.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: info.WarpSize}}
	return true, pickBetween.Launch(s, c.args(), g, ops.SliceArg(x.DType, &h), p.counts, p.prefix, p.left, c.ranks, p.Pick, ops.ScalarArg(compute, &f), c.key.back)
}

// fewest is the part of a row up to which elements are picked and not sorted: 1/4.
const fewest = 4

// picker looks for what is at some positions of rows in the order of [Sort].
type picker struct {
	kernels.Pick
	c       *sorter
	threads int
	blocks  int // of a row
	lists   int // that a row has of its first elements, each of a part, where it is read once
	room    ops.Scratch

	counts, prefix, left any
}

// newPicker divides the rows of a sort among blocks.
func newPicker(c *sorter, info *runtime.Info, targets int) *picker {
	p := &picker{c: c, threads: min(ops.MaxThreads, info.MaxThreads), Pick: kernels.Pick{Targets: dsl.ConstInt(targets), From: dsl.ConstInt(c.key.from), End: dsl.ConstInt(c.key.end)}}
	n, least := c.ranks.N, serialMove
	if p.Each = 4; ops.TraitsOf(info).WarpBlocks {
		p.threads = info.WarpSize
	} else {
		p.Each = pickAtOnce
		// All blocks are on the device at once, with counters for all that have begun.
		blocks := info.Units * max(1, info.ThreadsPerUnit/p.threads*3/4)
		least = max(p.threads*pickAtOnce, (n*c.ranks.Rows+blocks-1)/blocks)
	}
	p.blocks = (n + least - 1) / least
	p.Part = ops.RoundUp((n+p.blocks-1)/p.blocks, p.threads)
	p.Parts = p.blocks * (p.threads / info.WarpSize)
	return p
}

// pickAtOnce is how many elements a thread of many loads at once, and has at least.
const pickAtOnce = 16

// counters says how many counters the blocks of a pass have. Where lanes of a warp would
// wait for each other at those of a digit that many of them have, each has its own.
func (p *picker) counters(info *runtime.Info) {
	targets := int(p.Targets)
	if p.First {
		targets = 1
	}
	copies := 4
	if ops.TraitsOf(info).BlockTiles {
		room := min(info.SharedPerBlock-1024, mostCounted, 2*p.Part)
		for copies < info.WarpSize && 2*copies*targets<<(digitBits+2) <= room {
			copies *= 2
		}
	}
	p.Copies, p.SharedItems = dsl.ConstInt(copies), dsl.ConstInt(copies*targets<<digitBits)
}

// mostCounted is the memory of a block's counters: several blocks are resident on a multiprocessor.
const mostCounted = 32 << 10

func (p *picker) passes() int { return int(p.End-p.From) / digitBits }

func (p *picker) grid() runtime.Grid {
	return runtime.Grid{Blocks: runtime.Dim3{X: p.blocks, Y: min(p.c.ranks.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: p.threads}}
}

// bytes is the memory that counting takes.
func (p *picker) bytes() int {
	return p.passes() * p.c.ranks.Rows * int(p.Targets) * (4<<digitBits + 12)
}

// count finds all digits but the last, of which it counts the keys that have it. The room
// has memory for that.
func (p *picker) count(s *runtime.Stream) error {
	slots := p.passes() * p.c.ranks.Rows * int(p.Targets)
	p.room.Used = ops.RoundUp(p.room.Used, 8)
	h := p.room.Take(8, slots)
	words, err := runtime.View[uint64](h.Buf)
	if err != nil {
		return err
	}
	p.prefix = words.Slice(h.Off, h.Off+h.Len)
	left, counts := p.room.Take(4, slots), p.room.Take(4, slots<<digitBits)
	p.left, p.counts = ops.SliceArg(dtype.U32, &left), ops.SliceArg(dtype.U32, &counts)
	zeros, err := layout.New(layout.Shape{counts.Len}, []int{1}, counts.Off)
	if err != nil {
		return err
	}
	if err := elementwise.Fill(s, ops.View{Buf: counts.Buf, DType: dtype.U32, Layout: zeros}, dtype.Zero(dtype.U32)); err != nil {
		return err
	}
	c := p.c
	_, _, x := c.results()
	info := ops.DeviceInfo(s.Device())
	for p.Pass = range p.passes() {
		p.First, p.Shift = p.Pass == 0, int(p.End)-(p.Pass+1)*digitBits
		p.counters(&info)
		if err := pickCount.Launch(s, c.args(), p.grid(), p.counts, p.prefix, p.left, x, c.ranks, p.order(), p.Pick, c.key.fn); err != nil {
			return err
		}
	}
	p.Pass, p.First, p.Copies, p.SharedItems = p.passes(), false, 0, 0
	return nil
}

// order is that of the sort, without what kernels do not ask for.
func (p *picker) order() kernels.Order {
	return kernels.Order{Down: p.c.order.Down, Take: p.c.order.Take}
}

// take stores the first elements of the rows, in order.
func (p *picker) take(s *runtime.Stream) error {
	c := p.c
	shape := slices.Clone(c.X.Layout.Shape())
	shape[c.Dim] = c.order.Take
	taken := slices.Clone(shape)
	shape[c.Dim] *= max(p.lists, 1)
	if err := c.place(&c.ranks, ops.View{Layout: layout.Contiguous(shape)}); err != nil {
		return err
	}
	n, sides := shape.Count(), 2*c.ranks.Rows*p.Parts
	counts := ops.RoundUp(p.bytes(), 8) + 8*sides
	if p.blocks == 1 || p.lists > 0 {
		counts = 0
	}
	if err := p.room.Alloc(s, counts+ops.RoundUp(n*c.X.DType.Size(), 8)+ops.RoundUp(8*n, 16)); err != nil {
		return fmt.Errorf("topk of %v: %w", c.X.Layout.Shape(), err)
	}
	defer p.room.Free(s)
	some, from, places := p.view(c.X.DType, shape), p.view(dtype.U32, shape), p.view(dtype.U32, taken)
	pick := p.pick
	if p.lists > 0 {
		pick = p.pickFirst
	} else if p.blocks == 1 {
		pick = p.pickRows
	}
	if err := pick(s, some, from); err != nil {
		return err
	}
	values, down := c.values, bool(c.order.Down)
	if values.Buf == nil {
		values = ops.View{}
	}
	if c.indices.Buf == nil {
		return Sort(s, values, ops.View{}, some, c.Dim, down)
	}
	if err := Sort(s, values, places, some, c.Dim, down); err != nil {
		return err
	}
	return index.Gather(s, c.indices, from, places, c.Dim)
}

// view returns elements in the room, which has memory for them.
func (p *picker) view(d dtype.DType, shape layout.Shape) ops.View {
	p.room.Used = ops.RoundUp(p.room.Used, 8)
	l, _ := layout.New(shape, shape.Strides(), p.room.Take(d.Size(), shape.Count()).Off) // of a shape that is right
	return ops.View{Buf: p.room.Buf, DType: d, Layout: l}
}

// pickRows is pick of rows that a block each has by itself.
func (p *picker) pickRows(s *runtime.Stream, some, from ops.View) error {
	c := p.c
	_, _, x := c.results()
	to, at := some.Header(), from.Header()
	return pickRows.Launch(s, c.args(), p.alone(s), ops.SliceArg(c.X.DType, &to), ops.SliceArg(dtype.U32, &at), x, c.ranks, p.order(), p.Pick, c.key.fn)
}

// pickFirst is pick that reads rows once.
func (p *picker) pickFirst(s *runtime.Stream, some, from ops.View) error {
	c := p.c
	_, _, x := c.results()
	to, at := some.Header(), from.Header()
	info := ops.DeviceInfo(s.Device())
	g := runtime.Grid{Blocks: runtime.Dim3{X: p.lists, Y: min(c.ranks.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: info.WarpSize}}
	return pickFirst.Launch(s, c.args(), g, ops.SliceArg(c.X.DType, &to), ops.SliceArg(dtype.U32, &at), x, c.ranks, p.order(), p.Pick, c.key.fn)
}

// pick stores some elements of each row, the first ones but not in order, and where they are
// from.
func (p *picker) pick(s *runtime.Stream, some, from ops.View) error {
	c := p.c
	if err := p.count(s); err != nil {
		return err
	}
	// How many each warp finds on both sides of the last one, and their sums.
	both := layout.Shape{2 * c.ranks.Rows, p.Parts}
	sides, sums := p.view(dtype.U32, both), p.view(dtype.U32, both)
	_, _, x := c.results()
	to, at, n, sum := some.Header(), from.Header(), sides.Header(), sums.Header()
	u32 := dtype.U32
	if err := pickSides.Launch(s, c.args(), p.grid(), ops.SliceArg(u32, &n), p.counts, p.prefix, p.left, x, c.ranks, p.order(), p.Pick, c.key.fn); err != nil {
		return err
	}
	if err := rows.CumSum.Run(s, sums, sides, 1); err != nil {
		return err
	}
	return pickTake.Launch(s, c.args(), p.grid(), ops.SliceArg(c.X.DType, &to), ops.SliceArg(u32, &at), ops.SliceArg(u32, &sum), p.prefix, x, c.ranks, p.order(), p.Pick, c.key.fn)
}
