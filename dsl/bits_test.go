package dsl_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokiln/kiln/dsl"
)

func testMulHi[T dsl.Int | dsl.Uint](t *testing.T, bits uint) {
	r := rand.New(rand.NewPCG(3, 4))
	wide := func(x T) *big.Int {
		if T(0)-1 < 0 {
			return big.NewInt(int64(x))
		}
		return new(big.Int).SetUint64(uint64(x))
	}
	values := []T{0, 1, 2, T(0) - 1, T(1) << (bits - 1), T(1)<<(bits-1) - 1}
	for range 50 {
		values = append(values, T(r.Uint64()))
	}
	for _, x := range values {
		for _, y := range values {
			want := wide(x)
			want.Mul(want, wide(y)).Rsh(want, bits)
			if got := wide(dsl.MulHi(x, y)); got.Cmp(want) != 0 {
				t.Fatalf("MulHi(%v, %v) = %v, want %v", x, y, got, want)
			}
		}
	}
}

func TestMulHi(t *testing.T) {
	t.Run("int8", func(t *testing.T) { testMulHi[int8](t, 8) })
	t.Run("uint16", func(t *testing.T) { testMulHi[uint16](t, 16) })
	t.Run("int32", func(t *testing.T) { testMulHi[int32](t, 32) })
	t.Run("uint32", func(t *testing.T) { testMulHi[uint32](t, 32) })
	t.Run("int64", func(t *testing.T) { testMulHi[int64](t, 64) })
	t.Run("uint64", func(t *testing.T) { testMulHi[uint64](t, 64) })
	t.Run("uint", func(t *testing.T) { testMulHi[uint](t, 64) })
}

func TestPermute(t *testing.T) {
	const a, b = 0x84838281, 0x08070605
	for selector, want := range map[uint32]uint32{
		0x3210: a, 0x7654: b, 0x0123: 0x81828384, 0x5432: 0x06058483, 0: 0x81818181,
		0xBA98: 0xFFFFFFFF, 0xFEDC: 0, 0x8C04: 0xFF008105, 0xFFFF3210: a,
	} {
		assert.Equal(t, want, dsl.Permute(a, b, selector), "%#x", selector)
	}
}

func TestDot4(t *testing.T) {
	assert.EqualValues(t, 10+5+12+21+255*255, dsl.Dot4[uint32](0xFF030201, 0xFF070605, 10))
	assert.EqualValues(t, 10+5+12+21-7, dsl.Dot4[int32](-1<<24|0x030201, 0x07070605, 10))
	assert.EqualValues(t, -4*128*127+1, dsl.Dot4[int32](math.MinInt32|0x808080, 0x7F7F7F7F, 1))
	assert.EqualValues(t, 4*255*255-1, dsl.Dot4[uint32](math.MaxUint32, math.MaxUint32, math.MaxUint32))
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		x, y, want := r.Uint32(), r.Uint32(), int32(r.Uint32())
		got := dsl.Dot4(int32(x), int32(y), want)
		for i := range 4 {
			want += int32(int8(x>>(8*i))) * int32(int8(y>>(8*i)))
		}
		assert.Equal(t, want, got)
	}
}

func ExamplePermute() {
	// The bytes of a word in the other order.
	fmt.Printf("%#x\n", dsl.Permute(0x11223344, 0, 0x0123))
	// Output: 0x44332211
}
