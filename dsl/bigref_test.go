package dsl_test

import (
	"math"
	"math/big"
)

// The reference for float64: the same functions with math/big, to well over
// 100 bits. Nothing here shares a method or a constant with package dsl.

const (
	refPrec = 256  // of values
	piPrec  = 1600 // of π, for the reduction of any float64
)

type bf = *big.Float

func fl(x float64) bf        { return new(big.Float).SetPrec(refPrec).SetFloat64(x) }
func bnew() bf               { return new(big.Float).SetPrec(refPrec) }
func add(a, b bf) bf         { return bnew().Add(a, b) }
func sub(a, b bf) bf         { return bnew().Sub(a, b) }
func mul(a, b bf) bf         { return bnew().Mul(a, b) }
func quo(a, b bf) bf         { return bnew().Quo(a, b) }
func neg(a bf) bf            { return bnew().Neg(a) }
func scale(a bf, n int) bf   { return bnew().SetMantExp(a, n) }
func below(a bf, n int) bool { return a.Sign() == 0 || a.MantExp(nil) < n }

// refPi is Machin's 16·atan(1/5) - 4·atan(1/239) in integers.
var refPi = func() bf {
	one := new(big.Int).Lsh(big.NewInt(1), piPrec+32)
	arccot := func(n int64) *big.Int {
		sum, power, nn := new(big.Int), new(big.Int).Div(one, big.NewInt(n)), big.NewInt(n*n)
		for k := int64(1); power.Sign() != 0; k += 2 {
			term := new(big.Int).Div(power, big.NewInt(k))
			if k&2 == 0 {
				sum.Add(sum, term)
			} else {
				sum.Sub(sum, term)
			}
			power.Div(power, nn)
		}
		return sum
	}
	p := new(big.Int).Mul(arccot(5), big.NewInt(16))
	p.Sub(p, new(big.Int).Mul(arccot(239), big.NewInt(4)))
	f := new(big.Float).SetPrec(piPrec).SetInt(p)
	return f.SetMantExp(f, -(piPrec + 32))
}()

// refLn2 is the sum of 1/(k·2^k).
var refLn2 = func() bf {
	sum := fl(0)
	for k := 1; k < refPrec+20; k++ {
		sum.Add(sum, scale(quo(fl(1), fl(float64(k))), -k))
	}
	return sum
}()

// taylor sums first·(1 + z/(a·b) + z²/(a·b·(a+2)(b+2)) + …), or steps of one
// when b is zero.
func taylor(first, z bf, a, b float64) bf {
	sum, term := bnew().Set(first), bnew().Set(first)
	for term.Sign() != 0 && !below(term, sum.MantExp(nil)-refPrec) {
		term.Mul(term, z)
		if b != 0 {
			term.Quo(term, fl(a*b))
			a, b = a+2, b+2
		} else {
			term.Quo(term, fl(a))
			a++
		}
		sum.Add(sum, term)
	}
	return sum
}

func refExp(x bf) bf {
	t, _ := quo(x, refLn2).Float64()
	n := int(math.RoundToEven(t))
	r := scale(sub(x, mul(fl(float64(n)), refLn2)), -8)
	y := taylor(fl(1), r, 1, 0)
	for range 8 {
		y.Mul(y, y)
	}
	return scale(y, n)
}

func refExpm1(x bf) bf {
	if below(x, -40) {
		return taylor(x, x, 2, 0)
	}
	return sub(refExp(x), fl(1))
}

// refLog takes a float64 guess and two of Halley's steps on exp.
func refLog(x bf) bf {
	if x.Cmp(fl(1)) == 0 {
		return fl(0)
	}
	m := bnew()
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := fl(math.Log(f))
	for range 3 {
		ey := refExp(y)
		y.Add(y, scale(quo(sub(m, ey), add(m, ey)), 1))
	}
	return add(y, mul(fl(float64(e)), refLn2))
}

func refLog1p(x bf) bf {
	if below(x, -40) {
		return mul(x, sub(fl(1), mul(x, sub(scale(fl(1), -1), mul(x, sub(quo(fl(1), fl(3)), scale(x, -2)))))))
	}
	return refLog(add(fl(1), x))
}

// refReduce returns q mod 4 and x - q·π/2.
func refReduce(x bf) (int64, bf) {
	wide := func() bf { return new(big.Float).SetPrec(piPrec) }
	half := wide().SetMantExp(refPi, -1)
	q := wide().Quo(wide().Set(x), half)
	q.Add(q, wide().SetFloat64(math.Copysign(0.5, float64(x.Sign()))))
	n, _ := q.Int(nil)
	r := wide().Sub(wide().Set(x), wide().Mul(wide().SetInt(n), half))
	return new(big.Int).And(n, big.NewInt(3)).Int64(), bnew().Set(r)
}

func refSinCos(x bf) (sin, cos bf) {
	q, r := refReduce(x)
	z := neg(mul(r, r))
	s, c := taylor(r, z, 2, 3), taylor(fl(1), z, 1, 2)
	switch q {
	case 1:
		return c, neg(s)
	case 2:
		return neg(s), neg(c)
	case 3:
		return neg(c), s
	}
	return s, c
}

func refSin(x bf) bf { s, _ := refSinCos(x); return s }
func refCos(x bf) bf { _, c := refSinCos(x); return c }
func refTan(x bf) bf { s, c := refSinCos(x); return quo(s, c) }

// refAtan corrects a float64 guess y by atan((x - tan y)/(1 + x·tan y)).
func refAtan(x bf) bf {
	if below(x, -60) {
		return sub(x, quo(mul(x, mul(x, x)), fl(3)))
	}
	if !below(x, 2) {
		half := bnew().Set(scale(refPi, -1))
		if x.Sign() < 0 {
			half.Neg(half)
		}
		return sub(half, refAtan(quo(fl(1), x)))
	}
	f, _ := x.Float64()
	y := fl(math.Atan(f))
	t := refTan(y)
	d := quo(sub(x, t), add(fl(1), mul(x, t)))
	return add(y, sub(d, quo(mul(d, mul(d, d)), fl(3))))
}

func refAsin(x bf) bf {
	if below(x, -60) {
		return add(x, quo(mul(x, mul(x, x)), fl(6)))
	}
	c := mul(sub(fl(1), x), add(fl(1), x))
	if c.Sign() == 0 {
		return mul(x, scale(refPi, -1))
	}
	return refAtan(quo(x, bnew().Sqrt(c)))
}

func refAcos(x bf) bf {
	if d := add(fl(1), x); d.Sign() != 0 {
		return scale(refAtan(bnew().Sqrt(quo(sub(fl(1), x), d))), 1)
	}
	return bnew().Set(refPi)
}

func refAtan2(y, x bf) bf {
	pi := bnew().Set(refPi)
	if x.Sign() == 0 {
		return mul(fl(float64(y.Sign())), scale(pi, -1))
	}
	a := refAtan(quo(y, x))
	if x.Sign() > 0 {
		return a
	}
	if y.Signbit() {
		return sub(a, pi)
	}
	return add(a, pi)
}

func refSinh(x bf) bf {
	if below(x, -30) {
		return taylor(x, mul(x, x), 2, 3)
	}
	e := refExp(x)
	return scale(sub(e, quo(fl(1), e)), -1)
}

func refCosh(x bf) bf {
	e := refExp(x)
	return scale(add(e, quo(fl(1), e)), -1)
}

func refTanh(x bf) bf {
	if below(x, -30) {
		return quo(refSinh(x), refCosh(x))
	}
	if !below(x, 8) {
		return fl(float64(x.Sign()))
	}
	e := refExp(scale(x, 1))
	return quo(sub(e, fl(1)), add(e, fl(1)))
}

// refErf is the series of positive terms, x·exp(-x²)·Σ (2x²)ⁿ/(2n+1)!!.
func refErf(x bf) bf {
	if !below(x, 4) {
		return fl(float64(x.Sign()))
	}
	z := scale(mul(x, x), 1)
	sum, term := bnew().Set(x), bnew().Set(x)
	for k := 3.0; term.Sign() != 0 && !below(term, sum.MantExp(nil)-refPrec); k += 2 {
		term.Quo(term.Mul(term, z), fl(k))
		sum.Add(sum, term)
	}
	return quo(scale(mul(sum, refExp(neg(mul(x, x)))), 1), bnew().Sqrt(bnew().Set(refPi)))
}

// refErfc subtracts below two and takes the continued fraction
// exp(-x²)/√π · 1/(x + ½/(x + 1/(x + 3/2/(x + …)))) above.
func refErfc(x bf) bf {
	if x.Cmp(fl(2)) < 0 {
		return sub(fl(1), refErf(x))
	}
	tail := bnew().Set(x)
	for k := 400; k > 0; k-- {
		tail = add(x, quo(fl(float64(k)/2), tail))
	}
	return quo(refExp(neg(mul(x, x))), mul(tail, bnew().Sqrt(bnew().Set(refPi))))
}

func refCbrt(x bf) bf {
	if x.Sign() == 0 {
		return x
	}
	y := refExp(quo(refLog(bnew().Abs(x)), fl(3)))
	if x.Sign() < 0 {
		y.Neg(y)
	}
	return y
}

func refPow(x, y bf) bf {
	z := refExp(mul(y, refLog(bnew().Abs(x))))
	if n, _ := y.Int(nil); x.Sign() < 0 && n.Bit(0) == 1 {
		z.Neg(z)
	}
	return z
}

func refHypot(x, y bf) bf { return bnew().Sqrt(add(mul(x, x), mul(y, y))) }
func refRsqrt(x bf) bf    { return quo(fl(1), bnew().Sqrt(x)) }

// bernoulli are B2, B4, … as fractions.
var bernoulli = func() (list []*big.Rat) {
	b := []*big.Rat{}
	for m := range int64(62) { // B_m = -Σ C(m+1, k)·B_k / (m+1)
		sum := new(big.Rat)
		for k := range m {
			c := new(big.Rat).SetInt(new(big.Int).Binomial(m+1, k))
			sum.Add(sum, c.Mul(c, b[k]))
		}
		if m == 0 {
			sum.SetInt64(-1)
		}
		b = append(b, sum.Mul(sum, big.NewRat(-1, m+1)))
		if m > 0 && m%2 == 0 {
			list = append(list, b[m])
		}
	}
	return list
}()

// refLgamma takes the argument up to 40 by the recurrence, where Stirling's
// series is right to more than 300 bits.
func refLgamma(x bf) bf {
	if x.Sign() < 0 {
		pi := bnew().Set(refPi)
		s := refSin(mul(pi, x))
		s.Abs(s)
		return sub(refLog(quo(pi, mul(neg(x), s))), refLgamma(neg(x)))
	}
	p, y := fl(1), bnew().Set(x)
	for y.Cmp(fl(40)) < 0 {
		p.Mul(p, y)
		y.Add(y, fl(1))
	}
	sum := sub(mul(sub(y, fl(0.5)), refLog(y)), y)
	sum.Add(sum, scale(refLog(scale(bnew().Set(refPi), 1)), -1))
	power := bnew().Set(y)
	for i, b := range bernoulli {
		k := float64(2 * (i + 1))
		sum.Add(sum, quo(bnew().SetRat(b), mul(fl(k*(k-1)), power)))
		power.Mul(power, mul(y, y))
	}
	return sub(sum, refLog(p))
}
