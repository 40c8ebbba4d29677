package quantized

import (
	"fmt"
	"reflect"

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
	tileDots     = newFamily(kernels.TileDots[prototype, float32])
	byteRows     = newFamily(kernels.Activations[float32])
)

// few are the ways to multiply few rows.
var few = ops.NewStrategies(
	roundingBlocks(1024, 1),
	roundingBlocks(512, 2),
	roundingBlocks(256, 4),
	tileBlocks(1024),
	tileBlocks(512),
	ops.Strategy[fewProblem]{Name: "rounded activations", Fits: ops.Always[fewProblem], Run: runDots},
)

// fewProblem is a product of few rows of activations.
type fewProblem struct {
	linear
	x    *tensor.Tensor // (rows, k), contiguous
	out  *tensor.Tensor // of as many rows of n
	rows int
	info runtime.Info
}

// few multiplies up to fewRows rows, by a strategy or the best one, to out.
func (o linear) few(out, x *tensor.Tensor, rows int) *tensor.Tensor {
	p := &fewProblem{linear: o, x: x, out: out, rows: rows, info: ops.DeviceInfo(x.Device().Runtime())}
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

// roundingBlocks is a row for blocks of so many threads which round activations themselves, so many
// of them for each multiprocessor.
func roundingBlocks(threads, resident int) ops.Strategy[fewProblem] {
	return ops.Strategy[fewProblem]{
		Name: fmt.Sprintf("%d blocks of %d threads that round", resident, threads),
		Fits: ops.Never[fewProblem],
		Run: func(_ *runtime.Stream, p *fewProblem) error {
			f, err := p.q.of.Block()
			if err != nil {
				return err
			}
			n, k := p.q.shape[0], p.q.shape[1]
			c := fewConfig(&p.info, p.rows, n, k)
			c.Teams = dsl.ConstInt(threads/p.info.WarpSize) / c.Warps
			return p.launch(roundingDots, &blocksThatRound{
				Few: c, threads: threads, resident: resident, rows: int(c.Teams * c.Each),
				words: kernels.RoundingWords(p.rows, k/format.PartLen, kernels.Numbers(f)),
				sums:  threads / p.info.WarpSize * int(c.Each) * p.rows,
			})
		},
	}
}

// tileBlocks is a row for a block of so many threads for each multiprocessor, which multiplies by matrix
// instructions.
func tileBlocks(threads int) ops.Strategy[fewProblem] {
	return ops.Strategy[fewProblem]{
		Name: fmt.Sprintf("tiles of blocks of %d threads", threads),
		Fits: ops.Never[fewProblem],
		Run: func(_ *runtime.Stream, p *fewProblem) error {
			dev := p.x.Device().Runtime()
			if jit.MatrixShape(dev, reflect.TypeFor[int8](), dsl.MatrixLoads) == 0 {
				return fmt.Errorf("%w: %s has no such matrix instruction for bytes", jit.ErrUnsupported, p.info.Name)
			}
			f, err := p.q.of.Block()
			if err != nil {
				return err
			}
			warps, line := threads/p.info.WarpSize, p.q.shape[1]/format.PartLen
			c := kernels.Few{Rows: dsl.ConstInt(p.rows), Each: 2, Warps: 1, Lanes: 1}
			// As many warps for some rows as keep all busy.
			for int(c.Warps) < warps && p.q.shape[0]/kernels.TileRows*int(c.Warps)*2 <= p.info.Units*warps {
				c.Warps *= 2
			}
			c.Teams = dsl.ConstInt(warps) / c.Warps
			return p.launch(tileDots, &blocksThatRound{
				Few: c, threads: threads, resident: 1, rows: int(c.Teams) * kernels.TileRows,
				words: kernels.TileWords(line, warps, f),
				sums:  warps * kernels.TileRows * kernels.TileColumns,
			})
		},
	}
}

// blocksThatRound says how a kernel whose blocks round activations is launched.
type blocksThatRound struct {
	kernels.Few
	threads  int // of a block
	resident int // blocks of a multiprocessor
	rows     int // of the weight that a block multiplies at once
	words    int // of shared memory for activations
	sums     int // numbers that its warps add there, if a team has several
}

// launch multiplies by a kernel whose blocks round activations.
func (p *fewProblem) launch(of *family, c *blocksThatRound) error {
	shared := 4 * c.words
	if c.Warps > 1 {
		shared += 4 * c.sums
	}
	switch {
	case p.q.data.Count() > mostBytes:
		return fmt.Errorf("%w: blocks of %d bytes, they are for at most %d", jit.ErrUnsupported, p.q.data.Count(), mostBytes)
	case ops.TraitsOf(&p.info).WarpBlocks || c.threads > p.info.MaxThreads:
		return fmt.Errorf("%w: %s has no blocks of %d threads", jit.ErrUnsupported, p.info.Name, c.threads)
	case shared > p.info.SharedPerBlock:
		return fmt.Errorf("%w: a block needs %d bytes of shared memory, %s has %d", jit.ErrUnsupported, shared, p.info.Name, p.info.SharedPerBlock)
	}
	kernel, err := of.of(instance{of: p.q.of, out: p.x.DType()})
	if err != nil {
		return err
	}
	f, err := p.q.of.Block()
	if err != nil {
		return err
	}
	v, err := blocksOf(p.q.data.Buffer())
	if err != nil {
		return err
	}
	n, k := p.q.shape[0], p.q.shape[1]
	g := runtime.Blocks(min(c.resident*p.info.Units, (n+c.rows-1)/c.rows), c.threads)
	return tensor.Launch(kernel, g, p.out, p.x, v.b, v.h, v.w, n, k, c.words, c.Few, dsl.ConstInt(c.resident), f)
}
