package ops

import (
	"math"
	"reflect"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var turn = family{name: "transpose", kernel: jit.Of(kernels.Transpose[float32]), params: func(t, _ reflect.Type) []reflect.Type {
	return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), reflect.TypeFor[kernels.Tiles]()}
}}

const (
	leastTurned = 16 // rows and columns from which tiles pay
)

// tiles finds out whether a copy turns matrices: the result has the elements of one
// dimension side by side, and x those of another.
func tiles(out, x layout.Layout) (w kernels.Tiles, ok bool) {
	m := layout.Merge(out, x)
	n := len(m.Sizes)
	if n < 2 || n-2 > kernels.MaxRank || m.Strides[0][0] != 1 || m.Strides[1][0] <= 1 {
		return w, false
	}
	d := slices.Index(m.Strides[1], 1)
	if d < 1 || m.Sizes[0] < leastTurned || m.Sizes[d] < leastTurned {
		return w, false
	}
	w = kernels.Tiles{Rows: m.Sizes[0], Cols: m.Sizes[d], XStep: m.Strides[1][0], OutStep: m.Strides[0][d]}
	o := &w.Outer
	o.Mode, o.Rank, o.N = kernels.Dims, 1, 1
	o.Size[0] = 1
	k := 0
	for i := 1; i < n; i++ {
		if i == d {
			continue
		}
		o.Size[k], o.Div[k] = m.Sizes[i], divisor(m.Sizes[i])
		o.Step[0][k], o.Step[1][k] = m.Strides[0][i], m.Strides[1][i]
		o.N *= m.Sizes[i]
		k++
	}
	o.Rank = dsl.ConstInt(max(1, k))
	o.Wide = dsl.ConstBool(k > 1 && o.N > math.MaxInt32)
	// The rows of tiles are a dimension of the grid, of which devices have fewer.
	return w, (w.Rows+kernels.TileSize-1)/kernels.TileSize <= maxBlocksY
}

// transposed copies by tiles; the types of both are the same.
func transposed(s *runtime.Stream, out, x View, w *kernels.Tiles) error {
	k, err := turn.of(out.DType, dtype.U8)
	if err != nil {
		return err
	}
	info := s.Device().Info()
	const tile = kernels.TileSize
	threads := runtime.Dim3{X: tile, Y: max(1, maxThreads/tile)}
	if info.ThreadsPerUnit < tile*threads.Y {
		threads = runtime.Dim3{X: min(tile, info.ThreadsPerUnit), Y: 1}
	}
	blocks := runtime.Dim3{X: (w.Cols + tile - 1) / tile, Y: (w.Rows + tile - 1) / tile, Z: min(w.Outer.N, maxBlocksZ)}
	o, i := out.header(), x.header()
	return k.Launch(s, runtime.Grid{Blocks: blocks, Threads: threads}, slice(out.DType, &o), slice(x.DType, &i), *w)
}
