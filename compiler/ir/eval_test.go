package ir

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/x448/float16"
)

func eval(t testing.TB, op Op, typ *Type, args ...uint64) uint64 {
	t.Helper()
	types := make([]*Type, len(args))
	for i := range types {
		types[i] = typ
	}
	if op.Info().Rule == RuleShift {
		types[1] = U32
	}
	if op == OpSelect {
		types[0] = Bool
	}
	r, ok := Eval(op, typ, 0, args, types)
	require.True(t, ok, "%s %s", op, typ)
	if Normalize(typ, r) != r {
		t.Fatalf("%s %s %x: result is not canonical", op, typ, args)
	}
	return r
}

var intTypes = []*Type{I8, U8, I16, U16, I32, U32, I64, U64}

// bigOf returns the value of canonical bits.
func bigOf(t *Type, bits uint64) *big.Int {
	if t.IsSigned() {
		return big.NewInt(int64(bits))
	}
	return new(big.Int).SetUint64(bits)
}

// wrap returns the canonical bits of x modulo the width of t.
func wrap(t *Type, x *big.Int) uint64 {
	m := new(big.Int).And(x, new(big.Int).SetUint64(math.MaxUint64))
	return Normalize(t, m.Uint64())
}

// bigBinary computes op on unbounded integers.
func bigBinary(op Op, t *Type, x, y *big.Int) *big.Int {
	z := new(big.Int)
	switch op {
	case OpAdd:
		return z.Add(x, y)
	case OpSub:
		return z.Sub(x, y)
	case OpMul:
		return z.Mul(x, y)
	case OpDiv:
		if y.Sign() == 0 {
			return z
		}
		return z.Quo(x, y)
	case OpRem:
		if y.Sign() == 0 {
			return x
		}
		return z.Rem(x, y)
	case OpMulHi:
		return z.Rsh(z.Mul(x, y), uint(t.Bits())) // rounds down, as bits do
	case OpAnd:
		return z.And(x, y)
	case OpOr:
		return z.Or(x, y)
	case OpXor:
		return z.Xor(x, y)
	case OpAndNot:
		return z.AndNot(x, y)
	case OpMin:
		if x.Cmp(y) < 0 {
			return x
		}
		return y
	case OpMax:
		if x.Cmp(y) > 0 {
			return x
		}
		return y
	}
	return nil
}

var bigOps = []Op{OpAdd, OpSub, OpMul, OpDiv, OpRem, OpMulHi, OpAnd, OpOr, OpXor, OpAndNot, OpMin, OpMax}

func checkInts(t *testing.T, typ *Type, a, b uint64) {
	x, y := bigOf(typ, a), bigOf(typ, b)
	for _, op := range bigOps {
		want := wrap(typ, bigBinary(op, typ, x, y))
		if got := eval(t, op, typ, a, b); got != want {
			t.Fatalf("%s %s %d, %d = %d, want %d", op, typ, x, y, int64(got), int64(want))
		}
	}
	cmp := x.Cmp(y)
	for op, want := range map[Op]bool{OpEq: cmp == 0, OpNe: cmp != 0, OpLt: cmp < 0, OpLe: cmp <= 0, OpGt: cmp > 0, OpGe: cmp >= 0} {
		got, ok := Eval(op, Bool, 0, []uint64{a, b}, []*Type{typ, typ})
		if !ok || (got == 1) != want {
			t.Fatalf("%s %s %d, %d = %d, want %t", op, typ, x, y, got, want)
		}
	}
}

func checkShifts(t *testing.T, typ *Type, a, n uint64) {
	count := uint(min(n, 200))
	x := bigOf(typ, a)
	left := wrap(typ, new(big.Int).Lsh(x, count))
	right := wrap(typ, new(big.Int).Rsh(x, count))
	for _, ct := range []*Type{U8, U16, U32, U64} {
		c := Normalize(ct, n)
		if c != n {
			continue
		}
		types := []*Type{typ, ct}
		if got, ok := Eval(OpShl, typ, 0, []uint64{a, c}, types); !ok || got != left {
			t.Fatalf("shl %s %d, %d = %x, want %x", typ, x, n, got, left)
		}
		if got, ok := Eval(OpShr, typ, 0, []uint64{a, c}, types); !ok || got != right {
			t.Fatalf("shr %s %d, %d = %x, want %x", typ, x, n, got, right)
		}
	}
}

func TestEvalBytes(t *testing.T) {
	for _, typ := range []*Type{I8, U8} {
		for a := range uint64(256) {
			x := Normalize(typ, a)
			for b := range uint64(256) {
				checkBytes(t, typ, x, Normalize(typ, b))
			}
			for n := range uint64(20) {
				checkShifts(t, typ, x, n)
			}
			checkUnary(t, typ, x)
		}
	}
}

// checkBytes is checkInts with int for unbounded integers.
func checkBytes(t *testing.T, typ *Type, a, b uint64) {
	x, y := int(int64(a)), int(int64(b))
	quo, rem := 0, x
	if y != 0 {
		quo, rem = x/y, x%y
	}
	want := [...]int{x + y, x - y, x * y, quo, rem, x * y >> 8, x & y, x | y, x ^ y, x &^ y, min(x, y), max(x, y)}
	for i, op := range bigOps {
		got, ok := Eval(op, typ, 0, []uint64{a, b}, []*Type{typ, typ})
		if !ok || got != Normalize(typ, uint64(want[i])) {
			t.Fatalf("%s %s %d, %d = %d, want %d", op, typ, x, y, int64(got), want[i])
		}
	}
}

func checkUnary(t *testing.T, typ *Type, a uint64) {
	x := bigOf(typ, a)
	require.Equal(t, wrap(typ, new(big.Int).Neg(x)), eval(t, OpNeg, typ, a))
	require.Equal(t, wrap(typ, new(big.Int).Not(x)), eval(t, OpNot, typ, a))
	ones, lead, trail, seen := 0, 0, 0, false
	for i := typ.Bits() - 1; i >= 0; i-- {
		bit := a >> i & 1
		ones += int(bit)
		if bit != 0 {
			seen, trail = true, 0
		} else {
			trail++
		}
		if !seen {
			lead++
		}
	}
	require.EqualValues(t, ones, eval(t, OpPopcount, typ, a))
	require.EqualValues(t, lead, eval(t, OpClz, typ, a))
	require.EqualValues(t, trail, eval(t, OpCtz, typ, a))
	r := eval(t, OpReverse, typ, a)
	for i := range typ.Bits() {
		require.Equal(t, a>>i&1, r>>(typ.Bits()-1-i)&1)
	}
	require.Equal(t, Normalize(typ, r), r)
}

func TestEvalWords(t *testing.T) {
	word := func(typ *Type, op Op, x, y, z uint32) uint32 {
		return uint32(eval(t, op, typ, Normalize(typ, uint64(x)), Normalize(typ, uint64(y)), Normalize(typ, uint64(z))))
	}
	for _, typ := range []*Type{I32, U32} {
		for _, c := range []struct{ sel, want uint32 }{
			{0x3210, 0x84838281}, {0x7654, 0x08070605}, {0x0123, 0x81828384}, {0x5432, 0x06058483}, {0, 0x81818181},
			{0xBA98, 0xFFFFFFFF}, {0xFEDC, 0}, {0x8C04, 0xFF008105}, {0xFFFF3210, 0x84838281},
		} {
			require.Equal(t, c.want, word(typ, OpPermute, 0x84838281, 0x08070605, c.sel), "%#x", c.sel)
		}
	}
	require.EqualValues(t, 10+1*5+2*6+3*7+255*255, word(U32, OpDot4, 0xFF030201, 0xFF070605, 10))
	require.EqualValues(t, 10+1*5+2*6+3*7+1, word(I32, OpDot4, 0xFF030201, 0xFF070605, 10))
	require.EqualValues(t, 4*128*128-1, word(I32, OpDot4, 0x80808080, 0x80808080, math.MaxUint32))
	require.EqualValues(t, -4*128*127, int32(word(I32, OpDot4, 0x80808080, 0x7F7F7F7F, 0)))
	require.EqualValues(t, 4*255*255-1, word(U32, OpDot4, math.MaxUint32, math.MaxUint32, math.MaxUint32), "wraps")
}

var edges = []uint64{
	0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32,
	1<<53 - 1, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64,
}

func TestEvalInts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, typ := range intTypes {
		values := append([]uint64(nil), edges...)
		for range 12 {
			values = append(values, rng.Uint64()>>rng.IntN(64))
		}
		for _, a := range values {
			a = Normalize(typ, a)
			checkUnary(t, typ, a)
			for _, b := range values {
				checkInts(t, typ, a, Normalize(typ, b))
				checkShifts(t, typ, a, b)
			}
		}
	}
}

func TestEvalBool(t *testing.T) {
	for a := range uint64(2) {
		require.Equal(t, 1-a, eval(t, OpNot, Bool, a))
		for b := range uint64(2) {
			require.Equal(t, a&b, eval(t, OpAnd, Bool, a, b))
			require.Equal(t, a|b, eval(t, OpOr, Bool, a, b))
			require.Equal(t, a^b, eval(t, OpXor, Bool, a, b))
			require.Equal(t, a&^b, eval(t, OpAndNot, Bool, a, b))
			require.Equal(t, a^b^1, eval(t, OpEq, Bool, a, b))
			require.Equal(t, a^b, eval(t, OpNe, Bool, a, b))
		}
	}
}

// round32 rounds an exact value to float32. A float64 is not in between.
func round32(x *big.Float) float32 {
	r, _ := x.Float32()
	return r
}

func TestEvalFMA32(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	special := []uint32{
		0, 1 << 31, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0x3f800001, 0x3f7fffff, 0xbf800000, 0x7f7fffff, 0xff7fffff,
		0x34000000, 0x33800000, 0x4b800000, 0x4b800001, 0x7f800000, 0xff800000, 0x7fc00000,
	}
	draw := func() uint32 {
		switch rng.IntN(3) {
		case 0:
			return special[rng.IntN(len(special))]
		case 1: // near one, where products of neighbours tie
			return 0x3f800000 + rng.Uint32()>>rng.IntN(32)<<23>>23
		}
		return rng.Uint32()
	}
	for range 60_000 {
		a, b, c := draw(), draw(), draw()
		x, y, z := math.Float32frombits(a), math.Float32frombits(b), math.Float32frombits(c)
		if rng.IntN(4) == 0 { // cancel, or disturb a tie by the least amount
			z = -x * y
			if rng.IntN(2) == 0 {
				z = math.Float32frombits(math.Float32bits(x*y)&0xff800000 - uint32(rng.IntN(60))<<23)
			}
		}
		checkFMA32(t, x, y, z)
	}
	// x*y lies just above a tie of float32 that float64 cannot tell from it.
	checkFMA32(t, 1+1.0/(1<<12), 1+1.0/(1<<12), math.Float32frombits(0x00000001))
	checkFMA32(t, 1<<12+1, 1<<12-1, float32(math.Ldexp(1, -100)))
}

func checkFMA32(t *testing.T, x, y, z float32) {
	t.Helper()
	got := math.Float32frombits(uint32(eval(t, OpFMA, F32, uint64(math.Float32bits(x)), uint64(math.Float32bits(y)), uint64(math.Float32bits(z)))))
	want := float32(math.FMA(float64(x), float64(y), float64(z))) // right for what is not finite, and for signs of zero
	finite := func(v float32) bool { return v == v && !math.IsInf(float64(v), 0) }
	if finite(x) && finite(y) && finite(z) && want != 0 {
		p := new(big.Float).SetPrec(700).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		want = round32(p.Add(p, big.NewFloat(float64(z))))
	}
	if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
		t.Fatalf("fma(%b, %b, %b) = %b, want %b", x, y, z, got, want)
	}
}

func TestEvalFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	inf, nan, negZero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	values := []float64{0, negZero, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e30, -1e-30, inf, -inf, nan, math.MaxFloat32, 5e-324, 1e-45}
	for range 40 {
		values = append(values, math.Float64frombits(rng.Uint64()), rng.NormFloat64())
	}
	bin := map[Op]func(x, y float64) float64{
		OpAdd: func(x, y float64) float64 { return x + y }, OpSub: func(x, y float64) float64 { return x - y },
		OpMul: func(x, y float64) float64 { return x * y }, OpDiv: func(x, y float64) float64 { return x / y },
		OpMin: func(x, y float64) float64 { return min(x, y) }, OpMax: func(x, y float64) float64 { return max(x, y) },
		OpCopysign: math.Copysign,
	}
	un := map[Op]func(float64) float64{
		OpNeg: func(x float64) float64 { return -x }, OpAbs: math.Abs, OpSqrt: math.Sqrt, OpFloor: math.Floor,
		OpCeil: math.Ceil, OpTrunc: math.Trunc, OpRint: math.RoundToEven,
	}
	for _, x := range values {
		for op, f := range un {
			sameFloats(t, op, []float64{x}, f(x), float32(f(float64(float32(x)))))
		}
		for _, y := range values {
			for op, f := range bin {
				// Sums, products and quotients of float32 round right through float64.
				sameFloats(t, op, []float64{x, y}, f(x, y), float32(f(float64(float32(x)), float64(float32(y)))))
			}
			compareFloats(t, x, y)
		}
	}
	require.Equal(t, math.Float64bits(math.FMA(0.1, 10, -1)), eval(t, OpFMA, F64, math.Float64bits(0.1), math.Float64bits(10), math.Float64bits(-1)))
	require.EqualValues(t, nan64, eval(t, OpSub, F64, math.Float64bits(inf), math.Float64bits(inf)), "NaN is canonical")
	require.EqualValues(t, nan32, eval(t, OpMul, F32, 0xffc12345, 0), "NaN is canonical")
}

func sameFloats(t *testing.T, op Op, args []float64, want64 float64, want32 float32) {
	t.Helper()
	b64, b32 := make([]uint64, len(args)), make([]uint64, len(args))
	for i, x := range args {
		b64[i], b32[i] = math.Float64bits(x), uint64(math.Float32bits(float32(x)))
	}
	got := math.Float64frombits(eval(t, op, F64, b64...))
	if math.Float64bits(got) != math.Float64bits(want64) && (got == got || want64 == want64) {
		t.Fatalf("%s f64 %v = %v, want %v", op, args, got, want64)
	}
	got32 := math.Float32frombits(uint32(eval(t, op, F32, b32...)))
	if math.Float32bits(got32) != math.Float32bits(want32) && (got32 == got32 || want32 == want32) {
		t.Fatalf("%s f32 %v = %v, want %v", op, args, got32, want32)
	}
}

func compareFloats(t *testing.T, x, y float64) {
	t.Helper()
	a, b := math.Float64bits(x), math.Float64bits(y)
	for op, want := range map[Op]bool{OpEq: x == y, OpNe: x != y, OpLt: x < y, OpLe: x <= y, OpGt: x > y, OpGe: x >= y} {
		got, ok := Eval(op, Bool, 0, []uint64{a, b}, []*Type{F64, F64})
		if !ok || (got == 1) != want {
			t.Fatalf("%s %v, %v = %d", op, x, y, got)
		}
	}
}

func convert(t testing.TB, to, from *Type, bits uint64) uint64 {
	t.Helper()
	r, ok := Eval(OpConvert, to, 0, []uint64{bits}, []*Type{from})
	require.True(t, ok)
	if Normalize(to, r) != r {
		t.Fatalf("%s to %s of %x is not canonical", from, to, bits)
	}
	return r
}

func TestConvertInts(t *testing.T) {
	for _, from := range intTypes {
		for _, to := range intTypes {
			for _, a := range edges {
				a = Normalize(from, a)
				require.Equal(t, wrap(to, bigOf(from, a)), convert(t, to, from, a))
			}
		}
	}
}

// TestConvertHalf compares every float16 with another library.
func TestConvertHalf(t *testing.T) {
	for a := range uint64(1 << 16) {
		want := float16.Frombits(uint16(a)).Float32()
		got := convert(t, F32, F16, a)
		back := convert(t, F16, F32, got)
		if want != want {
			require.EqualValues(t, nan32, got)
			require.EqualValues(t, 0x7e00, back)
			continue
		}
		if again := convert(t, F16, F64, convert(t, F64, F16, a)); got != uint64(math.Float32bits(want)) || back != a || again != a {
			t.Fatalf("f16 %#x = %#x, and back %#x and %#x", a, got, back, again)
		}
	}
	for b := range uint64(1 << 16) { // bf16 is the upper half of float32
		got := convert(t, F32, BF16, b)
		if x := math.Float32frombits(uint32(b) << 16); x == x {
			require.EqualValues(t, b<<16, got)
			require.Equal(t, b, convert(t, BF16, F32, got))
		} else {
			require.EqualValues(t, nan32, got)
			require.EqualValues(t, 0x7fc0, convert(t, BF16, F32, got))
		}
	}
}

// nearest finds the pattern of a half format closest to x by search: finite
// positive patterns are in order of value.
func nearest(format *Type, x float64) uint64 {
	inf := map[*Type]uint64{F16: 0x7c00, BF16: 0x7f80}[format]
	sign := math.Float64bits(x) >> 63 << 15
	x = math.Abs(x)
	value := func(p uint64) float64 {
		if p == inf { // rounding treats it as the next power of two
			return 2 * decodeFloat(format, inf-1<<map[*Type]int{F16: 10, BF16: 7}[format])
		}
		return decodeFloat(format, p)
	}
	lo, hi := uint64(0), inf
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; value(mid) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	if x >= value(inf) {
		return sign | inf
	}
	below := new(big.Float).Sub(big.NewFloat(x), big.NewFloat(value(lo)))
	above := new(big.Float).Sub(big.NewFloat(value(hi)), big.NewFloat(x))
	switch c := below.Cmp(above); {
	case c < 0:
		return sign | lo
	case c > 0:
		return sign | hi
	}
	return sign | (lo + lo&1)
}

func TestConvertToHalf(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, format := range []*Type{F16, BF16} {
		for range 60_000 {
			var x float64
			switch rng.IntN(4) {
			case 0:
				x = math.Float64frombits(rng.Uint64())
			case 1:
				x = float64(math.Float32frombits(rng.Uint32()))
			case 2: // exact values, ties, and one step of float64 beside them
				p := rng.Uint64() & 0x7bff
				x = (decodeFloat(format, p) + decodeFloat(format, p+uint64(rng.IntN(2)))) / 2
				x = math.Nextafter(x, x+float64(rng.IntN(3)-1))
			default:
				x = rng.NormFloat64() * math.Ldexp(1, rng.IntN(60)-40)
			}
			if x != x || math.IsInf(x, 0) {
				continue
			}
			got := convert(t, format, F64, math.Float64bits(x))
			if want := nearest(format, x); got != want {
				t.Fatalf("%v to %s = %#x, want %#x", x, format, got, want)
			}
		}
		inf := convert(t, format, F64, math.Float64bits(math.Inf(-1)))
		require.True(t, math.IsInf(decodeFloat(format, inf), -1))
	}
}

func TestConvertIntToFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, from := range intTypes {
		values := append([]uint64(nil), edges...)
		for range 150 {
			v := rng.Uint64() >> rng.IntN(64)
			values = append(values, v, v&^0xff|0x80, 1<<60+1<<52, 1<<60+1<<52+1, 1<<60+3<<52)
		}
		for _, a := range values {
			a = Normalize(from, a)
			x := new(big.Float).SetPrec(64).SetInt(bigOf(from, a))
			f64, _ := x.Float64()
			require.Equal(t, math.Float64bits(f64), convert(t, F64, from, a))
			require.EqualValues(t, math.Float32bits(round32(x)), convert(t, F32, from, a))
			// A 64-bit integer as the nearest wider pattern, without float64 in between.
			for _, h := range []*Type{F16, BF16} {
				prec := uint(digitsOf[h])
				y, _ := new(big.Float).SetPrec(prec).SetMode(big.ToNearestEven).Set(x).Float64()
				require.Equal(t, nearest(h, y), convert(t, h, from, a), "%s of %v", h, x)
			}
		}
	}
}

var digitsOf = map[*Type]int{F16: 11, BF16: 8}

func TestConvertFloatToInt(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	values := []float64{0, math.Copysign(0, -1), 0.99, -0.99, 1e300, -1e300, math.Inf(1), math.Inf(-1), 127.5, 128, -128.9, -129, 255.9, 256,
		math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, math.MaxInt64, math.MinInt64, math.MaxUint64, 1 << 52, 1<<63 - 1024}
	for range 2000 {
		values = append(values, math.Float64frombits(rng.Uint64()), rng.NormFloat64()*math.Ldexp(1, rng.IntN(70)))
	}
	for _, to := range intTypes {
		lo, hi := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(to.Bits()))
		if to.IsSigned() {
			hi.Rsh(hi, 1)
			lo.Neg(hi)
		}
		hi.Sub(hi, big.NewInt(1))
		for _, x := range values {
			if x != x {
				continue
			}
			want := new(big.Int)
			switch {
			case math.IsInf(x, 1):
				want = hi
			case math.IsInf(x, -1):
				want = lo
			default:
				big.NewFloat(x).Int(want)
				if want.Cmp(lo) < 0 {
					want = lo
				}
				if want.Cmp(hi) > 0 {
					want = hi
				}
			}
			require.Equal(t, wrap(to, want), convert(t, to, F64, math.Float64bits(x)), "%v to %s", x, to)
		}
		require.Zero(t, convert(t, to, F32, nan32))
		require.Zero(t, convert(t, to, F16, 0x7e00))
	}
}

func TestEvalOther(t *testing.T) {
	r, ok := Eval(OpBitcast, I32, 0, []uint64{0xbf800000}, []*Type{F32})
	require.True(t, ok)
	require.Equal(t, int64(-0x40800000), int64(r))
	require.EqualValues(t, 7, eval(t, OpSelect, F16, 1, 7, 9))
	require.EqualValues(t, 9, eval(t, OpSelect, F16, 0, 7, 9))
	r, ok = Eval(OpConst, I8, 5, nil, nil)
	require.True(t, ok)
	require.EqualValues(t, 5, r)
	r, ok = Eval(OpNe, Bool, 0, []uint64{4, 5}, []*Type{PtrTo(Global, F32), PtrTo(Global, F32)})
	require.True(t, ok)
	require.EqualValues(t, 1, r)
}

func TestEvalRefuses(t *testing.T) {
	tests := []struct {
		op    Op
		typ   *Type
		args  []uint64
		types []*Type
	}{
		{OpThread, I64, nil, nil},
		{OpLoad, F32, []uint64{1}, []*Type{PtrTo(Global, F32)}},
		{OpAdd, I32, []uint64{1}, []*Type{I32}},
		{OpAdd, I32, []uint64{1, 2}, []*Type{I32}},
		{OpAdd, Bool, []uint64{1, 1}, []*Type{Bool, Bool}},
		{OpAdd, F16, []uint64{1, 1}, []*Type{F16, F16}},
		{OpLt, Bool, []uint64{1, 0}, []*Type{Bool, Bool}},
		{OpEq, Bool, []uint64{1, 0}, []*Type{Void, Void}},
		{OpConvert, Bool, []uint64{1}, []*Type{I32}},
		{OpBitcast, I64, []uint64{1}, []*Type{F32}},
		{OpRem, F32, []uint64{1, 1}, []*Type{F32, F32}},
		{OpShflIdx, I32, []uint64{1, 1}, []*Type{I32, I64}},
		{OpSqrt, I32, []uint64{1}, []*Type{I32}},
		{OpFMA, I64, []uint64{1, 2, 3}, []*Type{I64, I64, I64}},
		{numOps, I32, []uint64{1}, []*Type{I32}},
	}
	for _, tt := range tests {
		_, ok := Eval(tt.op, tt.typ, 0, tt.args, tt.types)
		require.False(t, ok, "%s %s", tt.op, tt.typ)
	}
}
