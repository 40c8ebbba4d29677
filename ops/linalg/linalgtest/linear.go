package linalgtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/linalg"
	"github.com/gokiln/kiln/ops/opstest"
)

// Linalg tests factors of matrices and systems of equations.
func Linalg(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		if !b.Has(d) {
			continue
		}
		for kind := range 4 { // results lie in no broadcast layout
			b.Part(t, func(t *testing.T, b *opstest.Bench) { cholesky(t, b, d, kind) }, "Cholesky/%v/%d", d, kind)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { triangular(t, b, d, b.Kind()) }, "Triangular/%v/%d", d, kind)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { lu(t, b, d, kind) }, "LU/%v/%d", d, kind)
			b.Part(t, func(t *testing.T, b *opstest.Bench) { householder(t, b, d, kind) }, "Householder/%v/%d", d, kind)
		}
	}
	t.Run("Errors", func(t *testing.T) { linearErrors(t, b) })
}

// dense is the numbers of one of some matrices.
type dense struct {
	rows, cols int
	at         []float64
}

func (m dense) get(i, k int) float64 { return m.at[i*m.cols+k] }

// matrix is number n of the matrices of a list.
func matrix(list []dtype.Scalar, s layout.Shape, n int) dense {
	m := dense{rows: s[1], cols: s[2]}
	for _, x := range list[n*s[1]*s[2] : (n+1)*s[1]*s[2]] {
		m.at = append(m.at, x.Float())
	}
	return m
}

// made is rows of numbers that a function gives.
func made(rows, cols int, f func(i, k int) float64) dense {
	m := dense{rows: rows, cols: cols}
	for i := range rows {
		for k := range cols {
			m.at = append(m.at, f(i, k))
		}
	}
	return m
}

func (m dense) times(n dense) dense {
	return made(m.rows, n.cols, func(i, k int) (sum float64) {
		for j := range m.cols {
			sum += m.get(i, j) * n.get(j, k)
		}
		return sum
	})
}

func (m dense) transposed() dense {
	return made(m.cols, m.rows, func(i, k int) float64 { return m.get(k, i) })
}

// part is what a matrix has where keep says so, ones on the diagonal if those are wanted, and else
// 0.
func (m dense) part(ones bool, keep func(i, k int) bool) dense {
	return made(m.rows, m.cols, func(i, k int) float64 {
		switch {
		case ones && i == k:
			return 1
		case keep(i, k):
			return m.get(i, k)
		}
		return 0
	})
}

func lower(i, k int) bool { return i >= k }
func upper(i, k int) bool { return i <= k }
func below(i, k int) bool { return i > k }

// close checks that matrices differ by no more than sums of their products are rounded by.
func (m dense) close(t *testing.T, want dense, d dtype.DType, what string) {
	t.Helper()
	for i, x := range want.at {
		require.InDelta(t, x, m.at[i], 100*opstest.ULP(d, 1+math.Abs(x))*float64(m.rows+m.cols), "%s: row %d, column %d", what, i/m.cols, i%m.cols)
	}
}

// drawn puts numbers from -1 to 1 on the device, and more on the diagonals.
func drawn(t *testing.T, b *opstest.Bench, d dtype.DType, s layout.Shape, kind int, more float64) *opstest.Value {
	t.Helper()
	v := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%4], s), func() dtype.Scalar { return dtype.FromFloat(d, b.Rand.Float64()*2-1) })
	change(t, b, v, func(i int, x float64) float64 {
		if rest := i % (s[1] * s[2]); rest/s[2] == rest%s[2] {
			x += more
		}
		return x
	})
	return v
}

// change changes the elements of a value before they are used.
func change(t *testing.T, b *opstest.Bench, v *opstest.Value, f func(i int, x float64) float64) {
	t.Helper()
	i := 0
	for at := range v.Layout.Offsets() {
		v.All[at] = dtype.FromFloat(v.DType, f(i, v.All[at].Float()))
		v.Want[i] = v.All[at]
		i++
	}
	b.Store(t, v)
}

func cholesky(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for _, s := range []layout.Shape{{1, 1, 1}, {3, 5, 5}, {2, 40, 40}, {0, 3, 3}} {
		a := drawn(t, b, d, s, kind, float64(2*s[1]))
		require.NoError(t, linalg.Cholesky(b.Stream, a.View))
		got := b.Read(t, a)
		for n := range s[0] {
			was, is := matrix(a.Want, s, n), matrix(got, s, n)
			symmetric := made(s[1], s[1], func(i, k int) float64 { return was.get(max(i, k), min(i, k)) })
			l := is.part(false, lower)
			l.times(l.transposed()).close(t, symmetric, d, "product")
			for i := range s[1] {
				require.Positive(t, l.get(i, i))
				for k := i + 1; k < s[1]; k++ {
					require.Equal(t, was.get(i, k), is.get(i, k), "the upper triangle stays")
				}
			}
		}
	}
}

func triangular(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, s := range []layout.Shape{{1, 1, 1}, {3, 5, 4}, {2, 40, 33}, {2, 3, 0}} {
		for way := range 4 {
			up, ones := way&1 != 0, way&2 != 0
			keep := lower
			if up {
				keep = upper
			}
			a := drawn(t, b, d, layout.Shape{s[0], s[1], s[1]}, kind+n, float64(s[1]))
			if ones { // small numbers, so that the solution is not large
				change(t, b, a, func(_ int, x float64) float64 { return x / float64(s[1]) })
			}
			x := drawn(t, b, d, s, kind+way, 0)
			require.NoError(t, linalg.SolveTriangular(b.Stream, x.View, a.View, up, ones))
			got := b.Read(t, x)
			for n := range s[0] {
				matrix(a.Want, a.Layout.Shape(), n).part(ones, keep).times(matrix(got, s, n)).close(t, matrix(x.Want, s, n), d, "product")
			}
		}
	}
}

func lu(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for _, s := range []layout.Shape{{1, 1, 1}, {3, 5, 4}, {2, 70, 32}, {2, 20, 20}, {2, 0, 0}} {
		a := drawn(t, b, d, s, kind, 0)
		row := -1
		order := b.Value(t, dtype.I64, layout.Contiguous(s[:2]), func() dtype.Scalar { row++; return dtype.FromInt(dtype.I64, int64(row%s[1])) })
		sign := b.Value(t, d, layout.Contiguous(s[:1]), func() dtype.Scalar { return dtype.One(d) })
		require.NoError(t, linalg.LU(b.Stream, a.View, order.View, sign.View))
		got, rows, signs := b.Read(t, a), b.Read(t, order), b.Read(t, sign)
		for n := range s[0] {
			was, is := matrix(a.Want, s, n), matrix(got, s, n)
			l, u := is.part(true, below), is.part(false, upper)
			u.rows, u.at = s[2], u.at[:s[2]*s[2]]
			moved := made(s[1], s[2], func(i, k int) float64 { return was.get(int(rows[n*s[1]+i].Int()), k) })
			l.times(u).close(t, moved, d, "product")
			for _, x := range l.at {
				require.LessOrEqual(t, math.Abs(x), 1.0)
			}
			require.Equal(t, parity(rows[n*s[1]:(n+1)*s[1]]), signs[n].Float())
		}
	}
}

// parity is 1 for an order that an even number of changes lead to, and else -1.
func parity(order []dtype.Scalar) float64 {
	sign := 1.0
	for i, x := range order {
		for _, y := range order[:i] {
			if y.Int() > x.Int() {
				sign = -sign
			}
		}
	}
	return sign
}

func householder(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for _, s := range []layout.Shape{{1, 1, 1}, {3, 5, 4}, {2, 70, 32}, {2, 3, 0}} {
		a := drawn(t, b, d, s, kind, 0)
		tau := b.Output(t, d, layout.Shape{s[0], s[2]}, kind)
		require.NoError(t, linalg.Householder(b.Stream, a.View, tau.View))
		got, f := b.Read(t, a), b.Read(t, tau)
		square := layout.Shape{s[0], s[2], s[2]}
		products := b.Value(t, d, layout.Contiguous(square), func() dtype.Scalar { return dtype.Zero(d) })
		c := b.Output(t, d, square, kind+1)
		for n := range s[0] {
			v := matrix(got, s, n).part(true, below)
			for i, x := range v.transposed().times(v).at {
				products.All[n*s[2]*s[2]+i+opstest.Guard] = dtype.FromFloat(d, x)
			}
		}
		b.Store(t, products)
		require.NoError(t, linalg.Compact(b.Stream, c.View, products.View, b.Of(t, d, tau.Layout.Shape(), floatsOf(f)...).View))
		cs := b.Read(t, c)
		for n := range s[0] {
			is := matrix(got, s, n)
			v, r := is.part(true, below), is.part(false, upper)
			whole := v.times(matrix(cs, square, n)).times(v.transposed())
			q := made(s[1], s[1], func(i, k int) float64 {
				if i == k {
					return 1 - whole.get(i, k)
				}
				return -whole.get(i, k)
			})
			q.times(r).close(t, matrix(a.Want, s, n), d, "product")
			q.times(q.transposed()).close(t, made(s[1], s[1], func(i, k int) float64 {
				if i == k {
					return 1
				}
				return 0
			}), d, "orthogonal")
		}
	}
}

func floatsOf(list []dtype.Scalar) (out []float64) {
	for _, x := range list {
		out = append(out, x.Float())
	}
	return out
}

// linearErrors are operands that do not fit.
func linearErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f, h := dtype.F32, dtype.F16
	a := view(f, 2, 3, 3)
	require.ErrorIs(t, linalg.Cholesky(b.Stream, view(f, 3, 3)), layout.ErrRank)
	require.ErrorIs(t, linalg.Cholesky(b.Stream, view(f, 2, 3, 4)), layout.ErrShape)
	require.ErrorIs(t, linalg.Cholesky(b.Stream, view(h, 2, 3, 3)), ops.ErrDType)
	require.ErrorIs(t, linalg.SolveTriangular(b.Stream, view(f, 3, 3), a, false, false), layout.ErrRank)
	require.ErrorIs(t, linalg.SolveTriangular(b.Stream, view(f, 2, 4, 3), a, false, false), layout.ErrShape)
	require.ErrorIs(t, linalg.SolveTriangular(b.Stream, view(h, 2, 3, 3), a, false, false), ops.ErrDType)
	order, sign := view(dtype.I64, 2, 3), view(f, 2)
	require.ErrorIs(t, linalg.LU(b.Stream, view(f, 3, 3), order, sign), layout.ErrRank)
	require.ErrorIs(t, linalg.LU(b.Stream, view(f, 2, 3, 4), order, sign), layout.ErrShape)
	require.ErrorIs(t, linalg.LU(b.Stream, a, view(dtype.I64, 2, 2), sign), layout.ErrShape)
	require.ErrorIs(t, linalg.LU(b.Stream, a, view(dtype.I32, 2, 3), sign), ops.ErrDType)
	require.ErrorIs(t, linalg.LU(b.Stream, a, order, view(h, 2)), ops.ErrDType)
	require.ErrorIs(t, linalg.Householder(b.Stream, view(f, 3, 3), view(f, 3)), layout.ErrRank)
	require.ErrorIs(t, linalg.Householder(b.Stream, view(f, 2, 3, 4), view(f, 2, 4)), layout.ErrShape)
	require.ErrorIs(t, linalg.Householder(b.Stream, a, view(f, 2, 2)), layout.ErrShape)
	require.ErrorIs(t, linalg.Householder(b.Stream, a, view(h, 2, 3)), ops.ErrDType)
	require.ErrorIs(t, linalg.Compact(b.Stream, view(f, 3, 3), a, view(f, 2, 3)), layout.ErrRank)
	require.ErrorIs(t, linalg.Compact(b.Stream, a, a, view(f, 2, 2)), layout.ErrShape)
	require.ErrorIs(t, linalg.Compact(b.Stream, a, view(h, 2, 3, 3), view(f, 2, 3)), ops.ErrDType)
}
