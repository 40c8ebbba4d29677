package conv

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv/kernels"
	"github.com/gokiln/kiln/ops/dtype"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	adaptiveAvg = ops.NewGeneric("adaptive_avg_pool", kernels.AdaptiveAvg[ops.T, ops.C])
	bicubic     = ops.NewGeneric("upsample_bicubic", kernels.Bicubic[ops.T, ops.C])
	adaptiveMax = ops.NewGeneric("adaptive_max_pool", kernels.AdaptiveMax[ops.T, ops.C])
)

// AdaptiveAvgPool stores in out the means of as many windows of x as out has elements in
// the last n dimensions, one or two. Window i of m has the positions from i·size/m, cut, up
// to (i+1)·size/m, raised.
func AdaptiveAvgPool(s *runtime.Stream, out, x ops.View, n int) error {
	w, g, p, ok, err := adaptive("adaptive_avg_pool", s, out, x, out.Layout, n)
	if !ok {
		return err
	}
	c := x.DType.Compute()
	kernel, err := adaptiveAvg.Of(ops.TypeArgs{T: x.DType})
	if err != nil {
		return err
	}
	to, from := out.Header(), x.Header()
	return kernel.Launch(s, g, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), w, p, ops.Add.In(c), ops.Div.In(c))
}

// AdaptiveMaxPool stores the largest elements of the windows of [AdaptiveAvgPool], and
// which they are, as [MaxPool] does.
func AdaptiveMaxPool(s *runtime.Stream, out, which, x ops.View, n int) error {
	const op = "adaptive_max_pool"
	places := out.Layout
	var at runtime.SliceHeader
	if which.Buf != nil {
		if which.DType != dtype.I64 {
			return ops.Unsupported(op+" with places", which.DType, dtype.I64.String())
		}
		if err := ops.SameShape(op, which.Layout.Shape(), out.Layout.Shape()); err != nil {
			return err
		}
		places, at = which.Layout, which.Header()
	}
	w, g, p, ok, err := adaptive(op, s, out, x, places, n)
	if !ok {
		return err
	}
	c := x.DType.Compute()
	kernel, err := adaptiveMax.Of(ops.TypeArgs{T: x.DType})
	if err != nil {
		return err
	}
	p.Indices = which.Buf != nil
	to, from := out.Header(), x.Header()
	return kernel.Launch(s, g, ops.SliceArg(out.DType, &to), ops.SliceArg(x.DType, &from), ops.SliceArg(dtype.I64, &at), w, p, more.In(c))
}

// UpsampleBicubic stores x in out with other sizes of the last two dimensions: each
// element is a sum of the sixteen around its position, with weights that are a cubic
// function of how near they are.
func UpsampleBicubic(s *runtime.Stream, out, x ops.View, b Bilinear) error {
	const op = "upsample_bicubic"
	if !ops.Floats.Has(x.DType) {
		return ops.Unsupported(op, x.DType, ops.Floats.String())
	}
	w, g, p, ok, err := adaptive(op, s, out, x, out.Layout, 2)
	if !ok {
		return err
	}
	c := x.DType.Compute()
	scale := b.steps(c, p.In, p.Out)
	to, from := out.Header(), x.Header()
	return bicubic.Launch(s, ops.TypeArgs{T: x.DType}, g, ops.SliceArg(x.DType, &to), ops.SliceArg(x.DType, &from), w, p, ops.ScalarArg(c, &scale[0]), ops.ScalarArg(c, &scale[1]), dsl.ConstBool(b.AlignCorners), ops.MulAddFn(c))
}

// adaptive walks over the result, the input without the last n dimensions, the numbers of
// the windows in these, and where positions are stored.
func adaptive(op string, s *runtime.Stream, out, x ops.View, which layout.Layout, n int) (w core.Walk, g runtime.Grid, p kernels.Adaptive, ok bool, err error) {
	from, to := x.Layout.Shape(), out.Layout.Shape()
	lead := len(to) - n
	if len(from) != len(to) || n < 1 || n > 2 || lead < 0 {
		return w, g, p, false, fmt.Errorf("%w: %s of %d dimensions of %v to %v", layout.ErrRank, op, n, from, to)
	}
	if err := ops.SameType(op, out, x); err != nil {
		return w, g, p, false, err
	}
	if !to[:lead].Equal(from[:lead]) || slices.Contains(from[lead:], 0) && to.Count() > 0 {
		return w, g, p, false, fmt.Errorf("%w: %s of %v to %v", layout.ErrShape, op, from, to)
	}
	strides := slices.Clone(x.Layout.Strides())
	var numbers [2]map[int]int
	p = kernels.Adaptive{In: [2]int{1, 1}, Out: [2]int{1, 1}, Div: [2]core.Divisor{ops.Divisor(1), ops.Divisor(1)}}
	for d := lead; d < len(to); d++ {
		a := d - len(to) + 2
		p.In[a], p.Out[a], p.X[a] = from[d], to[d], strides[d]
		p.Div[a] = ops.Divisor(max(1, to[d]))
		p.Wide = p.Wide || to[d] > 0 && from[d] > (math.MaxInt32-to[d])/to[d] // the last end is that of n·m + m - 1
		numbers[a], strides[d] = map[int]int{d: 1}, 0
	}
	rest, err := layout.New(to, strides, x.Layout.Offset())
	if err != nil {
		return w, g, p, false, err
	}
	ok, err = ops.PlanWalk(s, &w, &g, out.Layout, rest, ops.BroadcastAlong(to, numbers[0]), ops.BroadcastAlong(to, numbers[1]), which)
	if info := ops.DeviceInfo(s.Device()); ok && ops.TraitsOf(&info).ThreadPerElement {
		ops.OnePerThread(&w, &g, &info, out.Layout.Count())
	}
	return w, g, p, ok, err
}
