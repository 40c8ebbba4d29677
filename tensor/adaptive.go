package tensor

import (
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
)

// AdaptiveAvgPool is the means of windows over the last one or two dimensions, as many
// windows along each as the sizes say; [Inferred] stands for the size that is there. Window i
// of m has the indices from ⌊i·n/m⌋ up to ⌈(i+1)·n/m⌉, exclusive: all of one size, side by
// side, where m divides n. A size of 1 for each is pooling of all there is.
func (t *Tensor) AdaptiveAvgPool(sizes ...int) *Tensor {
	const op = "adaptive_avg_pool"
	shape, bad := t.adaptive(op, sizes)
	if bad != nil {
		return bad
	}
	n := len(sizes)
	if dims, all := lastOfOne(shape, n); all && t.dtype.IsFloat() {
		return t.MeanKeep(dims...)
	}
	if p, ok := t.regular(shape, n); ok {
		return t.AvgPool(p)
	}
	out := t.produce(op, shape, func(out ops.View) error { return conv.AdaptiveAvgPool(t.dev.stream, out, t.view(), n) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor {
		for d := x.Rank() - n; d < x.Rank(); d++ {
			g = g.Transpose(d, -1).product(windowsOf(x, x.Size(d), out.Size(d))).Transpose(d, -1)
		}
		return g
	}), t)
}

// AdaptiveMaxPool is the largest elements of the windows of [Tensor.AdaptiveAvgPool], NaN
// where there is one. Of several that are largest the first has the gradient.
func (t *Tensor) AdaptiveMaxPool(sizes ...int) *Tensor {
	const op = "adaptive_max_pool"
	shape, bad := t.adaptive(op, sizes)
	if bad != nil {
		return bad
	}
	n := len(sizes)
	if dims, all := lastOfOne(shape, n); all {
		which := &Tensor{}
		if t.RequiresGrad() {
			which = t.Detach().ArgMaxKeep(dims...)
		}
		return t.Detach().MaxKeep(dims...).from(op, grad1(func(g, x, out *Tensor) *Tensor { return gradMaxPool(g, x, which, n) }), t).saves(which)
	}
	if p, ok := t.regular(shape, n); ok {
		return t.MaxPool(p)
	}
	out, _ := t.mostOf(op, shape, n, t.RequiresGrad(), func(out, which ops.View) error {
		return conv.AdaptiveMaxPool(t.dev.stream, out, which, t.view(), n)
	})
	return out
}

// adaptive is the shape of the result of adaptive pooling to sizes, or what is wrong.
func (t *Tensor) adaptive(op string, sizes []int) (shape Shape, bad *Tensor) {
	if bad := first(op, t); bad != nil {
		return nil, bad
	}
	if err := computes(t.dtype); err != nil {
		return nil, failed(op, err)
	}
	lead := t.Rank() - len(sizes)
	if lead < 0 || len(sizes) < 1 || len(sizes) > 2 {
		return nil, failf(op, ErrRank, "%d sizes for %v, want one or two", len(sizes), t.layout.Shape())
	}
	shape = t.Shape()
	for i, m := range sizes {
		switch n := shape[lead+i]; {
		case m == Inferred:
		case m < 0 || n == 0 && m > 0:
			return nil, failf(op, ErrShape, "%v to sizes %v", t.layout.Shape(), sizes)
		default:
			shape[lead+i] = m
		}
	}
	return shape, nil
}

// lastOfOne returns the last n dimensions, and whether all of them have size 1.
func lastOfOne(shape Shape, n int) (dims []int, all bool) {
	all = true
	for d := len(shape) - n; d < len(shape); d++ {
		dims = append(dims, d)
		all = all && shape[d] == 1
	}
	return dims, all
}

// regular returns the pooling whose windows are those of adaptive pooling to a shape, and
// whether there is one.
func (t *Tensor) regular(shape Shape, n int) (p Pooling, ok bool) {
	for d := len(shape) - n; d < len(shape); d++ {
		size := t.layout.Shape()[d]
		if shape[d] == 0 || size%shape[d] != 0 {
			return p, false
		}
		p.Kernel = append(p.Kernel, size/shape[d])
	}
	return p, true
}

// windowsOf is the matrix by which m means along a dimension are made of n elements.
func windowsOf(x *Tensor, n, m int) *Tensor {
	w := make([]float64, m*n)
	for i := range m {
		first, end := i*n/m, ((i+1)*n+m-1)/m
		for k := first; k < end; k++ {
			w[i*n+k] = 1 / float64(end-first)
		}
	}
	return matrixLike(x, w, m, n)
}
