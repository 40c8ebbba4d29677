package attention

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

var (
	delta           = ops.NewGeneric("attention", kernels.Delta[ops.T, ops.C])
	backwardQueries = ops.NewGeneric("attention", kernels.BackwardQueries[ops.T, ops.C])
	backwardKeys    = ops.NewGeneric("attention", kernels.BackwardKeys[ops.T, ops.C])
)

// Gradients are what [Backward] computes and what it computes that from: contiguous operands, of
// the type of the queries or, those of a number for each row, of the type that sums are in.
type Gradients struct {
	// Q, K and V are the results, in the shapes of queries, keys and values. Q, or K and V, have no
	// type where they are not wanted.
	Q, K, V ops.View

	Out   ops.View // the gradient of the result, (batches, heads of keys, heads of each, rows, dv)
	LSE   ops.View // the log-sum-exps, (batches, heads of keys, heads of each, rows)
	Delta ops.View // what [Delta] stores, of the same shape
}

// deltaWarps is how many warps a block has, where blocks have several.
const deltaWarps = 8

// Delta stores the sum of each row of grad·result, (…, rows, dv), less the gradient of the row's
// log-sum-exp, ofLSE (…, rows), which has no type if there is none. All of them are contiguous;
// out, (…, rows), and ofLSE are of the type that sums are in. Other types and shapes are errors of
// the kinds ErrDType of package ops and ErrShape and ErrRank of package layout. Sinks have the
// gradients −exp(sink − LSE)·delta.
func Delta(s *runtime.Stream, out, grad, result, ofLSE ops.View) error {
	if err := checkDelta(out, grad, result, ofLSE); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	shape := result.Layout.Shape()
	n := shape[len(shape)-1]
	rows := out.Layout.Count()
	if rows == 0 {
		return nil
	}
	info := ops.DeviceInfo(s.Device())
	warps := deltaWarps
	if ops.TraitsOf(&info).WarpBlocks {
		warps = 1
	}
	blocks := min((rows+warps*kernels.Beside-1)/(warps*kernels.Beside), ops.RowBlocks(&info, warps*info.WarpSize))
	g := runtime.Grid{Blocks: runtime.Dim3{X: blocks}, Threads: runtime.Dim3{X: warps * info.WarpSize}}
	d, sum := result.DType, result.DType.Compute()
	hs := [4]runtime.SliceHeader{out.Header(), grad.Header(), result.Header(), header(ofLSE)}
	return delta.Launch(s, ops.TypeArgs{T: d}, g,
		ops.SliceArg(sum, &hs[0]), ops.SliceArg(d, &hs[1]), ops.SliceArg(d, &hs[2]), ops.SliceArg(sum, &hs[3]),
		rows, n, dsl.ConstBool(ofLSE.DType != 0))
}

// Backward stores the gradients of queries, keys and values of a [Problem] that [Forward] takes,
// each computed by one block, in an order that is always the same. Those of masks, slopes and sinks
// are not its business: [Delta] says what sinks have. What it has no kernel or too little shared
// memory for is an error of kind [jit.ErrUnsupported], and operands of other types or shapes are
// errors of the kinds ErrDType of package ops and ErrShape, ErrRank and ErrBroadcast of package
// layout, before anything is stored.
func Backward(s *runtime.Stream, g *Gradients, p *Problem) error {
	if p.Sequences != nil || p.Table.DType != 0 || p.ScoreFunc != nil || p.MaskFunc != nil {
		return fmt.Errorf("attention: %w: gradients of sequences of different lengths, and with functions"+
			" of scores and masks", jit.ErrUnsupported)
	}
	if err := p.check(); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	if !p.Q.Layout.IsContiguous() || !p.lines() {
		return fmt.Errorf("attention: %w: operands are not contiguous along their last dimension", jit.ErrUnsupported)
	}
	if err := p.checkGradients(g); err != nil {
		return fmt.Errorf("attention: %w", err)
	}
	info := ops.DeviceInfo(s.Device())
	byRows, rowMaps, err := p.backwardTiles(s.Device(), &info, queriesTiles, g)
	if err != nil {
		return err
	}
	byKeys, keyMaps, err := p.backwardTiles(s.Device(), &info, keysTiles, g)
	if err != nil {
		return err
	}
	q := p.Q.Layout.Shape()
	rows, keys := q[2]*q[3], p.K.Layout.Shape()[2]
	if g.Q.DType != 0 {
		if err := p.backward(s, backwardQueries, g, rows, byRows, rowMaps, g.Q); err != nil {
			return err
		}
	}
	if g.K.DType == 0 {
		return nil
	}
	return p.backward(s, backwardKeys, g, keys, byKeys, keyMaps, g.K, g.V)
}

// tiling is a row of a table of tiles: M by N scores, of which Down times Across warps have parts.
type tiling struct {
	size               int // of the largest heads that they are for
	m, n, down, across dsl.ConstInt
}

// tilings are tables of tiles: for warpgroup instructions and bulk copies, and others.
type tilings struct {
	bulk bulkTiles
	list []tiling
}

// Tables of tiles, in the order in which they are tried: the first one is taken that is for heads
// of the size and that a device has the shared memory for. They are chosen by registers: as large
// as clang and NVIDIA's assembler have registers for without spilling, see TestRegisters in
// tests/ops. Which are the fastest is not measured.
//
// Where warps have all columns, scores stay in registers as factor A of the next product, if the
// device has them there; not on RDNA 4, where waves of 32 lanes that load fragments of 16 columns
// element by element have too few. Gradients of keys and values have sums for both, which are too
// many from heads of more than 64 on: there warps share rows, and scores go through shared memory.
// Smaller tiles are for devices with 64 or 32 KiB of it, of which none is enough for heads of more
// than 128.
var (
	queriesTiles = tilings{
		bulk: bulkTiles{byRows: true, list: []tiling{{64, 128, 128, 8, 1}, {128, 128, 64, 8, 1}}},
		list: []tiling{
			{128, 64, 64, 4, 1},
			{256, 64, 64, 4, 2},
			{128, 32, 64, 2, 4},
			{128, 32, 32, 2, 1},
		},
	}
	keysTiles = tilings{
		bulk: bulkTiles{list: []tiling{{64, 128, 64, 8, 1}, {128, 128, 64, 8, 1}}},
		list: []tiling{
			{64, 64, 32, 4, 1},
			{128, 64, 64, 4, 2},
			{128, 32, 32, 2, 1},
			{256, 32, 64, 2, 4},
		},
	}
)

// backwardTiles returns the tiles of the first row of a table that a device has the shared
// memory for.
func (p *Problem) backwardTiles(dev *runtime.Device, info *runtime.Info, table tilings, g *Gradients) (w kernels.Tiles, m maps, err error) {
	widest := max(p.Q.Layout.Shape()[4], p.V.Layout.Shape()[3])
	if b, m, ok := p.bulkBackward(dev, info, table.bulk, g); ok {
		return b, m, nil
	}
	list := table.list
	if ops.TraitsOf(info).WarpBlocks {
		list = []tiling{{MaxSize, 16, 0, 1, 1}}
	}
	for _, row := range list {
		if widest > row.size {
			continue
		}
		if w, need, ok := p.tilesOf(dev, info, row, g); ok && need <= info.SharedPerBlock {
			return w, m, nil
		}
	}
	return w, m, fmt.Errorf("attention: %w: no tiles for gradients of heads of %d numbers, with the %d bytes"+
		" of shared memory that blocks have on %s", jit.ErrUnsupported, widest, info.SharedPerBlock, info.Name)
}

// tilesOf returns the tiles of a row and how many bytes of shared memory they need. It returns
// false where warps that share no rows would not keep scores as factors in their registers, and
// where N is less than what warps have at least.
func (p *Problem) tilesOf(dev *runtime.Device, info *runtime.Info, row tiling, g *Gradients) (w kernels.Tiles, need int, ok bool) {
	size, elem := p.Q.DType.Size(), p.Q.DType.Type()
	each := info.WarpSize // columns of a warp, at least
	unit := jit.MatrixShape(dev, elem, dsl.MatrixN)
	if unit > 0 {
		each = unit * (1 + jit.MatrixShape(dev, elem, dsl.MatrixLoads))
	}
	wide := max(dsl.ConstInt(tile.RowBytes/size), dsl.ConstInt(each)*row.across)
	if row.n == 0 {
		row.n = wide
	}
	inLanes := row.across == 1 && jit.MatrixShape(dev, elem, dsl.MatrixReuse) > 0 && jit.MatrixShape(dev, elem, dsl.MatrixLenC) <= 4
	w = kernels.Tiles{
		M: row.m, N: row.n, D: columns(p.Q.Layout.Shape()[4], wide), DV: columns(p.V.Layout.Shape()[3], wide),
		Down: row.down, Across: row.across, Stages: 2, Chunk: dsl.ConstInt(16 / size), Vec: p.vectors(g),
	}
	if row.across == 1 && jit.MatrixShape(dev, elem, dsl.MatrixWarpgroup) > 0 {
		w.Stages = 3 // as warpgroup instructions want
	}
	return w, w.Shared(inLanes) * size, inLanes || row.n >= wide && (unit == 0 || row.across > 1)
}

// columns is how many columns the tile of a result of size n has.
func columns(n int, wide dsl.ConstInt) dsl.ConstInt {
	return max((dsl.ConstInt(n)+wide-1)/wide*wide, wide)
}

// vectors reports whether all rows of all factors are whole chunks of 16 bytes.
func (p *Problem) vectors(g *Gradients) dsl.ConstBool {
	n := 16 / p.Q.DType.Size()
	for _, v := range []ops.View{p.Q, p.K, p.V, g.Out} {
		s := v.Layout.Shape()
		if s[len(s)-1]%n != 0 || !aligned(v, n) {
			return false
		}
	}
	return true
}

// backward launches a kernel that stores some results: n is how many rows or keys a plane has, of
// which blocks have tiles.
func (p *Problem) backward(s *runtime.Stream, kernel *ops.Generic, g *Gradients, n int, w kernels.Tiles, m maps, results ...ops.View) error {
	problem, f, bits, bias := p.inKernel()
	f.Sinks = false // which the log-sum-exps are with
	problem.Tiles = (n + int(w.M) - 1) / int(w.M)
	q := p.Q.Layout.Shape()
	blocks := problem.Tiles * q[0] * q[1]
	if blocks == 0 {
		return nil
	}
	warp := ops.DeviceInfo(s.Device()).WarpSize
	grid := runtime.Grid{Blocks: runtime.Dim3{X: blocks}, Threads: runtime.Dim3{X: int(w.Down*w.Across) * warp}}
	args := []any{m[0], m[1], m[2], m[3]}
	for _, r := range results {
		w.Boxes = w.Boxes && aligned16(r)
	}
	for _, r := range results {
		var to dsl.TensorMap
		if w.Boxes {
			var err error
			if to, err = outMap(s.Device(), r, n); err != nil {
				return err
			}
		}
		args = append(args, to)
	}
	if w.Bulk {
		grid.Threads.X += warpgroup * warp // which copy
		problem.K.Plane, problem.V.Plane = planesOf(p.K), planesOf(p.V)
	}
	d, sum := p.Q.DType, p.Q.DType.Compute()
	list := append(slices.Clone(results), g.Out, g.LSE, g.Delta, p.Q, p.K, p.V, bits, bias, p.Slopes)
	headers := make([]runtime.SliceHeader, len(list))
	for i, v := range list {
		headers[i] = header(v)
		typ := d
		switch i - len(results) {
		case 1, 2, 7, 8:
			typ = sum
		case 6:
			typ = dtype.U8
		}
		args = append(args, ops.SliceArg(typ, &headers[i]))
	}
	scale, limit, lowest := p.numbers(sum)
	args = append(args, problem, ops.ScalarArg(sum, &scale), ops.ScalarArg(sum, &limit), ops.ScalarArg(sum, &lowest), f, w)
	return kernel.Launch(s, ops.TypeArgs{T: d}, grid, args...)
}
