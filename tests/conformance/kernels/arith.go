package kernels

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/dsl"
)

// Saxpy adds a*x to y.
//
//kiln:kernel
func Saxpy[T float32 | float64](t dsl.Thread, y, x []T, a T) {
	for i := t.Global(); i < len(y); i += t.GlobalSize() {
		y[i] = a*x[i] + y[i] // two roundings: nothing is contracted
	}
}

// SwiGLU is silu(gate) * up.
//
//kiln:kernel
func SwiGLU[T dsl.Float](t dsl.Thread, out, gate, up []T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		g := dsl.F32(gate[i])
		out[i] = dsl.To[T](g / (1 + dsl.Exp(-g)) * dsl.F32(up[i]))
	}
}

// Integer is the set of Go's integer types.
type Integer interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | int | uint
}

// Ints writes ten results of integer arithmetic for each pair of operands. The
// divisor is never zero: that is a panic in Go.
//
//kiln:kernel
func Ints[T Integer](t dsl.Thread, out, x, y []T) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	a, b := x[i], y[i]
	d := b
	if d == 0 {
		d = 3
	}
	o := out[i*10 : i*10+10]
	o[0] = a + b
	o[1] = a - b
	o[2] = a * b
	o[3] = a / d
	o[4] = a % d
	o[5] = a&b | ^a
	o[6] = a ^ b&^a
	o[7] = a<<uint(b&127) + a>>uint(b&63)
	o[8] = min(a, b) - max(a, b, 7)
	o[9] = -a
}

// Shifts shifts by every kind of count, past the width too.
//
//kiln:kernel
func Shifts[T Integer](t dsl.Thread, out, x []T, n []uint8) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	c := n[i]
	out[3*i] = x[i] << c
	out[3*i+1] = x[i] >> uint64(c)
	out[3*i+2] = x[i] >> int32(c)
}

// Floats writes eleven results of float arithmetic for each pair of operands.
//
//kiln:kernel
func Floats[T float32 | float64](t dsl.Thread, out, x, y []T) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	a, b := x[i], y[i]
	out[i*11] = a + b
	out[i*11+1] = a - b
	out[i*11+2] = a * b
	out[i*11+3] = a / b
	out[i*11+4] = dsl.FMA(a, b, a)
	out[i*11+5] = min(a, b)
	out[i*11+6] = max(a, b)
	out[i*11+7] = dsl.Sqrt(a) + dsl.Copysign(a, b)
	out[i*11+8] = dsl.Floor(a) - dsl.Ceil(b)
	out[i*11+9] = dsl.Trunc(a) * dsl.RoundEven(b)
	out[i*11+10] = -dsl.Abs(a) + dsl.Round(b)
}

// Compare writes the six comparisons and two tests as bits.
//
//kiln:kernel
func Compare[T int32 | uint64 | float32 | float64](t dsl.Thread, out []uint32, x, y []T) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	var m uint32
	for b, c := range [6]bool{x[i] == y[i], x[i] != y[i], x[i] < y[i], x[i] <= y[i], x[i] > y[i], x[i] >= y[i]} {
		if c {
			m |= 1 << b
		}
	}
	if x[i] < y[i] && !(x[i] == 0) || y[i] > 5 {
		m |= 64
	}
	out[i] = m
}

// Convert converts between two number types.
//
//kiln:kernel
func Convert[D, S int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64](t dsl.Thread, out []D, in []S) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		out[i] = D(in[i])
	}
}

// Halves converts to float32 and back, by both 16-bit formats.
//
//kiln:kernel
func Halves[T dsl.Float](t dsl.Thread, out []T, wide []float32, in []T) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		wide[i] = dsl.F32(in[i])
		out[i] = dsl.To[T](wide[i] * 1.0009765625)
	}
}

// Narrow converts to 8 bits and back to float64.
//
//kiln:kernel
func Narrow[T dsl.F8E4M3 | dsl.F8E5M2](t dsl.Thread, out []T, wide []float64, in []float32) {
	for i := t.Global(); i < len(in); i += t.GlobalSize() {
		out[i] = dsl.To[T](in[i])
		wide[i] = dsl.F64(out[i])
	}
}

// Words uses the operations on the bytes of words, and high products.
//
//kiln:kernel
func Words(t dsl.Thread, out []uint32, x, y, z []uint32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	a, b, c := x[i], y[i], z[i]
	o := out[9*i : 9*i+9]
	o[0] = dsl.Permute(a, b, c)
	o[1] = dsl.Permute(a, 0, 0x4021) ^ dsl.Permute(b, c, 0x9B6D)
	o[2] = dsl.Dot4(a, b, c)
	o[3] = uint32(dsl.Dot4(int32(a), int32(b), int32(c)))
	o[4] = dsl.Dot4(a, 0x01010101, 0)
	o[5] = dsl.MulHi(a, b)
	o[6] = uint32(dsl.MulHi(int32(a), int32(b)))
	o[7] = uint32(dsl.MulHi(uint8(a), uint8(b))) | uint32(dsl.MulHi(uint16(a), uint16(b)))<<16
	o[8] = uint32(uint8(dsl.MulHi(int8(a), int8(b)))) | uint32(uint16(dsl.MulHi(int16(a), int16(b))))<<16
}

// FromEnd stores the elements of x in the opposite order.
//
//kiln:kernel
func FromEnd[T dsl.Number](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[i] = x[len(x)-1-i]
	}
}

// Reversed turns bits and bytes around.
//
//kiln:kernel
func Reversed(t dsl.Thread, out []uint64, x []uint64) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	v := x[i]
	o := out[5*i : 5*i+5]
	o[0] = bits.Reverse64(v) ^ uint64(bits.Reverse(uint(v)*3))
	o[1] = uint64(bits.Reverse8(uint8(v))) | uint64(bits.Reverse16(uint16(v)))<<16 | uint64(bits.Reverse32(uint32(v)))<<32
	o[2] = bits.ReverseBytes64(v) + uint64(bits.ReverseBytes(uint(v)))
	o[3] = uint64(bits.ReverseBytes16(uint16(v))) | uint64(bits.ReverseBytes32(uint32(v)))<<32
	o[4] = uint64(bits.RotateLeft8(uint8(v), 3)) | uint64(bits.RotateLeft16(uint16(v), -3))<<16 |
		uint64(bits.LeadingZeros8(uint8(v))+bits.TrailingZeros16(uint16(v))+bits.OnesCount8(uint8(v))+bits.Len16(uint16(v)))<<32
}

// Carries adds, subtracts and multiplies numbers of 128 bits.
//
//kiln:kernel
func Carries(t dsl.Thread, out []uint64, x, y []uint64) {
	i := t.Global()
	if 2*i+1 >= len(x) {
		return
	}
	x0, x1, y0, y1 := x[2*i], x[2*i+1], y[2*i], y[2*i+1]
	o := out[9*i : 9*i+9]
	var c uint64
	o[0], c = bits.Add64(x0, y0, x1&1)
	o[1], o[2] = bits.Add64(x1, y1, c)
	o[3], c = bits.Sub64(x0, y0, 0)
	o[4], o[5] = bits.Sub64(x1, y1, c)
	s, d := bits.Add32(uint32(x0), uint32(y0), uint32(c))
	e, f := bits.Sub32(uint32(x0), uint32(y0), d)
	o[6] = uint64(s) | uint64(e)<<32
	hi, lo := bits.Mul32(uint32(x1), uint32(y1))
	u, v := bits.Add(uint(x0), uint(y1), uint(f))
	w, z := bits.Sub(uint(x1), u, v)
	p, q := bits.Mul(uint(x0), uint(y0))
	o[7] = uint64(hi)<<32 | uint64(lo)
	o[8] = uint64(w^p*3^q) + uint64(z)
}

// Bits uses the bit operations of math and math/bits.
//
//kiln:kernel
func Bits(t dsl.Thread, out []uint64, x []uint64, f []float32) {
	i := t.Global()
	if i >= len(x) {
		return
	}
	v := x[i]
	out[6*i] = uint64(bits.LeadingZeros64(v))<<32 | uint64(bits.LeadingZeros32(uint32(v)))
	out[6*i+1] = uint64(bits.TrailingZeros64(v))<<32 | uint64(bits.TrailingZeros32(uint32(v)))
	out[6*i+2] = uint64(bits.OnesCount64(v))<<32 | uint64(bits.OnesCount32(uint32(v)))
	out[6*i+3] = bits.RotateLeft64(v, 13) ^ uint64(bits.RotateLeft32(uint32(v), -5))
	hi, lo := bits.Mul64(v, v|1)
	out[6*i+4] = hi ^ lo
	out[6*i+5] = uint64(math.Float32bits(f[i])) | math.Float64bits(float64(math.Float32frombits(uint32(v)&0x7f7fffff)))<<1
}

// Trailing ends in a parameter of one byte, which makes the size of the
// argument block odd.
//
//kiln:kernel
func Trailing(t dsl.Thread, out []int32, a int32, b bool, c int8) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = a + int32(c)
		if b {
			out[i] *= 3
		}
	}
}
