package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	core "github.com/gokiln/kiln/ops/kernels"
)

// ScaleBlock is how many elements along k, and rows or columns, the scale of a block is for.
const ScaleBlock = 128

// Scale says where the scales of a factor are.
type Scale struct {
	Wide   dsl.ConstInt // rows or columns of the factor that have one scale: 1, ScaleBlock, or 0 for all
	Across int          // stride from one of these to the next
	Along  int          // stride along k from one block to the next, 0 if all have one scale
}

// of returns the index of the scale of row or column i and index k along k.
func (s *Scale) of(i, k int) int {
	switch s.Wide {
	case 0:
		i = 0
	case ScaleBlock:
		i /= ScaleBlock
	}
	return i*s.Across + k/ScaleBlock*s.Along
}

// wide is how many columns have one scale at least.
func (s *Scale) wide() dsl.ConstInt {
	if s.Wide == 0 {
		return ScaleBlock
	}
	return s.Wide
}

// Scales are those of both factors.
type Scales struct {
	X, Y   Scale
	Blocks dsl.ConstBool // they differ along k: sums of a stage are scaled before they are added
}

// MultiplyScaled is [Multiply] of factors with scales: a product is that of the elements times both
// scales.
//
//kiln:kernel
//kiln:const cfg.M=16 cfg.N=64 cfg.K=16 cfg.Down=1 cfg.Across=1 cfg.Stages=2 cfg.Chunk=2 cfg.A=0 cfg.B=0,1 cfg.Cluster=1 cfg.Bulk=false cfg.OutSize=0 cfg.Promote=0,1 sc.X.Wide=1 sc.Y.Wide=1,128 sc.Blocks=false,true
func MultiplyScaled[O, T dsl.Number, C core.Computed](t dsl.Thread, xMap, yMap, outMap dsl.TensorMap, out []O, x, y []T, xs, ys []float32, w core.Walk, p Product, r Raster, sc Scales, cfg tile.Config, pairs dsl.ConstBool, mad func(a, b, c C) C) {
	// Of what is beyond the edge the last scale is read.
	scaleX := func(row, k int) float32 { return xs[sc.X.of(min(row, p.M-1), k)] }
	scaleY := func(col, k int) float32 { return ys[sc.Y.of(min(col, p.N-1), k)] }
	multiplyTiles(t, xMap, yMap, yMap, outMap, out, x, y, y, false, &w, &p, &r, &cfg, pairs, mad, func(row, col, k int, sums, part []C) {
		if !sc.Blocks {
			tile.Add(t, sums, part, &cfg)
			return
		}
		tile.AddScaled(t, x, sums, part, &cfg, sc.Y.wide(), func(r int) C { return dsl.Convert[C](scaleX(row+r, k)) }, func(c int) C { return dsl.Convert[C](scaleY(col+c, k)) })
	}, func(_ [core.Operands]int, r, c, next int, v, v2, _, _ C) [2]O {
		a, b := dsl.Convert[float32](v), dsl.Convert[float32](v2)
		if !sc.Blocks {
			s := scaleX(r, 0)
			a, b = a*(s*scaleY(c, 0)), b*(s*scaleY(c+next, 0))
		}
		return [2]O{dsl.Convert[O](a), dsl.Convert[O](b)}
	})
}
