package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestFFT(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		near := map[tensor.DType]float64{tensor.F32: 1e-4, tensor.F64: 1e-12}[dt]
		for _, n := range map[tensor.DType][]int{tensor.F32: {1, 34}, tensor.F64: {6, 25}}[dt] {
			// The sums by a matrix of cosines and sines.
			angle := tensor.Arange(d, int64(0), int64(n))
			angle = angle.Unsqueeze(1).Mul(angle).Mod(tensor.Item(d, int64(n))).Cast(tensor.F64).MulScalar(2 * math.Pi / float64(n))
			c, s := angle.Cos(), angle.Sin()
			for dim := range 3 {
				shape := []int{2, 3, 4, 2}
				shape[dim] = n
				x := drawn(d, rng, shape...)
				re, im := x.GetOn(3, 0).Transpose(dim, -1), x.GetOn(3, 1).Transpose(dim, -1)
				want := tensor.Stack(3, re.MatMul(c).Add(im.MatMul(s)).Transpose(dim, -1), im.MatMul(c).Sub(re.MatMul(s)).Transpose(dim, -1)).Cast(dt)
				for _, x := range layouts(x.Cast(dt))[:3] {
					y := x.FFT(dim)
					alike(t, want, y, near*float64(n), "fft")
					alike(t, y, x.FFT(dim-3), 0, "of a dimension from the end")
					alike(t, x, y.IFFT(dim), near, "ifft")
				}
				r := x.GetOn(3, 0).Cast(dt)
				for _, r := range layouts(r) {
					whole := tensor.Stack(-1, r, r.ZerosLike()).FFT(dim)
					half := r.RFFT(dim)
					alike(t, whole.Narrow(dim, 0, n/2+1), half, near*float64(n), "rfft")
					alike(t, r, half.IRFFT(n, dim), near, "irfft")
				}
			}
		}
	}
	require.Equal(t, []float32{10, 0, -2, 2, -2, 0}, list[float32](t, tensor.From(d, []float32{1, 2, 3, 4}).RFFT(0)))
	// Imaginary parts that real numbers have not do not count.
	h := tensor.From(d, []float32{4, 7, 1, 1, 2, 9}, 3, 2)
	require.Equal(t, list[float32](t, h.IRFFT(4, 0)), list[float32](t, h.Mul(tensor.From(d, []float32{1, 0, 1, 1, 1, 0}, 3, 2)).IRFFT(4, 0)))
	require.Equal(t, tensor.Shape{0, 5, 2}, tensor.Zeros(d, tensor.F32, 0, 8).RFFT(1).Shape())
	require.Equal(t, tensor.Shape{0, 9}, tensor.Zeros(d, tensor.F32, 0, 5, 2).IRFFT(9, 1).Shape())

	z := tensor.Zeros(d, tensor.F32, 3, 4, 2)
	for _, bad := range []*tensor.Tensor{z.GetOn(2, 0).FFT(0), z.Narrow(0, 0, 0).FFT(0), z.IRFFT(6, 0), z.IRFFT(math.MaxInt, 0), z.IRFFT(0, 0), z.Narrow(1, 0, 0).IFFT(1), z.Narrow(0, 0, 0).RFFT(0), tensor.Zeros(d, tensor.F32, 2).FFT(0)} {
		require.ErrorIs(t, bad.Err(), tensor.ErrShape)
	}
	require.ErrorIs(t, z.FFT(2).Err(), tensor.ErrDim)
	require.NoError(t, z.RFFT(2).Err())
	require.ErrorIs(t, z.RFFT(-4).Err(), tensor.ErrDim)
	require.ErrorIs(t, z.Narrow(0, 3, 1).FFT(0).Err(), tensor.ErrRange)
	err := z.Cast(tensor.F16).FFT(0).Err()
	require.ErrorIs(t, err, tensor.ErrDType)
	require.ErrorContains(t, err, "it is for f32, f64: Cast the numbers (fourier_test.go:")
	require.ErrorIs(t, z.Cast(tensor.I32).RFFT(0).Err(), tensor.ErrDType)
}
