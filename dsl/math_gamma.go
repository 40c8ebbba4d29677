package dsl

// The logarithm of the gamma function. Around one and two, its zeros, it is y
// times a minimax polynomial in the distance y from them, which is exact; the
// recurrence Γ(x+1) = x·Γ(x) leads there from arguments of moderate size, and
// Stirling's series serves the large ones. Negative arguments go by the
// recurrence as far as that is short, and else by reflection.

// Lgamma returns log|Γ(x)|, +Inf at zero and at negative integers, and x for
// infinite x.
//
// Error: at most 2.5 ulp in float32, 2.5 ulp in float64. Below -2, where the function
// has zeros at numbers that no float is near to, an ulp is that of the larger of
// the result and 1.
//
//kiln:dispatch
func Lgamma[T Real](x T) T {
	if isFloat32(x) {
		return T(lgamma32(float32(x)))
	}
	return T(lgamma64(float64(x)))
}

// logpair32 is log x of a finite x > 0 as a sum, its first part rounded.
func logpair32(x float32) (s, t float32) {
	e, f := logsplit32(x)
	hi, lo := logsum32(f)
	a := float32(e * ln2cut32)
	s = a + hi
	if a == 0 {
		return hi, lo
	}
	return s, ((a - s) + hi) + FMA32(e, ln2rest32, lo)
}

// gammasum32 is y(c + lo + y·p), where the sum may cancel.
func gammasum32(y, p, c, lo float32) float32 {
	t := float32(y * p)
	s := c + t
	return FMA32(y, s, float32(y*(((c-s)+t)+(FMA32(y, p, -t)+lo))))
}

// lgammaone32 is log Γ(1+y) for |y| ≤ ½.
func lgammaone32(y float32) float32 {
	p := FMA32(0x1.41757cp-3, y, -0x1.6c5334p-3)
	p = FMA32(p, y, 0x1.b1823cp-5)
	p = FMA32(p, y, -0x1.9ce004p-5)
	p = FMA32(p, y, 0x1.acc1a4p-4)
	p = FMA32(p, y, -0x1.e68cfcp-4)
	p = FMA32(p, y, 0x1.007cdap-3)
	p = FMA32(p, y, -0x1.259ebep-3)
	p = FMA32(p, y, 0x1.5b40e0p-3)
	p = FMA32(p, y, -0x1.a8c904p-3)
	p = FMA32(p, y, 0x1.151340p-2)
	p = FMA32(p, y, -0x1.9a4d36p-2)
	p = FMA32(p, y, 0x1.a51a66p-1)
	return gammasum32(y, p, -0x1.2788dp-1, 0x1.76d436p-28)
}

// lgammatwo32 is log Γ(2+y) for |y| ≤ ½.
func lgammatwo32(y float32) float32 {
	p := FMA32(0x1.009bf0p-13, y, -0x1.09f002p-12)
	p = FMA32(p, y, 0x1.06f0aep-11)
	p = FMA32(p, y, -0x1.36e468p-10)
	p = FMA32(p, y, 0x1.7b0670p-9)
	p = FMA32(p, y, -0x1.e40f2ep-8)
	p = FMA32(p, y, 0x1.5131dcp-6)
	p = FMA32(p, y, -0x1.13dffcp-4)
	p = FMA32(p, y, 0x1.4a34ccp-2)
	return gammasum32(y, p, 0x1.b0ee60p-2, 0x1.c1d3ecp-28)
}

// lgammabig32 is log Γ(x) for x ≥ 6 as a sum: (x-½)(log x - 1) + ½log 2π - ½
// and a polynomial in 1/x².
func lgammabig32(x float32) (s, t float32) {
	w := 1 / x
	z := float32(w * w)
	p := FMA32(0x1.93aa4ep-11, z, -0x1.6c0e9ap-9)
	p = FMA32(p, z, 0x1.555556p-4)
	s, lo := logpair32(x)
	m, u := x-0.5, s-1
	lo += (s - u) - 1
	h := float32(m * u)
	return h, FMA32(m, u, -h) + FMA32(m, lo, FMA32(w, p, 0x1.acfe3ap-2))
}

// exactsum32 returns a + b as a sum whose first part is rounded (Knuth, 1969).
func exactsum32(a, b float32) (s, t float32) {
	s = a + b
	v := s - a
	return s, (a - (s - v)) + (b - v)
}

// sinpi32 is |sin πx|.
func sinpi32(x float32) float32 {
	const pi, piLo = 0x1.921fb6p+1, -0x1.777a5cp-24
	r := Abs(x - RoundEven(x))
	turn := r > 0.25
	if turn {
		r = 0.5 - r
	}
	a := float32(pi * r)
	lo := FMA32(pi, r, -a) + float32(piLo*r)
	s, t := sinsum32(a, lo)
	if turn {
		s, t = cossum32(a, lo)
	}
	return s + t
}

func lgamma32(x float32) float32 {
	switch {
	case !(Abs(x) < inf32()):
		return x
	case x >= 0x1p100: // the sum might overflow on the way
		s, lo := logpair32(x)
		m := float32(0x1p-10 * x)
		h := float32(m * (s - 1))
		return float32(0x1p10 * (h + FMA32(m, lo, FMA32(m, s-1, -h))))
	case x >= 6:
		h, t := lgammabig32(x)
		return h + t
	case x < -6: // Γ(x)·Γ(1-x) = π/sin πx
		s := sinpi32(x)
		if s == 0 {
			return inf32()
		}
		h, t := lgammabig32(-x)
		a, b := logpair32(-x)
		c, d := logpair32(float32(s * (1 / 0x1.921fb6p+1)))
		a, e := exactsum32(a, c)
		h, g := exactsum32(h, a)
		return -(h + (((b + d) + (e + g)) + t))
	}
	p, y := float32(1), x
	for y < -0.5 {
		p = float32(p * y)
		y++
	}
	if y <= 0.5 { // Γ(x) = Γ(1+y)/(p·y)
		p = Abs(float32(p * y))
		if p == 0 {
			return inf32()
		}
		s, t := logpair32(p)
		return (lgammaone32(y) - t) - s
	}
	if y <= 1.5 {
		return lgammaone32(y - 1)
	}
	for y > 2.5 {
		y--
		p = float32(p * y)
	}
	s, t := logpair32(p)
	return s + (t + lgammatwo32(y-2))
}

// logpair64 is log x of a finite x > 0 as a sum, its first part rounded.
func logpair64(x float64) (s, t float64) {
	e, f := logsplit64(x)
	hi, lo := logsum64(f)
	a := float64(e * ln2cut64)
	s = a + hi
	if a == 0 {
		return hi, lo
	}
	return s, ((a - s) + hi) + FMA64(e, ln2rest64, lo)
}

// gammasum64 is y(c + lo + y·p), where the sum may cancel.
func gammasum64(y, p, c, lo float64) float64 {
	t := float64(y * p)
	s := c + t
	return FMA64(y, s, float64(y*(((c-s)+t)+(FMA64(y, p, -t)+lo))))
}

// lgammaone64 is log Γ(1+y) for |y| ≤ ½.
func lgammaone64(y float64) float64 {
	p := FMA64(-0x1.b463900b744ddp-3, y, 0x1.dc7a20a673dbfp-3)
	p = FMA64(p, y, 0x1.2d56a819cdf2cp-3)
	p = FMA64(p, y, -0x1.6412583a002c6p-3)
	p = FMA64(p, y, -0x1.1816a1b579ebdp-3)
	p = FMA64(p, y, 0x1.45b2137eeacf6p-3)
	p = FMA64(p, y, -0x1.8f2b08e7d7becp-7)
	p = FMA64(p, y, 0x1.4b35ba14bf157p-8)
	p = FMA64(p, y, -0x1.bcebcedda9bb9p-5)
	p = FMA64(p, y, 0x1.e642f4069dd6bp-5)
	p = FMA64(p, y, -0x1.a736178a554f3p-5)
	p = FMA64(p, y, 0x1.babd86b2789a7p-5)
	p = FMA64(p, y, -0x1.e2a973b191b5ep-5)
	p = FMA64(p, y, 0x1.00b54913112d9p-4)
	p = FMA64(p, y, -0x1.110cf7c464acfp-4)
	p = FMA64(p, y, 0x1.248873990066cp-4)
	p = FMA64(p, y, -0x1.3b1dced175d16p-4)
	p = FMA64(p, y, 0x1.556ba1e5f84b9p-4)
	p = FMA64(p, y, -0x1.748c32b3ca7e9p-4)
	p = FMA64(p, y, 0x1.9a01dc0b5f5dcp-4)
	p = FMA64(p, y, -0x1.c80670608aa93p-4)
	p = FMA64(p, y, 0x1.010b36c58710bp-3)
	p = FMA64(p, y, -0x1.2703a1dd293fcp-3)
	p = FMA64(p, y, 0x1.5b40cb0fc312dp-3)
	p = FMA64(p, y, -0x1.a8b9c17aa530bp-3)
	p = FMA64(p, y, 0x1.151322ac7dbd2p-2)
	p = FMA64(p, y, -0x1.9a4d55beab2e0p-2)
	p = FMA64(p, y, 0x1.a51a6625307d2p-1)
	return gammasum64(y, p, -0x1.2788cfc6fb619p-1, 0x1.886aea8cf1710p-58)
}

// lgammatwo64 is log Γ(2+y) for |y| ≤ ½.
func lgammatwo64(y float64) float64 {
	p := FMA64(0x1.29094ae791d86p-24, y, -0x1.1fc7410ae48d1p-23)
	p = FMA64(p, y, 0x1.a65a66678463ep-23)
	p = FMA64(p, y, -0x1.ce3cbc65a98b0p-22)
	p = FMA64(p, y, 0x1.01fb12c99bfffp-20)
	p = FMA64(p, y, -0x1.1274ba883e87fp-19)
	p = FMA64(p, y, 0x1.2580386559391p-18)
	p = FMA64(p, y, -0x1.3cb3e1b10fc5bp-17)
	p = FMA64(p, y, 0x1.580ea69ffed45p-16)
	p = FMA64(p, y, -0x1.78de9968be5f7p-15)
	p = FMA64(p, y, 0x1.a127ac1c28bbdp-14)
	p = FMA64(p, y, -0x1.d3fd4b6ed9996p-13)
	p = FMA64(p, y, 0x1.0b36af8e873edp-11)
	p = FMA64(p, y, -0x1.38ac5c2d3cdc8p-10)
	p = FMA64(p, y, 0x1.7add6eada7177p-9)
	p = FMA64(p, y, -0x1.e404fc218dcc7p-8)
	p = FMA64(p, y, 0x1.51322ac7d84f0p-6)
	p = FMA64(p, y, -0x1.13e001a55760ap-4)
	p = FMA64(p, y, 0x1.4a34cc4a60fa6p-2)
	return gammasum64(y, p, 0x1.b0ee6072093cep-2, 0x1.708b5ac1b4638p-58)
}

// lgammabig64 is log Γ(x) for x ≥ 8 as a sum: (x-½)(log x - 1) + ½log 2π - ½
// and a polynomial in 1/x².
func lgammabig64(x float64) (s, t float64) {
	w := 1 / x
	z := float64(w * w)
	p := FMA64(-0x1.560653b41b60cp-6, z, 0x1.96ed7fee5908cp-8)
	p = FMA64(p, z, -0x1.f600c5005d7f2p-10)
	p = FMA64(p, z, 0x1.b94f761c12987p-11)
	p = FMA64(p, z, -0x1.38137eccc0c0dp-11)
	p = FMA64(p, z, 0x1.a01a019ee9267p-11)
	p = FMA64(p, z, -0x1.6c16c16c16b32p-9)
	p = FMA64(p, z, 0x1.5555555555555p-4)
	s, lo := logpair64(x)
	m, u := x-0.5, s-1
	lo += (s - u) - 1
	h := float64(m * u)
	return h, FMA64(m, u, -h) + FMA64(m, lo, FMA64(w, p, 0x1.acfe390c97d69p-2))
}

// exactsum64 returns a + b as a sum whose first part is rounded (Knuth, 1969).
func exactsum64(a, b float64) (s, t float64) {
	s = a + b
	v := s - a
	return s, (a - (s - v)) + (b - v)
}

// sinpi64 is |sin πx|.
func sinpi64(x float64) float64 {
	const pi, piLo = 0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53
	r := Abs(x - RoundEven(x))
	turn := r > 0.25
	if turn {
		r = 0.5 - r
	}
	a := float64(pi * r)
	lo := FMA64(pi, r, -a) + float64(piLo*r)
	s, t := sinsum64(a, lo)
	if turn {
		s, t = cossum64(a, lo)
	}
	return s + t
}

func lgamma64(x float64) float64 {
	switch {
	case !(Abs(x) < inf64()):
		return x
	case x >= 0x1p1000: // the sum might overflow on the way
		s, lo := logpair64(x)
		m := float64(0x1p-10 * x)
		h := float64(m * (s - 1))
		return float64(0x1p10 * (h + FMA64(m, lo, FMA64(m, s-1, -h))))
	case x >= 8:
		h, t := lgammabig64(x)
		return h + t
	case x < -8: // Γ(x)·Γ(1-x) = π/sin πx
		s := sinpi64(x)
		if s == 0 {
			return inf64()
		}
		h, t := lgammabig64(-x)
		a, b := logpair64(-x)
		c, d := logpair64(float64(s * (1 / 0x1.921fb54442d18p+1)))
		a, e := exactsum64(a, c)
		h, g := exactsum64(h, a)
		return -(h + (((b + d) + (e + g)) + t))
	}
	p, y := float64(1), x
	for y < -0.5 {
		p = float64(p * y)
		y++
	}
	if y <= 0.5 { // Γ(x) = Γ(1+y)/(p·y)
		p = Abs(float64(p * y))
		if p == 0 {
			return inf64()
		}
		s, t := logpair64(p)
		return (lgammaone64(y) - t) - s
	}
	if y <= 1.5 {
		return lgammaone64(y - 1)
	}
	for y > 2.5 {
		y--
		p = float64(p * y)
	}
	s, t := logpair64(p)
	return s + (t + lgammatwo64(y-2))
}
