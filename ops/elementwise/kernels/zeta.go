package kernels

import "github.com/gokiln/kiln/dsl"

// Zeta is f times the Hurwitz zeta function, ζ(s, x) = Σ (x+k)^-s for k = 0, 1 and so on.
// It is infinite for s = 1, NaN below, and NaN for negative x where s is no integer. At the
// poles 0, -1 and so on it is infinite for even s; for others it is NaN at negative ones,
// where the signs at both sides differ. The number f is inside so that no product that is
// finite has a factor that is not.
func Zeta[C dsl.Real](x, s, f C) C {
	if s <= 1 || s != s {
		if s == 1 && x == x {
			return f / (s - s)
		}
		return (s - s) / (s - s)
	}
	if x > 0 || x != x {
		return zetaRight(x, s, f)
	}
	half := s / 2
	even := half == dsl.Floor(half)
	if x == 0 {
		return f / dsl.Abs(x)
	}
	part := x - dsl.RoundEven(x)
	if s != dsl.Floor(s) || part != part || part == 0 && !even {
		return (s - s) / (s - s)
	}
	// The sum over all integers k of (part+k)^-s, less what is to the left of x: from both
	// sides of 0 outwards, so that what cancels for odd s does so before the rest is added.
	near, far := dsl.Pow(dsl.Abs(part), s/-2), dsl.Pow(1-dsl.Abs(part), s/-2)
	right, left := zetaRight(1+dsl.Abs(part), s, f), zetaRight(2-dsl.Abs(part), s, f)
	if even {
		return f*near*near + (right + (f*far*far + (left - zetaRight(1-x, s, f))))
	}
	sum := right - left
	if near != far { // which may be infinite
		sum += f * (near - far) * (near + far)
	}
	return dsl.Copysign(1, part)*sum + zetaRight(1-x, s, f)
}

// zetaTerm is f·x^-s. The power is the square of another, which is in the range of numbers
// where f is needed for the product to be.
func zetaTerm[C dsl.Real](x, s, f C) C {
	h := dsl.Pow(x, s/-2)
	return f * h * h
}

// zetaRight is [Zeta] to the right of 0: the first terms, and the rest by the formula of
// Euler and Maclaurin (Johansson, "Rigorous high-precision computation of the Hurwitz zeta
// function", 2013).
func zetaRight[C dsl.Real](x, s, f C) C {
	if 1/x == 0 {
		return 0
	}
	var sum C
	for range 10 {
		sum += zetaTerm(x, s, f)
		x++
	}
	h := dsl.Pow(x, s/-2)
	t := f * h * h
	y := 1 / (x * x)
	// The numbers are those of Bernoulli, number 2j over the factorial of 2j.
	series := zetaStep(-1/7.1661652561756670113e18, s, y, 11, 1/1.8152105401943546773e17)
	series = zetaStep(series, s, y, 10, -1/4.5979787224074726105e15)
	series = zetaStep(series, s, y, 9, 1/1.1646782814350067249e14)
	series = zetaStep(series, s, y, 8, -1/2.950130727918164224e12)
	series = zetaStep(series, s, y, 7, 1.0/74724249600)
	series = zetaStep(series, s, y, 6, -691.0/1307674368000)
	series = zetaStep(series, s, y, 5, 1.0/47900160)
	series = zetaStep(series, s, y, 4, -1.0/1209600)
	series = zetaStep(series, s, y, 3, 1.0/30240)
	series = zetaStep(series, s, y, 2, -1.0/720)
	series = zetaStep(series, s, y, 1, 1.0/12)
	rest := f * h * (h * x) / (s - 1)
	if t != 0 { // and else the series may be infinite
		rest += t/2 + t/x*s*series
	}
	return sum + rest
}

// zetaStep is number j of a series whose rest is known, where each is (s+2j-1)(s+2j)y times
// the one before besides.
func zetaStep[C dsl.Real](rest, s, y, j, number C) C {
	return number + rest*((s+2*j-1)*y)*(s+2*j)
}
