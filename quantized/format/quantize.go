package format

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// Quantizer is a format whose blocks are written, too. Methods are kernel code; all of them compute
// in float32 with one rounding an operation and no fused multiply-add, in the order of the
// reference implementation, so that their bytes are those of the reference.
type Quantizer interface {
	Block
	// Quantize stores the block of the elements of x in out.
	Quantize(out []uint8, x []float32)
}

// Weighted is a format that is also made with the importance of each element: larger ones are to
// have smaller errors. Square is the mean of the squares of the whole row of x.
type Weighted interface {
	Block
	QuantizeWeighted(out []uint8, x, importance []float32, square float32)
}

// putF16 stores d, rounded to half precision, at i, and returns what it was rounded to.
func putF16(out []uint8, i int, d float32) float32 {
	h := dsl.To[dsl.F16](d)
	put16(out, i, uint32(h.Bits()))
	return dsl.F32(h)
}

func put16(out []uint8, i int, v uint32) {
	out[i], out[i+1] = uint8(v), uint8(v>>8)
}

func put32(out []uint8, i int, v uint32) {
	put16(out, i, v)
	put16(out, i+2, v>>16)
}

// nearest rounds to the nearest integer, half to even: the sum with 1.5·2²³ has it in its lowest
// bits. Magnitudes are below 2²². NaN, which numbers near the smallest give, is 0, as with the payload
// that processors of the reference have.
func nearest(x float32) int32 {
	if x != x {
		return 0
	}
	return int32(math.Float32bits(x+12582912)&0x7FFFFF) - 0x400000
}

// nearestIn is nearest, and the closest of lo to hi.
func nearestIn(x float32, lo, hi int32) int32 { return max(lo, min(hi, nearest(x))) }

// awayInt rounds to the nearest integer, half away from zero.
func awayInt(x float32) int32 {
	i := int32(x)
	if f := x - float32(i); f >= 0.5 {
		i++
	} else if f <= -0.5 {
		i--
	}
	return i
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// inverse is 1/d, and 0 of 0.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// extreme returns the element of the largest magnitude, the first one of several; 0 if all are 0.
func extreme(x []float32) (most float32) {
	var amax float32
	for i := range x {
		if a := abs(x[i]); a > amax {
			amax, most = a, x[i]
		}
	}
	return most
}

// span returns the smallest and the largest element.
func span(x []float32) (lo, hi float32) {
	lo, hi = x[0], x[0]
	for i := range x {
		if x[i] < lo {
			lo = x[i]
		}
		if x[i] > hi {
			hi = x[i]
		}
	}
	return lo, hi
}

// squares is the sum of squares.
func squares(x []float32) (s float32) {
	for i := range x {
		s += float32(x[i] * x[i])
	}
	return s
}

// importantWeights stores the weights of squared errors, importance·√(square + x²), and returns
// their sum.
func importantWeights(w, x, importance []float32, square float32) (sum float32) {
	for i := range x {
		w[i] = importance[i] * dsl.Sqrt(square+float32(x[i]*x[i]))
		sum += w[i]
	}
	return sum
}

// packNibbles stores 32 numbers of 4 bits in 16 bytes at i: j in the low, j+16 in the high nibble.
func packNibbles(out []uint8, i int, q []uint8) {
	for j := range 16 {
		out[i+j] = q[j] | q[j+16]<<4
	}
}

// packTops stores bit 4 of 32 numbers in 4 bytes at i, and packNibbles the others behind them.
func packTops(out []uint8, i int, q []uint8) {
	var top uint32
	for j := range 32 {
		top |= uint32(q[j]) >> 4 << j
		q[j] &= 15
	}
	put32(out, i, top)
	packNibbles(out, i+4, q)
}
