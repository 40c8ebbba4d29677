package matmul

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// errApart is what strategies for gated units say of a problem that takes two products.
var errApart = errors.New("matmul: gated units by two products")

// gatedProducts are the strategies by which a tile has columns of both factors of gated units.
var gatedProducts = ops.NewStrategies([]ops.Strategy[Problem]{
	matrixTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 8}, func(p *Problem, c tile.Config) bool { return p.M <= int(c.M) && p.fillsGated(c) }),
	matrixTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4, Cluster: 2}, func(p *Problem, c tile.Config) bool { return p.M > int(c.M) && p.fillsLong(c) && p.fillsGated(c) }),
	matrixTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}, func(p *Problem, c tile.Config) bool { return p.fillsLong(c) && p.fillsGated(c) }),
	matrixTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6}, (*Problem).fillsGated),
	matrixTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 4}, (*Problem).fillsGated),
	matrixTiles(smallMatrix, func(*Problem, tile.Config) bool { return false }),
	{Name: "two products", Fits: ops.Always[Problem], Run: func(*runtime.Stream, *Problem) error { return errApart }},
}...)

// fillsGated is fillsWarpgroups for tiles of gated units, whose sums are not divided. Factors that
// are not copied in chunks had better be padded, each for its product.
func (p *Problem) fillsGated(c tile.Config) bool {
	return p.fillsWarpgroups(c) && p.inChunks(1) && p.inChunks(2) && p.parts(p.tiles(&c), fitted(&c, p)) == 1
}

// gated multiplies by both factors of gated linear units.
func gated(s *runtime.Stream, o Options, out, a, b ops.View) error {
	if !o.Up.Layout.Shape().Equal(b.Layout.Shape()) {
		return fmt.Errorf("%w: matmul by %v gated by %v", layout.ErrShape, b.Layout.Shape(), o.Up.Layout.Shape())
	}
	if o.Up.DType != b.DType {
		return fmt.Errorf("%w: matmul by %v gated by %v", ops.ErrDType, b.DType, o.Up.DType)
	}
	p, err := newProduct(s, o, out, a, b, ops.View{})
	if err != nil || out.Layout.Count() == 0 {
		return err
	}
	if (o.Strategy == "" || slices.Contains(gatedProducts.Names(), o.Strategy)) && p.gates(b, o.Up) {
		p.up = o.Up
		if err := gatedProducts.RunBy(s, o.Strategy, p); !errors.Is(err, errApart) {
			return err
		}
	}
	return gatedApart(s, o, out, a, b)
}

// gates reports whether a tile can have columns of both factors: they lie alike, and are multiplied
// as they are.
func (p *Problem) gates(b, up ops.View) bool {
	if p.transposed || p.K == 0 || p.Precision != Highest || p.promotes() > 0 || p.matrixSum() != p.Out.DType.Compute() {
		return false
	}
	return slices.Equal(b.Layout.Strides(), up.Layout.Strides()) && b.Addr()%16 == up.Addr()%16
}

// gatedApart multiplies by both factors one after the other.
func gatedApart(s *runtime.Stream, o Options, out, a, b ops.View) error {
	up := ops.View{DType: out.DType.Compute(), Layout: layout.Contiguous(out.Layout.Shape())}
	mem, err := s.Alloc(up.Layout.Count() * up.DType.Size())
	if err != nil {
		return err
	}
	up.Buf = mem
	sums := o
	sums.Epilogue = Epilogue{}
	if err = multiply(s, sums, up, a, o.Up, ops.View{}); err == nil {
		err = multiply(s, o, out, a, b, up)
	}
	if e := mem.FreeOn(s); err == nil {
		err = e
	}
	return err
}
