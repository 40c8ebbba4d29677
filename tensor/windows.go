package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
)

// Windows says how windows move over the last dimensions of images: see [Tensor.Im2Col].
type Windows = conv.Windows

// Im2Col is the windows of images, (…, channels, height, width), or (…, channels, size) with
// windows of one dimension, each as a column: (…, channels · elements of a window, windows), both
// in row-major order. Padding is 0. A convolution is the product of its weights and this, as
//
//	columns := x.Im2Col(tensor.Windows{Kernel: []int{3, 3}, Padding: []int{1, 1}})
//	y := weights.Flatten(1, -1).MatMul(columns) // (…, channels of the result, windows)
//
// but [Tensor.Conv] makes no copy of the images. It is PyTorch's nn.Unfold; for windows as a view
// see [Tensor.Unfold]. Windows that do not fit are an error of kind [ErrShape], a number of
// dimensions that does not of kind [ErrRank].
func (t *Tensor) Im2Col(w Windows) *Tensor {
	const op = "im2col"
	if bad := first(op, t); bad != nil {
		return bad
	}
	shape, err := w.Shape(t.layout.Shape())
	if err != nil {
		return failed(op, err)
	}
	if lead := len(shape) - 2; lead > 1 {
		return t.Flatten(0, lead-1).Im2Col(w).Reshape(shape...)
	}
	sizes := t.Shape()[len(shape)-1:]
	out := t.produce(op, shape, func(out ops.View) error { return conv.Im2col(t.dev.stream, out, t.view(), w) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return g.Col2Im(w, sizes...) }), t)
}

// Col2Im adds up, for each element of images with such sizes of the last dimensions, what the
// columns of t have of it, which are windows as [Tensor.Im2Col] makes them: of (…, channels ·
// elements of a window, windows) it is (…, channels, sizes …). What is in the padding goes. It is
// PyTorch's nn.Fold. Integers wrap.
func (t *Tensor) Col2Im(w Windows, sizes ...int) *Tensor {
	const op = "col2im"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if _, err := w.Counts(sizes...); err != nil {
		return failed(op, err)
	}
	lead, area := t.Rank()-2, Shape(w.Kernel).Count()
	if lead < 0 {
		return failf(op, ErrRank, "%v has fewer than 2 dimensions", t.layout.Shape())
	}
	if t.Size(-2)%area != 0 {
		return failf(op, ErrShape, "%v: %d rows are not a multiple of the %d places of a window", t.layout.Shape(), t.Size(-2), area)
	}
	shape := slices.Concat(t.Shape()[:lead], Shape{t.Size(-2) / area}, sizes)
	if lead > 1 {
		return t.Flatten(0, lead-1).Col2Im(w, sizes...).Reshape(shape...)
	}
	out := t.produce(op, shape, func(out ops.View) error { return conv.Col2im(t.dev.stream, out, t.view(), w) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return g.Im2Col(w) }), t)
}
