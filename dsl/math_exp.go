package dsl

// Exponentials: x = n·ln 2 + r with |r| ≤ ln 2 / 2, where both steps of the
// reduction use FMA and the first is exact (Cody and Waite, 1980). Then
// e^r = 1 + r + r²·q(r) with a minimax q, and 2^n goes into the exponent.

// Exp returns e^x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Exp[T Real](x T) T {
	if isFloat32(x) {
		return T(exp32(float32(x)))
	}
	return T(exp64(float64(x)))
}

// Exp2 returns 2^x.
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Exp2[T Real](x T) T {
	if isFloat32(x) {
		return T(exp232(float32(x)))
	}
	return T(exp264(float64(x)))
}

// Expm1 returns e^x - 1, accurate for small x too.
//
// Error: at most 1.1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Expm1[T Real](x T) T {
	if isFloat32(x) {
		return T(expm132(float32(x)))
	}
	return T(expm164(float64(x)))
}

const (
	ln2f32     = 0x1.62e43p-1
	ln2lof32   = -0x1.05c61p-29
	log2ef32   = 0x1.715476p+0
	ln2f64     = 0x1.62e42fefa39efp-1
	ln2lof64   = 0x1.abc9e3b39803fp-56
	log2ef64   = 0x1.71547652b82fep+0
	expMax32   = 0x1.62e42ep+6  // above it e^x overflows
	expMin32   = -0x1.9fe368p+6 // below it e^x rounds to zero
	expMax64   = 0x1.62e42fefa39efp+9
	expMin64   = -0x1.74910d52d3052p+9
	expm1Min32 = 17.5 // e^-x is under a quarter ulp of one
	expm1Min64 = 38
)

// expq32 is (e^r - 1 - r)/r² to 2^-28 of e^r.
func expq32(r float32) float32 {
	q := FMA32(0x1.6a3d28p-10, r, 0x1.12385ap-7)
	q = FMA32(q, r, 0x1.5558bep-5)
	q = FMA32(q, r, 0x1.555494p-3)
	return FMA32(q, r, 0x1.fffffcp-2)
}

// expsum32 returns e^(r+lo) as an unevaluated sum, its first part rounded.
func expsum32(r, lo float32) (s, t float32) {
	one := 1 + r
	t = ((1 - one) + r) + FMA32(float32(r*r), expq32(r), float32(lo*one))
	s = one + t
	return s, (one - s) + t
}

// expred32 returns n and r + lo with x = n·ln 2 + r + lo.
func expred32(x float32) (n, r, lo float32) {
	n = RoundEven(float32(x * log2ef32))
	a := FMA32(n, -ln2f32, x) // exact
	r = FMA32(n, -ln2lof32, a)
	return n, r, FMA32(n, -ln2lof32, a-r)
}

// round32 added to and taken from x leaves the nearest integer, for |x| up to
// 2^22; the last bits of the sum hold the integer.
const round32 = 0x1.8p23

// exp32 has no branches: what it brings into range overflows to infinity, or
// rounds to zero, as the result does.
func exp32(x float32) float32 {
	x = Min(Max(x, expMin32-1), expMax32+1)
	z := FMA32(x, log2ef32, round32)
	n := z - round32
	r := FMA32(n, -ln2lof32, FMA32(n, -ln2f32, x))
	p := FMA32(FMA32(expq32(r), r, 1), r, 1)
	return scaleby32(p, z, x < -86)
}

// exp232 is exp32 without a reduction that could lose anything: x - n is exact.
func exp232(x float32) float32 {
	x = Min(Max(x, -152), 129)
	z := x + round32
	f := x - (z - round32)
	p := FMA32(0x1.3f69bep-13, f, 0x1.5e4a8ep-10)
	p = FMA32(p, f, 0x1.3b2e7p-7)
	p = FMA32(p, f, 0x1.c6b0ccp-5)
	p = FMA32(p, f, 0x1.ebfbep-3)
	p = FMA32(p, f, ln2f32)
	return scaleby32(FMA32(p, f, 1), z, x < -124)
}

func expm132(x float32) float32 {
	if x != x || x == 0 {
		return x
	}
	if x > 21 {
		return exp32(x)
	}
	if x < -expm1Min32 {
		return -1
	}
	n, r, lo := expred32(x)
	p := FMA32(float32(r*r), expq32(r), lo)
	if n == 0 {
		return r + p
	}
	// 2^n(1 + r + p) - 1, the large parts first. 2^n - 1 is exact up to 24.
	c := pow2f32(int32(n))
	base, low := c-1, float32(c*p)
	if n > 24 {
		base, low = c, low-1
	}
	cr := float32(c * r)
	s := base + cr
	return s + (((base - s) + cr) + low)
}

// expq64 is (e^r - 1 - r)/r² to 2^-63 of e^r.
func expq64(r float64) float64 {
	q := FMA64(0x1.1e46309680f86p-29, r, 0x1.af5ec3aa4f919p-26)
	q = FMA64(q, r, 0x1.27e59ef44dc39p-22)
	q = FMA64(q, r, 0x1.71ddf8b786efdp-19)
	q = FMA64(q, r, 0x1.a01a014c3c187p-16)
	q = FMA64(q, r, 0x1.a01a01af7b501p-13)
	q = FMA64(q, r, 0x1.6c16c16c27a0dp-10)
	q = FMA64(q, r, 0x1.111111110f8e2p-7)
	q = FMA64(q, r, 0x1.5555555555531p-5)
	q = FMA64(q, r, 0x1.5555555555558p-3)
	return FMA64(q, r, 0.5)
}

// expsum64 returns e^(r+lo) as an unevaluated sum, its first part rounded.
func expsum64(r, lo float64) (s, t float64) {
	one := 1 + r
	t = ((1 - one) + r) + FMA64(float64(r*r), expq64(r), float64(lo*one))
	s = one + t
	return s, (one - s) + t
}

// expred64 returns n and r + lo with x = n·ln 2 + r + lo.
func expred64(x float64) (n, r, lo float64) {
	n = RoundEven(float64(x * log2ef64))
	a := FMA64(n, -ln2f64, x) // exact
	r = FMA64(n, -ln2lof64, a)
	return n, r, FMA64(n, -ln2lof64, a-r)
}

func exp64(x float64) float64 {
	if x != x {
		return x
	}
	if x > expMax64 {
		return inf64()
	}
	if x < expMin64 {
		return 0
	}
	n, r, _ := expred64(x)
	one := 1 + r
	p := FMA64(float64(r*r), expq64(r), (1-one)+r)
	return scale64(one+p, int32(n))
}

func exp264(x float64) float64 {
	if x != x {
		return x
	}
	if x >= 1024 {
		return inf64()
	}
	if x < -1075 {
		return 0
	}
	n := RoundEven(x)
	f := x - n
	r := float64(f * ln2f64)
	lo := FMA64(f, ln2lof64, FMA64(f, ln2f64, -r))
	s, t := expsum64(r, lo)
	return scale64(s+t, int32(n))
}

func expm164(x float64) float64 {
	if x != x || x == 0 {
		return x
	}
	if x > 44 {
		return exp64(x)
	}
	if x < -expm1Min64 {
		return -1
	}
	n, r, lo := expred64(x)
	p := FMA64(float64(r*r), expq64(r), lo)
	if n == 0 {
		return r + p
	}
	// 2^n(1 + r + p) - 1, the large parts first. 2^n - 1 is exact up to 53.
	c := pow2f64(int32(n))
	base, low := c-1, float64(c*p)
	if n > 53 {
		base, low = c, low-1
	}
	cr := float64(c * r)
	s := base + cr
	return s + (((base - s) + cr) + low)
}
