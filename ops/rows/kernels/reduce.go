package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
	core "github.com/gokiln/kiln/ops/kernels"
)

// ReduceRows stores the results of rows, by threads along them.
//
//kiln:kernel
func ReduceRows[T dsl.Number, C, F core.Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	reduceRows(t, x, w, init, step, merge, func(r int, a Acc[C]) {
		_, at := w.Row(r, 0)
		out[at] = dsl.Convert[R](finish(a, w.Div))
	})
}

// ReduceCols stores the results of rows, by threads across them.
//
//kiln:kernel
func ReduceCols[T dsl.Number, C, F core.Computed, R dsl.Number](t dsl.Thread, out []R, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	reduceCols(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		_, at := w.Row(r, 1)
		out[at+c*w.OutStep[0]] = dsl.Convert[R](finish(a, w.Div))
	})
}

// PartRows stores the accumulator of each part of rows, for [ReduceParts]: parts of a row
// are contiguous.
//
//kiln:kernel
func PartRows[T dsl.Number, C core.Computed](t dsl.Thread, v, m, n []C, k []int64, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C]) {
	reduceRows(t, x, w, init, step, merge, func(r int, a Acc[C]) {
		keep(w, v, m, n, k, r*t.GridDimY()+t.BlockY(), a)
	})
}

// PartCols is [PartRows] by threads across rows.
//
//kiln:kernel
func PartCols[T dsl.Number, C core.Computed](t dsl.Thread, v, m, n []C, k []int64, x []T, w RowReduction, init func(C) Acc[C], step func(a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C], merge func(a, b Acc[C]) Acc[C]) {
	reduceCols(t, x, w, init, step, merge, func(r, c int, a Acc[C]) {
		keep(w, v, m, n, k, (r*w.Width+c)*t.GridDimY()+t.BlockY(), a)
	})
}

func keep[C core.Computed](w RowReduction, v, m, n []C, k []int64, i int, a Acc[C]) {
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

// ReduceParts stores the results of rows from what [PartRows] or [PartCols] stored of
// their parts, which are w.N for each row. Rows are in row-major order of the results.
//
//kiln:kernel
func ReduceParts[C, F core.Computed, R dsl.Number](t dsl.Thread, out []R, v, m, n []C, k []int64, w RowReduction, merge func(a, b Acc[C]) Acc[C], finish func(a Acc[C], n int) F) {
	joinParts(t, v, m, n, k, w, merge, func(at int, a Acc[C]) { out[at] = dsl.Convert[R](finish(a, w.Div)) })
}

// KeepParts is [ReduceParts] that stores V of the accumulator as it is, and f of W with two
// numbers; or if W means nothing f of V.
//
//kiln:kernel
func KeepParts[C core.Computed](t dsl.Thread, outV, outW, v, m, n []C, k []int64, w RowReduction, a, b C, merge func(a, b Acc[C]) Acc[C], f func(w, a, b C) C) {
	joinParts(t, v, m, n, k, w, merge, func(at int, acc Acc[C]) {
		if w.Form == Pair || w.Form == Triple {
			outV[at] = acc.V
			outW[at] = f(acc.W, a, b)
		} else {
			outW[at] = f(acc.V, a, b)
		}
	})
}

// joinParts joins the parts of rows, and passes accumulators to emit, with where the
// result of the row is, in one thread each.
func joinParts[C core.Computed](t dsl.Thread, v, m, n []C, k []int64, w RowReduction, merge func(a, b Acc[C]) Acc[C], emit func(at int, a Acc[C])) {
	g, per, lane, sub := int(w.Group), 1, t.ThreadX(), 0
	if g == 0 {
		g = int(w.Block)
	} else if !w.Whole {
		lane, sub, per = t.ThreadX()%g, t.ThreadX()/g, t.BlockDimX()/g
	}
	first, end, step := w.rows(t, per)
	for r0 := first; r0 < end; r0 += step {
		r := min(r0+sub, w.Rows-1)
		// No thread is without a part: there are as many as threads, or more.
		a := accAt(w, v, m, n, k, r*w.N+lane)
		for i := lane + g; i < w.N; i += partsUnroll * g {
			var b [partsUnroll]Acc[C]
			for u := range partsUnroll {
				b[u] = accAt(w, v, m, n, k, r*w.N+min(i+u*g, w.N-1))
			}
			for u := range partsUnroll {
				if i+u*g < w.N {
					a = both(w, a, b[u], merge)
				}
			}
		}
		a = reduceGroup(t, w, a, merge)
		if lane == 0 && r0+sub < w.Rows {
			_, at := w.Row(r, 0)
			emit(at, a)
		}
	}
}

// partsUnroll is how many parts a thread loads before it joins them.
const partsUnroll = 3

// accAt returns the accumulator that is entry i of some arrays.
func accAt[C core.Computed, I int | int64](w RowReduction, v, m, n []C, k []I, i int) Acc[C] {
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
func FromZero[C core.Computed](C) Acc[C] { return Acc[C]{} }

// FromOne is 1.
func FromOne[C core.Computed](C) Acc[C] { return Acc[C]{V: 1} }

// FromFirst is the first element, for reductions that may meet an element twice.
func FromFirst[C core.Computed](x C) Acc[C] { return Acc[C]{V: x} }

// FromTruth is 1 if the first element is not 0, else 0.
func FromTruth[C core.Computed](x C) Acc[C] {
	if x != 0 {
		return Acc[C]{V: 1}
	}
	return Acc[C]{}
}

// FromBottom is the logarithm of 0, for [AddExp]: 0 times whatever the maximum is, the
// first element here.
func FromBottom[C dsl.Real](x C) Acc[C] { return Acc[C]{V: x} }

// How elements are added: n of those that a thread has loaded, v[from], v[from+by] and
// so on, of which the first few are there, all but at the end of a row.

// tree joins f of elements in pairs, and pairs of pairs; op changes nothing with none.
func tree[C core.Computed](v *[MaxInFlight]C, from, by, n, has int, none C, f func(C) C, op func(a, b C) C) C {
	var p [MaxInFlight]C
	for u := range n {
		p[u] = f(v[from+u*by])
		if u >= has {
			p[u] = none
		}
	}
	for n /= 2; n > 0; n /= 2 {
		for u := range n {
			p[u] = op(p[u], p[u+n])
		}
	}
	return p[0]
}

func itself[C core.Computed](x C) C     { return x }
func plus[C core.Computed](a, b C) C    { return a + b }
func product[C core.Computed](a, b C) C { return a * b }
func larger[C core.Computed](a, b C) C  { return max(a, b) }
func smaller[C core.Computed](a, b C) C { return min(a, b) }
func truthOf[C core.Computed](x C) (is C) {
	if x != 0 {
		is = 1
	}
	return is
}

// AddStep adds.
func AddStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: a.V + tree(v, from, by, n, has, 0, itself[C], plus[C])}
}

// MulStep multiplies.
func MulStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: a.V * tree(v, from, by, n, has, 1, itself[C], product[C])}
}

// MaxStep is the larger one, NaN if there is one.
func MaxStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: max(a.V, tree(v, from, by, n, has, a.V, itself[C], larger[C]))}
}

// MinStep is the smaller one, NaN if there is one.
func MinStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: min(a.V, tree(v, from, by, n, has, a.V, itself[C], smaller[C]))}
}

// AnyStep is 1 if one is not 0, which NaN is not.
func AnyStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: max(a.V, tree(v, from, by, n, has, 0, truthOf[C], larger[C]))}
}

// AllStep is 0 if one is 0.
func AllStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: min(a.V, tree(v, from, by, n, has, 1, truthOf[C], smaller[C]))}
}

// SquareStep adds the square.
func SquareStep[C core.Computed](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: a.V + tree(v, from, by, n, has, 0, func(x C) C { return x * x }, plus[C])}
}

// squaresOf adds the squares of the distances from m, four sums at a time.
func squaresOf[C dsl.Real](v *[MaxInFlight]C, from, by, n int, m C) C {
	var s [4]C
	for u := range n {
		d := v[from+u*by] - m
		s[u%4] = dsl.FMA(d, d, s[u%4])
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

// MomentStep counts in N, and keeps the mean in V and the sum of the squares of the
// distances from it in W. Those of the loaded elements are computed first, and joined as
// [Moments] joins.
func MomentStep[C dsl.Real](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	count := dsl.Convert[C](has)
	m := tree(v, from, by, n, has, 0, itself[C], plus[C])
	if has == n {
		m *= 1 / dsl.Convert[C](n) // known when it is compiled
	} else if has > 0 {
		m /= count
	}
	var w C
	if has == n {
		w = squaresOf(v, from, by, n, m)
	} else {
		w = tree(v, from, by, n, has, 0, func(x C) C { return (x - m) * (x - m) }, plus[C])
	}
	return Moments(a, Acc[C]{V: m, W: w, N: count})
}

// AddExp keeps the maximum in V, and the sum of the exponentials of the distances from
// it in W, which is NaN if the maximum is +Inf.
func AddExp[C dsl.Real](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return addExp(a, v, from, by, n, has, false)
}

// AddExpQuick is [AddExp] as halves need it.
func AddExpQuick[C dsl.Real](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return addExp(a, v, from, by, n, has, true)
}

func addExp[C dsl.Real](a Acc[C], v *[MaxInFlight]C, from, by, n, has int, quick dsl.ConstBool) Acc[C] {
	top := max(a.V, tree(v, from, by, n, has, a.V, itself[C], larger[C]))
	low := above(top)
	var s C
	if quick {
		s = quickExps(v, from, by, n, has, low)
	} else {
		s = tree(v, from, by, n, has, 0, func(x C) C { return expDown(x-low, false) }, plus[C])
	}
	return Acc[C]{V: top, W: dsl.FMA(a.W, expDown(min(above(a.V)-low, 0), quick), s+(low-low))}
}

// quickExps adds the exponentials of the distances from low, each with one product: of what
// low/ln 2 loses when it is rounded all have the same share.
func quickExps[C dsl.Real](v *[MaxInFlight]C, from, by, n, has int, low C) C {
	const log2e, ln2 = 0x1.715476p+0, 0x1.62e43p-1
	t := float32(low) * log2e
	lost := dsl.FMA(float32(low), log2e, -t)
	// Less than 2^-126 does not count, and takes longer.
	s := tree(v, from, by, n, has, 0, func(x C) C { return C(fast.Exp2(max(dsl.FMA(float32(x), log2e, -t), -126))) }, plus[C])
	return C(dsl.FMA(float32(s), float32(-ln2*lost), float32(s)))
}

// expOf is the exponential of x; quick is for results of 16 bits.
func expOf[C dsl.Real](x C, quick dsl.ConstBool) C {
	if quick {
		return C(fast.Exp(float32(x)))
	}
	return dsl.Exp(x)
}

// expDown is the exponential of x, which is not above 0, for sums with a 1 in them: what is
// below e^-87 does not count, and is about that. It is any number if x is NaN.
func expDown[C dsl.Real](x C, quick dsl.ConstBool) C {
	const (
		log2e  = 0x1.715476p+0
		ln2    = 0x1.62e43p-1
		ln2low = -0x1.05c61p-29
		round  = 0x1.8p+23
	)
	if quick {
		return C(fast.Exp(float32(x)))
	}
	if odd := C(1<<24 + 1); odd != 1<<24 { // more bits than float32 has
		return dsl.Exp(x)
	}
	// As dsl.Exp does it, without the ends of the range.
	y := max(float32(x), -87)
	z := dsl.FMA(y, log2e, round)
	n := z - round
	r := dsl.FMA(n, -ln2low, dsl.FMA(n, -ln2, y))
	q := dsl.FMA(float32(0x1.6a3d28p-10), r, 0x1.12385ap-7)
	q = dsl.FMA(q, r, 0x1.5558bep-5)
	q = dsl.FMA(q, r, 0x1.555494p-3)
	q = dsl.FMA(q, r, 0x1.fffffcp-2)
	p := dsl.FMA(dsl.FMA(q, r, 1), r, 1)
	return C(math.Float32frombits(math.Float32bits(p) + math.Float32bits(z)<<23))
}

// above is x, or 0 if that is -Inf: distances from it are no NaN, and those of -Inf are
// -Inf.
func above[C dsl.Real](x C) C {
	if x < 0 && x+x == x {
		return 0
	}
	return x
}

// How two parts are joined.

// Plus adds.
func Plus[C core.Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: a.V + b.V} }

// Times multiplies.
func Times[C core.Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: a.V * b.V} }

// Larger is the larger one, NaN if there is one.
func Larger[C core.Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: max(a.V, b.V)} }

// Smaller is the smaller one, NaN if there is one.
func Smaller[C core.Computed](a, b Acc[C]) Acc[C] { return Acc[C]{V: min(a.V, b.V)} }

// Moments joins what [MomentStep] keeps of two parts (Chan, Golub and LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances", 1979).
func Moments[C dsl.Real](a, b Acc[C]) Acc[C] {
	n := a.N + b.N
	d, f := b.V-a.V, b.N/max(n, 1) // all are 0 without elements
	return Acc[C]{V: a.V + d*f, W: a.W + b.W + d*(d*(a.N*f)), N: n}
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
func Value[C core.Computed](a Acc[C], _ int) C { return a.V }

// Index is I.
func Index[C core.Computed](a Acc[C], _ int) int { return a.I }

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
func LogSum[C dsl.Real](a Acc[C], _ int) C {
	if a.V-a.V != 0 { // an infinite one decides, and NaN
		return a.V
	}
	return a.V + dsl.Log(a.W)
}
