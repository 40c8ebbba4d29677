package ops

import (
	"fmt"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// thinCols is how many columns a matrix has at most that is multiplied column by column.
const thinCols = 4

var (
	thinType = reflect.TypeFor[kernels.Thin]()

	thinRows = matmulKernel{jit.Of(kernels.ThinRows[float32, float32, float32]), func(o, t, c reflect.Type) []reflect.Type {
		return append(thinParams(o, t, c), function(2, c, c))
	}}
	thinColumns = matmulKernel{jit.Of(kernels.ThinCols[float32, float32, float32]), thinParams}
)

func thinParams(o, t, c reflect.Type) []reflect.Type {
	return []reflect.Type{reflect.SliceOf(o), reflect.SliceOf(t), reflect.SliceOf(t), walkType, productType, thinType, function(3, c, c)}
}

// thin reports whether there are few columns, so that time goes into reading x.
func (p *product) thin() bool { return p.N <= thinCols }

// runThin multiplies thin matrices. With vectors a thread reads 16 bytes at once where
// it can: on a processor whose vectors are warps, the elements of one would lie apart.
func runThin(s *runtime.Stream, p *product, vectors bool) error {
	if !p.thin() {
		return fmt.Errorf("%w: %d by %d is not thin, at most %d columns are", layout.ErrShape, p.M, p.N, thinCols)
	}
	if p.XM == 1 && p.XK != 1 {
		return runThinCols(s, p, vectors)
	}
	return runThinRows(s, p, vectors)
}

// runThinRows has a warp sum a row.
func runThinRows(s *runtime.Stream, p *product, wide bool) error {
	c := kernels.Thin{Cols: dsl.ConstInt(p.N), Vec: 1, Unroll: 4, XUnit: p.XK == 1, YUnit: p.YK == 1}
	warp := p.info.WarpSize
	warps, step := 1, 1
	if wide {
		warps = max(1, min(maxThreads, p.info.MaxThreads)/warp)
		for _, n := range []int{8, 4} {
			if n*p.a.DType.Size() <= 16 && vectors(n, p.batch[1], p.XK, p.XM, p.K) {
				c.Vec, c.Unroll, step = dsl.ConstInt(n), 2, n
				c.YVec = boolConst(vectors(n, p.batch[2], p.YK, p.YN, p.K))
				break
			}
		}
	}
	rows := p.M * p.Batch
	parts := p.split(rows, p.info.Units*p.info.ThreadsPerUnit/warp/2, 8*warp*int(c.Vec), step)
	g := runtime.Grid{Blocks: runtime.Dim3{X: (p.M + warps - 1) / warps, Y: min(p.Batch, maxBlocksY), Z: parts}, Threads: runtime.Dim3{X: warps * warp}}
	return p.withParts(s, parts, func(out View) error {
		to, x, y := out.header(), p.a.header(), p.b.header()
		t := p.a.DType
		ct := t.Compute().Type()
		return thinRows.of(out.DType, t).Launch(s, g, slice(out.DType, &to), slice(t, &x), slice(t, &y), p.walk, p.Product, c, mad(t.Compute()), plus.As(function(2, ct, ct)))
	})
}

// runThinCols has neighbouring threads sum neighbouring rows.
func runThinCols(s *runtime.Stream, p *product, wide bool) error {
	c := kernels.Thin{Cols: dsl.ConstInt(p.N), Vec: 1, Unroll: 1, Steps: 1, XUnit: p.XM == 1}
	threads := min(maxThreads, p.info.ThreadsPerUnit, p.info.MaxThreads)
	if p.serial() {
		c.Unroll = 4
	}
	if wide {
		c.Steps = 4
		for _, n := range []int{8, 4} {
			if n*p.a.DType.Size() <= 16 && vectors(n, p.batch[1], p.XM, p.XK, p.M) {
				c.Vec = dsl.ConstInt(n)
				break
			}
		}
	}
	each := threads * int(c.Unroll*c.Vec)
	blocks := (p.M + each - 1) / each
	parts := p.split(blocks*p.Batch, max(1, p.info.Units*p.info.ThreadsPerUnit/threads), 32, 1)
	g := runtime.Grid{Blocks: runtime.Dim3{X: blocks, Y: min(p.Batch, maxBlocksY), Z: parts}, Threads: runtime.Dim3{X: threads}}
	return p.withParts(s, parts, func(out View) error {
		to, x, y := out.header(), p.a.header(), p.b.header()
		t := p.a.DType
		return thinColumns.of(out.DType, t).Launch(s, g, slice(out.DType, &to), slice(t, &x), slice(t, &y), p.walk, p.Product, c, mad(t.Compute()))
	})
}
