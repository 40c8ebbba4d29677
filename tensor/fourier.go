package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/fourier"
	"github.com/gokiln/kiln/ops/layout"
)

// Complex numbers are pairs: the last dimension, of size 2, has the real and the imaginary part.
// Dimensions of Fourier transforms are counted without it.

// FFT is the Fourier transforms of complex numbers, (…, 2) of types F32 and F64, along dimension d
// of the ones in front: with n numbers x along it, number j is the sum of x(k)·exp(-2πi·j·k/n).
// It is NumPy's fft, of any length: one with a prime factor above 13 takes several times as
// long. For several dimensions there is one after the other. A last dimension of another size
// is an error of kind [ErrShape], as is a length of 0.
//
//	spectrum := x.FFT(-1)                                       // (…, n, 2)
//	frames := sound.Unfold(-1, 512, 128).Mul(window).RFFT(-1) // (…, frames, 257, 2)
func (t *Tensor) FFT(d int) *Tensor {
	return t.fourier("fft", d, 0, fourier.Fourier{})
}

// IFFT is what [Tensor.FFT] is of: the same with the other sign, over n.
func (t *Tensor) IFFT(d int) *Tensor {
	return t.fourier("ifft", d, 0, fourier.Fourier{Inverse: true})
}

// RFFT is the Fourier transforms of real numbers along dimension d: of n numbers the first n/2+1
// complex ones, in a new last dimension, as the others are conjugates of these.
func (t *Tensor) RFFT(d int) *Tensor {
	return t.fourier("rfft", d, 0, fourier.Fourier{From: fourier.Real, To: fourier.Half})
}

// IRFFT is the n real numbers that [Tensor.RFFT] along dimension d is of; there are n/2+1 complex
// ones along it, or it is an error of kind [ErrShape]. The imaginary part of the first one does
// not count, nor that of the last one if n is even.
func (t *Tensor) IRFFT(n, d int) *Tensor {
	return t.fourier("irfft", d, n, fourier.Fourier{From: fourier.Half, To: fourier.Real, Inverse: true})
}

// fourier transforms along dimension d; n is how many real numbers there will be. A scale of 0
// stands for the usual one.
func (t *Tensor) fourier(op string, d, n int, f fourier.Fourier) *Tensor {
	if bad := first(op, t); bad != nil {
		return bad
	}
	if err := fourier.CheckFourier(op, t.dtype); err != nil {
		return failed(op, err)
	}
	s := t.Shape()
	if f.From != fourier.Real {
		if len(s) < 2 || s[len(s)-1] != 2 {
			return failf(op, ErrShape, "%v: complex numbers have a last dimension of size 2", s)
		}
		s = s[:len(s)-1]
	}
	d, err := layout.Dim(d, len(s))
	if err != nil {
		return failed(op, err)
	}
	if f.N = s[d]; f.From == fourier.Half {
		f.N = n
	}
	if f.N < 1 || f.From == fourier.Half && s[d] != n/2+1 {
		return failf(op, ErrShape, "%d numbers of dimension %d of %v", f.N, d, t.layout.Shape())
	}
	if f.Scale == 0 {
		if f.Scale = 1; f.Inverse {
			f.Scale /= float64(f.N)
		}
	}
	return t.transform(op, d, s, f)
}

// transform is the transforms along dimension d of numbers in a shape.
func (t *Tensor) transform(op string, d int, s Shape, f fourier.Fourier) *Tensor {
	groups, lines := s[:d].Count(), s[d+1:].Count()
	x := t.Detach().Reshape(turnedBack(f.From.Shape(groups, lines, f.N))...).Transpose(1, 2)
	if x.err != nil {
		return x
	}
	to := f.To.Shape(groups, lines, f.N)
	shape := slices.Clone(s)
	shape[d] = to[2]
	if f.To != fourier.Real {
		shape = append(shape, 2)
	}
	out := t.produce(op, shape, func(out ops.View) (err error) {
		if out.Layout, err = layout.Contiguous(turnedBack(to)).Transpose(1, 2); err != nil {
			return err
		}
		return fourier.FFT(t.dev.stream, out, x.view(), f)
	})
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return gradFourier(op, g, d, f) }), t)
}

// turnedBack is the shape of lines, with the dimension along them in front of the lines.
func turnedBack(s Shape) Shape {
	s = slices.Clone(s)
	s[1], s[2] = s[2], s[1]
	return s
}

// gradFourier is the transform with the other sign: what real numbers are made of counts as its
// real part, and of numbers that others are the conjugates of both have the gradient.
func gradFourier(op string, g *Tensor, d int, f fourier.Fourier) *Tensor {
	if g.err != nil {
		return g
	}
	back := f
	back.From, back.To, back.Inverse = f.To, f.From, !f.Inverse
	op = "gradient of " + op
	switch {
	case f.To == fourier.Half:
		back.From = fourier.Complex
		g = g.Pad(d, 0, f.N-g.Size(d), PadConstant, 0)
	case f.From == fourier.Half:
		m := f.N/2 + 1
		often := make([]float64, m)
		for k := range often {
			if often[k] = 2; k == 0 || 2*k == f.N {
				often[k] = 1
			}
		}
		one := slices.Repeat(Shape{1}, g.Rank()+1)
		one[d] = m
		return g.fourier(op, d, 0, back).Mul(matrixLike(g, often, m, 1).Reshape(one...))
	}
	return g.fourier(op, d, 0, back)
}
