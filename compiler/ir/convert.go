package ir

import "math"

// evalConvert converts a number between any two numeric types.
func evalConvert(t *Type, a uint64, from *Type) (uint64, bool) {
	switch {
	case from.IsInt() && t.IsInt():
		return Normalize(t, a), true
	case from.IsInt() && isNumber(t):
		return intToFloat(t, a, from.IsSigned()), true
	case isNumber(from) && t.IsInt():
		return floatToInt(t, decodeFloat(from, a)), true
	case isNumber(from) && isNumber(t):
		return encodeFloat(t, decodeFloat(from, a)), true
	}
	return 0, false
}

func isNumber(t *Type) bool { return t.IsInt() || t.IsFloat() || t.IsHalf() }

// decodeFloat returns the value of a floating-point pattern; it is exact.
func decodeFloat(t *Type, a uint64) float64 {
	switch t.Kind {
	case KF64:
		return math.Float64frombits(a)
	case KF32:
		return float64(math.Float32frombits(uint32(a)))
	case KBF16:
		return float64(math.Float32frombits(uint32(a) << 16))
	}
	return decodeHalf(a)
}

func decodeHalf(a uint64) float64 {
	exp, frac := int(a>>10&31), float64(a&1023)
	var x float64
	switch exp {
	case 0:
		x = math.Ldexp(frac, -24)
	case 31:
		x = math.Inf(1)
		if frac != 0 {
			x = math.NaN()
		}
	default:
		x = math.Ldexp(1024+frac, exp-25)
	}
	if a>>15&1 != 0 {
		x = -x
	}
	return x
}

// encodeFloat rounds x to nearest even in type t.
func encodeFloat(t *Type, x float64) uint64 {
	switch t.Kind {
	case KF64:
		return bits64(x)
	case KF32:
		return bits32(float32(x))
	case KBF16:
		return roundFloat(x, 8, 7)
	}
	return roundFloat(x, 5, 10)
}

// roundFloat rounds x to nearest even in the format with the given numbers of
// exponent and fraction bits.
func roundFloat(x float64, expBits, fracBits int) uint64 {
	inf := (uint64(1)<<expBits - 1) << fracBits
	sign := math.Float64bits(x) >> 63 << (expBits + fracBits)
	if x != x {
		return inf | 1<<(fracBits-1)
	}
	x = math.Abs(x)
	if math.IsInf(x, 0) {
		return sign | inf
	}
	if x == 0 {
		return sign // Frexp has no exponent for it
	}
	bias := 1<<(expBits-1) - 1
	_, e := math.Frexp(x) // x = f * 2^e with f in [0.5, 1)
	exp := max(e-1+bias, 1)
	// One unit in the last place is 2^(exp-bias-fracBits); scaling by it is exact
	// except where x underflows to far below half a unit.
	n := uint64(math.RoundToEven(math.Ldexp(x, bias+fracBits-exp)))
	// n has the implicit bit for normal numbers; adding it to the exponent field
	// less one carries a rounding up to the next power of two, and to infinity.
	r := uint64(exp-1)<<fracBits + n
	return sign | min(r, inf)
}

// intToFloat rounds an integer once. A 64-bit integer does not fit a float64, so
// for the narrower formats its low bits are first gathered into a sticky bit.
func intToFloat(t *Type, a uint64, signed bool) uint64 {
	neg := signed && int64(a) < 0
	u := a
	if neg {
		u = -a
	}
	var r uint64
	switch t.Kind {
	case KF64:
		r = math.Float64bits(float64(u))
	case KF32:
		r = uint64(math.Float32bits(float32(u)))
	default:
		const sticky = 11 // 64 - 53
		if u>>53 != 0 {
			low := u & (1<<sticky - 1)
			u &^= 1<<sticky - 1
			if low != 0 {
				u |= 1 << sticky
			}
		}
		r = encodeFloat(t, float64(u))
	}
	if neg {
		r |= 1 << (t.Bits() - 1)
	}
	return r
}

// floatToInt truncates x and saturates it to the range of t; NaN gives 0.
func floatToInt(t *Type, x float64) uint64 {
	if x != x {
		return 0
	}
	width := t.Bits()
	if t.IsSigned() {
		limit := math.Ldexp(1, width-1)
		switch {
		case x >= limit:
			return 1<<(width-1) - 1
		case x <= -limit:
			return -(uint64(1) << (width - 1))
		}
		return uint64(int64(x))
	}
	switch {
	case x >= math.Ldexp(1, width):
		return math.MaxUint64 >> (64 - width)
	case x <= 0:
		return 0
	}
	return uint64(x)
}
