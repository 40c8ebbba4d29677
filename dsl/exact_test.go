package dsl_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gokiln/kiln/dsl"
)

// bits32 gives random float32 bits, mostly of moderate exponents so that sums
// meet.
func bits32(r *rand.Rand) float32 {
	x := math.Float32frombits(r.Uint32())
	switch r.IntN(4) {
	case 0:
		return x
	case 1: // few bits: halfway cases become likely
		return math.Float32frombits(math.Float32bits(float32(r.NormFloat64())) &^ (1<<r.IntN(24) - 1))
	}
	return float32(r.NormFloat64() * math.Ldexp(1, r.IntN(50)-25))
}

// exactFMA rounds the exact value once.
func exactFMA(a, b, c float32) float32 {
	f := func(x float32) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(float64(x)) }
	sum := new(big.Float).SetPrec(2000).Mul(f(a), f(b))
	sum.Add(sum, f(c))
	if sum.Sign() == 0 { // the sign of an exact zero is that of the IEEE sum
		return float32(float64(a)*float64(b) + float64(c))
	}
	got, _ := sum.Float32()
	return got
}

func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200000 {
		a, b, c := bits32(r), bits32(r), bits32(r)
		if r.IntN(3) == 0 { // a sum that all but cancels, or just misses a midpoint
			c = -float32(a * b)
			if r.IntN(2) == 0 {
				c = math.Float32frombits(math.Float32bits(c) ^ uint32(r.IntN(256))<<23)
			}
		}
		if a-a != 0 || b-b != 0 || c-c != 0 {
			continue
		}
		got, want := dsl.FMA32(a, b, c), exactFMA(a, b, c)
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("FMA32(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
}

func TestFMA32Cases(t *testing.T) {
	pinf, nan := float32(inf), float32(nan)
	tests := []struct{ a, b, c, want float32 }{
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60, 1 + 0x1p-11 + 0x1p-23}, // just above a midpoint
		{1 + 0x1p-12, 1 + 0x1p-12, -0x1p-60, 1 + 0x1p-11},          // just below
		{1 + 0x1p-12, 1 + 0x1p-12, 0, 1 + 0x1p-11},                 // on it: to even
		{0x1p-100, 0x1p-50, 0, 0},                                  // half of the smallest number: to even
		{0x1p-100, 0x1p-50, 0x1p-149, 0x1p-148},
		{0x1p-100, 0x1.000002p-50, 0, 0x1p-149},
		{math.MaxFloat32, 2, -math.MaxFloat32, math.MaxFloat32},
		{math.MaxFloat32, 2, 0, pinf},
		{pinf, 0, 1, nan},
		{pinf, 1, -pinf, nan},
		{1, 1, nan, nan},
		{0, -1, float32(zero), float32(zero)},
		{1, -1, 1, 0},
	}
	for _, c := range tests {
		if got := dsl.FMA32(c.a, c.b, c.c); !same(float64(got), float64(c.want)) {
			t.Errorf("FMA32(%x, %x, %x) = %x, want %x", c.a, c.b, c.c, got, c.want)
		}
		if got := dsl.FMA(c.a, c.b, c.c); !same(float64(got), float64(c.want)) {
			t.Errorf("FMA(%x, %x, %x) = %x, want %x", c.a, c.b, c.c, got, c.want)
		}
	}
	if got := dsl.FMA(0x1.0000000000001p0, 0x1.0000000000001p0, -1); got != 0x1.00000000000008p-51 {
		t.Errorf("FMA[float64] rounds twice: %x", got)
	}
}

func TestMod(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		x, y := math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64())
		if got, want := dsl.Mod(x, y), math.Mod(x, y); !same(got, want) {
			t.Fatalf("Mod(%x, %x) = %x, want %x", x, y, got, want)
		}
		a, b := math.Float32frombits(r.Uint32()), math.Float32frombits(r.Uint32())
		if got, want := dsl.Mod(a, b), math.Mod(float64(a), float64(b)); !same(float64(got), want) {
			t.Fatalf("Mod(%x, %x) = %x, want %x", a, b, got, want)
		}
	}
}

func TestClassify(t *testing.T) {
	for _, x := range awkward {
		for _, sign := range []int{-1, 0, 1} {
			if got := dsl.IsInf(x, sign); got != math.IsInf(x, sign) {
				t.Errorf("IsInf(%g, %d) = %v", x, sign, got)
			}
		}
		if got := dsl.IsNaN(float32(x)); got != math.IsNaN(x) {
			t.Errorf("IsNaN(%g) = %v", x, got)
		}
	}
}

// The reference of the half types is the exact value, rounded by math/big.
func TestConversions(t *testing.T) {
	for i := range 1 << 16 {
		h, b := dsl.F16(i), dsl.BF16(i)
		if x := dsl.F32(h); x == x && dsl.To[dsl.F16](x) != h {
			t.Fatalf("F16 %#04x does not survive float32", i)
		}
		x := dsl.F32(b)
		if y := dsl.To[dsl.BF16](x); x == x && y.Bits() != b.Bits() || (x == x) != (dsl.F32(y) == dsl.F32(y)) {
			t.Fatalf("BF16 %#04x becomes %#04x", i, y)
		}
		if dsl.F64(b) != float64(x) && x == x || dsl.F64(h) != float64(dsl.F32(h)) && dsl.F32(h) == dsl.F32(h) {
			t.Fatalf("F64 of %#04x differs from F32", i)
		}
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 100000 {
		x := math.Float32frombits(r.Uint32())
		if r.IntN(2) == 0 {
			x = math.Float32frombits(r.Uint32() &^ 0x7FFF) // midpoints of BF16
		}
		if x-x != 0 {
			continue
		}
		f := new(big.Float).SetPrec(8).SetMode(big.ToNearestEven).SetFloat64(float64(x))
		want, _ := f.Float32()
		if math.Abs(float64(x)) < 0x1p-126 { // fixed point there
			want = float32(math.RoundToEven(float64(x)*0x1p133)) * 0x1p-126 * 0x1p-7
		}
		if got := dsl.F32(dsl.To[dsl.BF16](x)); got != want {
			t.Fatalf("BF16 of %x is %x, want %x", x, got, want)
		}
	}
}

func TestConversionCases(t *testing.T) {
	if x := dsl.To[dsl.BF16](float32(nan)); dsl.F32(x) == dsl.F32(x) {
		t.Errorf("NaN became BF16 %#04x", x)
	}
	// A NaN whose payload lies in the cut bits must not become infinite.
	if x := dsl.To[dsl.BF16](math.Float32frombits(0x7F800001)); x.Bits() != 0x7FC0 {
		t.Errorf("NaN 7F800001 became BF16 %#04x", x)
	}
	if x := dsl.To[dsl.F16](float32(nan)); !x.IsNaN() {
		t.Errorf("NaN became F16 %#04x", x)
	}
	if x := dsl.To[dsl.F16](65520); dsl.F32(x) != float32(inf) {
		t.Errorf("65520 became F16 %v", x)
	}
	if x := dsl.To[dsl.BF16](math.MaxFloat32); dsl.F32(x) != float32(inf) {
		t.Errorf("MaxFloat32 became BF16 %v", dsl.F32(x))
	}
	if got := dsl.To[float32](1.5) + float32(dsl.To[float64](1.5)); got != 3 {
		t.Errorf("To of float32 and float64 gives %v", got)
	}
	if got := dsl.F32(int64(1<<24+1)) + dsl.F32(uint8(255)); got != 1<<24+255 {
		t.Errorf("F32 of integers gives %v", got)
	}
	if got := dsl.F64(uint64(math.MaxUint64)); got != 0x1p64 {
		t.Errorf("F64 of MaxUint64 gives %v", got)
	}
}
