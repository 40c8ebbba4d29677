package interp

import (
	"math"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

func neg32(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[uint32](d, n)
	A := lanes[uint32](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] ^ 1<<31
	}
}

func neg64(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A := lanes[uint64](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] ^ 1<<63
	}
}

func abs32(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[uint32](d, n)
	A := lanes[uint32](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] &^ (1 << 31)
	}
}

func abs64(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A := lanes[uint64](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] &^ (1 << 63)
	}
}

func copysign32(d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[uint32](d, n)
	A, B := lanes[uint32](a, n)[:len(D)], lanes[uint32](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i]&^(1<<31) | B[i]&(1<<31)
	}
}

func copysign64(d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A, B := lanes[uint64](a, n)[:len(D)], lanes[uint64](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i]&^(1<<63) | B[i]&(1<<63)
	}
}

func floorKern[T float](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(math.Floor(float64(A[i])))
	}
}

func ceilKern[T float](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(math.Ceil(float64(A[i])))
	}
}

func truncKern[T float](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(math.Trunc(float64(A[i])))
	}
}

func rintKern[T float](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(math.RoundToEven(float64(A[i])))
	}
}

// approxKern returns the kernel of an operation that need not be exact.
func approxKern(op ir.Op) kern {
	if op.Info().Args == 2 {
		return func(d, a, b, _ unsafe.Pointer, n int) {
			D := lanes[float32](d, n)
			A, B := lanes[float32](a, n)[:len(D)], lanes[float32](b, n)[:len(D)]
			for i := range D {
				D[i] = ir.Approx(op, A[i], B[i])
			}
		}
	}
	return func(d, a, _, _ unsafe.Pointer, n int) {
		D := lanes[float32](d, n)
		A := lanes[float32](a, n)[:len(D)]
		for i := range D {
			D[i] = ir.Approx(op, A[i], 0)
		}
	}
}

func fma64VVV(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[float64](d, n)
	A, B, C := lanes[float64](a, n)[:len(D)], lanes[float64](b, n)[:len(D)], lanes[float64](c, n)[:len(D)]
	for i := range D {
		D[i] = math.FMA(A[i], B[i], C[i])
	}
}

func fma64VVS(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[float64](d, n)
	A, B, z := lanes[float64](a, n)[:len(D)], lanes[float64](b, n)[:len(D)], *(*float64)(c)
	for i := range D {
		D[i] = math.FMA(A[i], B[i], z)
	}
}

func fma32VVV(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[float32](d, n)
	A, B, C := lanes[float32](a, n)[:len(D)], lanes[float32](b, n)[:len(D)], lanes[float32](c, n)[:len(D)]
	for i := range D {
		p, z := float64(A[i])*float64(B[i]), float64(C[i])
		s := p + z
		if !roundsTwice(s) {
			D[i] = float32(s)
		} else {
			D[i] = fma32Slow(p, z, s)
		}
	}
}

func fma32VVS(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[float32](d, n)
	A, B, z := lanes[float32](a, n)[:len(D)], lanes[float32](b, n)[:len(D)], float64(*(*float32)(c))
	for i := range D {
		p := float64(A[i]) * float64(B[i])
		s := p + z
		if !roundsTwice(s) {
			D[i] = float32(s)
		} else {
			D[i] = fma32Slow(p, z, s)
		}
	}
}

// roundsTwice reports whether rounding the float64 sum s to float32 may differ
// from rounding the exact sum: s is halfway between two float32 values, or its
// float32 is subnormal so that halfway is elsewhere, or it is not finite.
func roundsTwice(s float64) bool {
	const half, below = 1 << 28, 1<<29 - 1
	b := math.Float64bits(s)
	exp := b >> 52 & 0x7FF
	return b&below == half || exp-(1023-126) >= 0x7FF-(1023-126) && s != 0
}

// fma32Slow rounds the exact p+z once; s is the float64 sum. The product p of two
// float32 is exact in float64. The error of the sum is exact too (Knuth's TwoSum);
// where there is one, s is moved to the neighbour with an odd last bit, and the
// odd bit then stands for it in the second rounding (Boldo and Melquiond, 2008).
func fma32Slow(p, z, s float64) float32 {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	t := s - p
	e := (p - (s - t)) + (z - t)
	b := math.Float64bits(s)
	if e != 0 && b&1 == 0 {
		if (e > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}
