package fourier

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/fourier/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// SpectrumForm is what lines of numbers are, before and after a Fourier transform.
type SpectrumForm int

// The forms of lines of n numbers.
const (
	Complex SpectrumForm = kernels.Complex // n pairs of a real and an imaginary part
	Real    SpectrumForm = kernels.Real    // n numbers, whose imaginary parts are 0, or are not stored
	Half    SpectrumForm = kernels.Half    // the first n/2+1 of n pairs: the others are their conjugates, from the end on
)

// Shape is the shape of lines of n numbers in this form, in groups of lines.
func (f SpectrumForm) Shape(groups, lines, n int) layout.Shape {
	switch f {
	case Real:
		return layout.Shape{groups, lines, n}
	case Half:
		return layout.Shape{groups, lines, n/2 + 1, 2}
	}
	return layout.Shape{groups, lines, n, 2}
}

// Fourier is a Fourier transform of lines of N numbers: the sums of x(k)·exp(-2πi·j·k/N), times
// Scale, or with the other sign if it is inverse.
type Fourier struct {
	N        int
	From, To SpectrumForm
	Inverse  bool
	Scale    float64
}

var (
	fourierStep  = ops.NewGeneric("fft", kernels.FourierStep[ops.C])
	chirpIn      = ops.NewGeneric("fft", kernels.ChirpIn[ops.C])
	chirpFilter  = ops.NewGeneric("fft", kernels.ChirpFilter[ops.C])
	chirpProduct = ops.NewGeneric("fft", kernels.ChirpProduct[ops.C])
	chirpOut     = ops.NewGeneric("fft", kernels.ChirpOut[ops.C])
)

// CheckFourier reports an element type that Fourier transforms are not for.
func CheckFourier(op string, d dtype.DType) error {
	if d != dtype.F32 && d != dtype.F64 {
		return fmt.Errorf("%w: Cast the numbers", ops.Unsupported(op, d, "f32, f64"))
	}
	return nil
}

// FFT stores the transforms of the lines of x in out: both are of type F32 or F64, and of the
// shapes of their forms, (groups, lines, …). A length with a prime factor above 13 is a
// convolution of a length that has none.
func FFT(s *runtime.Stream, out, x ops.View, f Fourier) error {
	const op = "fft"
	if err := CheckFourier(op, x.DType); err != nil {
		return err
	}
	if err := ops.SameType(op, out, x); err != nil {
		return err
	}
	shape := x.Layout.Shape()
	if len(shape) < 3 || f.N < 1 {
		return fmt.Errorf("%w: %s of %d numbers in %v", layout.ErrRank, op, f.N, shape)
	}
	groups, lines := shape[0], shape[1]
	if err := ops.SameShape(op, shape, f.From.Shape(groups, lines, f.N)); err != nil {
		return err
	}
	if err := ops.SameShape(op, out.Layout.Shape(), f.To.Shape(groups, lines, f.N)); err != nil {
		return err
	}
	if f.N > math.MaxInt32/4 {
		return fmt.Errorf("%w: %s of %d numbers", layout.ErrTooLarge, op, f.N)
	}
	if groups*lines == 0 {
		return nil
	}
	t := transform{s: s, d: x.DType, n: f.N, lines: lines, count: groups * lines}
	from, to := place{x.Header(), spectrum(x.Layout, f.From)}, place{out.Header(), spectrum(out.Layout, f.To)}
	if radices, ok := factorsOf(f.N); ok {
		return t.steps(to, from, radices, f.Inverse, f.Scale)
	}
	return t.chirp(to, from, f.Inverse, f.Scale)
}

// place is how lines are laid out in memory.
type place struct {
	at   runtime.SliceHeader
	form kernels.Spectrum
}

func spectrum(l layout.Layout, f SpectrumForm) kernels.Spectrum {
	s := l.Strides()
	p := kernels.Spectrum{Form: dsl.ConstInt(f), Lines: [2]int{s[1], s[0]}, Next: s[2]}
	if f != Real {
		p.Pair = s[3]
	}
	return p
}

// factorsOf returns numbers that kernels put together at once, whose product is n.
func factorsOf(n int) (list []int, ok bool) {
	for _, r := range []int{8, 4, 2, 3, 5, 7, 11, 13} {
		for n%r == 0 {
			list, n = append(list, r), n/r
		}
	}
	if len(list) == 0 && n == 1 {
		list = []int{1}
	}
	return list, n == 1
}

// transform is the transforms of lines of n numbers, so many in a group.
type transform struct {
	s     *runtime.Stream
	d     dtype.DType
	n     int
	lines int
	count int
}

// pairs is scratch memory for contiguous lines of n pairs.
func (t *transform) pairs(scratch *ops.Scratch, n, count, lines int) place {
	return place{scratch.Take(t.d.Size(), 2*n*count), kernels.Spectrum{Form: kernels.Complex, Lines: [2]int{2 * n, 2 * n * lines}, Next: 2, Pair: 1}}
}

// steps puts radices numbers together, one step after the other.
func (t *transform) steps(to, from place, radices []int, inverse bool, scale float64) error {
	var scratch ops.Scratch
	spare := min(2, len(radices)-1)
	if spare > 0 {
		if err := scratch.Alloc(t.s, spare*2*t.n*t.count*t.d.Size()); err != nil {
			return fmt.Errorf("fft: %w", err)
		}
		defer scratch.Free(t.s)
	}
	var between [2]place
	for i := range spare {
		between[i] = t.pairs(&scratch, t.n, t.count, t.lines)
	}
	done := 1
	for i, r := range radices {
		out, by := to, scale
		if i < len(radices)-1 {
			out, by = between[i%2], 1
		}
		if err := t.step(out, from, r, done, inverse, by); err != nil {
			return err
		}
		from, done = out, done*r
	}
	return nil
}

func (t *transform) step(to, from place, r, done int, inverse bool, scale float64) error {
	p := kernels.Fourier{
		R: dsl.ConstInt(r), Inverse: dsl.ConstBool(inverse), N: t.n, Done: done, Count: t.count * (t.n / r), Lines: t.lines,
		PerLine: ops.Divisor(t.n / r), Group: ops.Divisor(t.lines), Each: ops.Divisor(done), X: from.form, Out: to.form,
	}
	p.Wide = p.Count > math.MaxInt32
	by := dtype.FromFloat(t.d, scale).Bits()
	return fourierStep.Launch(t.s, ops.TypeArgs{C: t.d}, t.cover(p.Count), ops.SliceArg(t.d, &to.at), ops.SliceArg(t.d, &from.at), p, ops.ScalarArg(t.d, &by))
}

// cover is a grid of a thread for each of n numbers.
func (t *transform) cover(n int) runtime.Grid {
	info := ops.DeviceInfo(t.s.Device())
	return runtime.Cover(n, min(ops.MaxThreads, info.MaxThreads, info.ThreadsPerUnit))
}

// chirp transforms lines of any length by a convolution.
func (t *transform) chirp(to, from place, inverse bool, scale float64) error {
	m := 1 << bits.Len(uint(2*t.n-2))
	inner := transform{s: t.s, d: t.d, n: m, lines: t.lines, count: t.count}
	one := transform{s: t.s, d: t.d, n: m, lines: 1, count: 1}
	var scratch ops.Scratch
	if err := scratch.Alloc(t.s, 2*2*m*(t.count+1)*t.d.Size()); err != nil {
		return fmt.Errorf("fft: %w", err)
	}
	defer scratch.Free(t.s)
	a, b := t.pairs(&scratch, m, t.count, t.lines), t.pairs(&scratch, m, t.count, t.lines)
	filter, turned := t.pairs(&scratch, m, 1, 1), t.pairs(&scratch, m, 1, 1)
	p := kernels.Chirp{Inverse: dsl.ConstBool(inverse), N: t.n, M: m, Count: m * t.count, Lines: t.lines, X: from.form, Out: to.form}
	radices, _ := factorsOf(m)
	launch := func(k *ops.Generic, n int, args ...any) error {
		return k.Launch(t.s, ops.TypeArgs{C: t.d}, t.cover(n), args...)
	}
	by := dtype.FromFloat(t.d, scale).Bits()
	for _, step := range []func() error{
		func() error { return launch(chirpFilter, m, ops.SliceArg(t.d, &filter.at), p) },
		func() error { return one.steps(turned, filter, radices, false, 1) },
		func() error {
			return launch(chirpIn, p.Count, ops.SliceArg(t.d, &a.at), ops.SliceArg(t.d, &from.at), p)
		},
		func() error { return inner.steps(b, a, radices, false, 1) },
		func() error {
			return launch(chirpProduct, p.Count, ops.SliceArg(t.d, &b.at), ops.SliceArg(t.d, &turned.at), p)
		},
		func() error { return inner.steps(a, b, radices, true, 1/float64(m)) },
		func() error {
			p.Count = t.n * t.count
			return launch(chirpOut, p.Count, ops.SliceArg(t.d, &to.at), ops.SliceArg(t.d, &a.at), p, ops.ScalarArg(t.d, &by))
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
