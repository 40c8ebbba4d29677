package matmul

import (
	"errors"
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Grouped stores in out the products of groups of matrices of different sizes, which only the
// device knows: ends has where each group ends, of the dimension that they divide, and a group
// begins where the one before it ends. The ranks say which dimension that is:
//
//	a (T, K), b (E, K, N): out (T, N)     rows, as tokens among experts
//	a (M, T), b (T, N):    out (E, M, N)  places that are summed over, as for the gradient of b
//	a (E, M, K), b (K, T): out (M, T)     columns
//
// Groups may be empty. What is behind the last one is 0 in out, and counts for no sum. Ends that
// are not in order, or not in 0 to T, are taken for the nearest that are. Layouts are any, but
// elements of out must not share memory. The type of out is as for [Matmul]. There is no epilogue.
// Nothing waits for the device.
func Grouped(s *runtime.Stream, out, a, b, ends ops.View, o Options) error {
	if a.Layout.Rank() == 3 && b.Layout.Rank() == 2 { // that of the transposed matrices
		for _, v := range []*ops.View{&out, &a, &b} {
			if v.Layout.Rank() >= 2 {
				v.Layout, _ = v.Layout.Transpose(-2, -1) // which they have
			}
		}
		a, b = b, a
	}
	if then, err := newEpilogue(&o.Epilogue, out, ops.View{}); err != nil || then.on || present(o.Up) {
		return errors.Join(err, fmt.Errorf("grouped product: %w: it has no epilogue", jit.ErrUnsupported))
	}
	p, err := newGroups(s, o.Precision, out, a, b, ends)
	if err != nil || out.Layout.Count() == 0 {
		return err
	}
	if p.K == 0 || p.Groups.Count == 0 {
		return elementwise.Fill(s, out, dtype.Zero(out.DType))
	}
	return grouped.RunBy(s, o.Strategy, p)
}

// GroupedStrategies lists the strategies of [Grouped] that a device can be asked for.
func GroupedStrategies() []string { return grouped.Names() }

// groups is products of groups.
type groups struct {
	Problem
	Groups kernels.Groups // all but the Product, which Problem has
	Ends   ops.View
	limit  int // of ends
}

// grouped are the strategies for products of groups. How high tiles are depends on how many rows a
// group has on average: each group has a tile that is not whole.
var grouped = ops.NewStrategies(
	ops.Strategy[groups]{Name: "vectors", Fits: func(p *groups) bool { return p.Serial() }, Run: runVectorGroups},
	groupTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 8}, 0, 160, true, true),
	groupTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4, Cluster: 2}, 512, math.MaxInt, true, true),
	groupTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}, 161, math.MaxInt, true, true),
	groupTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6}, 161, math.MaxInt, true, true),
	groupTiles(tile.Config{M: 64, N: 128, Down: 4, Across: 1, Stages: 7}, 0, math.MaxInt, true, false),
	groupTiles(tile.Config{M: 16, N: 128, Down: 1, Across: 4, Stages: 6}, 0, 16, false, false),
	groupTiles(tile.Config{M: 32, N: 128, Down: 1, Across: 4, Stages: 5}, 0, 32, false, false),
	groupTiles(tile.Config{M: 128, N: 128, Down: 2, Across: 2, Stages: 3}, 256, math.MaxInt, false, true),
	groupTiles(tile.Config{M: 64, N: 128, Down: 2, Across: 2, Stages: 3}, 64, math.MaxInt, false, true),
	groupTiles(smallMatrix, 0, math.MaxInt, false, false),
	ops.Strategy[groups]{Name: "tiles", Fits: ops.Always[groups], Run: func(s *runtime.Stream, p *groups) error {
		return runGroups(s, p, tile.Config{M: 32, N: 64, Down: 2, Across: 1, Stages: 2}, false)
	}},
)

// groupTiles is a row for a configuration of the kernel for matrix instructions, for groups of so
// many rows on average: for one that is for warpgroups, and for one with tiles for most
// multiprocessors.
func groupTiles(c tile.Config, least, most int, warpgroups, fills bool) ops.Strategy[groups] {
	return ops.Strategy[groups]{
		Name: matrixTiles(c, nil).Name,
		Fits: func(p *groups) bool {
			switch mean := p.meanRows(); {
			case mean < least || mean > most || !p.hasMatrix(c) || fills && p.groupTiles(&c)*4 < p.Info.Units*3:
				return false
			case warpgroups:
				return p.Warpgroups && !p.needsKMajor(1) && !p.needsKMajor(2)
			}
			return true
		},
		Run: func(s *runtime.Stream, p *groups) error { return runGroups(s, p, c, warpgroups) },
	}
}

// meanRows is how many rows a group has on average.
func (p *groups) meanRows() int {
	if p.Groups.DivideK {
		return p.M
	}
	return (p.M + p.Groups.Count - 1) / p.Groups.Count
}

// groupTiles is how many tiles the results have if groups are about as large as each other.
func (p *groups) groupTiles(c *tile.Config) int {
	n := (p.meanRows() + int(c.M) - 1) / int(c.M)
	return p.Groups.Count * ops.RoundUp(n, max(int(c.Cluster), 1)) * ((p.N + int(c.N) - 1) / int(c.N))
}

func newGroups(s *runtime.Stream, precision Precision, out, a, b, ends ops.View) (*groups, error) {
	shapes := [3]layout.Shape{out.Layout.Shape(), a.Layout.Shape(), b.Layout.Shape()}
	p := &groups{Problem: Problem{Out: out, A: a, B: b, Info: s.Device().Info()}, Ends: ends}
	g := &p.Groups
	ranks := [3]int{len(shapes[0]), len(shapes[1]), len(shapes[2])}
	if ranks != [3]int{2, 2, 3} && ranks != [3]int{3, 2, 2} || ends.Layout.Rank() != 1 {
		return nil, fmt.Errorf("%w: grouped product of %v and %v in %v with ends %v", layout.ErrRank, shapes[1], shapes[2], shapes[0], ends.Layout.Shape())
	}
	g.Count, g.DivideK = ends.Layout.Shape()[0], ranks[0] == 3
	last := func(i int) (rows, columns int) { n := ranks[i]; return shapes[i][n-2], shapes[i][n-1] }
	m, k := last(1)
	k2, n := last(2)
	om, on := last(0)
	own := shapes[2][0]
	if p.limit = m; g.DivideK {
		p.limit, own = k, shapes[0][0]
	}
	if k != k2 || om != m || on != n || own != g.Count {
		return nil, fmt.Errorf("%w in grouped product, lhs: %v rhs: %v, in %v, with %d ends", layout.ErrShape, shapes[1], shapes[2], shapes[0], g.Count)
	}
	if a.DType != b.DType || !resultOf(a.DType, out.DType) {
		return nil, fmt.Errorf("%w: grouped product of %v and %v in %v", ops.ErrDType, a.DType, b.DType, out.DType)
	}
	switch {
	case !a.DType.Computes():
		return nil, ops.Unsupported("grouped product", a.DType, ops.Numbers.String())
	case !ends.DType.IsInt():
		return nil, ops.Unsupported("grouped product with ends", ends.DType, ops.Ints.String())
	case p.limit > math.MaxInt32-g.Count:
		return nil, fmt.Errorf("%w: grouped product of %v and %v", layout.ErrTooLarge, shapes[1], shapes[2])
	}
	if a.DType == dtype.F32 || p.float8() {
		p.Precision, p.TF32 = precision, a.DType == dtype.F32 && precision >= High
	}
	p.findUnit(s.Device())
	p.Product = kernels.Product{M: m, N: n, K: k, Batch: 1, Part: k}
	p.OutM, p.OutN = strideOf(out, -2), strideOf(out, -1)
	p.XM, p.XK = strideOf(a, -2), strideOf(a, -1)
	p.YK, p.YN = strideOf(b, -2), strideOf(b, -1)
	if k == 1 {
		p.XK, p.YK = 1, 1
	}
	for i, v := range []ops.View{out, a, b} {
		l := v.Layout
		p.Batches[i], _ = layout.New(l.Shape()[:l.Rank()-2], l.Strides()[:l.Rank()-2], 0) // as a layout has them
	}
	if g.DivideK {
		g.Out, p.Batch = out.Layout.Strides()[0], g.Count
	} else {
		g.Y = b.Layout.Strides()[0]
	}
	return p, nil
}

var (
	groupPlans      = ops.NewGeneric("matmul", kernels.PlanGroups[ops.I])
	gemmGroups      = ops.NewGeneric("matmul", kernels.MultiplyGroups[ops.O, ops.T, ops.C])
	gemmGroupsTF32  = ops.NewGeneric("matmul", kernels.MultiplyGroups[ops.O, dsl.TF32, ops.C])
	gemmGroupPanels = ops.NewGeneric("matmul", kernels.VectorGroups[ops.O, ops.T, ops.C])
)

// withPlan makes the plan of the groups for tiles of some height, and frees it behind what run
// launches.
func (p *groups) withPlan(s *runtime.Stream, high int, run func(plan ops.View) error) error {
	n := 2 * (p.Groups.Count + 2)
	mem, err := s.Alloc(n * dtype.I32.Size())
	if err != nil {
		return err
	}
	plan := ops.View{Buf: mem, DType: dtype.I32, Layout: layout.Contiguous(layout.Shape{n})}
	to, ends := plan.Header(), p.Ends.Header()
	threads := ops.RoundUp(min(p.Groups.Count, p.Info.ThreadsPerUnit, ops.MaxThreads), p.Info.WarpSize)
	g := runtime.Grid{Blocks: runtime.Dim3{X: 1}, Threads: runtime.Dim3{X: threads}}
	err = groupPlans.Launch(s, ops.TypeArgs{I: p.Ends.DType}, g, ops.SliceArg(dtype.I32, &to), ops.SliceArg(p.Ends.DType, &ends), p.Ends.Layout.Strides()[0], p.Groups.Count, p.limit, high)
	if err == nil {
		err = run(plan)
	}
	if e := mem.FreeOn(s); err == nil {
		err = e
	}
	return err
}

// runGroups multiplies by a configuration of the kernel for matrix instructions.
func runGroups(s *runtime.Stream, p *groups, c tile.Config, warpgroups bool) error {
	if err := p.setConfig(&c, warpgroups); err != nil {
		return err
	}
	xMap, yMap, outMap, err := p.groupMaps(s.Device(), &c)
	if err != nil {
		return err
	}
	d, sum := p.A.DType, p.matrixSum()
	return p.withPlan(s, int(c.M*max(c.Cluster, 1)), func(plan ops.View) error {
		g := p.Groups
		g.Product = p.Product
		pairs := dsl.ConstBool(vectors(2, p.Batches[0], p.OutN, p.OutM, p.N))
		to, xs, ys, of := p.Out.Header(), p.A.Header(), p.B.Header(), plan.Header()
		kernel, x, y := gemmGroups, ops.SliceArg(d, &xs), ops.SliceArg(d, &ys)
		if p.TF32 {
			kernel, x, y = gemmGroupsTF32, runtime.SliceOf[dsl.TF32](xs), runtime.SliceOf[dsl.TF32](ys)
		}
		return kernel.Launch(s, ops.TypeArgs{T: d, O: p.Out.DType, C: sum}, p.groupGrid(&c), xMap, yMap, outMap, ops.SliceArg(p.Out.DType, &to), x, y, ops.SliceArg(dtype.I32, &of), g, c, pairs, ops.MulAddFn(sum))
	})
}

// setConfig makes a configuration one for the factors.
func (p *groups) setConfig(c *tile.Config, warpgroups bool) error {
	d := p.A.DType
	if warpgroups && !p.Warpgroups {
		return fmt.Errorf("matmul: %w: %s has no warpgroup instruction for %v", jit.ErrUnsupported, p.Info.Name, d)
	}
	if int(c.M/c.Down) < p.MatrixRows || !p.Matrix() && int(c.N/c.Across) < p.Info.WarpSize {
		return fmt.Errorf("matmul: %w: warps of %s have no parts of tiles of %dx%d", jit.ErrUnsupported, p.Info.Name, c.M, c.N)
	}
	fitted(c, &p.Problem)
	if n := c.Shared() * d.Size(); n > p.Info.SharedPerBlock {
		return fmt.Errorf("matmul: a block needs %d bytes of shared memory, %s has %d", n, p.Info.Name, p.Info.SharedPerBlock)
	}
	c.Promote = p.promotes()
	c.A, c.AVec = p.order(1, int(c.M))
	c.B, c.BVec = p.order(2, int(c.N))
	if warpgroups && p.KMajor && c.A+c.B > 2*tile.AlongK {
		return fmt.Errorf("matmul: %w: warpgroups of %s take factors of %v along k only", jit.ErrUnsupported, p.Info.Name, d)
	}
	return nil
}

// groupMaps decides what is copied by tensor maps, and makes these. Groups begin anywhere, so other
// copies are in chunks only across what they divide. A map has no end between groups along k.
func (p *groups) groupMaps(dev *runtime.Device, c *tile.Config) (x, y, out dsl.TensorMap, err error) {
	if !p.Groups.DivideK {
		if x, y, err = p.tensorMaps(dev, c); err == nil && p.N%max(1, 16/p.Out.DType.Size()) == 0 {
			out, err = p.outMap(dev, c, p.Out, 1)
		}
	}
	if c.Cluster = max(c.Cluster, 1); !c.Bulk {
		c.Cluster = 1
		c.AVec = c.AVec && (c.A == tile.AcrossK) == p.Groups.DivideK
		c.BVec = c.BVec && (!p.Groups.DivideK || c.B == tile.AcrossK)
	}
	return x, y, out, err
}

// groupGrid is a grid of blocks that go over the tiles, of which there is one that is not whole for
// each group at most: as many as are resident, and no more than there are tiles.
func (p *groups) groupGrid(c *tile.Config) runtime.Grid {
	cluster, warps, n := int(c.Cluster), int(c.Warps()), p.tiles(c)
	if !p.Groups.DivideK {
		n += p.Groups.Count * cluster * ((p.N + int(c.N) - 1) / int(c.N))
	}
	most := ops.ResidentBlocks(&p.Info, warps*p.Info.WarpSize)
	if c.Bulk {
		warps, most = warps+4, p.Info.Units
	}
	blocks := max(min(ops.RoundUp(n, cluster), most)/cluster, 1) * cluster
	return runtime.Grid{Blocks: runtime.Dim3{X: blocks}, Threads: runtime.Dim3{X: warps * p.Info.WarpSize}}
}

// runVectorGroups multiplies by vectors of a processor.
func runVectorGroups(s *runtime.Stream, p *groups) error {
	const rows, places = 60, 128 // of a tile: sums and part of y stay in the L1 cache
	c := p.sum()
	cfg := kernels.Panels{Tiling: Tall(FitTiling(VectorTiling(p.Info.WarpSize, c), p.N), rows), TileK: places}
	cfg.XAlong, cfg.XUnit, cfg.YUnit = p.XK == 1, p.XM == 1 && p.XK != 1, p.YN == 1
	cfg.Bands, cfg.Contiguous = rows/cfg.MR, p.OutN == 1
	return p.withPlan(s, int(cfg.MR*cfg.Bands), func(plan ops.View) error {
		g := p.Groups
		g.Product = p.Product
		grid := runtime.Grid{Blocks: runtime.Dim3{X: 4 * p.Info.Units}, Threads: runtime.Dim3{X: p.Info.WarpSize}}
		to, x, y, of := p.Out.Header(), p.A.Header(), p.B.Header(), plan.Header()
		d := p.A.DType
		return gemmGroupPanels.Launch(s, ops.TypeArgs{T: d, O: p.Out.DType, C: c}, grid, ops.SliceArg(p.Out.DType, &to), ops.SliceArg(d, &x), ops.SliceArg(d, &y), ops.SliceArg(dtype.I32, &of), g, cfg, ops.MulAddFn(c))
	})
}
