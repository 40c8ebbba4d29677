package conv

import (
	"errors"
	"fmt"
	"math"
	"reflect"
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

var (
	implicitGemm = ops.NewGeneric("convolution", kernels.ImplicitGemm[ops.O, ops.T, ops.C])
	implicitTF32 = ops.NewGeneric("convolution", kernels.ImplicitGemm[ops.O, dsl.TF32, ops.C])
)

// implicitRows are the strategies by matrix instructions: a tile has rows for positions of the result
// and columns for its channels.
var implicitRows = []ops.Strategy[convolution]{
	implicitTiles(tile.Config{M: 128, N: 256, Down: 8, Across: 1, Stages: 4}, 1, true),
	implicitTiles(tile.Config{M: 128, N: 128, Down: 8, Across: 1, Stages: 3}, 2, true),
	implicitTiles(tile.Config{M: 128, N: 64, Down: 8, Across: 1, Stages: 4}, 2, true),
	implicitTiles(tile.Config{M: 64, N: 64, Down: 4, Across: 1, Stages: 4}, 2, true),
	implicitTiles(tile.Config{M: 128, N: 128, Down: 2, Across: 4, Stages: 3}, 1, false),
	implicitTiles(tile.Config{M: 64, N: 64, Down: 2, Across: 1, Stages: 4}, 1, false),
	implicitTiles(tile.Config{M: 32, N: 64, Down: 2, Across: 1, Stages: 2}, 1, false),
}

// implicitTiles is a row for a configuration, of which so many blocks are resident, and for one that is
// for warpgroups.
func implicitTiles(c tile.Config, blocks dsl.ConstInt, warpgroups bool) ops.Strategy[convolution] {
	return ops.Strategy[convolution]{
		Name: fmt.Sprintf("matrix tiles of %dx%d by %dx%d warps", c.M, c.N, c.Down, c.Across),
		Fits: func(v *convolution) bool { return v.implicit() && v.fillsImplicit(c, warpgroups) },
		Run:  func(s *runtime.Stream, v *convolution) error { return runImplicit(s, v, c, blocks, warpgroups) },
	}
}

// From what sizes on convolutions are products of matrices, and up to what length their sums are chains.
// Those of a transposed convolution with strides have zeros for all positions but some.
const (
	minChannels  = 16
	minDepth     = 64
	longestChain = 8192
)

// implicit reports whether the device has matrix instructions for the type, and the convolution is large
// enough for them.
func (v *convolution) implicit() bool {
	return (v.A.DType.Size() == 2 || v.TF32) && v.matrixRows > 0 && v.M >= minChannels && v.K >= minDepth && v.K <= longestChain && v.whyNotImplicit() == ""
}

// whyNotImplicit is why a convolution is no product of matrices for matrix instructions.
func (v *convolution) whyNotImplicit() string {
	w := &v.window
	switch {
	case !v.flat():
		return "the result of a channel does not lie in a row"
	case max(w.Kernel[0], w.Kernel[1], w.Kernel[2]) > kernels.MaxKernel:
		return "the kernel is too large"
	case v.A.DType.Size() == 1:
		return "the type has 8 bits"
	case max(v.N*v.Batches[0].Shape()[0]*v.groups(), v.K*16, w.X[0], w.X[1], w.X[2]) > math.MaxInt32/2:
		return "it is too large"
	}
	return ""
}

// flat reports whether the positions of the result of a channel are at one stride.
func (v *convolution) flat() bool {
	_, ok := joinedStride(v.window.Out[:], v.weights.OutAt[:])
	return ok
}

// fillsImplicit reports whether a configuration has tiles for most multiprocessors, few of whose columns
// are unused.
func (v *convolution) fillsImplicit(c tile.Config, warpgroups bool) bool {
	size := v.A.DType.Size()
	c.Chunk, c.K = dsl.ConstInt(16/size), dsl.ConstInt(128/size)
	if warpgroups && !v.warpgroups || int(c.M/c.Down) < v.matrixRows || c.Shared()*size > v.Info.SharedPerBlock {
		return false
	}
	if c.M*c.N <= 64*64 {
		return true
	}
	columns := ops.RoundUp(v.M, int(c.N))
	tiles := (v.N*v.Batches[0].Shape()[0] + int(c.M) - 1) / int(c.M) * columns / int(c.N) * v.groups()
	return columns*3 <= v.M*4 && tiles*4 >= v.Info.Units*3
}

// findUnit finds out what matrix instruction the device has for the type.
func (v *convolution) findUnit(dev *runtime.Device) {
	t := v.A.DType.Type()
	if v.TF32 {
		t = reflect.TypeFor[dsl.TF32]()
	}
	v.matrixRows = jit.MatrixShape(dev, t, dsl.MatrixM)
	v.warpgroups = jit.MatrixShape(dev, t, dsl.MatrixWarpgroup) > 0
}

// pointwise reports whether a kernel of one position meets each position once, and the convolution is
// large enough to be a product of matrices.
func (v *convolution) pointwise() bool {
	w, ones := &v.window, [kernels.Axes]int{1, 1, 1}
	_, joined := joinedStride(w.In[:], w.X[:])
	return w.Kernel == ones && w.Stride == ones && w.Pad == [kernels.Axes]int{} && w.In == w.Out && joined && v.flat() && v.M >= minChannels && v.K >= minChannels
}

// runPointwise multiplies matrices with a row for each position.
func runPointwise(s *runtime.Stream, v *convolution) error {
	w, u, groups, inputs := &v.window, &v.weights, v.groups(), v.Batches[0].Shape()[0]
	if !v.pointwise() {
		return v.unfit("product", "a kernel of one position is")
	}
	positions := w.In[0] * w.In[1] * w.In[2]
	from, _ := joinedStride(w.In[:], w.X[:])
	to, _ := joinedStride(w.Out[:], u.OutAt[:])
	out, x, weights := v.Out, v.B, v.A
	for _, m := range []struct {
		v       *ops.View
		shape   layout.Shape
		strides []int
	}{
		{&out, layout.Shape{inputs, groups, positions, v.M}, append(slices.Clone(v.Batches[0].Strides()), to, u.OutChannel)},
		{&x, layout.Shape{inputs, groups, positions, w.Channels}, append(slices.Clone(v.Batches[2].Strides()), from, w.XChannel)},
		{&weights, layout.Shape{1, groups, w.Channels, v.M}, []int{0, v.Batches[1].Strides()[1], u.In, u.Out}},
	} {
		l, err := layout.New(m.shape, m.strides, m.v.Layout.Offset())
		if err != nil {
			return err
		}
		m.v.Layout = l
	}
	return matmul.MatmulWith(s, matmul.Options{Precision: v.given.Precision}, out, x, weights)
}

// groups is how many groups of channels there are.
func (v *convolution) groups() int { return v.Batches[0].Shape()[1] }

// runImplicit multiplies by matrix instructions, copies of the factors where chunks of channels do not
// lie in memory as such.
func runImplicit(s *runtime.Stream, v *convolution, c tile.Config, blocks dsl.ConstInt, warpgroups bool) (err error) {
	size := v.A.DType.Size()
	if why := v.whyNotImplicit(); why != "" {
		return v.unfit("matrix tiles", why)
	}
	if warpgroups && !v.warpgroups || int(c.M/c.Down) < v.matrixRows || v.matrixRows == 0 && int(c.N/c.Across) < v.Info.WarpSize {
		return fmt.Errorf("convolution: %w: warps of %s have no parts of tiles of %dx%d", jit.ErrUnsupported, v.Info.Name, c.M, c.N)
	}
	c.Chunk, c.K = dsl.ConstInt(16/size), dsl.ConstInt(128/size)
	if size == 8 && c.M >= 128 {
		c.Down *= 2 // sums take two registers each
	}
	if c.Bulk {
		if why := v.whyNotPixels(); why != "" {
			return v.unfit("bulk copies", why)
		}
	}
	if n := v.shared(&c); n > v.Info.SharedPerBlock {
		return v.unfit("matrix tiles", fmt.Sprintf("a block needs %d bytes of shared memory, %s has %d", n, v.Info.Name, v.Info.SharedPerBlock))
	}
	c.A, c.B, c.AVec, c.BVec, c.Cluster = tile.AlongK, tile.AlongK, true, true, max(c.Cluster, 1)
	f := implicitFactors{convolution: v, chunk: int(c.Chunk)}
	defer func() { err = errors.Join(err, f.free(s)) }()
	if err = f.make(s, &c); err != nil {
		return err
	}
	g := f.product(&c)
	tiles := v.pixelCount(&c)
	if tiles > math.MaxInt32 {
		return v.unfit("matrix tiles", fmt.Sprintf("there are %d", tiles))
	}
	g.Order = matmul.NewRaster(g.M, g.N, int(c.M*c.Cluster), int(c.N), g.Groups, 1)
	grid := runtime.Grid{Blocks: runtime.Dim3{X: tiles}, Threads: runtime.Dim3{X: int(c.Warps()) * v.Info.WarpSize}}
	if c.Bulk {
		grid = v.MatrixGrid(&c, tiles)
	}
	pairs := dsl.ConstBool(g.OutChannel == 1 && ops.Multiples(2, g.N, g.Out, g.OutImage, g.OutGroup))
	to, x, weights, t := v.Out.Header(), f.x.Header(), f.y.Header(), v.A.DType
	kernel, xs, ys := implicitGemm, ops.SliceArg(t, &x), ops.SliceArg(t, &weights)
	if v.TF32 {
		kernel, xs, ys = implicitTF32, runtime.SliceOf[dsl.TF32](x), runtime.SliceOf[dsl.TF32](weights)
	}
	return kernel.Launch(s, ops.TypeArgs{T: t, O: t}, grid, f.xMap, f.yMap, f.outMap, ops.SliceArg(t, &to), xs, ys, g, c, blocks, pairs, ops.MulAddFn(t.Compute()))
}

// implicitFactors are the factors of the product: input and weights, in which channels are innermost.
type implicitFactors struct {
	*convolution
	x, y   ops.View // of inputs, axes, groups and channels; of groups, channels of the result, axes and channels, or a gradient as x
	chunk  int      // elements of a chunk
	copies []*runtime.Buffer

	xMap, yMap, outMap dsl.TensorMap // for bulk copies
}

// make takes the factors as they are, or copies them, and makes their maps if they are copied in bulk.
func (f *implicitFactors) make(s *runtime.Stream, c *tile.Config) (err error) {
	if err = f.makeInput(s, c, int(c.M)); err != nil {
		return err
	}
	w, u, groups := &f.window, &f.weights, f.groups()
	shape := layout.Shape{groups, f.M, w.Kernel[0], w.Kernel[1], w.Kernel[2], w.Channels}
	f.y, err = f.chunks(s, f.A, shape, []int{f.Batches[1].Strides()[1], u.Out, u.Kernel[0], u.Kernel[1], u.Kernel[2], u.In}, 2, f.step(c))
	if err != nil {
		return err
	}
	return f.mapWeights(s.Device(), c)
}

// makeInput makes the input, and its map for copies of so many pixels.
func (f *implicitFactors) makeInput(s *runtime.Stream, c *tile.Config, pixels int) (err error) {
	w, batch := &f.window, f.Batches[2]
	in := layout.Shape{batch.Shape()[0], w.In[0], w.In[1], w.In[2], f.groups(), w.Channels}
	f.x, err = f.chunks(s, f.B, in, []int{batch.Strides()[0], w.X[0], w.X[1], w.X[2], batch.Strides()[1], w.XChannel}, 5, f.chunk)
	if err != nil {
		return err
	}
	return f.mapPixels(s.Device(), c, pixels)
}

// step is what channels are rounded up to along k: a stage in bulk copies, which are of one position.
func (f *implicitFactors) step(c *tile.Config) int {
	if c.Bulk {
		return int(c.K)
	}
	return f.chunk
}

// chunks is a view of elements of v in chunks along the last dimension, those from one on contiguous:
// v itself or a copy, with zeros up to a multiple of elements.
func (f *implicitFactors) chunks(s *runtime.Stream, v ops.View, shape layout.Shape, strides []int, from, multiple int) (ops.View, error) {
	last := len(shape) - 1
	for d, n := range shape {
		if n == 1 {
			strides[d] = 0
		}
	}
	whole := v
	var err error
	if whole.Layout, err = layout.New(shape, strides, v.Layout.Offset()); err != nil {
		return v, err
	}
	step, joined := joinedStride(shape[from:], strides[from:])
	aligned := (v.Buf.Addr()+uint64(v.Layout.Offset()*v.DType.Size()))%16 == 0 && ops.Multiples(f.chunk, strides[:last]...)
	if joined && step == 1 && aligned && shape[last]%multiple == 0 {
		return whole, nil
	}
	padded := append(layout.Shape{}, shape...)
	padded[last] = ops.RoundUp(shape[last], multiple)
	to := ops.View{DType: v.DType, Layout: layout.Contiguous(padded)}
	if to.Buf, err = s.Alloc(to.Layout.Count() * to.DType.Size()); err != nil {
		return to, err
	}
	f.copies = append(f.copies, to.Buf)
	part := to
	if padded[last] != shape[last] {
		if err = elementwise.Fill(s, to, dtype.Zero(to.DType)); err != nil {
			return to, err
		}
		if part.Layout, err = to.Layout.Narrow(last, 0, shape[last]); err != nil {
			return to, err
		}
	}
	return to, elementwise.Copy(s, part, whole)
}

// free frees the copies.
func (f *implicitFactors) free(s *runtime.Stream) (err error) {
	for _, mem := range f.copies {
		err = errors.Join(err, mem.FreeOn(s))
	}
	return err
}

// product says where the factors and the result are.
func (f *implicitFactors) product(c *tile.Config) (g kernels.Implicit) {
	w, u, inputs := &f.window, &f.weights, f.Batches[0].Shape()[0]
	places := w.Out[0] * w.Out[1] * w.Out[2]
	channels := ops.RoundUp(w.Channels, f.step(c))
	g = kernels.Implicit{M: inputs * places, N: f.M, K: channels * w.Kernel[0] * w.Kernel[1] * w.Kernel[2], Groups: f.groups(), XChannels: f.x.Layout.Shape()[5]}
	g.OutDiv, g.KernelDiv, g.Image, g.Channels = w.OutDiv, w.KernelDiv, ops.Divisor(places), ops.Divisor(channels)
	g.In, g.Kernel, g.Rank = w.In, w.Kernel, f.rank()
	x, y := f.x.Layout.Strides(), f.y.Layout.Strides()
	for a := range kernels.Axes {
		g.X[a] = x[1+a] / f.chunk
		g.First[a], g.Stride[a], g.Step[a], g.Back[a] = f.moves(a)
		if w.Transposed {
			g.Apart[a] = ops.Divisor(w.Stride[a])
			g.Strided = g.Strided || w.Stride[a] > 1
		}
	}
	g.XImage, g.XGroup, g.Y, g.YGroup = x[0]/f.chunk, x[4]/f.chunk, y[1], y[0]
	g.Out, _ = joinedStride(w.Out[:], u.OutAt[:])
	g.OutImage, g.OutChannel, g.OutGroup = f.Batches[0].Strides()[0], u.OutChannel, f.Batches[0].Strides()[1]
	g.Flat = dsl.ConstBool(inputs == 1 || g.OutImage == places*g.Out)
	return g
}

// moves is where the kernel begins along an axis for the first position of the result, and how much
// further on for the next one and for the next one of its own, and by how much it goes back at most.
func (v *convolution) moves(a int) (first, stride, step, back int) {
	w := &v.window
	first, stride, step = -w.Pad[a], w.Stride[a], w.Dilation[a]
	if w.Transposed {
		first, stride, step = w.Pad[a], 1, -w.Dilation[a]
	}
	return first, stride, step, min(0, step*(w.Kernel[a]-1))
}

// rank is how many axes there are, the last ones.
func (v *convolution) rank() (n dsl.ConstInt) {
	w := &v.window
	n = 1
	for a := range kernels.Axes {
		if w.In[a] > 1 || w.Kernel[a] > 1 || w.Out[a] > 1 {
			n = max(n, dsl.ConstInt(kernels.Axes-a))
		}
	}
	return n
}
