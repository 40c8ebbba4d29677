package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// What has no elements has a result and a gradient without, and what is for storage only is refused.
func TestNothing(t *testing.T) {
	d := open(t)
	w := tensor.Windows{Kernel: []int{2, 2}}
	for name, c := range map[string]struct {
		s []int
		f func(x ten) ten
	}{
		"im2col":   {[]int{0, 2, 4, 4}, func(x ten) ten { return x.Im2Col(w) }},
		"im2col c": {[]int{3, 0, 4, 4}, func(x ten) ten { return x.Im2Col(w) }},
		"col2im":   {[]int{0, 8, 9}, func(x ten) ten { return x.Col2Im(w, 4, 4) }},
		"chol":     {[]int{0, 3, 3}, ten.Cholesky},
		"chol0":    {[]int{2, 0, 0}, ten.Cholesky},
		"inv":      {[]int{0, 3, 3}, ten.Inverse},
		"inv0":     {[]int{2, 0, 0}, ten.Inverse},
		"det":      {[]int{2, 0, 0}, ten.Det},
		"logdet":   {[]int{0, 2, 2}, func(x ten) ten { _, l := x.LogDet(); return l }},
		"logdet0":  {[]int{3, 0, 0}, func(x ten) ten { _, l := x.LogDet(); return l }},
		"solve":    {[]int{0, 2, 2}, func(x ten) ten { return x.Solve(x) }},
		"tri":      {[]int{3, 0, 0}, func(x ten) ten { return x.SolveTriangular(x, tensor.Triangle{}) }},
		"qr":       {[]int{0, 3, 2}, func(x ten) ten { _, r := x.QR(); return r }},
		"qr0":      {[]int{2, 3, 0}, func(x ten) ten { q, _ := x.QR(); return q }},
		"fft":      {[]int{0, 4, 2}, func(x ten) ten { return x.FFT(1) }},
		"rfft":     {[]int{0, 4}, func(x ten) ten { return x.RFFT(1) }},
		"irfft":    {[]int{0, 3, 2}, func(x ten) ten { return x.IRFFT(4, 1) }},
		"td":       {[]int{0, 3}, func(x ten) ten { return x.TensorDot(x, []int{0}, []int{0}) }},
		"grid": {[]int{0, 2, 3, 3}, func(x ten) ten {
			return x.GridSample(tensor.Zeros(x.Device(), tensor.F64, 0, 2, 2, 2), tensor.Sampling{})
		}},
	} {
		v := tensor.NewVar(tensor.Zeros(d, tensor.F64, c.s...)).Tensor()
		y := c.f(v)
		require.NoError(t, y.Err(), name)
		for _, graph := range []bool{false, true} {
			g, err := y.BackwardBy(tensor.BackwardOptions{Graph: graph})
			require.NoError(t, err, name)
			require.Equal(t, v.Shape(), g.Of(v).Shape(), name)
		}
	}
	nan := tensor.NewVar(tensor.Zeros(d, tensor.F64, 3, 3)).Tensor()
	_, err := nan.Det().Backward()
	require.NoError(t, err)
	packed := tensor.FromBytes(d, tensor.F4, []byte{1, 2}, 2, 2)
	for _, x := range []ten{packed.FFT(0), packed.Cholesky(), packed.Det(), packed.Solve(packed), packed.GridSample(packed, tensor.Sampling{})} {
		require.ErrorIs(t, x.Err(), tensor.ErrDType)
	}
}
