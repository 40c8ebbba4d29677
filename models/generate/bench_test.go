package generate

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// BenchmarkSample is the choice of one token of a vocabulary of 128256 on the device that
// KILN_DEVICE names, and Pick that on the host.
func BenchmarkSample(b *testing.B) {
	const vocab = 128256
	dev := openDevice(b)
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(r.NormFloat64()) * 3
	}
	x := tensor.From(dev, logits, 1, vocab)
	kinds := everyKind()
	for _, name := range []string{"greedy", "temperature", "top k", "top p", "min p", "greedy penalties"} {
		s, err := NewSampler(seeded(kinds[name], 1))
		require.NoError(b, err)
		s.Prompt([]int32{1, 2, 3, 1, 2, 3})
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := Sample(x, []*Sampler{s})
				require.NoError(b, err)
			}
		})
		b.Run("Pick "+name, func(b *testing.B) {
			for b.Loop() {
				_, err := s.Pick(logits)
				require.NoError(b, err)
			}
		})
	}
}
