package irconf

import (
	"math"
	"math/rand/v2"

	"github.com/gokiln/kiln/compiler/ir"
)

// Edges returns values of type t at which operations tend to go wrong, as
// canonical bits.
func Edges(t *ir.Type) []uint64 {
	switch t.Kind {
	case ir.KBool:
		return []uint64{0, 1}
	case ir.KF16:
		return []uint64{0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3800, 0x3c00, 0xbc00, 0x3e00, 0x4100, 0xc100, 0x57ff, 0x5800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01}
	case ir.KBF16:
		return []uint64{0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x3f00, 0x3f80, 0xbf80, 0x3fc0, 0x4020, 0xc020, 0x42ff, 0x4f00, 0xcf00, 0x5f00, 0xdf00, 0x5f80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc1, 0x7f81}
	case ir.KF32:
		return float32Edges()
	case ir.KF64:
		return float64Edges()
	}
	return intEdges(t)
}

func intEdges(t *ir.Type) []uint64 {
	w := t.Bits()
	var out []uint64
	seen := map[uint64]bool{}
	for _, v := range []uint64{0, 1, 2, 3, 5, 7, 8, 10, 100, 127, 128, 255, 1 << (w / 2), 1<<(w/2) - 1, 1<<(w-1) - 1, 1 << (w - 1), 1<<(w-1) + 1,
		0x80800001, 0x40400001, 0x8080000000000001, 0x4040000000000001, 2049, 2051, 65519, 65520, // near ties of the half formats
		0x0123456789abcdef, 0xfedcba9876543210, 1<<24 + 1, 1<<53 + 1, neg(1), neg(2), neg(3), neg(7), neg(8), neg(100)} {
		if v = ir.Normalize(t, v); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

var specials = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, -0.1, 3, 7, 100.25, 127.5, -128.5, 255.5, 256, 32767.5, -32769, 65504, 65519, 65520, 65535.5,
	1 << 24, 1<<31 - 128, 1 << 31, -(1 << 31), -(1<<31 + 256), 1 << 32, 1 << 53, 1 << 63, -(1 << 63), 1 << 64, 1e10, -1e10, 1e20, -1e20, 1e-10,
	math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1.fffffcp-127, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1p-133,
	math.Inf(1), math.Inf(-1), math.NaN(),
}

func float32Edges() []uint64 {
	var out []uint64
	for _, x := range specials {
		out = append(out, uint64(math.Float32bits(float32(x))))
	}
	// Halfway cases of the conversion to bf16, and one step to either side.
	return append(out, 0x3f808000, 0x3f818000, 0x3f817fff, 0x3f818001, 0x7f7f8000, 0x7f7f7fff, 0xffc12345, 0x7f800001)
}

func float64Edges() []uint64 {
	var out []uint64
	for _, x := range specials {
		out = append(out, math.Float64bits(x))
	}
	for _, x := range []float64{
		math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-1022, 1e300, -1e300, 1<<31 - 0.5, 1<<32 - 0.5, math.MaxInt64, 0x1.fffffffffffffp62,
		0x1.0000010000001p0, 0x1.00000100000p0, 0x1.01p0, 0x1.0100000000001p0, 0x1.ffffffp127, 0x1.fffffefffffffp127, 0x1p-149, 0x1p-150, 0x1.0000000000001p-150, 0x1p-134, 0x1.8p-134,
	} {
		out = append(out, math.Float64bits(x))
	}
	return append(out, 0xfff8000012345678, 0x7ff0000000000001)
}

// counts returns shift counts around every width, and those that only a wide
// count can hold.
func counts(t *ir.Type) []uint64 {
	var out []uint64
	for _, v := range []uint64{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 256, 1 << 16, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 63, math.MaxUint64} {
		if v == ir.Normalize(t, v) {
			out = append(out, v)
		}
	}
	return out
}

// thin keeps about twenty values, for operations of three operands.
func thin(values []uint64) []uint64 {
	if len(values) <= 20 {
		return values
	}
	var out []uint64
	for i, v := range values {
		if i%3 == 0 || i < 2 || i >= len(values)-5 {
			out = append(out, v)
		}
	}
	return out
}

// constants returns the constant operands that are tried: those that compilers
// treat on their own.
func constants(t *ir.Type) []uint64 {
	if !t.IsInt() {
		return thin(Edges(t))
	}
	w := t.Bits()
	var out []uint64
	seen := map[uint64]bool{}
	for _, v := range []uint64{0, 1, 2, 3, 8, 10, 31, 32, 64, 1 << (w - 2), 1<<(w-1) - 1, 1 << (w - 1), neg(1), neg(8)} {
		if v = ir.Normalize(t, v); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// random returns n values of any bits, the same on every run.
func random(t *ir.Type, n int) []uint64 {
	r := rand.New(rand.NewPCG(1, uint64(t.Kind)))
	out := make([]uint64, n)
	for i := range out {
		v := r.Uint64()
		if t.IsFloat() && i%2 == 0 { // of ordinary size
			x := math.Ldexp(r.Float64()*2-1, r.IntN(80)-10)
			v = math.Float64bits(x)
			if t.Kind == ir.KF32 {
				v = uint64(math.Float32bits(float32(x)))
			}
		}
		out[i] = ir.Normalize(t, v)
	}
	return out
}

func neg(n uint64) uint64 { return -n }
