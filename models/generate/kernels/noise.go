package kernels

import (
	"github.com/gokiln/kiln/dsl"
	random "github.com/gokiln/kiln/ops/random/kernels"
)

// MaxGumbel and MinGumbel bound what [Gumbel] returns.
const (
	MaxGumbel = 22.9
	MinGumbel = -2.9
)

// Gumbel returns a random number of the standard Gumbel distribution for a token: [Noise] of word
// id%4 of [Words]. The token with the largest sum of scaled logit and noise is a draw of the softmax
// (Maddison, Tarlow and Minka, "A* sampling", 2014). The bits are the same on every device and when
// it is called as Go.
func Gumbel(key int64, id uint32) float32 {
	words := Words(key, id>>2)
	w := words[0]
	switch id & 3 {
	case 1:
		w = words[1]
	case 2:
		w = words[2]
	case 3:
		w = words[3]
	}
	return Noise(Uniform(w))
}

// Words returns the random words of four tokens, those of a Philox counter under the key.
func Words(key int64, counter uint32) [random.PerCounter]uint32 {
	words, _ := random.Words(uint64(counter), uint64(key))
	return words
}

// Uniform is a number between 0 and 1, neither of which it is. Small ones have all of their bits.
func Uniform(w uint32) float32 {
	v := (float32(w) + 0.5) * 0x1p-32
	if v > 1-0x1p-24 {
		v = 1 - 0x1p-24
	}
	return v
}

// Noise is -log(-log(1-v)), which grows as v becomes small.
func Noise(v float32) float32 { return -dsl.Log(-dsl.Log1p(-v)) }

// Key is what tokens are ordered by: the logit z, or with a scale above 0 scaled logit and noise.
func Key(z float32, id uint32, scale float32, key int64) float32 {
	if scale <= 0 {
		return z
	}
	return float32(z*scale) + Gumbel(key, id)
}

// StepKey returns the key of the noise at a position of a sequence: words of the Philox counter
// position under the seed.
func StepKey(seed, position uint64) int64 {
	hi, lo := random.Words(position, seed)
	return int64(uint64(hi[0])<<32 | uint64(lo[0]))
}
