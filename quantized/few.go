package quantized

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var (
	dots         = newFamily(kernels.Dots[prototype, float32])
	roundingDots = newFamily(kernels.RoundingDots[prototype, float32])
	copyingDots  = newFamily(kernels.CopyingDots[prototype, float32])
	byteRows     = newFamily(kernels.Activations[float32])
	spanDots     = newFamily(kernels.SpanDots[prototype, float32])
	spanRows     = newFamily(kernels.SpanActivations[prototype, float32])
)

// few are the ways to multiply few rows.
var few = ops.NewStrategies(
	copyingBlocks(2, func(p *fewProblem) bool { return p.rows <= 2 && p.scattered() }),
	copyingBlocks(1, func(p *fewProblem) bool { return p.rows > 2 && p.scattered() }),
	roundingBlocks(1024, 2, ops.Always[fewProblem]),
	roundingBlocks(512, 4, ops.Never[fewProblem]),
	ops.Strategy[fewProblem]{
		Name: "spans of 256 elements", Fits: func(p *fewProblem) bool { return p.spans() == nil }, Run: runSpans,
	},
	ops.Strategy[fewProblem]{Name: "rounded activations", Fits: ops.Always[fewProblem], Run: runDots},
)

// fewProblem is a product of few rows of activations.
type fewProblem struct {
	linear
	x     *tensor.Tensor // (rows, k), contiguous
	out   *tensor.Tensor // of as many rows of n
	rows  int
	info  runtime.Info
	block format.Block
}

// few multiplies up to fewRows rows, by a strategy or the best one, to out.
func (o linear) few(out, x *tensor.Tensor, rows int) *tensor.Tensor {
	f, err := o.q.of.Block()
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	p := &fewProblem{o, x, out, rows, ops.DeviceInfo(x.Device().Runtime()), f}
	if err := few.RunBy(x.Device().Stream(), o.by, p); err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return p.out
}

// runDots rounds activations by a kernel of its own.
func runDots(_ *runtime.Stream, p *fewProblem) error {
	p.out = p.dots(p.out, p.x, p.rows)
	return p.out.Err()
}

// spans returns why a warp cannot read spans of a weight, nil if it can.
func (p *fewProblem) spans() error {
	_, ok := p.block.(format.Spanned)
	switch {
	case !ok || p.q.shape[1]%format.SpanLen != 0:
		return fmt.Errorf("%w: spans of rows of %d elements in %v", jit.ErrUnsupported, p.q.shape[1], p.q.of)
	case !ops.TraitsOf(&p.info).WarpBlocks || p.info.WarpSize != format.SpanLanes:
		return fmt.Errorf("%w: %s has no blocks of %d lanes", jit.ErrUnsupported, p.info.Name, format.SpanLanes)
	}
	return nil
}

// spanBlocks is how many blocks a processor has of the product of [runSpans]: with few of them the
// others wait for the last one, with more the prefetcher has short runs of rows.
const spanBlocks = 8

// runSpans rounds activations by a kernel of its own, to where lanes that read spans have the elements
// that they are multiplied with.
func runSpans(_ *runtime.Stream, p *fewProblem) error {
	if err := p.spans(); err != nil {
		return err
	}
	i := instance{of: p.q.of, out: p.x.DType()}
	round, err := spanRows.of(i)
	if err != nil {
		return err
	}
	multiply, err := spanDots.of(i)
	if err != nil {
		return err
	}
	n, k, f := p.q.shape[0], p.q.shape[1], p.block.(format.Spanned)
	x := tensor.Empty(p.x.Device(), tensor.U32, p.x.Count()/format.SpanLen*kernels.SpanSize(f))
	most := ops.RowBlocks(&p.info, p.info.WarpSize)
	blocks := func(work int) runtime.Grid { return runtime.Blocks(min(work, most), p.info.WarpSize) }
	x = tensor.LaunchInto(x, round, blocks(p.x.Count()/4/p.info.WarpSize), p.x, f)
	rows := runtime.Blocks(min(n, spanBlocks*p.info.Units), p.info.WarpSize)
	p.out = p.q.launch(p.out, multiply, rows, []any{x}, n, k, dsl.ConstInt(p.rows))
	if p.out.Err() != nil {
		return p.out.Err()
	}
	return x.Free() // when the product is done
}

// roundingBlocks is a row for a block of so many threads for each multiprocessor, which rounds
// activations itself, and whose teams multiply so many rows at once.
func roundingBlocks(threads, each int, fits func(p *fewProblem) bool) ops.Strategy[fewProblem] {
	of := func(p *fewProblem) *blocksThatRound {
		n, k := p.q.shape[0], p.q.shape[1]
		c := fewConfig(&p.info, p.rows, n, k)
		c.Each, c.Teams = dsl.ConstInt(each), dsl.ConstInt(threads/p.info.WarpSize)/c.Warps
		return &blocksThatRound{
			Few: c, threads: threads, rows: int(c.Teams * c.Each),
			words: kernels.RoundingWords(p.rows, k/format.PartLen, kernels.Numbers(p.block)),
			sums:  threads / p.info.WarpSize * each * p.rows,
		}
	}
	return ops.Strategy[fewProblem]{
		Name: fmt.Sprintf("blocks of %d threads that round, %d rows at once", threads, each),
		Fits: func(p *fewProblem) bool { return fits(p) && p.suits(of(p)) == nil },
		Run:  func(_ *runtime.Stream, p *fewProblem) error { return p.launch(roundingDots, of(p)) },
	}
}

// blocksThatRound says how a kernel whose blocks round activations is launched.
type blocksThatRound struct {
	kernels.Few
	threads int // of a block
	rows    int // of the weight that a block multiplies at once
	words   int // of shared memory
	sums    int // numbers that its warps add there, if a team has several

	deep, stages, room int // of blocks that copy: see kernels.CopyingDots; stages are 0 of others
}

// copyingBlocks is a row for a block of 512 threads for each multiprocessor, whose warps copy two rows at
// once to shared memory, two parts for a lane in a step. A multiprocessor has room for so many blocks: a
// second one is that of the next kernel, which begins as soon as this one ends.
func copyingBlocks(room int, fits func(p *fewProblem) bool) ops.Strategy[fewProblem] {
	const threads, each, deep = 512, 2, 2
	of := func(p *fewProblem) *blocksThatRound {
		k, size := p.q.shape[1], p.info.WarpSize
		c := kernels.Few{Rows: dsl.ConstInt(p.rows), Each: each, Warps: 1, Teams: dsl.ConstInt(threads / size), Lanes: 1}
		words := func(stages int) int { return kernels.CopyingWords(p.block, k, size, &c, deep, stages) }
		stages := mostStages
		for stages > 2 && 4*words(stages) > p.info.SharedPerBlock/room-blockReserve {
			stages--
		}
		return &blocksThatRound{
			Few: c, threads: threads, rows: int(c.Teams * c.Each), words: words(stages), deep: deep, stages: stages, room: room,
		}
	}
	return ops.Strategy[fewProblem]{
		Name: fmt.Sprintf("blocks of %d threads that copy, of which %d fit", threads, room),
		Fits: func(p *fewProblem) bool {
			most := *p // for which sums have the same order
			most.rows = fewRows
			return fits(p) && p.suits(of(&most)) == nil
		},
		Run: func(_ *runtime.Stream, p *fewProblem) error { return p.launch(copyingDots, of(p)) },
	}
}

const (
	mostStages   = 8        // how many steps a warp has in shared memory at most
	blockReserve = 1 << 10  // what a device takes of shared memory for each block
	largeShared  = 96 << 10 // devices whose blocks have more of it copy while threads go on
)

// scattered reports whether lanes that read parts themselves would read them from many places: blocks of
// several parts that are no words, or have a code book. On an H200 copies are faster for these, by a tenth
// in Q6_K and a half in IQ2_XXS, and slower for others, whose loads take fewer instructions.
func (p *fewProblem) scattered() bool {
	f := p.block
	return p.info.SharedPerBlock > largeShared && f.Elems() == 256 && (f.Bytes()%4 != 0 || f.TableLen() > 0)
}

// suits returns why such blocks cannot be used, nil if they can.
func (p *fewProblem) suits(c *blocksThatRound) error {
	shared := 4 * c.words
	if c.Warps > 1 {
		shared += 4 * c.sums
	}
	switch {
	case p.q.data.Count() > mostBytes:
		return fmt.Errorf("%w: a weight of %d bytes, blocks that round are for at most %d", jit.ErrUnsupported, p.q.data.Count(), mostBytes)
	case c.stages > 0 && p.q.data.Count()%16 != 0:
		return fmt.Errorf("%w: a weight of %d bytes, copies are of 16 each", jit.ErrUnsupported, p.q.data.Count())
	case ops.TraitsOf(&p.info).WarpBlocks || c.threads > p.info.MaxThreads:
		return fmt.Errorf("%w: %s has no blocks of %d threads", jit.ErrUnsupported, p.info.Name, c.threads)
	case shared > p.info.SharedPerBlock:
		return fmt.Errorf("%w: a block needs %d bytes of shared memory, %s has %d", jit.ErrUnsupported, shared, p.info.Name, p.info.SharedPerBlock)
	}
	return nil
}

// launch multiplies by a kernel whose blocks round activations, one for each multiprocessor.
func (p *fewProblem) launch(of *family, c *blocksThatRound) error {
	if err := p.suits(c); err != nil {
		return err
	}
	kernel, err := of.of(instance{of: p.q.of, out: p.x.DType()})
	if err != nil {
		return err
	}
	v, err := blocksOf(p.q.data)
	if err != nil {
		return err
	}
	n, k := p.q.shape[0], p.q.shape[1]
	g := runtime.Blocks(min(p.info.Units, (n+c.rows-1)/c.rows), c.threads)
	if c.stages > 0 {
		return tensor.Launch(kernel, g, p.out, p.x, v.b, v.h, v.w, n, k, c.words, c.Few, dsl.ConstInt(c.deep), dsl.ConstInt(c.stages), dsl.ConstInt(c.room), p.block)
	}
	return tensor.Launch(kernel, g, p.out, p.x, v.b, v.h, v.w, n, k, c.words, c.Few, p.block)
}
