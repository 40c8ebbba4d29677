package dsl

import (
	"math"
	"math/bits"
)

// Reduction of angles to [-π/4, π/4]. Up to about 10⁵ and 10⁶ a three-part π/2
// with FMA serves (Cody and Waite, 1980; Brisebarre et al., 2005). Beyond, the
// fraction of x·2/π comes from an integer product with the bits of 2/π that
// matter for the exponent of x (Payne and Hanek, 1983), so every x is right.

// trigred32 returns q mod 4, and r + lo, of a finite x = q·π/2 + r + lo.
func trigred32(x float32) (q int32, r, lo float32) {
	if !(Abs(x) < 0x1p16) {
		return trigbig32(x)
	}
	n := RoundEven(float32(x * 0x1.45f306p-1))
	a := FMA32(n, -0x1.921fb6p+0, x) // exact
	p := float32(n * -0x1.777a5cp-25)
	plo := FMA32(n, -0x1.777a5cp-25, -p)
	r = a - p
	b := r - a // a and p may be of one size: Knuth's sum
	lo = (a - (r - b)) - (p + b)
	return int32(n), r, FMA32(n, 0x1.ee59dap-50, lo-plo)
}

// trigbig32 is trigred32 for |x| of at least 2^16.
func trigbig32(x float32) (q int32, r, lo float32) {
	u := math.Float32bits(x)
	m := u&0x007FFFFF | 0x00800000
	e := int32(u>>23&0xFF) - 150 // |x| = m·2^e, e from -7 to 104
	// Bits of 2/π above 2^(1-e) give multiples of 4 and are skipped. The words
	// start with 32 zero bits.
	at := e - 2 + 32
	i, sh := at>>5, uint32(at&31)
	w0, w1, w2, w3 := twoOverPi32(i), twoOverPi32(i+1), twoOverPi32(i+2), twoOverPi32(i+3)
	a := uint32((uint64(w0)<<32 | uint64(w1)) << sh >> 32)
	b := uint32((uint64(w1)<<32 | uint64(w2)) << sh >> 32)
	c := uint32((uint64(w2)<<32 | uint64(w3)) << sh >> 32)
	// The product modulo 4 with 62 bits of fraction.
	f := uint64(m*a)<<32 + uint64(m)*uint64(b) + uint64(m)*uint64(c)>>32
	n := (f + 1<<61) >> 62
	frac := int64(f - n<<62)
	hi := float32(frac)
	rest := float32(frac - int64(hi))
	hi, rest = float32(hi*0x1p-62), float32(rest*0x1p-62)
	r = float32(hi * 0x1.921fb6p+0)
	lo = FMA32(hi, 0x1.921fb6p+0, -r)
	lo = FMA32(rest, 0x1.921fb6p+0, FMA32(hi, -0x1.777a5cp-25, lo))
	if x < 0 {
		return -int32(n), -r, -lo
	}
	return int32(n), r, lo
}

// twoOverPi32 is word i of the binary digits of 2/π after 32 zeros.
func twoOverPi32(i int32) uint32 {
	switch i {
	case 1:
		return 0xa2f9836e
	case 2:
		return 0x4e441529
	case 3:
		return 0xfc2757d1
	case 4:
		return 0xf534ddc0
	case 5:
		return 0xdb629599
	case 6:
		return 0x3c439041
	case 7:
		return 0xfe5163ab
	}
	return 0
}

// trigred64 returns q mod 4, and r + lo, of a finite x = q·π/2 + r + lo.
func trigred64(x float64) (q int32, r, lo float64) {
	if !(Abs(x) < 0x1p20) {
		return trigbig64(x)
	}
	n := RoundEven(float64(x * 0x1.45f306dc9c883p-1))
	a := FMA64(n, -0x1.921fb54442d18p+0, x) // exact
	p := float64(n * 0x1.1a62633145c07p-54)
	plo := FMA64(n, 0x1.1a62633145c07p-54, -p)
	r = a - p
	b := r - a
	lo = (a - (r - b)) - (p + b)
	return int32(n), r, FMA64(n, 0x1.f1976b7ed8fbcp-110, lo-plo)
}

// trigbig64 is trigred64 for |x| of at least 2^20.
func trigbig64(x float64) (q int32, r, lo float64) {
	u := math.Float64bits(x)
	m := u&0x000FFFFFFFFFFFFF | 0x0010000000000000
	e := int32(u>>52&0x7FF) - 1075 // |x| = m·2^e, e from -32 to 971
	at := e - 2 + 64
	i, sh := at>>6, uint32(at&63)
	w0, w1, w2, w3 := twoOverPi64(i), twoOverPi64(i+1), twoOverPi64(i+2), twoOverPi64(i+3)
	a := w0<<sh | w1>>(64-sh)
	b := w1<<sh | w2>>(64-sh)
	c := w2<<sh | w3>>(64-sh)
	// The product modulo 4 with 126 bits of fraction.
	f1, f0 := bits.Mul64(m, b)
	low, _ := bits.Mul64(m, c)
	f1 += m * a
	f0 += low
	if f0 < low {
		f1++
	}
	n := (f1 + 1<<61) >> 62
	f1 -= n << 62
	// A negative fraction is negated, so that what follows is unsigned.
	negative := int64(f1) < 0
	if negative {
		f0, f1 = -f0, ^f1
		if f0 == 0 {
			f1++
		}
	}
	hi, rest := fraction64(f1, f0)
	r = float64(hi * 0x1.921fb54442d18p+0)
	lo = FMA64(hi, 0x1.921fb54442d18p+0, -r)
	lo = FMA64(rest, 0x1.921fb54442d18p+0, FMA64(hi, 0x1.1a62633145c07p-54, lo))
	if negative {
		r, lo = -r, -lo
	}
	if x < 0 {
		return -int32(n), -r, -lo
	}
	return int32(n), r, lo
}

// fraction64 returns (f1·2^64 + f0)·2^-126 as a sum, for f1 up to 2^61. It
// shifts leading zeros out first.
func fraction64(f1, f0 uint64) (hi, rest float64) {
	scale := float64(0x1p-62)
	if f1 == 0 {
		f1, f0, scale = f0>>3, f0<<61, 0x1p-123
	}
	if f1 < 1<<60 {
		sh := bits.LeadingZeros64(f1) - 3
		f1, f0 = f1<<sh|f0>>(64-sh), f0<<sh
		scale = float64(scale * pow2f64(-int32(sh)))
	}
	top := f1 >> 9 // exact in a float64
	hi = float64(float64(int64(top)) * float64(scale*0x1p9))
	tail := int64(f1&0x1FF<<53 | f0>>11)
	return hi, float64(float64(tail) * float64(scale*0x1p-53))
}

// twoOverPi64 is word i of the binary digits of 2/π after 64 zeros.
func twoOverPi64(i int32) uint64 {
	switch i {
	case 1:
		return 0xa2f9836e4e441529
	case 2:
		return 0xfc2757d1f534ddc0
	case 3:
		return 0xdb6295993c439041
	case 4:
		return 0xfe5163abdebbc561
	case 5:
		return 0xb7246e3a424dd2e0
	case 6:
		return 0x06492eea09d1921c
	case 7:
		return 0xfe1deb1cb129a73e
	case 8:
		return 0xe88235f52ebb4484
	case 9:
		return 0xe99c7026b45f7e41
	case 10:
		return 0x3991d639835339f4
	case 11:
		return 0x9c845f8bbdf9283b
	case 12:
		return 0x1ff897ffde05980f
	case 13:
		return 0xef2f118b5a0a6d1f
	case 14:
		return 0x6d367ecf27cb09b7
	case 15:
		return 0x4f463f669e5fea2d
	case 16:
		return 0x7527bac7ebe5f17b
	case 17:
		return 0x3d0739f78a5292ea
	case 18:
		return 0x6bfb5fb11f8d5d08
	case 19:
		return 0x56033046fc7b6bab
	}
	return 0
}
