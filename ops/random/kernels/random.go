package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// philox is Philox4x32-10: four random words for a counter and a key (Salmon, Moraes,
// Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). There are
// several sequences of counters.
func philox(counter, key uint64, sequence uint32) [4]uint32 {
	c := [4]uint32{uint32(counter), uint32(counter >> 32), sequence, 0}
	k0, k1 := uint32(key), uint32(key>>32)
	for range 10 {
		hi0, lo0 := dsl.MulHi(uint32(0xD2511F53), c[0]), 0xD2511F53*c[0]
		hi1, lo1 := dsl.MulHi(uint32(0xCD9E8D57), c[2]), 0xCD9E8D57*c[2]
		c = [4]uint32{hi1 ^ c[1] ^ k0, lo1, hi0 ^ c[3] ^ k1, lo0}
		k0 += 0x9E3779B9
		k1 += 0xBB67AE85
	}
	return c
}

// PerCounter is how many random numbers are made of one counter.
const PerCounter = 4

// Words returns random words for one counter: one for each number of 32 bits, or the
// two that a number of 64 bits takes.
func Words(counter, key uint64) (hi, lo [PerCounter]uint32) {
	return philox(counter, key, 0), philox(counter, key, 1)
}

// Unit32 is a random number from 0 up to but not including 1, of 24 bits.
func Unit32(hi, lo uint32) float32 { return float32(hi>>8) * 0x1p-24 }

// Unit64 is a random number from 0 up to but not including 1, of 53 bits.
func Unit64(hi, lo uint32) float64 { return float64(uint64(hi)<<21|uint64(lo>>11)) * 0x1p-53 }

// Start returns the key and the first counter. Those of a captured graph are relative to base, the key
// and a counter that are in memory at a launch; base is empty otherwise.
func Start(base []int64, key, first uint64) (uint64, uint64) {
	if len(base) < 2 {
		return key, first
	}
	return uint64(base[0]), uint64(base[1]) + first
}

// Uniform stores random numbers from low up to but not including high, those of the
// counters from first on. Where a number is rounded to high it is low.
//
//kiln:kernel
func Uniform[T dsl.Float, C dsl.Real](t dsl.Thread, out []T, base []int64, key, first uint64, low, high C, unit func(hi, lo uint32) C) {
	key, first = Start(base, key, first)
	groups := (len(out) + PerCounter - 1) / PerCounter
	for g := t.Global(); g < groups; g += t.GlobalSize() {
		hi, lo := Words(first+uint64(g), key)
		for k := range PerCounter {
			x := dsl.Convert[T](low + (high-low)*unit(hi[k], lo[k]))
			if dsl.Convert[C](x) >= high {
				x = dsl.Convert[T](low)
			}
			if i := PerCounter*g + k; i < len(out) {
				out[i] = x
			}
		}
	}
}

// Normal stores random numbers of a normal distribution, those of the counters from
// first on (Box and Muller, "A note on the generation of random normal deviates", 1958).
//
//kiln:kernel
func Normal[T dsl.Float, C dsl.Real](t dsl.Thread, out []T, base []int64, key, first uint64, mean, std C, unit func(hi, lo uint32) C) {
	key, first = Start(base, key, first)
	groups := (len(out) + PerCounter - 1) / PerCounter
	for g := t.Global(); g < groups; g += t.GlobalSize() {
		hi, lo := Words(first+uint64(g), key)
		for k := 0; k < PerCounter; k += 2 {
			// The logarithm is of a number above 0, and may be of 1.
			r := dsl.Sqrt(-2 * dsl.Log(1-unit(hi[k], lo[k])))
			angle := 2 * math.Pi * unit(hi[k+1], lo[k+1])
			for j, z := range [2]C{r * dsl.Cos(angle), r * dsl.Sin(angle)} {
				if i := PerCounter*g + k + j; i < len(out) {
					out[i] = dsl.Convert[T](mean + std*z)
				}
			}
		}
	}
}
