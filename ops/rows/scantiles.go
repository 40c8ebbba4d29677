package rows

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

var (
	scanKept   = ops.NewGeneric("scan", kernels.ScanKept[ops.T, ops.C])
	scanTiles  = ops.NewGeneric("scan", kernels.ScanTiles[ops.T, ops.C])
	scanStrips = ops.NewGeneric("scan", kernels.ScanStrips[ops.T, ops.C])

	packInt, unpackInt = ops.NewGenericFunc(kernels.PackInt[ops.I]), ops.NewGenericFunc(kernels.UnpackInt[ops.I])
	packFloat          = [2]*jit.Fn{jit.Func(kernels.PackFloat), jit.Func(kernels.UnpackFloat)}
	packDouble         = [2]*jit.Fn{jit.Func(kernels.PackDouble), jit.Func(kernels.UnpackDouble)}
)

// packs returns the functions from a number to its bits in an integer, and back.
func packs(d dtype.DType) [2]*jit.Fn {
	switch d {
	case dtype.F32:
		return packFloat
	case dtype.F64:
		return packDouble
	}
	of := ops.TypeArgs{I: d}
	return [2]*jit.Fn{packInt.Of(of), unpackInt.Of(of)}
}

const (
	tileKept = 16      // elements that a thread has of a tile of a scan
	tiledRow = 1 << 14 // rows from this size on are scanned in tiles
)

// rowTiles is how a scan goes through rows in tiles, or through rows that are one.
type rowTiles struct {
	reduction kernels.RowReduction
	grid      runtime.Grid
	tiles     kernels.ScanTiling
	values    int // that blocks publish
}

// divide groups the tiles of rows, so that a block awaits about as many tiles as groups.
func (c *rowTiles) divide(tiles int) {
	n := &c.tiles
	for n.Of = ops.Divisor(tiles); 1<<n.Bits < ops.MaxThreads && 1<<(2*n.Bits) < tiles; {
		n.Bits++
	}
	n.Groups = (tiles + 1<<n.Bits - 1) >> n.Bits
}

// keeps chooses how a block has a row, or reports false for short rows and for long ones.
func (l *RowOp) keeps(info *runtime.Info, p *reductionPlan) (c rowTiles, ok bool) {
	n := l.Len()
	if !ops.TraitsOf(info).BlockTiles || n <= 8*info.WarpSize || n > tileKept*ops.MaxThreads || info.MaxThreads < ops.MaxThreads || !l.tiled(&c.reduction, p) {
		return c, false
	}
	w := &c.reduction
	w.Items = tileKept
	threads := ops.RoundUp((n+tileKept-1)/tileKept, info.WarpSize)
	blocks := ops.RowBlocks(info, threads)
	// Of halves a thread has so few bytes that it has more loads in flight before it scans them.
	if w.Full = l.X.DType.Size() == 2 && w.Vec > 1 && n == tileKept*threads && kernels.KeptThreads%threads == 0; w.Full {
		w.Block, blocks = dsl.ConstInt(threads), info.Units*kernels.KeptThreads/threads
	}
	c.grid = runtime.Grid{Blocks: runtime.Dim3{X: min(w.Rows, blocks)}, Threads: runtime.Dim3{X: threads}}
	return c, true
}

// tile chooses how blocks go through the tiles of rows, or reports false where rows are
// short, or blocks may not wait for each other.
func (l *RowOp) tile(info *runtime.Info, p *reductionPlan) (c rowTiles, ok bool) {
	n := l.Len()
	if !info.Cooperative || info.MaxThreads < ops.MaxThreads || n < tiledRow || !l.tiled(&c.reduction, p) {
		return c, false
	}
	w := &c.reduction
	w.Block, w.Items = ops.MaxThreads, dsl.ConstInt(min(tuned.partBytes/(ops.MaxThreads*l.X.DType.Size()), tuned.part.items))
	size := ops.MaxThreads * int(w.Items)
	tiles := (n + size - 1) / size
	if tiles > ops.MaxThreads*ops.MaxThreads || w.Rows > math.MaxInt32/tiles {
		return c, false
	}
	c.divide(tiles)
	c.values = w.Rows * (tiles + c.tiles.Groups)
	c.grid = runtime.Grid{Blocks: runtime.Dim3{X: w.Rows * tiles}, Threads: runtime.Dim3{X: ops.MaxThreads}}
	return c, true
}

// tiled fills in what all tiles have, or reports false if rows are not contiguous.
func (l *RowOp) tiled(w *kernels.RowReduction, p *reductionPlan) bool {
	if p.across || l.X.Layout.Strides()[l.Dim] != 1 || l.out.Layout.Strides()[l.Dim] != 1 {
		return false
	}
	*w = p.reduction
	w.N, w.Contiguous, w.Group, w.Block, w.Whole, w.Full, w.Tree, w.Vec = l.Len(), true, 0, 0, false, false, false, 1
	if v := 16 / l.X.DType.Size(); l.scanVec(w, v) {
		w.Vec = dsl.ConstInt(v)
	}
	return true
}

// scanVec reports whether rows begin at multiples of v elements.
func (l *RowOp) scanVec(w *kernels.RowReduction, v int) bool {
	for d := range int(w.Outs) {
		if w.Rows > 1 && (w.XStep[d]%v != 0 || w.OutStep[d]%v != 0) {
			return false
		}
	}
	return true
}

// runTiles scans rows in tiles that threads keep, and reports whether it did.
func (c *Scan) runTiles(s *runtime.Stream, l *RowOp, p *reductionPlan) (bool, error) {
	info := ops.DeviceInfo(s.Device())
	d := l.X.DType.Compute()
	of := ops.TypeArgs{T: l.X.DType}
	xh, oh := l.X.Header(), l.out.Header()
	x, out, init, op := ops.SliceArg(l.X.DType, &xh), ops.SliceArg(l.out.DType, &oh), c.init.In(d), c.op.In(d)
	if how, ok := l.keeps(&info, p); ok {
		return true, scanKept.Launch(s, of, how.grid, out, x, how.reduction, init, op)
	}
	f := scanTiles
	how, ok := l.tile(&info, p)
	if !ok {
		f = scanStrips
		how, ok = l.strip(&info, p)
	}
	if !ok {
		return false, nil
	}
	pack := packs(d)
	each := max(2, d.Size()/2) // words for a number
	if d == dtype.F32 {
		each = 1
	}
	return true, WithStatusWords(s, c.name, each*how.values, func(words any) error {
		return f.Launch(s, of, how.grid, out, x, words, how.reduction, how.tiles, dsl.ConstInt(each), init, op, pack[0], pack[1])
	})
}
