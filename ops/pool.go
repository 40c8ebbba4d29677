package ops

import (
	"fmt"
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

// Pooling says how a window moves over the last dimensions of an input, one or two:
// as many as Kernel has numbers. Empty lists stand for the usual numbers.
type Pooling struct {
	Kernel   []int
	Stride   []int // the size of the window
	Padding  []int // 0
	Dilation []int // 1

	// Inside is for means: they are over the places of a window inside of the input. Else
	// padding counts as zeros.
	Inside bool

	// Ceil has one window more where some places are left over at the end, if it begins in
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
		reach := dilation*(k-1) + 1
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

var (
	poolingType = reflect.TypeFor[kernels.Pooling]()
	avgPool     = family{name: "avg_pool", kernel: jit.Of(kernels.AvgPool[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), walkType, poolingType, function(2, c, c), function(2, c, c)}
	}}
	maxPool = family{name: "max_pool", kernel: jit.Of(kernels.MaxPool[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), int64s, walkType, poolingType, function(2, c, boolType)}
	}}
	quotient, more = jit.Func(kernels.Div[float32]), jit.Func(kernels.More[float32])
)

// AvgPool stores the means of the windows of x in out.
func AvgPool(s *runtime.Stream, out, x View, p Pooling) error {
	w, g, k, ok, err := p.plan(s, out, x, out.Layout)
	if !ok {
		return err
	}
	kernel, err := avgPool.of(x.DType, x.DType.Compute())
	if err != nil {
		return err
	}
	two := function(2, x.DType.Compute().Type(), x.DType.Compute().Type())
	to, from := out.header(), x.header()
	return kernel.Launch(s, g, slice(out.DType, &to), slice(x.DType, &from), w, k, plus.As(two), quotient.As(two))
}

// MaxPool stores the largest elements of the windows of x in out, NaN where there is
// one. In which, of type I64 and the shape of out, it stores which elements they are,
// counted in the dimensions of the window; a View without memory stands for none.
func MaxPool(s *runtime.Stream, out, which, x View, p Pooling) error {
	places := out.Layout
	var at runtime.SliceHeader
	if which.Buf != nil {
		if which.DType != dtype.I64 {
			return unsupported("max_pool with places", which.DType, dtype.I64.String())
		}
		if err := sameShape("max_pool", which.Layout.Shape(), out.Layout.Shape()); err != nil {
			return err
		}
		places, at = which.Layout, which.header()
	}
	w, g, k, ok, err := p.plan(s, out, x, places)
	if !ok {
		return err
	}
	kernel, err := maxPool.of(x.DType, x.DType.Compute())
	if err != nil {
		return err
	}
	k.Places = which.Buf != nil
	to, from := out.header(), x.header()
	return kernel.Launch(s, g, slice(out.DType, &to), slice(x.DType, &from), slice(dtype.I64, &at), w, k, more.As(function(2, x.DType.Compute().Type(), boolType)))
}

// plan walks over the result, the input where windows begin, both places, where places
// are stored, and the rows of the result.
func (p *Pooling) plan(s *runtime.Stream, out, x View, which layout.Layout) (w kernels.Walk, g runtime.Grid, k kernels.Pooling, ok bool, err error) {
	shape, err := p.Shape(x.Layout.Shape())
	if err != nil {
		return w, g, k, false, err
	}
	if err := sameShape("pooling", out.Layout.Shape(), shape); err != nil {
		return w, g, k, false, err
	}
	if err := sameType("pooling", out, x); err != nil {
		return w, g, k, false, err
	}
	rank, n := len(shape), len(p.Kernel)
	k = kernels.Pooling{Rows: 1, Height: 1, Step: 1, In: [2]int{1, 1}, Kernel: [2]int{1, 1}, Dilation: [2]int{1, 1}, Outside: !p.Inside}
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
		if a == 0 {
			k.Height, k.Step, k.Down = shape[i], stride, [2]int{out.Layout.Strides()[i], which.Strides()[i]}
		}
	}
	k.Clip = k.Over || k.Pad != [2]int{}
	if area := k.Kernel[0] * k.Kernel[1]; area <= mostWindow {
		k.High, k.Wide = dsl.ConstInt(k.Kernel[0]), dsl.ConstInt(k.Kernel[1])
		if n == 2 {
			k.Rows = below(s, shape, pooledAtOnce/area)
		}
		info := infoOf(s.Device())
		strides := x.Layout.Strides()
		k.Pair = k.Wide == 2 && !k.Clip && dsl.ConstBool(!serial(&info) && k.Dilation[1] == 1 && strides[rank-1] == 1 && axis(p.Stride, n-1, 2)%2 == 0 && even(2, strides[:rank-1]...))
	}
	from, err := layout.New(shape, starts, x.Layout.Offset())
	if err != nil {
		return w, g, k, false, err
	}
	number := map[int]int{}
	if n == 2 {
		number[rank-2] = 1
	}
	ok, err = walkBelow(s, &w, &g, int(k.Rows), 1, out.Layout, from, along(shape, places[0]), along(shape, places[1]), which, along(shape, number))
	return w, g, k, ok, err
}

const (
	mostWindow   = 16 // elements of a window that a kernel is compiled for
	pooledAtOnce = 16 // elements that a thread loads at once

	resizedCols   = 4  // elements that are stored at once, as kernels do
	resizedAtOnce = 16 // results of a thread
)

// below is how many results, one below the other, a thread has at most so many of: where
// a CPU has vectors along rows, one is as fast.
func below(s *runtime.Stream, shape layout.Shape, most int) dsl.ConstInt {
	info := infoOf(s.Device())
	n := 1
	for !serial(&info) && 2*n <= min(most, 4) && shape[len(shape)-2] >= 2*n && shape.Count()/(2*n) >= info.Units*info.ThreadsPerUnit {
		n *= 2
	}
	return dsl.ConstInt(n)
}

// walkBelow plans a walk over layouts of one shape whose elements are for so many rows
// below each other and columns side by side. Blocks go through the elements of all rows
// where units of the device have many threads.
func walkBelow(s *runtime.Stream, w *kernels.Walk, g *runtime.Grid, rows, cols int, of ...layout.Layout) (bool, error) {
	for i, l := range of {
		shape, strides := slices.Clone(l.Shape()), slices.Clone(l.Strides())
		for k, n := range []int{cols, rows} {
			if d := len(shape) - 1 - k; n > 1 {
				shape[d], strides[d] = (shape[d]+n-1)/n, strides[d]*n
			}
		}
		of[i], _ = layout.New(shape, strides, l.Offset()) // smaller than one that was right
	}
	if ok, err := walkOver(s, w, g, of...); !ok {
		return false, err
	}
	if info := infoOf(s.Device()); !serial(&info) {
		everyElement(w, g, &info, of[0].Count())
	}
	return true, nil
}

// everyElement makes a walk over n elements one in which each thread has one, whatever
// row it is in.
func everyElement(w *kernels.Walk, g *runtime.Grid, info *runtime.Info, n int) {
	anyOrder(w, n)
	threads := min(maxThreads, info.MaxThreads, info.ThreadsPerUnit)
	w.Part = threads
	*g = runtime.Grid{Blocks: runtime.Dim3{X: (n + threads - 1) / threads}, Threads: runtime.Dim3{X: threads}}
}

var (
	resizeType = reflect.TypeFor[kernels.Resize]()
	nearest    = family{name: "upsample_nearest", kernel: jit.Of(kernels.Nearest[float32]), params: func(t, _ reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), walkType, resizeType}
	}}
	bilinear = family{name: "upsample_bilinear", kernel: jit.Of(kernels.Bilinear[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(t), reflect.SliceOf(t), walkType, resizeType, c, c, reflect.TypeFor[dsl.ConstBool](), function(3, c, c)}
	}}
)

// UpsampleNearest stores x in out with other sizes of the last n dimensions, one or
// two: place i of size is place i·in/size, cut, of x.
func UpsampleNearest(s *runtime.Stream, out, x View, n int) error {
	w, g, r, ok, err := resize(s, out, x, n)
	if !ok {
		return err
	}
	t := carrier(x.DType)
	k, err := nearest.of(t, t)
	if err != nil {
		return err
	}
	to, from := out.header(), x.header()
	return k.Launch(s, g, slice(t, &to), slice(t, &from), w, r)
}

// Bilinear says where the places of a result of [UpsampleBilinear] or [UpsampleBicubic]
// are.
type Bilinear struct {
	AlignCorners bool       // the first and last places are those of x; else the edges are those of x
	Scale        [2]float64 // by which sizes have been multiplied; 0 stands for what the sizes are
}

// UpsampleBilinear stores x in out with other sizes of the last two dimensions: each
// element is the mean of the four around its place, weighted by how near they are.
func UpsampleBilinear(s *runtime.Stream, out, x View, b Bilinear) error {
	w, g, r, ok, err := resize(s, out, x, 2)
	if !ok {
		return err
	}
	if !x.DType.IsFloat() {
		return unsupported("upsample_bilinear", x.DType, floats.String())
	}
	c := x.DType.Compute()
	k, err := bilinear.of(x.DType, c)
	if err != nil {
		return err
	}
	scale := b.steps(c, r.In, r.Out)
	to, from := out.header(), x.header()
	return k.Launch(s, g, slice(x.DType, &to), slice(x.DType, &from), w, r, word(c, &scale[0]), word(c, &scale[1]), boolConst(b.AlignCorners), mad(c))
}

// steps returns how far places of the result are apart in the input, along both axes, in a
// type.
func (b *Bilinear) steps(c dtype.DType, in, out [2]int) (scale [2]uint64) {
	for a := range scale {
		f := float64(in[a]) / float64(out[a])
		switch {
		case b.AlignCorners && out[a] > 1:
			f = float64(in[a]-1) / float64(out[a]-1)
		case b.AlignCorners:
			f = 0
		case b.Scale[a] > 0:
			f = 1 / b.Scale[a]
		}
		scale[a] = dtype.FromFloat(c, f).Bits()
	}
	return scale
}

// resize walks over the result, the input without the last n dimensions, and the places
// in these.
func resize(s *runtime.Stream, out, x View, n int) (w kernels.Walk, g runtime.Grid, r kernels.Resize, ok bool, err error) {
	shape, rank := out.Layout.Shape(), out.Layout.Rank()
	if rank != x.Layout.Rank() || rank < n || n < 1 || n > 2 {
		return w, g, r, false, fmt.Errorf("%w: %d dimensions of %v to %v", layout.ErrRank, n, x.Layout.Shape(), shape)
	}
	lead := rank - n
	if err := sameType("upsampling", out, x); err != nil {
		return w, g, r, false, err
	}
	if !shape[:lead].Equal(x.Layout.Shape()[:lead]) || slices.Contains(x.Layout.Shape()[lead:], 0) {
		return w, g, r, false, fmt.Errorf("%w: upsampling of %v to %v", layout.ErrShape, x.Layout.Shape(), shape)
	}
	strides := slices.Clone(x.Layout.Strides())
	var places [2]map[int]int
	r = kernels.Resize{Rows: 1, Cols: 1, In: [2]int{1, 1}, Out: [2]int{1, 1}, Div: [2]kernels.Divisor{divisor(1), divisor(1)}}
	for d := lead; d < rank; d++ {
		a := d - rank + 2
		r.In[a], r.Out[a], r.X[a] = x.Layout.Shape()[d], shape[d], strides[d]
		r.Div[a] = divisor(max(1, shape[d]))
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
	info := infoOf(s.Device())
	if strides := out.Layout.Strides(); n == 2 && !serial(&info) && strides[rank-1] == 1 && even(resizedCols, shape[rank-1]) && even(resizedCols, strides[:rank-1]...) {
		r.Cols = resizedCols
	}
	r.Rows = min(r.Rows, resizedAtOnce/r.Cols)
	ok, err = walkBelow(s, &w, &g, int(r.Rows), int(r.Cols), out.Layout, from, along(shape, places[0]), along(shape, places[1]))
	return w, g, r, ok, err
}
