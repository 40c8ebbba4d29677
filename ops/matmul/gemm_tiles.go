package matmul

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	gemmMatrix     = ops.NewGeneric("matmul", kernels.Multiply[ops.O, ops.T, ops.C])
	gemmMatrixThen = ops.NewGeneric("matmul", kernels.MultiplyThen[ops.O, ops.T, ops.C])
	gemmTF32       = ops.NewGeneric("matmul", kernels.Multiply[ops.O, dsl.TF32, ops.C])
	gemmTF32Then   = ops.NewGeneric("matmul", kernels.MultiplyThen[ops.O, dsl.TF32, ops.C])
	gemmGated      = ops.NewGeneric("matmul", kernels.MultiplyGated[ops.O, ops.T, ops.C])
)

// matrixTiles is a row for a configuration of the kernel for matrix instructions, whose K is made
// to fit the element type.
func matrixTiles(c tile.Config, fits func(*Problem, tile.Config) bool) ops.Strategy[Problem] {
	name := fmt.Sprintf("matrix tiles of %dx%d by %dx%d warps in %d stages", c.M, c.N, c.Down, c.Across, c.Stages)
	if c.Cluster > 1 {
		name += fmt.Sprintf(", clusters of %d", c.Cluster)
	}
	return ops.Strategy[Problem]{
		Name: name,
		Fits: func(p *Problem) bool { return fits(p, c) },
		Run:  func(s *runtime.Stream, p *Problem) error { return runMatrix(s, p, c) },
	}
}

// smallMatrix is the configuration for products that have few tiles.
var smallMatrix = tile.Config{M: 64, N: 64, Down: 2, Across: 1, Stages: 4}

// matrixRows are the strategies by matrix instructions, as the factors lie.
var matrixRows = []ops.Strategy[Problem]{
	matrixTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4, Cluster: 2}, (*Problem).fillsClusters),
	matrixTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}, (*Problem).fillsLong),
	matrixTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6, Cluster: 2}, func(p *Problem, c tile.Config) bool { return p.promotes() > 0 && p.fillsClusters(c) }),
	matrixTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6}, (*Problem).fillsWarpgroups),
	matrixTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 4}, (*Problem).fillsWarpgroups),
	matrixTiles(tile.Config{M: 128, N: 256, Down: 2, Across: 4, Stages: 3}, (*Problem).fillsMatrix),
	matrixTiles(tile.Config{M: 128, N: 128, Down: 2, Across: 2, Stages: 3}, (*Problem).fillsMatrix),
	matrixTiles(tile.Config{M: 64, N: 128, Down: 2, Across: 2, Stages: 3}, (*Problem).fillsMatrix),
	matrixTiles(smallMatrix, (*Problem).hasMatrix),
}

// runMatrix multiplies by matrix instructions.
func runMatrix(s *runtime.Stream, p *Problem, c tile.Config) error {
	d := p.A.DType
	if ByWarpgroups(&c) && !p.Warpgroups {
		return fmt.Errorf("matmul: %w: %s has no warpgroup instruction for %v", jit.ErrUnsupported, p.Info.Name, d)
	}
	fitted(&c, p)
	c.Promote = p.promotes()
	p.narrow(&c)
	if p.Matrix() && p.outgrows(&c) {
		return fmt.Errorf("matmul: %w: threads of %s have too few registers for tiles of %dx%d by %d warps", jit.ErrUnsupported, p.Info.Name, c.M, c.N, c.Warps())
	}
	if n := c.Shared() * d.Size(); n > p.Info.SharedPerBlock {
		return fmt.Errorf("matmul: a block needs %d bytes of shared memory, %s has %d", n, p.Info.Name, p.Info.SharedPerBlock)
	}
	wide := p.tileColumns(&c)
	if p.scales != nil && p.scales.Y.Wide == ScaleBlock && wide%ScaleBlock != 0 && ScaleBlock%wide != 0 {
		return fmt.Errorf("matmul: %w: columns of tiles of %d are of several blocks of scales", jit.ErrUnsupported, wide)
	}
	c.A, c.AVec = p.order(1, int(c.M))
	c.B, c.BVec = p.order(2, wide)
	if ByWarpgroups(&c) && p.KMajor && c.A+c.B > 2*tile.AlongK {
		return fmt.Errorf("matmul: %w: warpgroups of %s take factors of %v along k only", jit.ErrUnsupported, p.Info.Name, d)
	}
	var maps productMaps
	var err error
	if maps.x, maps.y, err = p.tensorMaps(s.Device(), &c); err == nil {
		maps.up, err = p.upMap(s.Device(), &c)
	}
	if err != nil {
		return err
	}
	blocks := p.tiles(&c)
	parts := p.split(blocks, blocks*p.parts(blocks, &c), 8*int(c.K), int(c.K), p.run())
	if blocks > math.MaxInt32/parts {
		return fmt.Errorf("matmul: %w: %d tiles of %dx%d in %d parts", jit.ErrUnsupported, blocks, c.M, wide, parts)
	}
	p.Raster = p.raster(&c, parts)
	g := p.MatrixGrid(&c, blocks*parts)
	p.fuses = p.matrixSum() == p.Out.DType.Compute()
	if present(p.up) && (parts > 1 || !p.Matrix() && wide < p.Info.WarpSize) {
		return errApart
	}
	return p.withParts(s, parts, func(out ops.View) error {
		if maps.out, err = p.outMap(s.Device(), &c, out, parts); err != nil {
			return err
		}
		return p.launchMatrix(s, g, c, maps, out)
	})
}

// raster is the order of tiles: the kernel counts those of clusters.
func (p *Problem) raster(c *tile.Config, parts int) kernels.Raster {
	return NewRaster(p.M, p.N, int(c.M)*max(int(c.Cluster), 1), p.tileColumns(c), p.Batch, parts)
}

// NewRaster is the order of tiles of so many rows and columns, of several matrices of m by n, and
// of parts of their sums.
func NewRaster(m, n, high, wide, batch, parts int) kernels.Raster {
	down, across := (m+high-1)/high, (n+wide-1)/wide
	rest := down % kernels.BandRows
	return kernels.Raster{
		Count: down * across * batch * parts,
		Tiles: ops.Divisor(down * across), Batch: ops.Divisor(batch),
		Band: ops.Divisor(kernels.BandRows * across), Rest: ops.Divisor(max(rest, 1)), Last: (down - rest) * across,
	}
}

// tileColumns is how many columns of the result a tile has: half of its own are those of the second
// factor of gated units.
func (p *Problem) tileColumns(c *tile.Config) int {
	if present(p.up) {
		return int(c.N) / 2
	}
	return int(c.N)
}

// launchMatrix launches the kernel for matrix instructions, that with an epilogue if sums go
// through one there.
func (p *Problem) launchMatrix(s *runtime.Stream, g runtime.Grid, c tile.Config, maps productMaps, out ops.View) error {
	d := p.A.DType
	pairs := dsl.ConstBool(vectors(2, p.Batches[0], p.OutN, p.OutM, p.N))
	to, xs, ys := out.Header(), p.A.Header(), p.B.Header()
	kernel, then, x, y := gemmMatrix, gemmMatrixThen, ops.SliceArg(d, &xs), ops.SliceArg(d, &ys)
	if p.TF32 {
		kernel, then, x, y = gemmTF32, gemmTF32Then, runtime.SliceOf[dsl.TF32](xs), runtime.SliceOf[dsl.TF32](ys)
	}
	sum := p.matrixSum()
	types, mad := ops.TypeArgs{T: d, O: out.DType, C: sum}, ops.MulAddFn(sum)
	if p.scales != nil {
		return gemmScaled.Launch(s, types, g, maps.x, maps.y, maps.out, ops.SliceArg(out.DType, &to), x, y, p.scales.arg(0), p.scales.arg(1), p.BatchWalk, p.Product, p.Raster, p.scales.Scales, c, pairs, mad)
	}
	f, ok, err := p.fused(s, sum)
	switch {
	case err != nil:
		return err
	case !ok:
		return kernel.Launch(s, types, g, maps.x, maps.y, maps.out, ops.SliceArg(out.DType, &to), x, y, p.BatchWalk, p.Product, p.Raster, c, pairs, mad)
	case !present(p.up):
		return then.Launch(s, types, g, maps.x, maps.y, maps.out, ops.SliceArg(out.DType, &to), x, y, f.bias, f.factor, f.residual, f.walk, p.Product, p.Raster, c, pairs, f.scale, f.e, mad, p.then.act)
	}
	f.e.Factor.Kind = kernels.Strided // which the kernel makes
	ups := p.up.Header()
	return gemmGated.Launch(s, types, g, maps.x, maps.y, maps.up, maps.out, ops.SliceArg(out.DType, &to), x, y, ops.SliceArg(d, &ups), f.bias, f.residual, f.walk, p.Product, p.Raster, c, pairs, f.scale, f.e, mad, p.then.act)
}

// MatrixGrid is the grid for so many tiles. With bulk copies there are as many blocks as
// multiprocessors, which go over the tiles, or fewer if they take no more rounds: those left out
// would slow the others down. Else there is a block for each tile.
func (p *Problem) MatrixGrid(c *tile.Config, tiles int) runtime.Grid {
	warps, cluster := int(c.Warps()), max(int(c.Cluster), 1)
	blocks := ops.RoundUp(tiles, cluster)
	if c.Bulk {
		warps += 4
		rounds := (blocks + p.Info.Units - 1) / p.Info.Units
		blocks = min(ops.RoundUp((blocks+rounds-1)/rounds, cluster), p.Info.Units/cluster*cluster)
	}
	blocks = max(min(blocks, ops.MaxBlocks())/cluster, 1) * cluster
	return runtime.Grid{Blocks: runtime.Dim3{X: blocks}, Threads: runtime.Dim3{X: warps * p.Info.WarpSize}}
}

// Matrix reports whether the device has a matrix instruction for the type.
func (p *Problem) Matrix() bool { return p.MatrixRows > 0 }

// maxSums64 is how many sums of 8 bytes of a block fit in its registers beside their factors.
const maxSums64 = 128 * 128

// mostBeside is how many sums a thread has registers for beside those of a stage, or beside
// fragments that no instruction loads together.
const mostBeside = 64

// After how many stages sums are added outside of matrix instructions.
const (
	stagesOf8   = 2 // of 8-bit floating-point factors, of whose sums the instructions keep fewer bits than float32 has
	splitStages = 8 // of split factors: instructions cut bits off in place of rounding, which adds up over six terms
)

// promotes returns after how many stages sums are added outside of matrix instructions, 0 for
// never: those of one stage if they have scales of their own.
func (p *Problem) promotes() dsl.ConstInt {
	switch {
	case p.scales != nil && bool(p.scales.Blocks):
		return 1
	case !p.Matrix():
		return 0
	case p.float8() && p.Precision < High:
		return stagesOf8
	case p.splits:
		return splitStages
	}
	return 0
}

// matrixSum is the type of the sums in matrix instructions.
func (p *Problem) matrixSum() dtype.DType {
	switch p.A.DType {
	case dtype.I8:
		return dtype.I32
	case dtype.U8:
		return dtype.U32
	}
	return p.sum()
}

// outgrows reports whether a thread has more sums than it has registers for beside what else it
// needs.
func (p *Problem) outgrows(c *tile.Config) bool {
	if p.A.DType.Size() == 8 {
		return c.M*c.N > maxSums64
	}
	return (p.promotes() > 0 || !p.loadsMatrix(1) || !p.loadsMatrix(2)) && int(c.M*c.N/c.Warps()) > mostBeside*p.Info.WarpSize
}

// loadsMatrix reports whether an instruction loads several fragments of factor i as it lies.
func (p *Problem) loadsMatrix(i int) bool {
	if !p.loads || p.transposes {
		return p.loads
	}
	order, _ := p.order(i, largestTile)
	return order == tile.AlongK
}

// hasMatrix reports whether a configuration can be used for the problem.
func (p *Problem) hasMatrix(c tile.Config) bool {
	return p.Matrix() && !p.outgrows(&c) && fitted(&c, p).Shared()*p.A.DType.Size() <= p.Info.SharedPerBlock
}

// fillsMatrix reports whether there are tiles for most multiprocessors, too.
func (p *Problem) fillsMatrix(c tile.Config) bool {
	return p.hasMatrix(c) && p.tiles(&c)*4 >= p.Info.Units*3
}

// ByWarpgroups reports whether a configuration is one for warpgroups that multiply factors in
// shared memory.
func ByWarpgroups(c *tile.Config) bool { return c.Across == 1 && c.M == 16*c.Down && c.Down%4 == 0 }

// fillsWarpgroups is fillsMatrix for such a configuration, of whose tiles parts along k count, too.
func (p *Problem) fillsWarpgroups(c tile.Config) bool {
	return p.Warpgroups && (p.fillsMatrix(c) || p.fillsDivided(c)) && !p.needsKMajor(1) && !p.needsKMajor(2)
}

// longPart is how many elements along k make a part of a tile worth what its sums cost, which are
// stored and added.
const longPart = 2048

// fillsDivided reports whether there are long parts of tiles for most multiprocessors.
func (p *Problem) fillsDivided(c tile.Config) bool {
	return p.hasMatrix(c) && p.tiles(&c)*(p.K/longPart)*4 >= p.Info.Units*3
}

// shortSums is the length of sums up to which a block stores a large tile longer than it
// multiplies.
const shortSums = 512

// fillsLong is fillsWarpgroups for large tiles.
func (p *Problem) fillsLong(c tile.Config) bool { return p.K > shortSums && p.fillsWarpgroups(c) }

// What pays for blocks that wait for each other in clusters, by the rates of an H200.
const (
	longSums   = 2048 // along k
	manyRounds = 3    // of tiles on all multiprocessors
)

// fillsClusters is fillsLong for clusters of blocks.
func (p *Problem) fillsClusters(c tile.Config) bool {
	return p.M > int(c.M) && WorthClusters(p.K, p.tiles(&c), p.Info.Units) && p.fillsLong(c)
}

// WorthClusters reports whether clusters pay for so many tiles of products with k elements along k
// on so many multiprocessors.
func WorthClusters(k, tiles, units int) bool { return k >= longSums && tiles >= manyRounds*units }

// tiles is how many tiles the results have.
func (p *Problem) tiles(c *tile.Config) int {
	down := ops.RoundUp((p.M+int(c.M)-1)/int(c.M), max(int(c.Cluster), 1))
	wide := p.tileColumns(c)
	return down * ((p.N + wide - 1) / wide) * p.Batch
}

// fitted makes a configuration one for the element type: K for rows of so many bytes, and twice the
// warps for sums of 8 bytes, which take two registers each. There are no more stages than shared
// memory has room for, and two at least: large tiles are worth more than many stages.
func fitted(c *tile.Config, p *Problem) *tile.Config {
	size := p.A.DType.Size()
	c.Chunk, c.K = dsl.ConstInt(16/size), dsl.ConstInt(tile.RowBytes/size)
	if size == 8 && c.M >= 128 {
		c.Down *= 2
	}
	for !ByWarpgroups(c) && c.Stages > 2 && c.Shared()*size > p.Info.SharedPerBlock {
		c.Stages--
	}
	return c
}

// factorOrder chooses the order of a factor in shared memory, and whether chunks of n elements are
// copied at once. A tile of it has so many rows or columns.
func factorOrder(n, tileSize int, batch layout.Layout, across, along, size, k int) (order dsl.ConstInt, vec dsl.ConstBool) {
	whole := ops.Multiples(n, batch.Strides()...)
	switch {
	case along == 1 && whole && ops.Multiples(n, across, k):
		return tile.AlongK, true
	case tileSize%(8*n) != 0: // shorter than rows in shared memory are
	case across == 1 && whole && ops.Multiples(n, along, size):
		return tile.AcrossK, true
	case across == 1 && along != 1:
		return tile.AcrossK, false
	}
	return tile.AlongK, false
}
