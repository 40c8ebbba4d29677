package generate

import (
	"cmp"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func openDevice(t testing.TB) *tensor.Device {
	t.Helper()
	dev, err := tensor.Open(cmp.Or(os.Getenv("KILN_DEVICE"), "cpu"))
	require.NoError(t, err)
	return dev
}

// Tokens chosen on a device, all rows at once, are those of the host, for every kind of options.
func TestDevice(t *testing.T) {
	dev := openDevice(t)
	const vocab = 5000
	r := rand.New(rand.NewPCG(1, 2))
	var list []*Sampler
	var names []string
	for name, o := range everyKind() {
		s := newSampler(t, seeded(o, uint64(len(list))))
		s.Prompt([]int32{1, 2, 3, 1, 2, 3, 1, 2})
		list, names = append(list, s), append(names, name)
	}
	for step := range 6 {
		logits := make([]float32, len(list)*vocab)
		for i := range logits {
			logits[i] = float32(r.NormFloat64()) * float32(1+2*(step%3))
			if step == 5 {
				logits[i] = float32(int(logits[i])) // equal ones
			}
		}
		got, err := sampleDevice(tensor.From(dev, logits, len(list), vocab), list)
		require.NoError(t, err)
		for i, s := range list {
			row := logits[i*vocab:][:vocab]
			want, err := s.Pick(row)
			require.NoError(t, err)
			require.Equal(t, want.ID, got[i].ID, "step %d, %s", step, names[i])
			require.InDelta(t, want.LogProb, got[i].LogProb, 1e-4)
			require.Len(t, got[i].Top, len(want.Top))
			for k, p := range want.Top {
				require.Equal(t, p.ID, got[i].Top[k].ID)
				require.InDelta(t, p.LogProb, got[i].Top[k].LogProb, 1e-4)
			}
			require.NoError(t, s.Accept(want.ID))
		}
	}
}

// Penalties bring the first tokens behind others that were not looked at: those are found.
func TestPenalisedFirst(t *testing.T) {
	const vocab = 5000
	logits, bias := make([]float32, vocab), map[int32]float64{}
	for i := range logits {
		logits[i] = 100 - float32(i)/5
	}
	for id := range int32(60) {
		bias[id] = -13 // behind 64 others
	}
	x := tensor.From(openDevice(t), logits, 1, vocab)
	for _, o := range []Sampling{{}, {Temperature: 0.01}, {Temperature: 0.01, TopK: 3}, {Temperature: 0.01, TopP: 0.9}} {
		o.LogitBias = bias
		s := newSampler(t, seeded(o, 1))
		got, err := s.Pick(logits)
		require.NoError(t, err)
		require.Equal(t, int32(60), got.ID)
		list, err := sampleDevice(x, []*Sampler{s})
		require.NoError(t, err)
		require.Equal(t, int32(60), list[0].ID)
	}
}

// Which choices are made of what is copied, without whole rows.
func TestDeviceDecides(t *testing.T) {
	dev := openDevice(t)
	const vocab = 20000
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(r.NormFloat64()) * 4
	}
	x := tensor.From(dev, logits, 1, vocab)
	for name, o := range everyKind() {
		s := newSampler(t, seeded(o, 9))
		s.Prompt([]int32{1, 2, 3, 1, 2, 3, 1, 2})
		b := newBatch([]*Sampler{s}, vocab)
		require.NoError(t, b.copyOf(x))
		_, ok, err := s.choose(&deviceRow{b, 0, b.copied})
		require.NoError(t, err)
		require.Equal(t, name != "typical", ok, name)
		require.Less(t, len(b.copied), 2500, name)
	}
}

func TestSampleRefused(t *testing.T) {
	dev := openDevice(t)
	s := newSampler(t, Sampling{})
	_, err := Sample(tensor.Zeros(dev, tensor.F32, 2, 5), []*Sampler{s})
	require.ErrorContains(t, err, "want (1, vocabulary)")
	_, err = Sample(tensor.Zeros(dev, tensor.F32, 1, 5).Reshape(7), []*Sampler{s})
	require.ErrorContains(t, err, "reshape")
	nan := make([]float32, 1000)
	nan[500] = float32(nan[0] / nan[1])
	_, err = sampleDevice(tensor.From(dev, nan, 1, 1000), []*Sampler{s})
	require.ErrorContains(t, err, "NaN")
	c, err := Sample(tensor.Zeros(dev, tensor.BF16, 2, 5), []*Sampler{s, s})
	require.NoError(t, err)
	require.Equal(t, []int32{0, 0}, []int32{c[0].ID, c[1].ID})
}
