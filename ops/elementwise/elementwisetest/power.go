package elementwisetest

import (
	"math"
	"math/big"
)

// bitsOfPower are how many bits the reference of powers computes with.
const bitsOfPower = 160

var ln2, _, _ = big.ParseFloat("0.693147180559945309417232121458176568075500134360255254120680009493394", 10, bitsOfPower, big.ToNearestEven)

// pow is x to the y, rounded once: math.Pow, whose exponential takes a rounded argument, is off by
// more than a hundred units where the result is large or small.
func pow(x, y float64) float64 {
	z := math.Pow(x, y)
	if z == 0 || z == 1 || z-z != 0 {
		return z
	}
	p := new(big.Float).Mul(logOf(math.Abs(x)), rounded(y))
	r, _ := expOf(p).Float64()
	return math.Copysign(r, z)
}

func rounded(x float64) *big.Float { return new(big.Float).SetPrec(bitsOfPower).SetFloat64(x) }

// logOf is the logarithm of x > 0: 2·artanh((f−1)/(f+1)) + n·log 2 of x = f·2ⁿ.
func logOf(x float64) *big.Float {
	f, n := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, n = 2*f, n-1
	}
	s := new(big.Float).Quo(new(big.Float).Sub(rounded(f), rounded(1)), new(big.Float).Add(rounded(f), rounded(1)))
	square, power, sum := new(big.Float).Mul(s, s), new(big.Float).Set(s), new(big.Float).Set(s)
	for k := 3; k < bitsOfPower/2; k += 2 { // square is below 1/32
		power.Mul(power, square)
		sum.Add(sum, new(big.Float).Quo(power, rounded(float64(k))))
	}
	sum.Add(sum, sum)
	return sum.Add(sum, new(big.Float).Mul(ln2, rounded(float64(n))))
}

// expOf is the exponential of a number: that of what remains of it beside n·log 2, times 2ⁿ.
func expOf(x *big.Float) *big.Float {
	q, _ := new(big.Float).Quo(x, ln2).Float64()
	n := math.Round(q)
	r := new(big.Float).Sub(x, new(big.Float).Mul(ln2, rounded(n)))
	term, sum := rounded(1), rounded(1)
	for k := 1; k < 40; k++ {
		term.Quo(term.Mul(term, r), rounded(float64(k)))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, int(n))
}
