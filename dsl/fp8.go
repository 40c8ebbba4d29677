package dsl

import "math"

// The conversions of 8-bit floats are compiled from these bodies on every target:
// F32[F8E4M3] is f32E4M3, and so on. That makes their bits the same everywhere.

// f32E4M3 puts the bits where float32 has them. The exponent is then too low by
// the difference of the biases, which a product corrects exactly, of subnormal
// numbers too.
func f32E4M3(x F8E4M3) float32 {
	b := uint32(uint8(x))
	r := math.Float32bits(float32(math.Float32frombits(b&0x7F<<20) * 0x1p120))
	if b&0x7F == 0x7F {
		r = 0x7FC00000
	}
	return math.Float32frombits(r | b&0x80<<24)
}

func f32E5M2(x F8E5M2) float32 { return F32(F16(uint16(uint8(x)) << 8)) }

func f64E4M3(x F8E4M3) float64 { return float64(f32E4M3(x)) }

func f64E5M2(x F8E5M2) float64 { return float64(f32E5M2(x)) }

// toE4M3 rounds normal numbers by adding half of the last kept bit, less one where
// that bit is even. It rounds the others by adding 2^14: the last place of the sum
// is the distance between them, 2^-9.
func toE4M3(x float32) F8E4M3 {
	b := math.Float32bits(x)
	a := b & 0x7FFFFFFF
	if a > 0x7F800000 {
		return 0x7F
	}
	a = min(a, 0x43E00000) // 448
	r := (a+0x7FFFF+a>>20&1)>>20 - 120<<3
	if a < 0x3C800000 { // 2^-6
		r = math.Float32bits(math.Float32frombits(a)+0x1p14) - 0x46800000
	}
	return F8E4M3(uint8(r | b>>24&0x80))
}

// toE5M2 is toE4M3 for the other format, whose subnormal numbers lie 2^-16 apart.
func toE5M2(x float32) F8E5M2 {
	b := math.Float32bits(x)
	a := b & 0x7FFFFFFF
	if a > 0x7F800000 {
		return 0x7F
	}
	a = min(a, 0x47600000) // 57344
	r := (a+0xFFFFF+a>>21&1)>>21 - 112<<2
	if a < 0x38800000 { // 2^-14
		r = math.Float32bits(math.Float32frombits(a)+0x1p7) - 0x43000000
	}
	return F8E5M2(uint8(r | b>>24&0x80))
}
