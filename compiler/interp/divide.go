package interp

import (
	"math"
	"math/bits"
)

// divideAffine divides an affine value by a scalar: quotients, or remainders if imm
// is set. Consecutive lanes differ by less than the divisor as a rule, so that a
// comparison replaces the division.
func divideAffine(w *worker, in *ins) {
	D := lanes[int64](w.at(in.d), w.n)[w.lo:w.hi]
	p, y := *(*[2]int64)(w.at(in.a)), *(*int64)(w.at(in.b))
	x, step := p[0]+int64(w.lo)*p[1], p[1]
	if !w.tame(p, true) || y <= 0 || step < 0 || step >= y {
		for i := range D {
			D[i] = divide(x, y, in.imm != 0)
			x += step
		}
		return
	}
	q, r := x/y, x%y
	if in.imm != 0 {
		for i := range D {
			D[i] = r
			if r += step; r >= y {
				r -= y
			}
		}
		return
	}
	for i := range D {
		D[i] = q
		if r += step; r >= y {
			r -= y
			q++
		}
	}
}

// divide is the division of the IR: x/0 is 0 and x%0 is x.
func divide(x, y int64, rem bool) int64 {
	switch {
	case y == 0 && rem:
		return x
	case y == 0:
		return 0
	case rem:
		return x % y
	}
	return x / y
}

// divideArray divides an array by a scalar through its reciprocal.
func divideArray(w *worker, in *ins) {
	D := lanes[int64](w.at(in.d), w.n)[w.lo:w.hi]
	X := lanes[int64](w.at(in.a), w.n)[w.lo:w.hi][:len(D)]
	y := *(*int64)(w.at(in.b))
	if y < 2 || y > math.MaxInt32 {
		for i, x := range X {
			D[i] = divide(x, y, in.imm != 0)
		}
		return
	}
	m := reciprocal(uint64(y))
	if in.imm != 0 {
		for i, x := range X {
			D[i] = x - m.quotient(x)*y
		}
		return
	}
	for i, x := range X {
		D[i] = m.quotient(x)
	}
}

// inverse is a divisor with 2^64 / y rounded up, which gives quotients of dividends below
// 2^32 by divisors below 2^31 exactly (Lemire, Kaser and Kurz, "Faster remainder by
// direct computation", 2019); larger dividends are divided.
type inverse struct {
	y    int64
	mult uint64
}

func reciprocal(y uint64) inverse { return inverse{int64(y), math.MaxUint64/y + 1} }

func (m inverse) quotient(x int64) int64 {
	if uint64(x)>>32 != 0 {
		return x / m.y
	}
	q, _ := bits.Mul64(m.mult, uint64(x))
	return int64(q)
}
