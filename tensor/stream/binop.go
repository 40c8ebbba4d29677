package stream

import "github.com/gokiln/kiln/tensor"

// BinOp computes a stream from two streams, whose pieces may have any lengths: what one
// of them is ahead is kept until the other one has come as far.
type BinOp struct {
	f           func(x, y *tensor.Tensor) *tensor.Tensor
	d           int
	left, right Tensor // what is ahead; one of them is nothing
}

// NewBinOp returns a BinOp of a function that computes along dimension d element by
// element, such as (*tensor.Tensor).Maximum.
func NewBinOp(f func(x, y *tensor.Tensor) *tensor.Tensor, d int) *BinOp { return &BinOp{f: f, d: d} }

// Add is the sum of two streams along dimension d.
func Add(d int) *BinOp { return NewBinOp((*tensor.Tensor).Add, d) }

// Sub is the difference of two streams along dimension d.
func Sub(d int) *BinOp { return NewBinOp((*tensor.Tensor).Sub, d) }

// Mul is the product of two streams along dimension d.
func Mul(d int) *BinOp { return NewBinOp((*tensor.Tensor).Mul, d) }

// Div is the quotient of two streams along dimension d.
func Div(d int) *BinOp { return NewBinOp((*tensor.Tensor).Div, d) }

// Step takes the next piece of each stream and returns what both have come to; nothing if
// one has not come further. A piece with an error is returned; nothing of that step is kept,
// and what was kept before stays.
func (b *BinOp) Step(x, y Tensor) Tensor {
	x, y = b.left.Cat(x, b.d), b.right.Cat(y, b.d)
	for _, p := range [2]Tensor{x, y} {
		if bad, ok := p.without(b.d); ok && !bad.Empty() {
			return bad
		}
	}
	n := min(x.Len(b.d), y.Len(b.d))
	x, b.left = x.Split(b.d, n)
	y, b.right = y.Split(b.d, n)
	if x.Empty() || y.Empty() {
		return Tensor{}
	}
	return Of(b.f(x.t, y.t))
}

// Reset forgets what is ahead.
func (b *BinOp) Reset() { b.left, b.right = Tensor{}, Tensor{} }

// Forward is the function of two tensors that are complete.
func (b *BinOp) Forward(x, y *tensor.Tensor) *tensor.Tensor { return b.f(x, y) }
