package dsl

// Powers: x^y = 2^(y·log2 x), with log2 x as a sum of two numbers that is right
// to eleven bits more than the type has, so that the product with y keeps
// enough of them (Cody and Waite, 1980, explain the need).

// Pow returns x^y. Its special cases are those of [math.Pow].
//
// Error: at most 1 ulp in float32, 1 ulp in float64.
//
//kiln:dispatch
func Pow[T Real](x, y T) T {
	if isFloat32(x) {
		return T(pow32(float32(x), float32(y)))
	}
	return T(pow64(float64(x), float64(y)))
}

// powlog32 returns log2 of a finite x > 0 as a sum.
func powlog32(x float32) (hi, lo float32) {
	e, f := logsplit32(x)
	// log(1+f) = 2s + s³(2/3 + s²·r(s²)) with s = f/(2+f).
	d := 2 + f
	dlo := (2 - d) + f
	s := f / d
	slo := FMA32(-s, dlo, FMA32(-s, d, f)) / d
	z := float32(s * s)
	zlo := FMA32(s, s, -z) + float32(2*s*slo)
	r := FMA32(0x1.908798p-3, z, 0x1.c63d9ap-3)
	r = FMA32(r, z, 0x1.2493b6p-2)
	r = FMA32(r, z, 0x1.999998p-2)
	// c + clo = 2/3 + z·r
	q := float32(z * r)
	c := 0x1.555556p-1 + q
	clo := ((0x1.555556p-1 - c) + q) + (-0x1.555556p-26)
	// g + glo = s³(c + clo)
	w := float32(s * z)
	wlo := FMA32(s, z, -w) + FMA32(s, zlo, float32(slo*z))
	g := float32(w * c)
	glo := FMA32(w, c, -g) + FMA32(w, clo, float32(wlo*c))
	a := float32(2 * s)
	h := a + g
	rest := ((a - h) + g) + (float32(2*slo) + glo)
	// To base two, plus the exponent.
	const k, kLo = 0x1.715476p+0, 0x1.4ae0cp-26 // 1/ln 2
	p := float32(h * k)
	plo := FMA32(h, k, -p) + FMA32(h, kLo, float32(rest*k))
	hi = e + p
	return hi, ((e - hi) + p) + plo
}

// isodd32 reports whether y is an odd integer.
func isodd32(y float32) bool {
	half := float32(0.5 * y)
	return Abs(y) < 0x1p24 && y == Trunc(y) && half != Trunc(half)
}

func pow32(x, y float32) float32 {
	if y == 0 || x == 1 {
		return 1
	}
	if x != x || y != y {
		return nan32()
	}
	a := Abs(x)
	if Abs(y) == inf32() {
		if a == 1 {
			return 1
		}
		return powend32((a > 1) == (y > 0), false)
	}
	negative := Copysign(1, x) < 0 && isodd32(y)
	if a == 0 || a == inf32() {
		return powend32((a == 0) == (y < 0), negative)
	}
	if x < 0 && y != Trunc(y) {
		return nan32()
	}
	hi, lo := powlog32(a)
	p := float32(y * hi)
	if !(Abs(p) < 160) {
		return powend32(p > 0, negative)
	}
	plo := FMA32(y, lo, FMA32(y, hi, -p))
	n := RoundEven(p)
	f := p - n
	g := f + plo
	glo := (f - g) + plo
	r := float32(g * ln2f32)
	rlo := FMA32(g, ln2f32, -r) + FMA32(g, ln2lof32, float32(glo*ln2f32))
	s, t := expsum32(r, rlo)
	v := scale32(s+t, int32(n))
	if negative {
		return -v
	}
	return v
}

// powend32 is an infinity or a zero.
func powend32(large, negative bool) float32 {
	v := float32(0)
	if large {
		v = inf32()
	}
	if negative {
		return -v
	}
	return v
}

// powlog64 returns log2 of a finite x > 0 as a sum.
func powlog64(x float64) (hi, lo float64) {
	e, f := logsplit64(x)
	// log(1+f) = 2s + s³(2/3 + s²·r(s²)) with s = f/(2+f).
	d := 2 + f
	dlo := (2 - d) + f
	s := f / d
	slo := FMA64(-s, dlo, FMA64(-s, d, f)) / d
	z := float64(s * s)
	zlo := FMA64(s, s, -z) + float64(2*s*slo)
	r := FMA64(0x1.eacae55026d35p-4, z, 0x1.de3cdba4c457p-4)
	r = FMA64(r, z, 0x1.11207290c29efp-3)
	r = FMA64(r, z, 0x1.3b1364b51a725p-3)
	r = FMA64(r, z, 0x1.745d182996fdfp-3)
	r = FMA64(r, z, 0x1.c71c71c596282p-3)
	r = FMA64(r, z, 0x1.2492492492f53p-2)
	r = FMA64(r, z, 0x1.9999999999996p-2)
	// c + clo = 2/3 + z·r
	q := float64(z * r)
	c := 0x1.5555555555555p-1 + q
	clo := ((0x1.5555555555555p-1 - c) + q) + (0x1.5555555555555p-55)
	// g + glo = s³(c + clo)
	w := float64(s * z)
	wlo := FMA64(s, z, -w) + FMA64(s, zlo, float64(slo*z))
	g := float64(w * c)
	glo := FMA64(w, c, -g) + FMA64(w, clo, float64(wlo*c))
	a := float64(2 * s)
	h := a + g
	rest := ((a - h) + g) + (float64(2*slo) + glo)
	// To base two, plus the exponent.
	const k, kLo = 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56 // 1/ln 2
	p := float64(h * k)
	plo := FMA64(h, k, -p) + FMA64(h, kLo, float64(rest*k))
	hi = e + p
	return hi, ((e - hi) + p) + plo
}

// isodd64 reports whether y is an odd integer.
func isodd64(y float64) bool {
	half := float64(0.5 * y)
	return Abs(y) < 0x1p53 && y == Trunc(y) && half != Trunc(half)
}

func pow64(x, y float64) float64 {
	if y == 0 || x == 1 {
		return 1
	}
	if x != x || y != y {
		return nan64()
	}
	a := Abs(x)
	if Abs(y) == inf64() {
		if a == 1 {
			return 1
		}
		return powend64((a > 1) == (y > 0), false)
	}
	negative := Copysign(1, x) < 0 && isodd64(y)
	if a == 0 || a == inf64() {
		return powend64((a == 0) == (y < 0), negative)
	}
	if x < 0 && y != Trunc(y) {
		return nan64()
	}
	hi, lo := powlog64(a)
	p := float64(y * hi)
	if !(Abs(p) < 1100) {
		return powend64(p > 0, negative)
	}
	plo := FMA64(y, lo, FMA64(y, hi, -p))
	n := RoundEven(p)
	f := p - n
	g := f + plo
	glo := (f - g) + plo
	r := float64(g * ln2f64)
	rlo := FMA64(g, ln2f64, -r) + FMA64(g, ln2lof64, float64(glo*ln2f64))
	s, t := expsum64(r, rlo)
	v := scale64(s+t, int32(n))
	if negative {
		return -v
	}
	return v
}

// powend64 is an infinity or a zero.
func powend64(large, negative bool) float64 {
	v := float64(0)
	if large {
		v = inf64()
	}
	if negative {
		return -v
	}
	return v
}
