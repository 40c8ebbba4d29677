package quantized

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/quantized/kernels"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var matMul = newFamily(kernels.MatMul[prototype, float32, dsl.BF16])

// LinearStrategies lists how [Tensor.Linear] can multiply so many rows of activations, see
// [Tensor.LinearBy].
func LinearStrategies(rows int) []string {
	if rows <= fewRows {
		return few.Names()
	}
	return manyRows.Names()
}

// manyRows are the ways to multiply many rows: with blocks whose values tiles of the product make in
// shared memory, or whose bytes a processor multiplies with activations that are rounded to bytes, or
// with the dequantized weight.
var manyRows = ops.NewStrategies(
	// By warpgroups that multiply while another one fills stages.
	blockTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 8}, 64),
	blockTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6}, mostFilled),
	// By warps that do both in turn.
	blockTiles(tile.Config{M: 64, N: 128, Down: 2, Across: 4, Stages: 3}, 64),
	blockTiles(tile.Config{M: 64, N: 64, Down: 2, Across: 2, Stages: 2}, 64),
	blockTiles(tile.Config{M: 128, N: 128, Down: 2, Across: 4, Stages: 3}, mostFilled),
	bytesOf(kernels.Band{MR: 4, NR: 2}),
	ops.Strategy[manyProblem]{Name: "dequantized weight", Fits: ops.Always[manyProblem], Run: runDense},
)

// mostFilled is up to how many rows tiles make values themselves, each for its own rows, rather than
// have the weight dequantized once in memory. On an H100, of 14336x4096 in Q4_K, 128 rows take 98 µs
// and 122, and 256 rows 193 and 119.
const mostFilled = 128

// manyProblem is a product of many rows.
type manyProblem struct {
	linear
	x    *tensor.Tensor // (rows, k), contiguous
	out  *tensor.Tensor // (rows, n), which a strategy makes
	info runtime.Info
	rows int // of the device's matrix instruction for the type of x, 0 if it has none
	bulk bool
}

// many multiplies more rows than vectors is for, by a strategy or the best one.
func (o linear) many(x *tensor.Tensor, strategy string) *tensor.Tensor {
	p := &manyProblem{linear: o, x: x}
	dev := x.Device().Runtime()
	p.info = ops.DeviceInfo(dev)
	if dt := x.DType(); dt == tensor.F16 || dt == tensor.BF16 {
		p.rows = jit.MatrixShape(dev, dt.Type(), dsl.MatrixM)
		p.bulk = jit.MatrixShape(dev, dt.Type(), dsl.MatrixWarpgroup) > 0
	}
	if err := manyRows.RunBy(x.Device().Stream(), strategy, p); err != nil {
		return tensor.Fail(o.Name(), err)
	}
	return p.out
}

func runDense(_ *runtime.Stream, p *manyProblem) error {
	p.out = p.dense(p.x)
	return p.out.Err()
}

// blockTiles is a row for a configuration of the kernel for matrix instructions, for up to so many rows
// of activations.
func blockTiles(c tile.Config, most int) ops.Strategy[manyProblem] {
	c.K, c.Chunk, c.AVec, c.BVec, c.Cluster = tile.RowBytes/2, 8, true, true, 1
	c.Bulk = c.Across == 1
	name := fmt.Sprintf("tiles of %dx%d by %dx%d warps in %d stages", c.M, c.N, c.Down, c.Across, c.Stages)
	return ops.Strategy[manyProblem]{
		Name: name,
		Fits: func(p *manyProblem) bool { return p.x.Size(0) <= most && p.suits(&c) == nil },
		Run:  func(_ *runtime.Stream, p *manyProblem) error { return p.runTiles(c) },
	}
}

// mostBytes is the size of a weight up to which kernels count its bytes in 31 bits; tests lower it.
var mostBytes = math.MaxInt32

// suits returns why a configuration cannot be used, nil if it can.
func (p *manyProblem) suits(c *tile.Config) error {
	switch {
	case p.q.data.Count() > mostBytes:
		return fmt.Errorf("%w: blocks of %d bytes, tiles are for at most %d", jit.ErrUnsupported, p.q.data.Count(), mostBytes)
	case p.rows == 0 || bool(c.Bulk) && !p.bulk:
		return fmt.Errorf("%w: %s has no such matrix instruction for %v", jit.ErrUnsupported, p.info.Name, p.x.DType())
	case p.q.shape[0] < int(c.N):
		return fmt.Errorf("%w: a weight of %v in tiles of %d columns", jit.ErrUnsupported, p.q.shape, c.N)
	case p.sharedBytes(c) > p.info.SharedPerBlock:
		return fmt.Errorf("%w: a block needs %d bytes of shared memory, %s has %d", jit.ErrUnsupported, p.sharedBytes(c), p.info.Name, p.info.SharedPerBlock)
	case bool(c.Bulk) && p.address()%16 != 0:
		return fmt.Errorf("%w: activations at an address that is no multiple of 16", jit.ErrUnsupported)
	}
	return nil
}

// sharedBytes is how much shared memory a block takes.
func (p *manyProblem) sharedBytes(c *tile.Config) int {
	n := c.Shared() * p.x.DType().Size()
	if c.Bulk {
		n += tile.BarrierBytes
	}
	return n
}

// address is where the activations begin.
func (p *manyProblem) address() uint64 {
	return p.x.Buffer().Addr() + uint64(p.x.Layout().Offset()*p.x.DType().Size())
}

// runTiles multiplies by a configuration of the kernel. Where there are few tiles sums are of parts of
// k, which are added then.
func (p *manyProblem) runTiles(c tile.Config) error {
	if err := p.suits(&c); err != nil {
		return err
	}
	m, n, k := p.x.Size(0), p.q.shape[0], p.q.shape[1]
	down, across := (m+int(c.M)-1)/int(c.M), (n+int(c.N)-1)/int(c.N)
	parts := p.parts(down*across, k)
	part := ops.RoundUp((k+parts-1)/parts, int(c.K))
	parts = (k + part - 1) / part
	args := kernels.Product{
		M: m, N: n, K: k, Part: part, First: p.q.first,
		Count: down * across * parts, Down: ops.Divisor(down), Across: ops.Divisor(across),
	}
	if parts == 1 {
		p.out = tensor.Empty(p.x.Device(), p.x.DType(), m, n)
		return p.launch(p.out, &args, &c)
	}
	sums := tensor.Empty(p.x.Device(), tensor.F32, parts, m, n)
	if err := p.launch(sums, &args, &c); err != nil {
		return err
	}
	p.out = sums.Sum(0).Cast(p.x.DType())
	if p.out.Err() != nil {
		return p.out.Err()
	}
	return sums.Free() // when they are added
}

// shortPart is the shortest part of k that is worth a block of its own.
const shortPart = 512

// parts is into how many parts sums are divided so that all multiprocessors have a tile.
func (p *manyProblem) parts(tiles, k int) int {
	return max(min(p.info.Units/tiles, k/shortPart), 1)
}

// launch has the kernel store its results in out.
func (p *manyProblem) launch(out *tensor.Tensor, args *kernels.Product, c *tile.Config) error {
	if out.Err() != nil {
		return out.Err()
	}
	kernel, err := matMul.of(instance{of: p.q.of, out: out.DType(), in: p.x.DType()})
	if err != nil {
		return err
	}
	var xMap dsl.TensorMap
	if c.Bulk {
		size := p.x.DType().Size()
		xMap, err = p.x.Device().Runtime().EncodeTensorMap(runtime.TensorMap{
			Addr: p.address(), Elem: size, Sizes: [3]int{args.K, args.M, 1},
			Strides: [2]int{args.K * size, args.M * args.K * size}, Box: [3]int{int(c.K), int(c.M), 1},
		})
		if errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("%w: %s copies no boxes", jit.ErrUnsupported, p.info.Name)
		}
		if err != nil {
			return err
		}
	}
	v, err := blocksOf(p.q.data)
	if err != nil {
		return err
	}
	f, err := p.q.of.Block()
	if err != nil {
		return err
	}
	pairs := dsl.ConstBool(args.N%2 == 0)
	return tensor.Launch(kernel, p.grid(c, args.Count), xMap, out, p.x, v.b, v.h, v.w, *args, *c, pairs, f)
}

// grid has a block for each tile, or one for each multiprocessor, which goes over tiles, if one of its
// warpgroups fills stages.
func (p *manyProblem) grid(c *tile.Config, tiles int) runtime.Grid {
	warps := int(c.Warps())
	if c.Bulk {
		warps += 4
		rounds := (tiles + p.info.Units - 1) / p.info.Units
		tiles = (tiles + rounds - 1) / rounds
	}
	return runtime.Blocks(min(tiles, ops.MaxBlocks()), warps*p.info.WarpSize)
}
