package interp

import (
	"math"
	"math/bits"
	"unsafe"
)

// kern is one loop over n lanes: d[i] = op(a[i], b[i], c[i]). The pointers are to
// the first lane, or to the one scalar of an operand that is the same for all.
type kern func(d, a, b, c unsafe.Pointer, n int)

type signed interface{ int8 | int16 | int32 | int64 }
type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}
type integer interface{ signed | unsigned }
type float interface{ float32 | float64 }
type number interface{ integer | float }

// lanes views n lanes at p.
func lanes[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// forms is an operation of two operands in the forms that exist: both arrays,
// b scalar, a scalar. A missing form is served by copying the scalar to an array.
type forms struct{ vv, vs, sv kern }

func addForms[T number]() forms { return forms{vv: addVV[T], vs: addVS[T]} }
func subForms[T number]() forms { return forms{subVV[T], subVS[T], subSV[T]} }
func mulForms[T number]() forms { return forms{vv: mulVV[T], vs: mulVS[T]} }

func addVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] + B[i]
	}
}

func addVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] + y
	}
}

func subVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] - B[i]
	}
}

func subVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] - y
	}
}

func subSV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	x, B := *(*T)(a), lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = x - B[i]
	}
}

func mulVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] * B[i]
	}
}

func mulVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] * y
	}
}

func divFloatVV[T float](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] / B[i]
	}
}

func divFloatVS[T float](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] / y
	}
}

func divFloatSV[T float](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	x, B := *(*T)(a), lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = x / B[i]
	}
}

func divIntVV[T integer](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		if y := B[i]; y != 0 {
			D[i] = A[i] / y
		} else {
			D[i] = 0
		}
	}
}

func remIntVV[T integer](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		if y := B[i]; y != 0 {
			D[i] = A[i] % y
		} else {
			D[i] = A[i]
		}
	}
}

func minVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = min(A[i], B[i])
	}
}

func minVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = min(A[i], y)
	}
}

func maxVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = max(A[i], B[i])
	}
}

func maxVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = max(A[i], y)
	}
}

func negInt[T integer](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = -A[i]
	}
}

// mulHiNarrow serves types of at most 32 bits.
func mulHiNarrow[T integer](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	width := uint(unsafe.Sizeof(D[0]) * 8)
	for i := range D {
		D[i] = T(int64(A[i]) * int64(B[i]) >> width) // 32-bit unsigned products keep their bits in int64
	}
}

func mulHiU64(d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A, B := lanes[uint64](a, n)[:len(D)], lanes[uint64](b, n)[:len(D)]
	for i := range D {
		D[i], _ = bits.Mul64(A[i], B[i])
	}
}

func mulHiI64(d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[int64](d, n)
	A, B := lanes[int64](a, n)[:len(D)], lanes[int64](b, n)[:len(D)]
	for i := range D {
		x, y := A[i], B[i]
		hi, _ := bits.Mul64(uint64(x), uint64(y))
		// The unsigned product takes a negative factor as 2^64 too large.
		D[i] = int64(hi) - x>>63&y - y>>63&x
	}
}

func andVV[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] & B[i]
	}
}

func andVS[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] & y
	}
}

func orVV[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] | B[i]
	}
}

func orVS[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] | y
	}
}

func xorVV[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] ^ B[i]
	}
}

func xorVS[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] ^ y
	}
}

func andNotVV[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] &^ B[i]
	}
}

func not[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = ^A[i]
	}
}

func notBool(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[uint8](d, n)
	A := lanes[uint8](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] ^ 1
	}
}

// fixBool turns any byte but zero into one.
func fixBool(d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A := lanes[uint8](a, n)[:len(D)]
	for i := range D {
		D[i] = A[i] != 0
	}
}

// Shift counts are uint64 whatever the type of the count was.

func shlVV[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[uint64](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] << B[i]
	}
}

func shlVS[T unsigned](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*uint64)(b)
	if y >= uint64(unsafe.Sizeof(D[0])*8) {
		clear(D)
		return
	}
	y &= 63
	for i := range D {
		D[i] = A[i] << y
	}
}

func shrVV[T integer](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[uint64](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] >> B[i]
	}
}

func shrVS[T integer](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*uint64)(b)
	for i := range D {
		D[i] = A[i] >> y
	}
}

func popcount[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(bits.OnesCount64(uint64(A[i])))
	}
}

func clz[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	above := 64 - int(unsafe.Sizeof(D[0]))*8
	for i := range D {
		D[i] = T(bits.LeadingZeros64(uint64(A[i])) - above)
	}
}

func ctz[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	stop := uint64(1) << (unsafe.Sizeof(D[0])*8 - 1) << 1 // the bit above the type, 0 for 64 bits
	for i := range D {
		D[i] = T(bits.TrailingZeros64(uint64(A[i]) | stop))
	}
}

func reverse[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	above := 64 - int(unsafe.Sizeof(D[0]))*8
	for i := range D {
		D[i] = T(bits.Reverse64(uint64(A[i])) >> above)
	}
}

// permute picks bytes of b:a by the nibbles of c.
func permute(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[uint32](d, n)
	A, B, C := lanes[uint32](a, n)[:len(D)], lanes[uint32](b, n)[:len(D)], lanes[uint32](c, n)[:len(D)]
	for i := range D {
		all, sel := uint64(B[i])<<32|uint64(A[i]), C[i]
		var r uint32
		for k := 0; k < 32; k += 8 {
			x := int8(all >> (sel & 7 * 8))
			if sel&8 != 0 {
				x >>= 7
			}
			r |= uint32(uint8(x)) << k
			sel >>= 4
		}
		D[i] = r
	}
}

func dot4Signed(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[int32](d, n)
	A, B, C := lanes[[4]int8](a, n)[:len(D)], lanes[[4]int8](b, n)[:len(D)], lanes[int32](c, n)[:len(D)]
	for i := range D {
		x, y, sum := A[i], B[i], C[i]
		for k := range x {
			sum += int32(x[k]) * int32(y[k])
		}
		D[i] = sum
	}
}

func dot4Unsigned(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[uint32](d, n)
	A, B, C := lanes[[4]uint8](a, n)[:len(D)], lanes[[4]uint8](b, n)[:len(D)], lanes[uint32](c, n)[:len(D)]
	for i := range D {
		x, y, sum := A[i], B[i], C[i]
		for k := range x {
			sum += uint32(x[k]) * uint32(y[k])
		}
		D[i] = sum
	}
}

func eqVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] == B[i]
	}
}

func eqVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] == y
	}
}

func neVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] != B[i]
	}
}

func neVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] != y
	}
}

func ltVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] < B[i]
	}
}

func ltVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] < y
	}
}

func ltSV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	x, B := *(*T)(a), lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = x < B[i]
	}
}

func leVV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, B := lanes[T](a, n)[:len(D)], lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = A[i] <= B[i]
	}
}

func leVS[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	A, y := lanes[T](a, n)[:len(D)], *(*T)(b)
	for i := range D {
		D[i] = A[i] <= y
	}
}

func leSV[T number](d, a, b, _ unsafe.Pointer, n int) {
	D := lanes[bool](d, n)
	x, B := *(*T)(a), lanes[T](b, n)[:len(D)]
	for i := range D {
		D[i] = x <= B[i]
	}
}

// selectVV picks by the bool a from the arrays b and c.
func selectVV[T unsigned](d, a, b, c unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B, C := lanes[bool](a, n)[:len(D)], lanes[T](b, n)[:len(D)], lanes[T](c, n)[:len(D)]
	for i := range D {
		x := C[i]
		if y := B[i]; A[i] {
			x = y
		}
		D[i] = x
	}
}

func selectVS[T unsigned](d, a, b, c unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, B, z := lanes[bool](a, n)[:len(D)], lanes[T](b, n)[:len(D)], *(*T)(c)
	for i := range D {
		x := z
		if y := B[i]; A[i] {
			x = y
		}
		D[i] = x
	}
}

func selectSV[T unsigned](d, a, b, c unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y, C := lanes[bool](a, n)[:len(D)], *(*T)(b), lanes[T](c, n)[:len(D)]
	for i := range D {
		x := C[i]
		if A[i] {
			x = y
		}
		D[i] = x
	}
}

func selectSS[T unsigned](d, a, b, c unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A, y, z := lanes[bool](a, n)[:len(D)], *(*T)(b), *(*T)(c)
	for i := range D {
		x := z
		if A[i] {
			x = y
		}
		D[i] = x
	}
}

// selectArray picks whole arrays by the scalar bool a.
func selectArray[T unsigned](d, a, b, c unsafe.Pointer, n int) {
	if !*(*bool)(a) {
		b = c
	}
	copy(lanes[T](d, n), lanes[T](b, n))
}

func copyLanes[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	copy(lanes[T](d, n), lanes[T](a, n))
}

// splat fills an array with a scalar.
func splat[T unsigned](d, a, _, _ unsafe.Pointer, n int) {
	D, x := lanes[T](d, n), *(*T)(a)
	for i := range D {
		D[i] = x
	}
}

// indexVV computes addresses: base a plus index b times the scalar c.
func indexVV(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A, B, size := lanes[uint64](a, n)[:len(D)], lanes[uint64](b, n)[:len(D)], *(*uint64)(c)
	for i := range D {
		D[i] = A[i] + B[i]*size
	}
}

func indexVS(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	A, y := lanes[uint64](a, n)[:len(D)], *(*uint64)(b)**(*uint64)(c)
	for i := range D {
		D[i] = A[i] + y
	}
}

func indexSV(d, a, b, c unsafe.Pointer, n int) {
	D := lanes[uint64](d, n)
	x, B, size := *(*uint64)(a), lanes[uint64](b, n)[:len(D)], *(*uint64)(c)
	for i := range D {
		D[i] = x + B[i]*size
	}
}

func sqrtKern[T float](d, a, _, _ unsafe.Pointer, n int) {
	D := lanes[T](d, n)
	A := lanes[T](a, n)[:len(D)]
	for i := range D {
		D[i] = T(math.Sqrt(float64(A[i])))
	}
}
