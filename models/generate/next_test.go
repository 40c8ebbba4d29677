package generate

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// following is a toy whose steps have what follows as a part.
type following struct {
	*toy
	keys map[string]int
}

func (m *following) Vocab() int { return m.vocab }

func (m *following) StepThen(list []*toySequence, ids [][]int32, key string, numbers []int32,
	then func(logits, numbers *tensor.Tensor) *tensor.Tensor,
) (y, logits *tensor.Tensor) {
	m.keys[key]++
	logits = m.Step(list, ids)
	all := append([]int32{1, 2}, numbers...) // they begin somewhere
	return then(logits, tensor.From(m.dev, all, len(all)).Narrow(0, 2, len(numbers))), logits
}

// Next chooses what a step and a sample choose, of any options.
func TestNext(t *testing.T) {
	dev := openDevice(t)
	for name, o := range everyKind() {
		plain := &toy{dev: dev, vocab: 5000, seed: 3}
		m := &following{&toy{dev: dev, vocab: 5000, seed: 3}, map[string]int{}}
		list, other := []*toySequence{m.NewSequence(), m.NewSequence()}, []*toySequence{m.NewSequence(), m.NewSequence()}
		var a, b []*Sampler
		for i := range list {
			a, b = append(a, newSampler(t, seeded(o, uint64(i)))), append(b, newSampler(t, seeded(o, uint64(i))))
		}
		ids := [][]int32{{1, 2, 3}, {4}}
		for range 10 {
			got, err := Next[*toySequence](m, list, ids, a)
			require.NoError(t, err, name)
			want, err := Next[*toySequence](plain, other, ids, b)
			require.NoError(t, err, name)
			require.Equal(t, want, got, name)
			for i, c := range got {
				require.NoError(t, a[i].Accept(c.ID))
				require.NoError(t, b[i].Accept(c.ID))
				ids[i] = []int32{c.ID}
			}
		}
		require.LessOrEqual(t, len(m.keys), 2, "%s: %v", name, m.keys) // of few graphs
		require.NotEmpty(t, m.keys)
	}
	m := &following{&toy{dev: dev, vocab: 5000, fails: 1}, map[string]int{}}
	_, err := Next[*toySequence](m, []*toySequence{m.NewSequence()}, [][]int32{{1}}, []*Sampler{newSampler(t, Sampling{})})
	require.Error(t, err)
}

// Generations, alone and in batches, have choices as parts of steps, and give the tokens that they
// give without.
func TestFollowing(t *testing.T) {
	dev := openDevice(t)
	o := Options{Sampling: seeded(Sampling{Temperature: 0.8, TopK: 20}, 4), MaxTokens: 12}
	var want []int32
	for name, m := range map[string]Model[*toySequence]{
		"plain":     &toy{dev: dev, vocab: 5000, seed: 3},
		"following": &following{&toy{dev: dev, vocab: 5000, seed: 3}, map[string]int{}},
	} {
		g := &Generator[*toySequence]{Model: m}
		run, err := g.NewSession().Generate(t.Context(), []int32{1, 2, 3}, o)
		require.NoError(t, err)
		b := NewBatch(g, BatchOptions{})
		stream, err := b.Start(t.Context(), []int32{1, 2, 3}, o)
		require.NoError(t, err)
		for kind, tokens := range map[string]iter.Seq2[Token, error]{"run": run.Tokens(), "batch": stream.Tokens()} {
			var got []int32
			for tok, err := range tokens {
				require.NoError(t, err)
				got = append(got, tok.ID)
			}
			if require.Len(t, got, o.MaxTokens); want == nil {
				want = got
			}
			require.Equal(t, want, got, "%s, %s", name, kind)
		}
		require.NoError(t, b.Close(t.Context()))
		if f, ok := m.(*following); ok {
			n := 0
			for _, times := range f.keys {
				n += times
			}
			require.Equal(t, 2*o.MaxTokens, n, "choices of the run and of the batch are parts of steps")
		}
	}
}
