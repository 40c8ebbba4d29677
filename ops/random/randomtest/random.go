package randomtest

import (
	"hash/fnv"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	randomops "github.com/gokiln/kiln/ops/random"
)

// philox is Philox4x32-10, written from the paper.
func philox(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, c[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0}
		k[0], k[1] = k[0]+0x9E3779B9, k[1]+0xBB67AE85
	}
	return c
}

// Random tests that uniform numbers are what counter and key say, that normal ones have the
// moments they should, and that both have the same bits on every device.
func Random(t *testing.T, b *opstest.Bench) {
	// The known answers of the authors' implementation.
	require.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, philox([4]uint32{}, [2]uint32{}))
	require.Equal(t, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, philox([4]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, [2]uint32{1<<32 - 1, 1<<32 - 1}))

	const key, first = 0x123456789abcdef0, 1<<32 - 3 // the counter carries
	for _, n := range []int{0, 1, 5, 1000} {
		for _, d := range dtype.Floats() {
			if !b.Has(d) {
				continue
			}
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				out := b.Result(t, d, layout.Contiguous(layout.Shape{n}))
				require.NoError(t, randomops.Uniform.Run(b.Stream, out.View, key, first, dtype.New(-1.0), dtype.New(3.0)))
				for i, got := range b.Read(t, out) {
					counter := uint64(first + i/randomops.PerCounter)
					word := func(sequence uint32) uint32 {
						return philox([4]uint32{uint32(counter), uint32(counter >> 32), sequence}, [2]uint32{key & 0xffffffff, key >> 32})[i%randomops.PerCounter]
					}
					u := float64(word(0)>>8) * 0x1p-24
					if d == dtype.F64 {
						u = float64(uint64(word(0))<<21|uint64(word(1)>>11)) * 0x1p-53
					}
					want := dtype.FromFloat(d, 4*u-1)
					if want.Float() >= 3 {
						want = dtype.FromFloat(d, -1)
					}
					require.NoError(t, opstest.Near(got, want, 1), "element %d of %v", i, d)
					require.Less(t, got.Float(), 3.0)
				}
				normal(t, b, d, n)
			}, "%v/%d", d, n)
		}
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { randomBits(t, b) }, "Bits")
	require.ErrorIs(t, randomops.Normal.Run(b.Stream, ops.View{DType: dtype.I32}, 0, 0, dtype.Scalar{}, dtype.Scalar{}), ops.ErrDType)
}

func normal(t *testing.T, b *opstest.Bench, d dtype.DType, n int) {
	t.Helper()
	out := b.Result(t, d, layout.Contiguous(layout.Shape{n}))
	require.NoError(t, randomops.Normal.Run(b.Stream, out.View, 1, 2, dtype.New(5.0), dtype.New(2.0)))
	var sum, squares float64
	for _, x := range b.Read(t, out) {
		sum += x.Float()
		squares += (x.Float() - 5) * (x.Float() - 5)
	}
	if n >= 1000 {
		require.InDelta(t, 5, sum/float64(n), 0.3)
		require.InDelta(t, 4, squares/float64(n), 0.8)
	}
}

// drawnBits are checksums of 5000 random numbers of each type, uniform and normal ones.
var drawnBits = map[dtype.DType][2]uint64{
	dtype.BF16:   {0x605c0719c5ddcd31, 0x34cf963278aacec0},
	dtype.F16:    {0x6774488f59458ac8, 0x572ee4afb95e6c93},
	dtype.F32:    {0x16dff1b647802e64, 0x8f9a8e64f597d7e0},
	dtype.F64:    {0xdfbb8d161bc532a6, 0x6f6e09680fb3cfd9},
	dtype.F8E4M3: {0x60cbf87b987c3e9a, 0x4a078b2aaa26ea9b},
	dtype.F8E5M2: {0x4acca129fd4a4eb9, 0x4b1c976762c8ffb4},
}

// randomBits tests that random numbers have the same bits on every device.
func randomBits(t *testing.T, b *opstest.Bench) {
	t.Helper()
	for _, d := range dtype.Floats() {
		if !b.Has(d) {
			continue
		}
		var sums [2]uint64
		for i, r := range []*randomops.Random{randomops.Uniform, randomops.Normal} {
			out := b.Result(t, d, layout.Contiguous(layout.Shape{5000}))
			require.NoError(t, r.Run(b.Stream, out.View, 42, 7, dtype.New(-1.5), dtype.New(2.5)))
			h := fnv.New64()
			for _, x := range b.Read(t, out) {
				h.Write(x.Append(nil))
			}
			sums[i] = h.Sum64()
		}
		require.Equal(t, drawnBits[d], sums, "%v: %#x", d, sums)
	}
}
