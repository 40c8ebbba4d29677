package kernels

import "github.com/gokiln/kiln/dsl"

// ReduceRows stores what is known of rows, by threads along them.
//
//kiln:kernel
func ReduceRows[T dsl.Number, C, F Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	foldRows(t, x, w, init, step, merge, func(r int, a Acc[C]) {
		_, at := w.row(r, 0)
		out[at] = dsl.Convert[R](finish(a, w.Div))
	})
}

// ReduceCols stores what is known of rows, by threads across them.
//
//kiln:kernel
func ReduceCols[T dsl.Number, C, F Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	foldCols(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		_, at := w.row(r, 1)
		out[at+c*w.OutStep[0]] = dsl.Convert[R](finish(a, w.Div))
	})
}

// PartRows stores what is known of each part of rows, for [ReduceParts]: parts of a row
// side by side.
//
//kiln:kernel
func PartRows[T dsl.Number, C Computed](t dsl.Thread, v, m, n []C, k []int64, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C]) {
	foldRows(t, x, w, init, step, merge, func(r int, a Acc[C]) {
		keep(w, v, m, n, k, r*t.GridDimY()+t.BlockY(), a)
	})
}

// PartCols is [PartRows] by threads across rows.
//
//kiln:kernel
func PartCols[T dsl.Number, C Computed](t dsl.Thread, v, m, n []C, k []int64, x []T, w Fold, init func(C) Acc[C], step func(Acc[C], C, int) Acc[C], merge func(a, b Acc[C]) Acc[C]) {
	foldCols(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		keep(w, v, m, n, k, (r*w.Width+c)*t.GridDimY()+t.BlockY(), a)
	})
}

func keep[C Computed](w Fold, v, m, n []C, k []int64, i int, a Acc[C]) {
	v[i] = a.V
	if w.Form == Pair || w.Form == Triple {
		m[i] = a.W
	}
	if w.Form == Triple {
		n[i] = a.N
	}
	if w.Form == Indexed {
		k[i] = int64(a.I)
	}
}

// ReduceParts stores what is known of rows from what [PartRows] or [PartCols] knew of
// their parts, which are w.N for each row. Rows are in row-major order of the results.
//
//kiln:kernel
func ReduceParts[C, F Computed, R dsl.Number](t dsl.Thread, out []R, v, m, n []C, k []int64, w Fold, merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	joinParts(t, v, m, n, k, w, merge, func(at int, a Acc[C]) { out[at] = dsl.Convert[R](finish(a, w.Div)) })
}

// KeepParts is [ReduceParts] that stores V and W of what is known as it is.
//
//kiln:kernel
func KeepParts[C Computed](t dsl.Thread, outV, outW, v, m, n []C, k []int64, w Fold, merge func(a, b Acc[C]) Acc[C]) {
	joinParts(t, v, m, n, k, w, merge, func(at int, a Acc[C]) {
		outV[at] = a.V
		if w.Form == Pair || w.Form == Triple {
			outW[at] = a.W
		}
	})
}

// joinParts joins the parts of rows, and gives what is known to emit, with where the
// result of the row is, in one thread each.
func joinParts[C Computed](t dsl.Thread, v, m, n []C, k []int64, w Fold, merge func(a, b Acc[C]) Acc[C], emit func(at int, a Acc[C])) {
	g, per, lane, sub := int(w.Group), 1, t.ThreadX(), 0
	if g == 0 {
		g = int(w.Block)
	} else if !w.Whole {
		lane, sub, per = t.ThreadX()%g, t.ThreadX()/g, t.BlockDimX()/g
	}
	for r0 := t.BlockX() * per; r0 < w.Rows; r0 += t.GridDimX() * per {
		r := min(r0+sub, w.Rows-1)
		// No thread is without a part: there are as many as threads, or more.
		a := known(w, v, m, n, k, r*w.N+lane)
		for i := lane + g; i < w.N; i += g {
			a = merge(a, known(w, v, m, n, k, r*w.N+i))
		}
		a = together(t, w, a, merge)
		if lane == 0 && r0+sub < w.Rows {
			_, at := w.row(r, 0)
			emit(at, a)
		}
	}
}

func known[C Computed](w Fold, v, m, n []C, k []int64, i int) Acc[C] {
	a := Acc[C]{V: v[i]}
	if w.Form == Pair || w.Form == Triple {
		a.W = m[i]
	}
	if w.Form == Triple {
		a.N = n[i]
	}
	if w.Form == Indexed {
		a.I = int(k[i])
	}
	return a
}

// What reductions begin with.

// FromZero is 0.
func FromZero[C Computed](C) Acc[C] { return Acc[C]{} }

// FromOne is 1.
func FromOne[C Computed](C) Acc[C] { return Acc[C]{V: 1} }

// FromFirst is the first element, for reductions that may meet an element twice.
func FromFirst[C Computed](x C) Acc[C] { return Acc[C]{V: x} }

// FromTruth is 1 if the first element is not 0, else 0.
func FromTruth[C Computed](x C) Acc[C] {
	if x != 0 {
		return Acc[C]{V: 1}
	}
	return Acc[C]{}
}

// FromBottom is the logarithm of 0, for [AddExp]: 0 times whatever the maximum is, the
// first element here.
func FromBottom[C dsl.Real](x C) Acc[C] { return Acc[C]{V: x} }

// How an element is added.

// AddStep adds.
func AddStep[C Computed](a Acc[C], x C, _ int) Acc[C] { return Acc[C]{V: a.V + x} }

// MulStep multiplies.
func MulStep[C Computed](a Acc[C], x C, _ int) Acc[C] { return Acc[C]{V: a.V * x} }

// MaxStep is the larger one, NaN if there is one.
func MaxStep[C Computed](a Acc[C], x C, _ int) Acc[C] { return Acc[C]{V: max(a.V, x)} }

// MinStep is the smaller one, NaN if there is one.
func MinStep[C Computed](a Acc[C], x C, _ int) Acc[C] { return Acc[C]{V: min(a.V, x)} }

// AnyStep is 1 if one is not 0, which NaN is not.
func AnyStep[C Computed](a Acc[C], x C, _ int) Acc[C] {
	if x != 0 {
		a.V = 1
	}
	return Acc[C]{V: a.V}
}

// AllStep is 0 if one is 0.
func AllStep[C Computed](a Acc[C], x C, _ int) Acc[C] {
	if x == 0 {
		a.V = 0
	}
	return Acc[C]{V: a.V}
}

// ArgMaxStep keeps the first one of the largest, the first NaN if there is one.
func ArgMaxStep[C Computed](a Acc[C], x C, i int) Acc[C] {
	if x > a.V || x != x && a.V == a.V {
		return Acc[C]{V: x, I: i}
	}
	return Acc[C]{V: a.V, I: a.I}
}

// ArgMinStep keeps the first one of the smallest, the first NaN if there is one.
func ArgMinStep[C Computed](a Acc[C], x C, i int) Acc[C] {
	if x < a.V || x != x && a.V == a.V {
		return Acc[C]{V: x, I: i}
	}
	return Acc[C]{V: a.V, I: a.I}
}

// SquareStep adds the square.
func SquareStep[C Computed](a Acc[C], x C, _ int) Acc[C] { return Acc[C]{V: a.V + x*x} }

// MomentStep counts in N, and keeps the mean in V and the sum of the squares of the
// distances from it in W (Welford, "Note on a method for calculating corrected sums of
// squares and products", 1962).
func MomentStep[C dsl.Real](a Acc[C], x C, _ int) Acc[C] {
	n, d := a.N+1, x-a.V
	m := a.V + d/n
	return Acc[C]{V: m, W: a.W + d*(x-m), N: n}
}

// AddExp keeps the maximum in V, and the sum of the exponentials of the distances from
// it in W.
func AddExp[C dsl.Real](a Acc[C], x C, _ int) Acc[C] {
	d := x - a.V
	if x == a.V { // also infinite ones
		d = 0
	}
	e := dsl.Exp(-dsl.Abs(d))
	if d > 0 {
		return Acc[C]{V: x, W: a.W*e + 1}
	}
	return Acc[C]{V: a.V, W: a.W + e}
}

// How two parts are joined.

// Plus adds.
func Plus[C Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: a.V + b.V} }

// Times multiplies.
func Times[C Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: a.V * b.V} }

// Larger is the larger one, NaN if there is one.
func Larger[C Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: max(a.V, b.V)} }

// Smaller is the smaller one, NaN if there is one.
func Smaller[C Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: min(a.V, b.V)} }

// FirstMax is the larger one, NaN if there is one, and the first one of two.
func FirstMax[C Computed](a, b Acc[C]) Acc[C] {
	same := b.V == a.V || b.V != b.V && a.V != a.V
	if b.V > a.V || b.V != b.V && a.V == a.V || same && b.I < a.I {
		return Acc[C]{V: b.V, I: b.I}
	}
	return Acc[C]{V: a.V, I: a.I}
}

// FirstMin is the smaller one, NaN if there is one, and the first one of two.
func FirstMin[C Computed](a, b Acc[C]) Acc[C] {
	same := b.V == a.V || b.V != b.V && a.V != a.V
	if b.V < a.V || b.V != b.V && a.V == a.V || same && b.I < a.I {
		return Acc[C]{V: b.V, I: b.I}
	}
	return Acc[C]{V: a.V, I: a.I}
}

// Moments joins what [MomentStep] keeps (Chan, Golub and LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances", 1979).
func Moments[C dsl.Real](a, b Acc[C]) Acc[C] {
	n := a.N + b.N
	if n == 0 {
		return Acc[C]{}
	}
	d, f := b.V-a.V, b.N/n
	return Acc[C]{V: a.V + d*f, W: a.W + b.W + d*d*(a.N*f), N: n}
}

// JoinExp joins what [AddExp] keeps.
func JoinExp[C dsl.Real](a, b Acc[C]) Acc[C] {
	d := b.V - a.V
	if b.V == a.V {
		d = 0
	}
	e := dsl.Exp(-dsl.Abs(d))
	if d > 0 {
		return Acc[C]{V: b.V, W: a.W*e + b.W}
	}
	return Acc[C]{V: a.V, W: a.W + b.W*e}
}

// What is made of it at the end.

// Value is V.
func Value[C Computed](a Acc[C], _ int) C { return a.V }

// Index is I.
func Index[C Computed](a Acc[C], _ int) int { return a.I }

// Mean is V/n.
func Mean[C dsl.Real](a Acc[C], n int) C { return a.V / dsl.Convert[C](n) }

// Root is the square root of V.
func Root[C dsl.Real](a Acc[C], _ int) C { return dsl.Sqrt(a.V) }

// Variance is W/n, NaN for n below 1.
func Variance[C dsl.Real](a Acc[C], n int) C {
	w := a.W
	if n < 1 {
		w, n = 0, 0
	}
	return w / dsl.Convert[C](n)
}

// Deviation is the square root of [Variance].
func Deviation[C dsl.Real](a Acc[C], n int) C { return dsl.Sqrt(Variance(a, n)) }

// LogSum is the logarithm of the sum of exponentials.
func LogSum[C dsl.Real](a Acc[C], _ int) C { return a.V + dsl.Log(a.W) }
