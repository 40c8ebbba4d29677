package dsl_test

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
)

// fp8 describes an 8-bit format for a reference that knows nothing of bits of
// float32.
type fp8 struct {
	name           string
	exp, frac      int
	top            byte // code of the largest number
	inf            bool
	decode         func(byte) float32
	wide           func(byte) float64
	encode         func(float32) byte
	values, middle []float64 // numbers from 0 up, and the middle between each and the next
}

func formats() []*fp8 {
	list := []*fp8{
		{name: "E4M3", exp: 4, frac: 3, top: 0x7E,
			decode: func(b byte) float32 { return dsl.F32(dsl.F8E4M3(b)) },
			wide:   func(b byte) float64 { return dsl.F64(dsl.F8E4M3(b)) },
			encode: func(x float32) byte { return dsl.To[dsl.F8E4M3](x).Bits() }},
		{name: "E5M2", exp: 5, frac: 2, top: 0x7B, inf: true,
			decode: func(b byte) float32 { return dsl.F32(dsl.F8E5M2(b)) },
			wide:   func(b byte) float64 { return dsl.F64(dsl.F8E5M2(b)) },
			encode: func(x float32) byte { return dsl.To[dsl.F8E5M2](x).Bits() }},
	}
	for _, f := range list {
		for b := range int(f.top) + 1 {
			f.values = append(f.values, f.value(byte(b)))
		}
		for i := range f.values[1:] {
			f.middle = append(f.middle, (f.values[i]+f.values[i+1])/2)
		}
	}
	return list
}

// value is the number with code b, by the definition of the format.
func (f *fp8) value(b byte) float64 {
	bias := 1<<(f.exp-1) - 1
	exp, frac := int(b>>f.frac)&(1<<f.exp-1), float64(int(b)&(1<<f.frac-1))
	sign := 1.0
	if b&0x80 != 0 {
		sign = -1
	}
	switch {
	case b&0x7F > f.top && f.inf && frac == 0:
		return math.Inf(int(sign))
	case b&0x7F > f.top:
		return math.NaN()
	case exp == 0:
		return math.Copysign(math.Ldexp(frac, 1-bias-f.frac), sign)
	}
	return sign * math.Ldexp(1+frac/float64(int(1)<<f.frac), exp-bias)
}

// round is the code of the number nearest to x.
func (f *fp8) round(x float32) byte {
	if x != x {
		return 0x7F
	}
	a := math.Abs(float64(x))
	i := sort.SearchFloat64s(f.middle, a) // numbers below middle[i] round to value i at most
	if i < len(f.middle) && f.middle[i] == a && i%2 != 0 {
		i++
	}
	if math.Signbit(float64(x)) {
		i |= 0x80
	}
	return byte(i)
}

func TestFP8Codes(t *testing.T) {
	for _, f := range formats() {
		for i := range 256 {
			want, got := f.value(byte(i)), f.decode(byte(i))
			if want != want {
				require.True(t, got != got, "%s %#x", f.name, i)
				require.True(t, f.wide(byte(i)) != f.wide(byte(i)), "%s %#x", f.name, i)
				continue
			}
			require.Equal(t, math.Float64bits(want), math.Float64bits(float64(got)), "%s %#x: %v, want %v", f.name, i, got, want)
			require.Equal(t, math.Float64bits(want), math.Float64bits(f.wide(byte(i))), "%s %#x", f.name, i)
			if !math.IsInf(want, 0) {
				require.EqualValues(t, i, f.encode(got), "%s %v", f.name, got)
			}
		}
	}
}

func TestFP8Rounding(t *testing.T) {
	check := func(f *fp8, x float32) {
		if got, want := f.encode(x), f.round(x); got != want {
			t.Fatalf("%s of %x (%v) is %#x (%v), want %#x (%v)", f.name, x, x, got, f.value(got), want, f.value(want))
		}
	}
	inf32 := float32(math.Inf(1))
	r := rand.New(rand.NewPCG(21, 22))
	for _, f := range formats() {
		largest := f.decode(f.top)
		require.Equal(t, f.top, f.encode(inf32))
		require.Equal(t, f.top|0x80, f.encode(-inf32))
		require.Equal(t, f.top, f.encode(largest*1.25))
		require.EqualValues(t, 0x7F, f.encode(float32(math.NaN())))
		require.EqualValues(t, 0x7F, f.encode(math.Float32frombits(0xFF800001)))
		for _, m := range append(f.middle, f.values...) { // and next to each
			x := float32(m)
			for _, y := range []float32{x, math.Nextafter32(x, inf32), math.Nextafter32(x, -inf32)} {
				check(f, y)
				check(f, -y)
			}
		}
		for b := uint64(r.Uint32N(1 << 11)); b < 1<<32; b += 1 << 11 { // all exponents, densely
			check(f, math.Float32frombits(uint32(b)))
		}
		for range 1 << 20 {
			check(f, math.Float32frombits(r.Uint32()))
		}
	}
}
