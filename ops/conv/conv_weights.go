package conv

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/runtime"
)

var implicitWeights = ops.NewGeneric("weight_gradient", kernels.ImplicitWeights[ops.T, ops.C])

// weightGradients are the strategies for the gradient of weights.
var weightGradients = ops.NewStrategies(
	weightTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 6, Bulk: true}),
	weightTiles(tile.Config{M: 128, N: 64, Down: 8, Across: 1, Stages: 8, Bulk: true}),
	weightTiles(tile.Config{M: 64, N: 64, Down: 4, Across: 1, Stages: 4}),
	weightTiles(tile.Config{M: 128, N: 128, Down: 2, Across: 4, Stages: 3}),
	weightTiles(tile.Config{M: 64, N: 64, Down: 2, Across: 1, Stages: 3}),
	ops.Strategy[convolution]{Name: "convolution", Fits: ops.Always[convolution], Run: runExchanged},
)

// WeightStrategies lists the strategies for gradients of weights that a device can be asked for.
func WeightStrategies() []string { return weightGradients.Names() }

// weightTiles is a row for a configuration.
func weightTiles(c tile.Config) ops.Strategy[convolution] {
	name := fmt.Sprintf("matrix tiles of %dx%d by %dx%d warps", c.M, c.N, c.Down, c.Across)
	if c.Bulk {
		name += " from pixels"
	}
	return ops.Strategy[convolution]{
		Name: name,
		Fits: func(v *convolution) bool { return v.fillsWeights(c) },
		Run:  func(s *runtime.Stream, v *convolution) error { return runWeights(s, v, c) },
	}
}

// From how many positions on gradients of weights are parts of sums.
const leastPositions = 1024

// fillsWeights reports whether a configuration has few columns and few zeros that count nothing.
func (v *convolution) fillsWeights(c tile.Config) bool {
	size := v.A.DType.Size()
	if size != 2 || v.matrixRows == 0 || v.M < minChannels || v.K < minDepth || v.positions() < leastPositions || v.whyNotImplicit() != "" {
		return false
	}
	if v.warpgroups != matmul.ByWarpgroups(&c) || bool(c.Bulk) && v.bestPixels() < 0 {
		return false
	}
	c.K, c.Chunk = dsl.ConstInt(tile.RowBytes/size), dsl.ConstInt(16/size)
	return v.shared(&c) <= v.Info.SharedPerBlock && (c.N == 64 || ops.RoundUp(v.M, int(c.N))*3 <= v.M*4)
}

// positions is how many positions the result has, of all inputs.
func (v *convolution) positions() int { return v.N * v.Batches[0].Shape()[0] }

// WeightGradient stores in out the gradient of the weights of a convolution of x, where g is that of
// its result, or of the first positions of it. Sums are added in an order that depends on the shapes
// alone.
func WeightGradient(s *runtime.Stream, out, x, g ops.View, c Convolution) error {
	shape, err := c.Shape(x.Layout.Shape(), out.Layout.Shape())
	if err != nil {
		return err
	}
	for d, n := range g.Layout.Shape() {
		if g.Layout.Rank() != len(shape) || n > shape[d] || d < 2 && n != shape[d] {
			return fmt.Errorf("%w: gradient of weights of %v with %v in %v", layout.ErrShape, x.Layout.Shape(), g.Layout.Shape(), out.Layout.Shape())
		}
	}
	if x.DType != out.DType || g.DType != x.DType || !x.DType.Computes() {
		return fmt.Errorf("%w: gradient of weights of %v with %v in %v", ops.ErrDType, x.DType, g.DType, out.DType)
	}
	switch {
	case out.Layout.Count() == 0:
		return nil
	case x.Layout.Count() == 0 || g.Layout.Count() == 0:
		return elementwise.Fill(s, out, dtype.Zero(out.DType))
	}
	v := convolution{}
	v.Out, v.A, v.B, v.Info = g, out, x, s.Device().Info()
	v.findUnit(s.Device())
	v.setWindow(&c, false)
	if err = v.setProduct(s, c.groups()); err != nil {
		return err
	}
	v.given = c
	return weightGradients.RunBy(s, c.Strategy, &v)
}

// runExchanged convolves the input with the gradient, in which batch and channels are exchanged,
// and stride and dilation too, one group after the other.
func runExchanged(s *runtime.Stream, v *convolution) (err error) {
	c := v.given
	turned := Convolution{Stride: c.Dilation, Dilation: c.Stride, Padding: c.Padding, Precision: c.Precision}
	for group := range v.groups() {
		part := func(w ops.View, dim, n int) ops.View {
			if err == nil {
				w.Layout, err = w.Layout.Narrow(dim, group*n, n)
			}
			return w
		}
		exchange := func(w ops.View) ops.View {
			if err == nil {
				order := []int{1, 0, 2, 3, 4}
				w.Layout, err = w.Layout.Permute(order[:w.Layout.Rank()]...)
			}
			return w
		}
		x, g, out := exchange(part(v.B, 1, v.window.Channels)), exchange(part(v.Out, 1, v.M)), exchange(part(v.A, 0, v.M))
		if err != nil {
			return err
		}
		if err = turned.into(s, out, x, g); err != nil {
			return err
		}
	}
	return nil
}

// into convolves x with weights, and stores what out has room for: a stride of the weights may leave
// positions over.
func (c *Convolution) into(s *runtime.Stream, out, x, weights ops.View) (err error) {
	shape, err := c.Shape(x.Layout.Shape(), weights.Layout.Shape())
	if err != nil || slices.Equal(shape, out.Layout.Shape()) {
		return errors.Join(err, Conv(s, out, x, weights, *c))
	}
	all := ops.View{DType: out.DType, Layout: layout.Contiguous(shape)}
	if all.Buf, err = s.Alloc(all.Layout.Count() * all.DType.Size()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Buf.FreeOn(s)) }()
	if err = Conv(s, all, x, weights, *c); err != nil {
		return err
	}
	for d, n := range out.Layout.Shape() {
		if all.Layout, err = all.Layout.Narrow(d, 0, n); err != nil {
			return err
		}
	}
	return elementwise.Copy(s, out, all)
}

// runWeights adds products by matrix instructions, as parts that are added then.
func runWeights(s *runtime.Stream, v *convolution, c tile.Config) (err error) {
	size := v.A.DType.Size()
	if why := v.whyNotImplicit(); why != "" {
		return v.unfit("matrix tiles", why)
	}
	if warpgroups := c.Across == 1 && c.M == 16*c.Down; warpgroups && !v.warpgroups || size == 8 || int(c.M/c.Down) < v.matrixRows || v.matrixRows == 0 && int(c.N/c.Across) < v.Info.WarpSize {
		return fmt.Errorf("gradient of weights: %w: warps of %s have no parts of tiles of %dx%d", jit.ErrUnsupported, v.Info.Name, c.M, c.N)
	}
	c.Chunk, c.K, c.Cluster = dsl.ConstInt(16/size), dsl.ConstInt(tile.RowBytes/size), 1
	c.A, c.B, c.AVec, c.BVec = tile.AcrossK, tile.AcrossK, true, true
	if int(c.M)%(8*int(c.Chunk)) != 0 || int(c.N)%(8*int(c.Chunk)) != 0 {
		return v.unfit("matrix tiles", "rows of the tile are shorter than 128 bytes")
	}
	if why := v.whyNotPixels(); bool(c.Bulk) && why != "" {
		return v.unfit("bulk copies", why)
	}
	if n := v.shared(&c); n > v.Info.SharedPerBlock {
		return v.unfit("matrix tiles", fmt.Sprintf("a block needs %d bytes of shared memory, %s has %d", n, v.Info.Name, v.Info.SharedPerBlock))
	}
	if v.positions() <= int(c.K) {
		return v.unfit("matrix tiles", "there are few positions")
	}
	f := implicitFactors{convolution: v, chunk: int(c.Chunk)}
	defer func() { err = errors.Join(err, f.free(s)) }()
	if err = f.makeGradient(s, &c); err != nil {
		return err
	}
	g, w := kernels.WeightSums{Implicit: f.product(&c), Real: v.window.Channels}, &v.window
	g.Total = w.Kernel[0] * w.Kernel[1] * w.Kernel[2] * g.Real
	g.YGroup = f.y.Layout.Shape()[5]
	g.Y = f.groups() * g.YGroup
	p, err := v.gradient()
	if err != nil {
		return err
	}
	tiles := (g.K + int(c.M) - 1) / int(c.M) * ((g.N + int(c.N) - 1) / int(c.N)) * g.Groups
	return p.InParts(s, tiles, &c, func(out ops.View) error {
		g.Part, g.Parts = p.Part, p.Parts
		parts := (g.M + g.Part - 1) / g.Part
		if tiles > math.MaxInt32/parts {
			return v.unfit("matrix tiles", fmt.Sprintf("there are %d in %d parts", tiles, parts))
		}
		g.Order = matmul.NewRaster(g.K, g.N, int(c.M), int(c.N), g.Groups, parts)
		to, x, y, t := out.Header(), f.x.Header(), f.y.Header(), v.A.DType
		return implicitWeights.Launch(s, ops.TypeArgs{T: t}, p.MatrixGrid(&c, tiles*parts), f.xMap, f.yMap, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &x), ops.SliceArg(t, &y), g, c, ops.MulAddFn(t.Compute()))
	})
}

// gradient is the gradient as a product, of which a group is a matrix: rows are channels of the result.
func (v *convolution) gradient() (p *matmul.Problem, err error) {
	w, u := &v.window, &v.weights
	p = &matmul.Problem{Out: v.A, A: v.B, B: v.Out, Info: v.Info}
	p.M, p.N, p.K, p.Batch, p.OutM = v.M, w.Kernel[0]*w.Kernel[1]*w.Kernel[2]*w.Channels, v.positions(), v.groups(), u.Out
	if p.Columns, err = layout.New(layout.Shape{w.Kernel[0], w.Kernel[1], w.Kernel[2], w.Channels}, []int{u.Kernel[0], u.Kernel[1], u.Kernel[2], u.In}, 0); err != nil {
		return nil, err
	}
	for i := range p.Batches {
		if p.Batches[i], err = layout.New(layout.Shape{v.groups()}, v.Batches[1].Strides()[1:], 0); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// makeGradient takes input and gradient with their channels innermost, or copies them, and makes their
// maps if they are copied in bulk.
func (f *implicitFactors) makeGradient(s *runtime.Stream, c *tile.Config) (err error) {
	if err = f.makeInput(s, c, int(c.K)); err != nil {
		return err
	}
	w, u, batch := &f.window, &f.weights, f.Batches[0].Strides()
	shape := layout.Shape{f.Batches[0].Shape()[0], w.Out[0], w.Out[1], w.Out[2], f.groups(), f.M}
	if f.y, err = f.chunks(s, f.Out, shape, []int{batch[0], u.OutAt[0], u.OutAt[1], u.OutAt[2], batch[1], u.OutChannel}, 0, f.chunk); err != nil || !bool(c.Bulk) {
		return err
	}
	size, columns := f.A.DType.Size(), f.groups()*f.y.Layout.Shape()[5]
	row := columns * size
	f.yMap, err = s.Device().EncodeTensorMap(runtime.TensorMap{Addr: f.y.Addr(), Elem: size, Sizes: [3]int{columns, f.positions(), 1}, Strides: [2]int{row, row * f.positions()}, Box: [3]int{int(c.K), int(c.K), 1}})
	return f.unless(err, c)
}
