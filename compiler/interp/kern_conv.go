package interp

import (
	"math"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// convKern returns the kernel that converts between two numeric types.
func convKern(to, from *ir.Type) kern {
	switch from.Kind {
	case ir.KI8:
		return fromInt[int8](to)
	case ir.KU8:
		return fromInt[uint8](to)
	case ir.KI16:
		return fromInt[int16](to)
	case ir.KU16:
		return fromInt[uint16](to)
	case ir.KI32:
		return fromInt[int32](to)
	case ir.KU32:
		return fromInt[uint32](to)
	case ir.KI64:
		return fromInt[int64](to)
	case ir.KU64:
		return fromInt[uint64](to)
	case ir.KF32:
		if to.Kind == ir.KBF16 {
			return bf16FromF32
		}
		return fromFloat[float32](to)
	case ir.KF64:
		return fromFloat[float64](to)
	}
	return fromHalf(to, from)
}

func fromInt[S integer](to *ir.Type) kern {
	switch to.Kind {
	case ir.KI8, ir.KU8:
		return convert[uint8, S]
	case ir.KI16, ir.KU16:
		return convert[uint16, S]
	case ir.KI32, ir.KU32:
		return convert[uint32, S]
	case ir.KI64, ir.KU64:
		return convert[uint64, S]
	case ir.KF32:
		return convert[float32, S]
	case ir.KF64:
		return convert[float64, S]
	case ir.KF16:
		return intToHalf[S](encodeF16)
	}
	return intToHalf[S](encodeBF16)
}

func fromFloat[S float](to *ir.Type) kern {
	switch to.Kind {
	case ir.KI8:
		return toInt[int8, S](math.MinInt8, math.MaxInt8)
	case ir.KU8:
		return toInt[uint8, S](0, math.MaxUint8)
	case ir.KI16:
		return toInt[int16, S](math.MinInt16, math.MaxInt16)
	case ir.KU16:
		return toInt[uint16, S](0, math.MaxUint16)
	case ir.KI32:
		return toInt[int32, S](math.MinInt32, math.MaxInt32)
	case ir.KU32:
		return toInt[uint32, S](0, math.MaxUint32)
	case ir.KI64:
		return toInt[int64, S](math.MinInt64, math.MaxInt64)
	case ir.KU64:
		return toInt[uint64, S](0, math.MaxUint64)
	case ir.KF32:
		return convert[float32, S]
	case ir.KF64:
		return convert[float64, S]
	case ir.KF16:
		return floatToHalf[S](encodeF16)
	}
	return floatToHalf[S](encodeBF16)
}

// fromHalf converts through float32, which holds every half exactly.
func fromHalf(to, from *ir.Type) kern {
	decode := decodeF16
	if from.Kind == ir.KBF16 {
		decode = decodeBF16
	}
	switch {
	case to == from:
		return copyLanes[uint16]
	case to.Kind == ir.KF32:
		return func(d, a, _, _ unsafe.Pointer, n int) { decode(lanes[float32](d, n), lanes[uint16](a, n)) }
	}
	return throughF32(decode, convKern(to, ir.F32), to.Size())
}

// throughF32 decodes a piece at a time and converts the piece.
func throughF32(decode func([]float32, []uint16), next kern, size int) kern {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		var buf [64]float32
		for i := 0; i < n; i += len(buf) {
			k := min(n-i, len(buf))
			decode(buf[:k], lanes[uint16](unsafe.Add(a, 2*i), k))
			next(unsafe.Add(d, size*i), unsafe.Pointer(&buf), nil, nil, k)
		}
	}
}

func convert[D, S number](d, a, _, _ unsafe.Pointer, n int) {
	dst := lanes[D](d, n)
	A := lanes[S](a, n)[:len(dst)]
	for i := range dst {
		dst[i] = D(A[i])
	}
}

// toInt truncates, saturates to lo..hi and gives 0 for NaN.
func toInt[D integer, S float](lo, hi D) kern {
	below, above := float64(lo), float64(hi) // above rounds up to 2^63 or 2^64 for 64 bits
	return func(d, a, _, _ unsafe.Pointer, n int) {
		dst := lanes[D](d, n)
		A := lanes[S](a, n)[:len(dst)]
		for i := range dst {
			switch x := float64(A[i]); {
			case x >= above:
				dst[i] = hi
			case x > below:
				dst[i] = D(x)
			case x == x:
				dst[i] = lo
			default:
				dst[i] = 0
			}
		}
	}
}

func floatToHalf[S float](encode func(float64) uint16) kern {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		dst := lanes[uint16](d, n)
		A := lanes[S](a, n)[:len(dst)]
		for i := range dst {
			dst[i] = encode(float64(A[i]))
		}
	}
}

func intToHalf[S integer](encode func(float64) uint16) kern {
	return func(d, a, _, _ unsafe.Pointer, n int) {
		dst := lanes[uint16](d, n)
		A := lanes[S](a, n)[:len(dst)]
		for i := range dst {
			dst[i] = encode(oddFloat(A[i]))
		}
	}
}

// oddFloat converts to float64, rounding to odd, so that a second rounding to
// fewer bits is right.
func oddFloat[S integer](x S) float64 {
	if unsafe.Sizeof(x) < 8 {
		return float64(x)
	}
	neg := x < 0
	u := uint64(x)
	if neg {
		u = -u
	}
	if u >= 1<<53 {
		// The lowest of the 53 bits that float64 has stands for all that are dropped.
		u = u>>11<<11 | b2u(u&(1<<11-1) != 0)<<11
	}
	f := float64(u)
	if neg {
		f = -f
	}
	return f
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func encodeF16(x float64) uint16  { return encodeHalf(x, 5, 10) }
func encodeBF16(x float64) uint16 { return encodeHalf(x, 8, 7) }

// encodeHalf rounds x to a 16-bit format of the given field widths, to nearest
// even; NaN gives a quiet NaN.
func encodeHalf(x float64, expBits, fracBits int) uint16 {
	b := math.Float64bits(x)
	sign := uint16(b >> 63 << 15)
	inf := uint16(1<<expBits-1) << fracBits
	exp := int(b>>52&0x7FF) - 1023
	frac := b & (1<<52 - 1)
	switch {
	case exp == 1024 && frac != 0:
		return sign | inf | 1<<(fracBits-1)
	case exp == 1024:
		return sign | inf
	case exp == -1023:
		return sign // zero, or far below the smallest half
	}
	bias := 1<<(expBits-1) - 1
	drop := 52 - fracBits
	frac |= 1 << 52
	if e := exp + bias; e >= 1 {
		// The implicit bit adds one to the exponent field, as does a carry.
		frac += uint64(e-1) << 52
	} else {
		drop += 1 - e
	}
	if drop > 54 {
		return sign
	}
	r := frac >> drop
	rest, half := frac&(1<<drop-1), uint64(1)<<(drop-1)
	if rest > half || rest == half && r&1 != 0 {
		r++
	}
	return sign | uint16(min(r, uint64(inf)))
}

func decodeBF16(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(src[i]) << 16)
	}
}

func decodeF16(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = halfFloat(src[i])
	}
}

func halfFloat(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0:
		return math.Float32frombits(math.Float32bits(float32(frac)*0x1p-24) | sign)
	case 31:
		exp = 255 - (127 - 15)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// bf16FromF32 is the common case of encodeBF16 in integer arithmetic.
func bf16FromF32(d, a, _, _ unsafe.Pointer, n int) {
	dst := lanes[uint16](d, n)
	A := lanes[uint32](a, n)[:len(dst)]
	for i := range dst {
		x := A[i]
		if x&^(1<<31) > 0x7F800000 {
			dst[i] = uint16(x>>16) | 0x40
			continue
		}
		dst[i] = uint16((x + 0x7FFF + x>>16&1) >> 16)
	}
}
