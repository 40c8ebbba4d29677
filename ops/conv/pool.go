package conv

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// Pooling says how a window moves over the last dimensions of an input, one or two:
// as many as Kernel has numbers. Empty lists stand for the usual numbers.
type Pooling struct {
	Kernel   []int
	Stride   []int // the size of the window
	Padding  []int // 0
	Dilation []int // 1

	// Inside is for means: they are over the positions of a window inside of the input. Else
	// padding counts as zeros.
	Inside bool

	// Ceil has one window more where some positions are left over at the end, if it begins in
	// the input or in front of it. What it has behind the padding counts nowhere.
	Ceil bool
}

// Shape is the shape of the result for an input of shape x.
func (p *Pooling) Shape(x layout.Shape) (layout.Shape, error) {
	n := len(p.Kernel)
	if n < 1 || n > 2 || len(x) < n {
		return nil, fmt.Errorf("%w: pooling of %v with a kernel of %v", layout.ErrRank, x, p.Kernel)
	}
	for _, l := range [][]int{p.Stride, p.Padding, p.Dilation} {
		if len(l) != 0 && len(l) != n {
			return nil, fmt.Errorf("%w: pooling with %v for a kernel of %v", layout.ErrRank, l, p.Kernel)
		}
	}
	out := slices.Clone(x)
	for d, k := range p.Kernel {
		i := len(x) - n + d
		stride, pad, dilation := axis(p.Stride, d, k), axis(p.Padding, d, 0), axis(p.Dilation, d, 1)
		if k < 1 || stride < 1 || pad < 0 || dilation < 1 {
			return nil, fmt.Errorf("%w: pooling with kernel %v, stride %v, padding %v and dilation %v", layout.ErrShape, p.Kernel, p.Stride, p.Padding, p.Dilation)
		}
		reach, err := spread(k, dilation)
		if err != nil {
			return nil, err
		}
		if pad > reach/2 {
			return nil, fmt.Errorf("%w: padding %v is more than half of the window %v", layout.ErrShape, p.Padding, p.Kernel)
		}
		if x[i]+2*pad < reach {
			return nil, fmt.Errorf("%w: pooling of %v with a kernel of %v", layout.ErrShape, x, p.Kernel)
		}
		out[i] = (x[i]+2*pad-reach)/stride + 1
		if p.Ceil && (x[i]+2*pad-reach)%stride != 0 && out[i]*stride < x[i]+pad {
			out[i]++
		}
	}
	return out, nil
}

// empty reports a window that meets no position of an input of shape x, as one may whose
// dilation steps over all of them.
func (p *Pooling) empty(x layout.Shape) error {
	out, err := p.Shape(x)
	if err != nil {
		return err
	}
	for d, k := range p.Kernel {
		i := len(x) - len(p.Kernel) + d
		stride, pad, dilation := axis(p.Stride, d, k), axis(p.Padding, d, 0), axis(p.Dilation, d, 1)
		if dilation <= x[i] || out.Count() == 0 {
			continue
		}
		for w := range out[i] {
			from := w*stride - pad
			inside := max(0, (dilation-1-from)/dilation) // the first that is not in front of the input
			if inside >= k || from+inside*dilation >= x[i] {
				return fmt.Errorf("%w: window %d of dimension %d in %v has no place of it: dilation %v, padding %v", ops.ErrEmpty, w, i, x, p.Dilation, p.Padding)
			}
		}
	}
	return nil
}

var (
	avgPool  = ops.NewGeneric("avg_pool", kernels.AvgPool[ops.T, ops.C])
	maxPool  = ops.NewGeneric("max_pool", kernels.MaxPool[ops.T, ops.C])
	avgPatch = ops.NewGeneric("avg_pool", kernels.AvgPoolPatch[ops.T, ops.C])
	maxPatch = ops.NewGeneric("max_pool", kernels.MaxPoolPatch[ops.T, ops.C])
	more     = ops.NewGenericFunc(kernels.More[ops.C])
	times    = ops.NewGenericFunc(elementwisekernels.Mul[ops.C])
)

// AvgPool stores the means of the windows of x in out.
func AvgPool(s *runtime.Stream, out, x ops.View, p Pooling) error {
	c, ok, err := p.plan(s, out, x, out.Layout, meanDown)
	if !ok {
		return err
	}
	ct := x.DType.Compute()
	add, div := ops.Add.In(ct), ops.Div.In(ct)
	if n := c.window.Kernel[0] * c.window.Kernel[1]; ct == dtype.F32 && n&(n-1) == 0 && n < 1<<24 && !bool(c.window.Over) && (c.window.Outside || !bool(c.window.Clip)) {
		c.window.Inverse, div = true, times.In(ct)
	}
	to, from := out.Header(), x.Header()
	if c.patched {
		return avgPatch.Launch(s, ops.TypeArgs{T: x.DType}, c.grid, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), c.walk, c.window, c.patch, c.shape, c.steps, add, div)
	}
	return avgPool.Launch(s, ops.TypeArgs{T: x.DType}, c.grid, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), c.walk, c.window, add, div)
}

// MaxPool stores the largest elements of the windows of x in out, NaN where there is
// one. In which, of type I64 and the shape of out, it stores which elements they are,
// counted in the dimensions of the window; a View without memory stands for none.
func MaxPool(s *runtime.Stream, out, which, x ops.View, p Pooling) error {
	places := out.Layout
	var at runtime.SliceHeader
	if which.Buf != nil {
		if which.DType != dtype.I64 {
			return ops.Unsupported("max_pool with places", which.DType, dtype.I64.String())
		}
		if err := ops.SameShape("max_pool", which.Layout.Shape(), out.Layout.Shape()); err != nil {
			return err
		}
		places, at = which.Layout, which.Header()
	}
	if err := p.empty(x.Layout.Shape()); err != nil {
		return err
	}
	c, ok, err := p.plan(s, out, x, places, maxDown)
	if !ok {
		return err
	}
	c.window.Indices = which.Buf != nil
	ct := x.DType.Compute()
	largest := more.In(ct)
	to, from := out.Header(), x.Header()
	if c.patched {
		return maxPatch.Launch(s, ops.TypeArgs{T: x.DType}, c.grid, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), ops.SliceArg(dtype.I64, &at), c.walk, c.window, c.patch, c.shape, c.steps, c.places, largest)
	}
	return maxPool.Launch(s, ops.TypeArgs{T: x.DType}, c.grid, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), ops.SliceArg(dtype.I64, &at), c.walk, c.window, largest)
}

// pooling is how windows go over an input.
type pooling struct {
	walk    core.Walk
	grid    runtime.Grid
	window  kernels.Pooling
	patched bool // as the rest says, which is of planes: the result's shape and strides, and the strides of positions
	patch   kernels.Patch
	shape   [2]int
	steps   [2]int
	places  [2]int
}

// plan walks over the result, the input where windows begin, both positions, and where positions
// are stored, or over planes: then a thread has at most down results below each other.
func (p *Pooling) plan(s *runtime.Stream, out, x ops.View, which layout.Layout, down int) (c pooling, ok bool, err error) {
	shape, err := p.Shape(x.Layout.Shape())
	if err != nil {
		return c, false, err
	}
	if err := ops.SameShape("pooling", out.Layout.Shape(), shape); err != nil {
		return c, false, err
	}
	if err := ops.SameType("pooling", out, x); err != nil {
		return c, false, err
	}
	rank, n := len(shape), len(p.Kernel)
	k := &c.window
	*k = kernels.Pooling{In: [2]int{1, 1}, Kernel: [2]int{1, 1}, Dilation: [2]int{1, 1}, Outside: !p.Inside}
	c.shape, c.patch.Stride = [2]int{1, 1}, [2]dsl.ConstInt{1, 1}
	starts := slices.Clone(x.Layout.Strides())
	var places [2]map[int]int
	for d := range n {
		a, i := d+2-n, rank-n+d
		k.In[a], k.Kernel[a], k.Pad[a], k.Dilation[a] = x.Layout.Shape()[i], p.Kernel[d], axis(p.Padding, d, 0), axis(p.Dilation, d, 1)
		k.X[a] = x.Layout.Strides()[i]
		stride := axis(p.Stride, d, p.Kernel[d])
		if end := (shape[i]-1)*stride + (k.Kernel[a]-1)*k.Dilation[a] + 1; end > k.In[a]+2*k.Pad[a] {
			k.Over = true
		}
		starts[i] *= stride
		places[a] = map[int]int{i: stride}
		c.shape[a], c.steps[a], c.places[a], c.patch.Stride[a] = shape[i], out.Layout.Strides()[i], which.Strides()[i], dsl.ConstInt(stride)
	}
	k.Clip = k.Over || k.Pad != [2]int{}
	if c.patches(s, out.Layout, x.Layout, n, down) {
		ok, err = c.planes(s, n, out.Layout, x.Layout, which)
		return c, ok, err
	}
	if k.Kernel[0]*k.Kernel[1] <= mostWindow {
		k.High, k.Wide = dsl.ConstInt(k.Kernel[0]), dsl.ConstInt(k.Kernel[1])
	}
	from, err := layout.New(shape, starts, x.Layout.Offset())
	if err != nil {
		return c, false, err
	}
	ok, err = ops.PlanWalk(s, &c.walk, &c.grid, out.Layout, from, ops.BroadcastAlong(shape, places[0]), ops.BroadcastAlong(shape, places[1]), which)
	return c, ok, err
}

// patches plans patches of the last n dimensions, or reports false where windows are large,
// apart, or not many.
func (c *pooling) patches(s *runtime.Stream, out, x layout.Layout, n, down int) bool {
	info := ops.DeviceInfo(s.Device())
	k, p := &c.window, &c.patch
	if !ops.TraitsOf(&info).ThreadPerElement || k.Kernel[0]*k.Kernel[1] > mostWindow || k.Dilation != [2]int{1, 1} || max(p.Stride[0], p.Stride[1]) > maxStride {
		return false
	}
	p.High, p.Long, p.Left = dsl.ConstInt(k.Kernel[0]), dsl.ConstInt(k.Kernel[1]), dsl.ConstInt(k.Pad[1])
	p.In, p.X, p.Clip = k.In, k.X, k.Clip
	p.Contiguous = dsl.ConstBool(k.X[1] == 1 && c.steps[1] == 1)
	patchwork(p, out.Count()/max(1, c.shape[0]*c.shape[1]), c.shape[0], c.shape[1], down, info.Units*info.ThreadsPerUnit)
	if bool(p.Contiguous) && p.Side == patchSide {
		last := out.Rank() - 1
		p.OutVec = dsl.ConstBool(ops.Multiples(patchSide, c.shape[1]) && ops.Multiples(patchSide, out.Strides()[:last]...))
		p.XVec = dsl.ConstBool(inVectors(p, c.shape[1]) && ops.Multiples(patchSide, x.Strides()[:last]...))
	}
	return max(p.N, p.In[0], p.In[1]) <= math.MaxInt32
}

// planes walks over all dimensions but the last n.
func (c *pooling) planes(s *runtime.Stream, n int, of ...layout.Layout) (bool, error) {
	var err error
	for i, l := range of {
		d := l.Rank() - n
		if of[i], err = layout.New(l.Shape()[:d], l.Strides()[:d], 0); err != nil {
			return false, err
		}
	}
	info := ops.DeviceInfo(s.Device())
	c.patched = true
	if ok, err := ops.PlanWalk(s, &c.walk, &c.grid, of...); !ok || c.patch.N == 0 {
		return false, err
	}
	ops.RandomAccess(&c.walk, of[0].Count())
	c.grid = runtime.Cover(c.patch.N, min(ops.MaxThreads, info.MaxThreads, info.ThreadsPerUnit))
	return true, nil
}

const (
	mostWindow = 16 // elements of a window that a kernel is compiled for
	maxStride  = 4  // the stride of windows that share what they meet
	meanDown   = 2  // results below each other that a thread has, as found on an H200
	maxDown    = 1

	resizedCols   = 4  // elements that are stored at once, as kernels do
	resizedAtOnce = 16 // results of a thread
)

// below is how many results, one below the other, a thread has at most so many of: where
// a CPU has vectors along rows, one is as fast.
func below(s *runtime.Stream, shape layout.Shape, most int) dsl.ConstInt {
	info := ops.DeviceInfo(s.Device())
	n := 1
	for ops.TraitsOf(&info).ThreadPerElement && 2*n <= min(most, 4) && shape[len(shape)-2] >= 2*n && shape.Count()/(2*n) >= info.Units*info.ThreadsPerUnit {
		n *= 2
	}
	return dsl.ConstInt(n)
}

// walkBelow plans a walk over layouts of one shape whose elements are for so many rows
// below each other and columns contiguous. Blocks go through the elements of all rows
// where multiprocessors of the device have many threads.
func walkBelow(s *runtime.Stream, w *core.Walk, g *runtime.Grid, rows, cols int, of ...layout.Layout) (bool, error) {
	for i, l := range of {
		shape, strides := slices.Clone(l.Shape()), slices.Clone(l.Strides())
		for k, n := range []int{cols, rows} {
			if d := len(shape) - 1 - k; n > 1 {
				shape[d], strides[d] = (shape[d]+n-1)/n, strides[d]*n
			}
		}
		of[i], _ = layout.New(shape, strides, l.Offset()) // smaller than one that was right
	}
	if ok, err := ops.PlanWalk(s, w, g, of...); !ok {
		return false, err
	}
	if info := ops.DeviceInfo(s.Device()); ops.TraitsOf(&info).ThreadPerElement {
		ops.OnePerThread(w, g, &info, of[0].Count())
	}
	return true, nil
}

var (
	nearest  = ops.NewGeneric("upsample_nearest", kernels.Nearest[ops.T])
	bilinear = ops.NewGeneric("upsample_bilinear", kernels.Bilinear[ops.T, ops.C])
)

// UpsampleNearest stores x in out with other sizes of the last n dimensions, one or
// two: position i of size is position i·in/size, cut, of x.
func UpsampleNearest(s *runtime.Stream, out, x ops.View, n int) error {
	w, g, r, ok, err := resize(s, out, x, n)
	if !ok {
		return err
	}
	t := ops.Carrier(x.DType)
	to, from := out.Header(), x.Header()
	return nearest.Launch(s, ops.TypeArgs{T: t}, g, ops.SliceArg(t, &to), ops.SliceArg(t, &from), w, r)
}

// Bilinear says where the positions of a result of [UpsampleBilinear] or [UpsampleBicubic]
// are.
type Bilinear struct {
	AlignCorners bool       // the first and last places are those of x; else the edges are those of x
	Scale        [2]float64 // by which sizes have been multiplied; 0 stands for what the sizes are
}

// UpsampleBilinear stores x in out with other sizes of the last two dimensions: each
// element is the mean of the four around its position, weighted by how near they are.
func UpsampleBilinear(s *runtime.Stream, out, x ops.View, b Bilinear) error {
	w, g, r, ok, err := resize(s, out, x, 2)
	if !ok {
		return err
	}
	if !x.DType.IsFloat() {
		return ops.Unsupported("upsample_bilinear", x.DType, ops.Floats.String())
	}
	c := x.DType.Compute()
	scale := b.steps(c, r.In, r.Out)
	r.Near = near(r.Rows, b.step(0, r.In[0], r.Out[0]))
	to, from := out.Header(), x.Header()
	return bilinear.Launch(s, ops.TypeArgs{T: x.DType}, g, ops.SliceArg(x.DType, &to), ops.SliceArg(x.DType, &from), w, r, ops.ScalarArg(c, &scale[0]), ops.ScalarArg(c, &scale[1]), dsl.ConstBool(b.AlignCorners), ops.MulAddFn(c))
}

// steps returns how far positions of the result are apart in the input, along both axes, in a
// type.
func (b *Bilinear) steps(c dtype.DType, in, out [2]int) (scale [2]uint64) {
	for a := range scale {
		scale[a] = dtype.FromFloat(c, b.step(a, in[a], out[a])).Bits()
	}
	return scale
}

func (b *Bilinear) step(axis, in, out int) float64 {
	switch {
	case b.AlignCorners && out > 1:
		return float64(in-1) / float64(out-1)
	case b.AlignCorners:
		return 0
	case b.Scale[axis] > 0:
		return 1 / b.Scale[axis]
	}
	return float64(in) / float64(out)
}

// near is how many rows of the input some rows of the result are between that a thread has,
// or 0 if that is as many as two for each, or too many.
func near(rows dsl.ConstInt, step float64) dsl.ConstInt {
	const most = 2.9                // rows of the input from the first to the last one
	reach := step * float64(rows-1) // without what is rounded
	if rows == 1 || reach > most {
		return 0
	}
	return dsl.ConstInt(reach+0.05) + 3
}

// resize walks over the result, the input without the last n dimensions, and the positions
// in these.
func resize(s *runtime.Stream, out, x ops.View, n int) (w core.Walk, g runtime.Grid, r kernels.Resize, ok bool, err error) {
	shape, rank := out.Layout.Shape(), out.Layout.Rank()
	if rank != x.Layout.Rank() || rank < n || n < 1 || n > 2 {
		return w, g, r, false, fmt.Errorf("%w: %d dimensions of %v to %v", layout.ErrRank, n, x.Layout.Shape(), shape)
	}
	lead := rank - n
	if err := ops.SameType("upsampling", out, x); err != nil {
		return w, g, r, false, err
	}
	if !shape[:lead].Equal(x.Layout.Shape()[:lead]) || slices.Contains(x.Layout.Shape()[lead:], 0) {
		return w, g, r, false, fmt.Errorf("%w: upsampling of %v to %v", layout.ErrShape, x.Layout.Shape(), shape)
	}
	strides := slices.Clone(x.Layout.Strides())
	var places [2]map[int]int
	r = kernels.Resize{Rows: 1, Cols: 1, In: [2]int{1, 1}, Out: [2]int{1, 1}, Div: [2]core.Divisor{ops.Divisor(1), ops.Divisor(1)}}
	for d := lead; d < rank; d++ {
		a := d - rank + 2
		r.In[a], r.Out[a], r.X[a] = x.Layout.Shape()[d], shape[d], strides[d]
		r.Div[a] = ops.Divisor(max(1, shape[d]))
		r.Wide = r.Wide || r.In[a]*r.Out[a] > math.MaxInt32
		places[a], strides[d] = map[int]int{d: 1}, 0
		if a == 0 {
			r.Down, r.Rows = out.Layout.Strides()[d], below(s, shape, 4)
		}
	}
	from, err := layout.New(shape, strides, x.Layout.Offset())
	if err != nil {
		return w, g, r, false, err
	}
	info := ops.DeviceInfo(s.Device())
	if strides := out.Layout.Strides(); n == 2 && ops.TraitsOf(&info).VectorAccess && strides[rank-1] == 1 && ops.Multiples(resizedCols, shape[rank-1]) && ops.Multiples(resizedCols, strides[:rank-1]...) {
		r.Cols = resizedCols
	}
	r.Rows = min(r.Rows, resizedAtOnce/r.Cols)
	ok, err = walkBelow(s, &w, &g, int(r.Rows), int(r.Cols), out.Layout, from, ops.BroadcastAlong(shape, places[0]), ops.BroadcastAlong(shape, places[1]))
	return w, g, r, ok, err
}
