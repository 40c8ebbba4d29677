package rows

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

const (
	stripLine  = 128     // bytes of the columns of a tile that are contiguous
	stripBytes = 1 << 15 // of a tile
)

// strip chooses how blocks go through tiles of columns, or reports false where columns do not
// are contiguous or are short, or blocks may not wait for each other.
func (l *RowOp) strip(info *runtime.Info, p *reductionPlan) (c rowTiles, ok bool) {
	w := &c.reduction
	*w = p.reduction
	w.Tree = dsl.ConstBool(p.adds())
	w.OutIn = l.out.Layout.Strides()[l.Dim]
	if !info.Cooperative || info.MaxThreads < ops.MaxThreads || !p.across || p.parts == 1 || w.XStep[0] != 1 || w.OutStep[0] != 1 {
		return c, false
	}
	rows := stripOf(w, l.X.DType.Size())
	tiles, strips := (w.N+rows-1)/rows, (w.Width+int(w.Cols)-1)/int(w.Cols)
	if w.Rows > math.MaxInt32/strips/(2*tiles) {
		return c, false
	}
	c.divide(tiles)
	c.tiles.Strips = ops.Divisor(strips)
	c.values = w.Rows * strips * (tiles + c.tiles.Groups) * int(w.Cols)
	c.grid = runtime.Grid{Blocks: runtime.Dim3{X: w.Rows * strips * tiles}, Threads: runtime.Dim3{X: ops.MaxThreads}}
	return c, true
}

// stripOf divides columns of elements of a size among tiles, and returns how many rows they have.
func stripOf(w *kernels.RowReduction, size int) (rows int) {
	vec, cols := 16/size, stripLine/size
	if !fitCols(w, vec) {
		vec = 1
	}
	for cols > max(vec, fewestCols) && cols/2 >= w.Width {
		cols /= 2
	}
	w.Contiguous, w.Group, w.Whole, w.InFlight = true, 0, false, 1
	w.Block, w.Cols, w.Vec, w.Items = ops.MaxThreads, dsl.ConstInt(cols), dsl.ConstInt(vec), dsl.ConstInt(stripBytes/(ops.MaxThreads*size*vec))
	if size == 2 && vec > 1 && pairs(w) {
		w.InFlight = 2
	}
	return stripBytes / (cols * size)
}

// pairs reports whether columns and results are contiguous in pairs.
func pairs(w *kernels.RowReduction) bool {
	for d := 1; d < int(w.Outs); d++ {
		if w.OutStep[d]%2 != 0 {
			return false
		}
	}
	return w.Width%2 == 0 && w.OutIn%2 == 0
}
