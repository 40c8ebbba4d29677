package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// drawn is numbers from -1 to 1 in a shape, of type F64.
func drawn(d *tensor.Device, rng *rand.Rand, shape ...int) *tensor.Tensor {
	list := make([]float64, tensor.Shape(shape).Count())
	for i := range list {
		list[i] = 2*rng.Float64() - 1
	}
	return tensor.From(d, list).Reshape(shape...)
}

// alike checks that two tensors differ by no more than some number.
func alike(t *testing.T, want, got *tensor.Tensor, within float64, what string) {
	t.Helper()
	require.NoError(t, got.Err(), what)
	require.Equal(t, want.Shape(), got.Shape(), what)
	if want.Count() > 0 {
		far, err := tensor.To0[float64](want.Cast(tensor.F64).Sub(got.Cast(tensor.F64)).Abs().Max())
		require.NoError(t, err)
		require.LessOrEqual(t, far, within, what)
	}
}

// sides are of matrices smaller and larger than what kernels take whole.
var sides = []int{1, 2, 5, 31, 33, 64, 65, 150}

// within is how exact products of factors with n columns are.
func within(dt tensor.DType, n int) float64 {
	if dt == tensor.F64 {
		return 1e-12 * float64(n+1)
	}
	return 2e-5 * float64(n+1)
}

func TestCholesky(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		for _, n := range sides {
			m := drawn(d, rng, 2, n, n)
			a := m.MatMul(m.T()).Add(tensor.Eye(d, tensor.F64, n)).Cast(dt)
			for _, x := range layouts(a) {
				l := x.Cholesky()
				alike(t, x, l.MatMul(l.T()), within(dt, n), "product")
				alike(t, l, l.Tril(0), 0, "upper triangle")
				require.Equal(t, list[float64](t, l.Cast(tensor.F64)), list[float64](t, x.Tril(0).Cholesky().Cast(tensor.F64)), "the lower triangle alone is read")
			}
		}
	}
	require.Equal(t, tensor.Shape{0, 3, 3}, tensor.Zeros(d, tensor.F32, 0, 3, 3).Cholesky().Shape())
	require.Equal(t, tensor.Shape{2, 0, 0}, tensor.Zeros(d, tensor.F32, 2, 0, 0).Cholesky().Shape())
	none := tensor.New(d, [][]float32{{1, 2}, {2, 1}}).Cholesky()
	require.Equal(t, []uint8{0, 0, 0, 1}, list[uint8](t, none.IsNaN()), "it is not positive definite")
}

func TestSolveTriangular(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		for i, n := range sides {
			for _, tri := range []tensor.Triangle{{}, {Upper: true}, {Ones: true}, {Upper: true, Ones: true}} {
				whole := drawn(d, rng, 2, n, n).DivScalar(float64(n)).Add(tensor.Eye(d, tensor.F64, n).MulScalar(2)).Cast(dt)
				b := drawn(d, rng, 2, n, 3).Cast(dt)
				a := whole.Tril(0)
				if tri.Upper {
					a = whole.Triu(0)
				}
				if tri.Ones {
					one := tensor.Eye(d, dt, n)
					a = a.Sub(a.Mul(one)).Add(one)
				}
				x := layouts(whole)[i%4].SolveTriangular(layouts(b)[(i/2)%4], tri)
				alike(t, layouts(b)[(i/2)%4], layouts(a)[i%4].MatMul(x), within(dt, n), "product")
			}
		}
	}
	a := tensor.New(d, [][]float64{{2, 0}, {1, 4}})
	require.Equal(t, []float64{1, 2, 0, 1}, list[float64](t, a.SolveTriangular(tensor.New(d, [][][]float64{{{2}, {1}}, {{4}, {6}}}), tensor.Triangle{}).Permute(2, 1, 0)), "the matrix is broadcast")
	require.Equal(t, tensor.Shape{5, 2, 0}, a.SolveTriangular(tensor.Zeros(d, tensor.F64, 5, 2, 0), tensor.Triangle{}).Shape())
}

func TestSolve(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		for i, n := range sides {
			a, b := drawn(d, rng, 2, n, n), drawn(d, rng, 2, n, 4).Cast(dt)
			a = a.Add(tensor.Eye(d, tensor.F64, n).Flip(-1).MulScalar(3)).Cast(dt) // rows have to change places
			a, b = layouts(a)[i%4], layouts(b)[(i+1)%4]
			alike(t, b, a.MatMul(a.Solve(b)), 10*within(dt, n), "solve")
			alike(t, tensor.Eye(d, dt, n).BroadcastTo(a.Shape()...), a.MatMul(a.Inverse()), 10*within(dt, n), "inverse")

			lu, order, sign := a.LU()
			l, u := lu.Tril(-1).Add(tensor.Eye(d, dt, n)), lu.Triu(0)
			rows := a.Gather(order.Unsqueeze(-1).BroadcastTo(a.Shape()...), -2)
			alike(t, rows, l.MatMul(u), within(dt, n), "factors")
			require.Equal(t, []uint8{1}, list[uint8](t, l.Abs().LeScalar(1).All()), "the largest number is divided by")
			s, log := a.LogDet()
			alike(t, sign.Mul(u.Diagonal(0, -2, -1).Sign().Prod(-1)), s, 0, "sign")
			alike(t, u.Diagonal(0, -2, -1).Abs().Log().Sum(-1), log, 1e-4, "logarithm")
			if n <= 5 {
				alike(t, s.Mul(log.Exp()), a.Det(), 1e-3, "determinant")
			}
		}
	}
	a := tensor.New(d, [][]float64{{0, 2}, {3, 4}})
	require.Equal(t, []float64{-6}, list[float64](t, a.Det()))
	require.InDeltaSlice(t, []float64{-2. / 3, 1. / 3, 0.5, 0}, list[float64](t, a.Inverse()), 1e-15)
	flat := tensor.New(d, [][]float64{{1, 2}, {2, 4}})
	require.Equal(t, []float64{0}, list[float64](t, flat.Det()))
	sign, log := flat.LogDet()
	require.Equal(t, []float64{0}, list[float64](t, sign))
	require.Equal(t, []float64{math.Inf(-1)}, list[float64](t, log))
	require.Equal(t, []uint8{0}, list[uint8](t, flat.Inverse().IsFinite().Any()))
	nothing := tensor.Zeros(d, tensor.F32, 3, 0, 0)
	require.Equal(t, []float32{1, 1, 1}, list[float32](t, nothing.Det()))
	require.Equal(t, tensor.Shape{3, 0, 0}, nothing.Inverse().Shape())
	require.Equal(t, tensor.Shape{0, 2, 2}, tensor.Zeros(d, tensor.F32, 0, 2, 2).Solve(tensor.Zeros(d, tensor.F32, 2, 2)).Shape())
}

func TestQR(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
		for i, s := range [][]int{{1, 1}, {3, 2}, {2, 3}, {40, 7}, {7, 40}, {33, 33}, {70, 65}, {65, 70}, {100, 1}} {
			a := layouts(drawn(d, rng, 2, s[0], s[1]).Cast(dt))[i%4]
			q, r := a.QR()
			k := min(s[0], s[1])
			alike(t, a, q.MatMul(r), within(dt, k), "product")
			alike(t, tensor.Eye(d, dt, k).BroadcastTo(2, k, k), q.T().MatMul(q), within(dt, k), "columns are orthogonal")
			alike(t, r, r.Triu(0), 0, "lower triangle")
		}
	}
	q, r := tensor.New(d, [][]float64{{3e200, 1}, {4e200, 2}}).QR() // of which squares overflow
	alike(t, tensor.New(d, [][]float64{{-0.6, -0.8}, {-0.8, 0.6}}), q, 1e-15, "q")
	alike(t, tensor.New(d, [][]float64{{-5, -2.2e-200}, {0, 0.4e-200}}), r.MulScalar(1e-200), 1e-15, "r")
	q, r = tensor.Zeros(d, tensor.F64, 3, 2).QR()
	require.Equal(t, []float64{1, 0, 0, 1, 0, 0}, list[float64](t, q))
	require.Equal(t, []float64{0, 0, 0, 0}, list[float64](t, r))
	q, r = tensor.Zeros(d, tensor.F32, 2, 0, 3).QR()
	require.Equal(t, tensor.Shape{2, 0, 0}, q.Shape())
	require.Equal(t, tensor.Shape{2, 0, 3}, r.Shape())
	v := tensor.NewVar(drawn(d, rng, 2, 3)).Tensor()
	_, r = v.QR()
	_, err := r.Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
}

func TestLinearErrors(t *testing.T) {
	d := open(t)
	x := tensor.Eye(d, tensor.F32, 3)
	second := func(_, x *tensor.Tensor) *tensor.Tensor { return x }
	for _, f := range []func(x *tensor.Tensor) *tensor.Tensor{
		ten.Cholesky, ten.Inverse, ten.Det,
		func(x ten) ten { return x.Solve(x) },
		func(x ten) ten { return x.SolveTriangular(x, tensor.Triangle{}) },
		func(x ten) ten { lu, _, _ := x.LU(); return lu },
		func(x ten) ten { return second(x.LogDet()) },
		func(x ten) ten { return second(x.QR()) },
	} {
		require.NoError(t, f(x).Err())
		err := f(x.Cast(tensor.F16)).Err()
		require.ErrorIs(t, err, tensor.ErrDType)
		require.ErrorContains(t, err, "it is for f32, f64: Cast the matrices (linear_test.go:")
		require.ErrorIs(t, f(x.Cast(tensor.I32)).Err(), tensor.ErrDType)
		require.ErrorIs(t, f(x.Get(0)).Err(), tensor.ErrRank)
		require.ErrorIs(t, f(x.Narrow(0, 3, 1)).Err(), tensor.ErrRange)
	}
	wide := x.Narrow(0, 0, 2)
	for _, bad := range []*tensor.Tensor{wide.Cholesky(), wide.Inverse(), wide.Det(), wide.Solve(x), x.Solve(wide), x.SolveTriangular(wide, tensor.Triangle{}), x.BroadcastTo(2, 3, 3).Solve(x.BroadcastTo(5, 3, 3))} {
		require.ErrorIs(t, bad.Err(), tensor.ErrShape)
	}
	require.ErrorIs(t, x.Solve(x.Get(0)).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Solve(x.Cast(tensor.F64)).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.Solve(nil).Err(), tensor.ErrArgument)
	lu, _, _ := tensor.NewVar(x).Tensor().LU()
	_, err := lu.Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
}
