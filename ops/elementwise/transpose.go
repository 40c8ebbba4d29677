package elementwise

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var transpose = ops.NewGeneric("transpose", kernels.Transpose[ops.T])

const (
	minTransposed = 16 // rows and columns from which tiles pay
)

// tiles finds out whether a copy transposes matrices: the result has the elements of one
// dimension contiguous, and x those of another.
func tiles(out, x layout.Layout) (w kernels.Tiles, ok bool) {
	m := layout.Merge(out, x)
	n := len(m.Sizes)
	if n < 2 || n-2 > core.MaxRank || m.Strides[0][0] != 1 || m.Strides[1][0] <= 1 {
		return w, false
	}
	d := slices.Index(m.Strides[1], 1)
	if d < 1 || m.Sizes[0] < minTransposed || m.Sizes[d] < minTransposed {
		return w, false
	}
	w = kernels.Tiles{Rows: m.Sizes[0], Cols: m.Sizes[d], XStep: m.Strides[1][0], OutStep: m.Strides[0][d]}
	o := &w.Outer
	o.Mode, o.Rank, o.N = core.Dims, 1, 1
	o.Size[0] = 1
	k := 0
	for i := 1; i < n; i++ {
		if i == d {
			continue
		}
		o.Size[k], o.Div[k] = m.Sizes[i], ops.Divisor(m.Sizes[i])
		o.Step[0][k], o.Step[1][k] = m.Strides[0][i], m.Strides[1][i]
		o.N *= m.Sizes[i]
		k++
	}
	o.Rank = dsl.ConstInt(max(1, k))
	o.Wide = dsl.ConstBool(k > 1 && o.N > math.MaxInt32)
	return w, true
}

const (
	tileSide      = 32       // rows and columns of a tile
	largeSide     = 64       // of matrices with more, where elements have up to 4 bytes
	widestSide    = 128      // where elements have 2 bytes, and blocks have so many threads
	widestThreads = 512      // for it, and
	wideShared    = 40 << 10 // bytes of shared memory
	maxVector     = 4        // neighbours that a thread moves at once: it has so many of the smaller tiles
	lineBytes     = 128      // bytes of a line that neighbouring threads move at once
)

// inTiles chooses how blocks go through the tiles. It reports false if there are more rows
// of tiles than devices have blocks in that dimension.
func inTiles(w *kernels.Tiles, info *runtime.Info, out, x ops.View) (g runtime.Grid, ok bool) {
	size := out.DType.Size()
	w.Side = tileSide
	switch {
	case !ops.TraitsOf(info).BlockTiles || info.MaxThreads < ops.MaxThreads:
		y := max(1, min(ops.MaxThreads, info.ThreadsPerUnit)/tileSide)
		g.Threads = runtime.Dim3{X: min(tileSide, info.ThreadsPerUnit), Y: y}
	default:
		if size <= 4 && min(w.Rows, w.Cols) > tileSide {
			w.Side = largeSide
		}
		vec := min(maxVector, ops.VectorBytes/size)
		for vec > 1 && !transposesVectors(w, out, x, vec) {
			vec /= 2
		}
		lanes := min(lineBytes/(size*vec), int(w.Side)/vec)
		threads := ops.MaxThreads
		if size == 2 && vec == maxVector && min(w.Rows, w.Cols) >= widestSide && info.MaxThreads >= widestThreads && info.SharedPerBlock >= wideShared {
			w.Side, threads = widestSide, widestThreads
		}
		w.Threads, w.Lanes, w.Vec = dsl.ConstInt(threads), dsl.ConstInt(lanes), dsl.ConstInt(vec)
		g.Threads = runtime.Dim3{X: threads}
	}
	side := int(w.Side)
	g.Blocks = runtime.Dim3{X: (w.Cols + side - 1) / side, Y: (w.Rows + side - 1) / side, Z: min(w.Outer.N, ops.MaxBlocks())}
	return g, g.Blocks.Y <= ops.MaxGridY
}

// transposesVectors reports whether so many neighbours begin at multiples of that in all lines
// of both operands.
func transposesVectors(w *kernels.Tiles, out, x ops.View, vec int) bool {
	if w.XStep%vec != 0 || w.OutStep%vec != 0 {
		return false
	}
	for i, v := range []ops.View{out, x} {
		if (v.Buf.Addr()+uint64(v.Layout.Offset()*v.DType.Size()))%ops.VectorBytes != 0 {
			return false
		}
		for d := range int(w.Outer.Rank) {
			if w.Outer.Step[i][d]%vec != 0 {
				return false
			}
		}
	}
	return true
}

// transposed copies by tiles; the types of both are the same.
func transposed(s *runtime.Stream, out, x ops.View, w *kernels.Tiles, g runtime.Grid) error {
	o, i := out.Header(), x.Header()
	return transpose.Launch(s, ops.TypeArgs{T: out.DType}, g, ops.SliceArg(out.DType, &o), ops.SliceArg(x.DType, &i), *w)
}
