package conv

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	matmulkernels "github.com/gokiln/kiln/ops/matmul/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Convolution says how a kernel moves over an input of one to three dimensions, after
// those of inputs and channels. Lists have a number for each dimension; an empty one is
// that of the usual number, which is given here.
type Convolution struct {
	Stride        []int // 1
	Padding       []int // 0: zeros in front of the input and behind it
	Dilation      []int // 1: distance of what neighbours of the kernel meet
	OutputPadding []int // 0: positions that a transposed convolution has more
	Groups        int   // 1, which 0 stands for

	// Precision is that of products of F32: from [matmul.High] on they may be made by matrix instructions
	// for TF32.
	Precision matmul.Precision

	// Strategy is how it is computed, one of [Strategies], for tests and benchmarks. The empty string
	// stands for the best one.
	Strategy string
}

func (c *Convolution) groups() int { return max(c.Groups, 1) }

// axis returns number d of a list, or the usual one.
func axis(list []int, d, usual int) int {
	if len(list) == 0 {
		return usual
	}
	return list[d]
}

// farthest bounds what a window moves and reaches over, so that no sum of such numbers wraps.
const farthest = 1 << 40

// spread returns how many positions there are from the first to the last of n elements that are
// step apart.
func spread(n, step int) (int, error) {
	if high, low := bits.Mul64(uint64(n-1), uint64(step)); n > 0 && (high > 0 || low >= farthest) {
		return 0, fmt.Errorf("%w: %d elements %d apart reach over more than 2^40 places", layout.ErrTooLarge, n, step)
	}
	return (n-1)*step + 1, nil
}

// check reports lists of a wrong length, and wrong numbers.
func (c *Convolution) check(rank int) error {
	if rank < 1 || rank > kernels.Axes {
		return fmt.Errorf("%w: convolution over %d dimensions, want 1 to %d", layout.ErrRank, rank, kernels.Axes)
	}
	for _, l := range []struct {
		name  string
		list  []int
		least int
	}{{"strides", c.Stride, 1}, {"paddings", c.Padding, 0}, {"dilations", c.Dilation, 1}, {"output paddings", c.OutputPadding, 0}} {
		if len(l.list) != 0 && len(l.list) != rank {
			return fmt.Errorf("%w: %d %s for %d dimensions", layout.ErrRank, len(l.list), l.name, rank)
		}
		for _, n := range l.list {
			if n < l.least {
				return fmt.Errorf("%w: %s %v, want %d or more", layout.ErrShape, l.name, l.list, l.least)
			}
			if n > farthest {
				return fmt.Errorf("%w: %s %v, want up to 2^40", layout.ErrTooLarge, l.name, l.list)
			}
		}
	}
	if c.Groups < 0 || c.Groups > farthest {
		return fmt.Errorf("%w: %d groups", layout.ErrShape, c.Groups)
	}
	return nil
}

// Shape is the shape of the convolution of x, of inputs and channels first, with
// weights, which have channels of the result, channels of a group and the kernel.
func (c *Convolution) Shape(x, weights layout.Shape) (layout.Shape, error) {
	if err := c.channels(x, weights, 1); err != nil {
		return nil, err
	}
	out := layout.Shape{x[0], weights[0]}
	for d, n := range x[2:] {
		reach, err := spread(weights[d+2], axis(c.Dilation, d, 1))
		if err != nil {
			return nil, err
		}
		padded := n + 2*axis(c.Padding, d, 0)
		if weights[d+2] < 1 || padded < reach {
			return nil, fmt.Errorf("%w: convolution of %v with a kernel of %v: it reaches over %d of %d places", layout.ErrShape, x, weights, reach, padded)
		}
		out = append(out, (padded-reach)/axis(c.Stride, d, 1)+1)
	}
	return out, nil
}

// TransposedShape is the shape of the transposed convolution of x with weights, which
// have channels of x, channels of a group of the result and the kernel.
func (c *Convolution) TransposedShape(x, weights layout.Shape) (layout.Shape, error) {
	if err := c.channels(x, weights, 0); err != nil {
		return nil, err
	}
	out := layout.Shape{x[0], weights[1] * c.groups()}
	for d, n := range x[2:] {
		reach, err := spread(weights[d+2], axis(c.Dilation, d, 1))
		if err != nil {
			return nil, err
		}
		from, err := spread(n, axis(c.Stride, d, 1))
		if err != nil {
			return nil, err
		}
		m := from - 2*axis(c.Padding, d, 0) + reach - 1 + axis(c.OutputPadding, d, 0)
		if weights[d+2] < 1 || m < 1 {
			return nil, fmt.Errorf("%w: transposed convolution of %v with a kernel of %v has %d places", layout.ErrShape, x, weights, m)
		}
		out = append(out, m)
	}
	return out, nil
}

// channels checks ranks and that the channels of x are those of weights, in dimension
// in.
func (c *Convolution) channels(x, weights layout.Shape, in int) error {
	if len(x) != len(weights) {
		return fmt.Errorf("%w: convolution of %v with %v", layout.ErrRank, x, weights)
	}
	if err := c.check(len(x) - 2); err != nil {
		return err
	}
	want := weights[in]
	if in == 1 {
		want *= c.groups()
	}
	if x[1] != want || weights[0]%c.groups() != 0 {
		return fmt.Errorf("%w: convolution of %v with %v in %d groups", layout.ErrShape, x, weights, c.groups())
	}
	return nil
}

// Conv stores the convolution of x with weights in out, whose shape is [Convolution.Shape].
func Conv(s *runtime.Stream, out, x, weights ops.View, c Convolution) error {
	shape, err := c.Shape(x.Layout.Shape(), weights.Layout.Shape())
	if err != nil {
		return err
	}
	return conv(s, out, x, weights, &c, shape, false)
}

// ConvTranspose stores the transposed convolution of x with weights in out, whose
// shape is [Convolution.TransposedShape]: what the gradient of a convolution is.
func ConvTranspose(s *runtime.Stream, out, x, weights ops.View, c Convolution) error {
	shape, err := c.TransposedShape(x.Layout.Shape(), weights.Layout.Shape())
	if err != nil {
		return err
	}
	return conv(s, out, x, weights, &c, shape, true)
}

// convolution is a convolution at hand. As a product, x is weights and y the input.
type convolution struct {
	matmul.Problem
	window  kernels.Window
	weights kernels.Weights
	patch   kernels.Patch // what patches chose
	tiled   bool          // it can be a product
	joined  bool          // the weights of a channel of the result lie in a row

	given Convolution // as it was asked for

	matrixRows int  // of the device's matrix instruction for the type, 0 if it has none
	warpgroups bool // it has one for factors in shared memory
	best       *int // what bestPixels found
}

func conv(s *runtime.Stream, out, x, weights ops.View, c *Convolution, shape layout.Shape, transposed bool) error {
	if err := ops.SameShape("convolution", out.Layout.Shape(), shape); err != nil {
		return err
	}
	if x.DType != weights.DType || out.DType != x.DType {
		return fmt.Errorf("%w: convolution of %v with %v in %v", ops.ErrDType, x.DType, weights.DType, out.DType)
	}
	if !x.DType.Computes() {
		return ops.Unsupported("convolution", x.DType, ops.Numbers.String())
	}
	if shape.Count() == 0 {
		return nil
	}
	if x.Layout.Count() == 0 || weights.Layout.Count() == 0 {
		return elementwise.Fill(s, out, dtype.Zero(out.DType))
	}
	v := convolution{Problem: matmul.Problem{Out: out, A: weights, B: x, Info: s.Device().Info()}, given: *c}
	v.TF32 = x.DType == dtype.F32 && c.Precision >= matmul.High && jit.MatrixShape(s.Device(), reflect.TypeFor[dsl.TF32](), dsl.MatrixM) > 0
	v.findUnit(s.Device())
	v.setWindow(c, transposed)
	if err := v.setProduct(s, c.groups()); err != nil {
		return err
	}
	return convs.RunBy(s, c.Strategy, &v)
}

// Strategies lists the strategies for convolutions that a device can be asked for.
func Strategies() []string { return convs.Names() }

// convs are the strategies for convolutions.
var convs = ops.NewStrategies(slices.Concat([]ops.Strategy[convolution]{
	{Name: "product", Fits: (*convolution).pointwise, Run: runPointwise},
}, pixelRows(), implicitRows, []ops.Strategy[convolution]{
	{Name: "tiles", Fits: func(v *convolution) bool { return v.tiled && !v.Serial() && v.M >= 16 && v.K >= 16 }, Run: runTiles},
	{Name: "depthwise", Fits: func(v *convolution) bool { return v.Serial() && v.isDepthwise() }, Run: runDepthwise},
	{Name: "shifted", Fits: func(v *convolution) bool { return v.Serial() && v.shift().fits() }, Run: runShifted},
	// The sums of patches are one chain, which long ones must not be.
	{Name: "patches", Fits: func(v *convolution) bool { return !v.Serial() && !bool(v.long()) && v.patches(false) }, Run: runPatches},
	{Name: "direct", Fits: ops.Always[convolution], Run: runDirect},
})...).Tuned("github.com/gokiln/kiln/ops/conv", (*convolution).class)

// class is what the best strategy depends on: that of the product, and how large the kernel is.
func (v *convolution) class() ops.Class {
	c, w := v.Class(), &v.window
	kernel := ops.SizeClass(w.Kernel[0] * w.Kernel[1] * w.Kernel[2])
	if w.Transposed {
		kernel = -1 - kernel
	}
	c[1] = kernel // the result has the type of the operands
	return c
}

// unfit is the error of a strategy that is asked for by name and cannot do a convolution.
func (v *convolution) unfit(strategy, why string) error {
	return fmt.Errorf("%w: convolution of %v with %v does not go by %s: %s", layout.ErrShape, v.B.Layout, v.A.Layout, strategy, why)
}

// setWindow sets how the kernel moves and where the weights are.
func (v *convolution) setWindow(c *Convolution, transposed bool) {
	xl, wl, ol := v.B.Layout, v.A.Layout, v.Out.Layout
	in, outer := 1, 0 // dimensions of the weights
	if transposed {
		in, outer = 0, 1
	}
	w, u := &v.window, &v.weights
	w.Transposed = dsl.ConstBool(transposed)
	w.Channels, w.XChannel = xl.Shape()[1]/c.groups(), xl.Strides()[1]
	u.Out, u.In = wl.Strides()[outer], wl.Strides()[in]
	u.Channels, u.OutChannel = ol.Shape()[1]/c.groups(), ol.Strides()[1]
	rank := xl.Rank() - 2
	for a := range kernels.Axes {
		w.In[a], w.Out[a], w.Kernel[a], w.Stride[a], w.Dilation[a] = 1, 1, 1, 1, 1
		if d := a + rank - kernels.Axes; d >= 0 {
			w.In[a], w.Out[a], w.Kernel[a] = xl.Shape()[d+2], ol.Shape()[d+2], wl.Shape()[d+2]
			w.Stride[a], w.Pad[a], w.Dilation[a] = axis(c.Stride, d, 1), axis(c.Padding, d, 0), axis(c.Dilation, d, 1)
			w.X[a], u.Kernel[a], u.OutAt[a] = xl.Strides()[d+2], wl.Strides()[d+2], ol.Strides()[d+2]
		}
		w.OutDiv[a], w.KernelDiv[a] = ops.Divisor(w.Out[a]), ops.Divisor(w.Kernel[a])
	}
	w.ChannelDiv = ops.Divisor(w.Channels)
}

// setProduct sets the convolution as a product: inputs and groups count matrices.
func (v *convolution) setProduct(s *runtime.Stream, groups int) error {
	w, u := &v.window, &v.weights
	inputs := v.B.Layout.Shape()[0]
	shape := layout.Shape{inputs, groups}
	places, kernel := w.Out[0]*w.Out[1]*w.Out[2], w.Kernel[0]*w.Kernel[1]*w.Kernel[2]
	if places > math.MaxInt32 {
		return fmt.Errorf("%w: convolution with a result of %v", layout.ErrTooLarge, v.Out.Layout.Shape())
	}
	perGroup := u.Channels * u.Out
	if w.Transposed {
		perGroup = w.Channels * u.In
	}
	for i, strides := range [][]int{
		{v.Out.Layout.Strides()[0], u.Channels * u.OutChannel}, {0, perGroup}, {v.B.Layout.Strides()[0], w.Channels * w.XChannel},
	} {
		v.Batches[i], _ = layout.New(shape, strides, 0) // strides of layouts are right
	}
	u.Batch = inputs * groups
	v.Product = matmulkernels.Product{M: u.Channels, N: places, K: w.Channels * kernel, Batch: u.Batch, OutM: u.OutChannel, XM: u.Out}
	var joined [2]bool
	v.XK, joined[0] = joinedStride(layout.Shape{w.Channels, w.Kernel[0], w.Kernel[1], w.Kernel[2]}, []int{u.In, u.Kernel[0], u.Kernel[1], u.Kernel[2]})
	v.OutN, joined[1] = joinedStride(w.Out[:], u.OutAt[:])
	v.joined, v.tiled = joined[0], joined[0] && joined[1]
	return v.PlanBatches(s)
}

// joinedStride is the stride of dimensions seen as one.
func joinedStride(s layout.Shape, strides []int) (int, bool) {
	l, err := layout.New(s, strides, 0)
	if err != nil {
		return 0, false
	}
	m := layout.Merge(l)
	switch len(m.Sizes) {
	case 0:
		return 1, true
	case 1:
		return m.Strides[0][0], true
	}
	return 0, false
}

var (
	convTiles  = ops.NewGeneric("convolution", kernels.ConvTiles[ops.O, ops.T, ops.C])
	convDirect = ops.NewGeneric("convolution", kernels.Conv[ops.T, ops.C])
)

// long reports whether sums are added in chains, which takes time where they are short.
func (v *convolution) long() dsl.ConstBool {
	const short = 256
	return dsl.ConstBool(v.A.DType.IsFloat() && v.K > short)
}

// runTiles multiplies tiles, the first of these that fits.
func runTiles(s *runtime.Stream, v *convolution) error {
	if !v.tiled {
		return v.unfit("tiles", "weights and result of a channel do not lie in a row")
	}
	if err := v.mergeInputs(s); err != nil {
		return err
	}
	c := matmulkernels.Tile{M: 64, N: 128, K: 8, Rows: 8, Cols: 8, Blocks: 4}
	if !v.Low(c) {
		c = matmulkernels.Tile{M: 128, N: 128, K: 8, Rows: 8, Cols: 8, Blocks: 2}
	}
	if !v.Large(c) {
		c = matmulkernels.Tile{M: 64, N: 64, K: 16, Rows: 4, Cols: 4, Blocks: 3}
		if !v.Medium(c) {
			c = matmulkernels.Tile{M: 32, N: 32, K: 16, Rows: 4, Cols: 4}
		}
	}
	if v.window.Channels%int(c.K) != 0 {
		return v.runTile(s, c)
	}
	weights, err := v.transposeWeights(s)
	if err != nil {
		return err
	}
	v.A = weights
	err = v.runTile(s, c)
	if e := weights.Buf.FreeOn(s); err == nil {
		err = e
	}
	return err
}

// mergeInputs makes the columns for all inputs one matrix, if they can be counted: then
// fewer tiles are partly empty.
func (v *convolution) mergeInputs(s *runtime.Stream) error {
	w, places := &v.window, v.N
	w.Image, w.XImage, w.OutImage = ops.Divisor(places), v.Batches[2].Strides()[0], v.Batches[0].Strides()[0]
	inputs := v.Batches[0].Shape()[0]
	if inputs > math.MaxInt32/places {
		return nil
	}
	v.N, v.Batch = inputs*places, v.Batches[0].Shape()[1]
	v.Columns, _ = layout.New(layout.Shape{inputs, places}, []int{w.OutImage, v.OutN}, 0)
	for i := range v.Batches {
		shape, strides := v.Batches[i].Shape(), v.Batches[i].Strides()
		v.Batches[i], _ = layout.New(layout.Shape{1, shape[1]}, []int{0, strides[1]}, 0) // of right layouts
	}
	return v.PlanBatches(s)
}

// transposeWeights copies the weights so that all channels of the input follow each other for
// each position of the kernel, and those of the result are contiguous. Then a tile is of
// one position, which is looked for once.
func (v *convolution) transposeWeights(s *runtime.Stream) (ops.View, error) {
	w, u, l := &v.window, &v.weights, v.A.Layout
	groups := v.Batches[1].Shape()[1]
	shape := layout.Shape{groups, w.Kernel[0], w.Kernel[1], w.Kernel[2], w.Channels, v.M}
	from := v.A
	var err error
	from.Layout, err = layout.New(shape, []int{v.Batches[1].Strides()[1], u.Kernel[0], u.Kernel[1], u.Kernel[2], u.In, u.Out}, l.Offset())
	if err != nil {
		return from, err
	}
	to := ops.View{DType: v.A.DType, Layout: layout.Contiguous(shape)}
	if to.Buf, err = s.Alloc(to.Layout.Count() * to.DType.Size()); err != nil {
		return to, err
	}
	if err := elementwise.Copy(s, to, from); err != nil {
		return to, errors.Join(err, to.Buf.FreeOn(s))
	}
	v.XM, v.XK, w.Inner = 1, v.M, true
	v.Batches[1], _ = layout.New(v.Batches[1].Shape(), []int{0, v.K * v.M}, 0) // of a right layout
	return to, v.PlanBatches(s)
}

func (v *convolution) runTile(s *runtime.Stream, c matmulkernels.Tile) error {
	return v.LaunchTiles(s, c, func(g runtime.Grid, out ops.View, c matmulkernels.Tile) error {
		c.X, c.XVec = matmul.OperandOrder(v.Batches[1], v.XM, v.XK, v.M, v.K)
		c.Y, c.YVec = matmulkernels.AcrossK, false
		w := v.window
		places := int(w.Image.By)
		if v.Parts > 0 { // one after the other, as the kernel goes over them
			w.OutImage = places * v.OutN
		}
		c.OutVec = c.OutVec && dsl.ConstBool(ops.Multiples(4, places, w.OutImage))
		to, weights, x := out.Header(), v.A.Header(), v.B.Header()
		t := v.A.DType
		return convTiles.Launch(s, ops.TypeArgs{T: t, O: out.DType}, g, ops.SliceArg(out.DType, &to), ops.SliceArg(t, &weights), ops.SliceArg(t, &x), v.BatchWalk, v.Product, c, w, ops.MulAddFn(t.Compute()))
	})
}

// runDirect has threads sum some channels of some positions each.
func runDirect(s *runtime.Stream, v *convolution) error {
	w, u := &v.window, &v.weights
	t := v.A.DType
	threads := min(ops.MaxThreads, v.Info.ThreadsPerUnit, v.Info.MaxThreads)
	cfg := kernels.Direct{Each: 8, Wide: 2, Chains: v.long()}
	const small = 16 // positions of a kernel
	if w.Kernel[1]*w.Kernel[2] <= small {
		cfg.High, cfg.Long = dsl.ConstInt(w.Kernel[1]), dsl.ConstInt(w.Kernel[2])
	}
	for cfg.Each > 1 && int(cfg.Each) > u.Channels {
		cfg.Each /= 2
	}
	row, rows := w.Out[0]*w.Out[1]*w.Out[2], 1
	if w.Out[2] >= ops.ShortestRow {
		cfg.Rows = true
		row, rows = w.Out[2], w.Out[0]*w.Out[1]
		threads = min(threads, ops.RoundUp(row, v.Info.WarpSize))
	}
	if row <= threads {
		cfg.Wide = 1
	}
	cfg.Contiguous = dsl.ConstBool(bool(cfg.Rows) && !bool(w.Transposed) && w.Stride[2] == 1 && w.X[2] == 1 && u.OutAt[2] == 1)
	across := threads * int(cfg.Wide)
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: (row + across - 1) / across, Y: min(u.Batch*rows, ops.MaxBlocks()), Z: (u.Channels + int(cfg.Each) - 1) / int(cfg.Each)},
		Threads: runtime.Dim3{X: threads},
	}
	to, weights, x := v.Out.Header(), v.A.Header(), v.B.Header()
	return convDirect.Launch(s, ops.TypeArgs{T: t}, g, ops.SliceArg(t, &to), ops.SliceArg(t, &weights), ops.SliceArg(t, &x), v.BatchWalk, *w, *u, cfg, ops.MulAddFn(t.Compute()))
}
