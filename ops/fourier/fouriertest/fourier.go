package fouriertest

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	fourierops "github.com/gokiln/kiln/ops/fourier"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// lengths are products of all factors that kernels put together, and some that need a
// convolution.
var lengths = []int{1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 24, 60, 64, 90, 17, 38, 97, 143, 512, 1001}

// Fourier tests Fourier transforms of all forms.
func Fourier(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		if !b.Has(d) {
			continue
		}
		for _, n := range lengths {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				c, r, h := fourierops.Complex, fourierops.Real, fourierops.Half
				for k, f := range []fourierops.Fourier{{From: c, To: c}, {From: c, To: c, Inverse: true}, {From: r, To: h}, {From: h, To: r, Inverse: true}, {From: r, To: c}, {From: c, To: r, Inverse: true}} {
					if k == 0 && (d == dtype.F32 || opstest.Choice(3, d, n) == 0) || d == dtype.F32 && k == 1+opstest.Choice(5, d, n) {
						f.N, f.Scale = n, 0.5
						transform(t, b, d, f, layout.Shape{2, 3}, b.Kind())
					}
				}
			}, "%v/%d", d, n)
		}
	}
	t.Run("Errors", func(t *testing.T) { fourierErrors(t, b) })
}

// transform compares one transform with sums in float64.
func transform(t *testing.T, b *opstest.Bench, d dtype.DType, f fourierops.Fourier, of layout.Shape, kind int) {
	t.Helper()
	shape := f.From.Shape(of[0], of[1], f.N)
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], shape), func() dtype.Scalar { return dtype.FromFloat(d, b.Rand.Float64()*2-1) })
	out := b.Output(t, d, f.To.Shape(of[0], of[1], f.N), kind/2)
	require.NoError(t, fourierops.FFT(b.Stream, out.View, x.View, f))
	got := b.Read(t, out)
	perLine := func(f fourierops.SpectrumForm, n int) int { return f.Shape(1, 1, n).Count() }
	from, to := perLine(f.From, f.N), perLine(f.To, f.N)
	for line := range of.Count() {
		want := transformed(spectrumOf(x.Want[line*from:(line+1)*from], f.From, f.N), f)
		is := got[line*to : (line+1)*to]
		within := 20 * opstest.ULP(d, 1) * math.Sqrt(float64(f.N)) * math.Log2(float64(f.N)+2)
		for i, v := range want {
			switch {
			case f.To == fourierops.Real:
				require.InDelta(t, real(v), is[i].Float(), within, "%+v of %v: %d of line %d", f, x.Layout, i, line)
			case f.To == fourierops.Complex || i <= f.N/2:
				require.InDelta(t, real(v), is[2*i].Float(), within, "%+v of %v: %d of line %d", f, x.Layout, i, line)
				require.InDelta(t, imag(v), is[2*i+1].Float(), within, "%+v of %v: %d of line %d", f, x.Layout, i, line)
			}
		}
	}
}

// spectrumOf is the numbers of a line.
func spectrumOf(list []dtype.Scalar, f fourierops.SpectrumForm, n int) []complex128 {
	out := make([]complex128, n)
	for i := range out {
		switch {
		case f == fourierops.Real:
			out[i] = complex(list[i].Float(), 0)
		case f == fourierops.Half && (i == 0 || 2*i == n):
			out[i] = complex(list[2*i].Float(), 0)
		case f == fourierops.Half && 2*i > n:
			out[i] = cmplx.Conj(out[n-i])
		default:
			out[i] = complex(list[2*i].Float(), list[2*i+1].Float())
		}
	}
	return out
}

// transformed is the transform by its definition.
func transformed(x []complex128, f fourierops.Fourier) []complex128 {
	n := len(x)
	roots := make([]complex128, n)
	for k := range roots {
		s, c := math.Sincos(2 * math.Pi * float64(k) / float64(n))
		roots[k] = complex(c, -s)
		if f.Inverse {
			roots[k] = complex(c, s)
		}
	}
	out := make([]complex128, n)
	for k := range out {
		for j, v := range x {
			out[k] += v * roots[j*k%n]
		}
		out[k] *= complex(f.Scale, 0)
	}
	return out
}

// fourierErrors are operands that do not fit.
func fourierErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	x := b.Output(t, f, layout.Shape{1, 2, 4, 2}, 0).View
	four := fourierops.Fourier{N: 4, Scale: 1}
	require.NoError(t, fourierops.FFT(b.Stream, x, x, fourierops.Fourier{N: 4, Scale: 1}))
	require.ErrorIs(t, fourierops.FFT(b.Stream, x, view(f, 4, 2), four), layout.ErrRank)
	require.ErrorIs(t, fourierops.FFT(b.Stream, x, x, fourierops.Fourier{}), layout.ErrRank)
	require.ErrorIs(t, fourierops.FFT(b.Stream, x, x, fourierops.Fourier{N: 5}), layout.ErrShape)
	require.ErrorIs(t, fourierops.FFT(b.Stream, view(f, 1, 3, 4, 2), x, four), layout.ErrShape)
	require.ErrorIs(t, fourierops.FFT(b.Stream, x, x, fourierops.Fourier{N: 4, To: fourierops.Half}), layout.ErrShape)
	require.ErrorIs(t, fourierops.FFT(b.Stream, view(dtype.F16, 1, 2, 4, 2), view(dtype.F16, 1, 2, 4, 2), four), ops.ErrDType)
	require.ErrorIs(t, fourierops.FFT(b.Stream, view(dtype.I32, 1, 2, 4, 2), x, four), ops.ErrDType)
}
