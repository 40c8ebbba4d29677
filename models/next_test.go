package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tensor"
)

// TestNext samples as a part of steps, which gives the tokens that steps and samples one behind the
// other do, by graphs and without.
func TestNext(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	dir := all["llama"].folder(t)
	seed := uint64(7)
	for name, o := range map[string]generate.Sampling{
		"greedy": {}, "drawn": {Temperature: 2, Seed: &seed}, "few": {Temperature: 2, TopK: 5, Seed: &seed},
		"likely":  {Temperature: 0.7, TopP: 0.8, TopK: 20, Seed: &seed, LogProbs: true, TopLogProbs: 3},
		"typical": {Temperature: 1, TypicalP: 0.5, Seed: &seed},
		"bias":    {Temperature: 1, Seed: &seed, TopK: 2, LogitBias: map[int32]float64{3: -50, 4: 2}},
	} {
		var chosen [2][]generate.Choice
		for i, eager := range []bool{false, true} {
			m, err := Open(dir, Options{Device: cpu(t), Eager: eager, Paged: true})
			require.NoError(t, err)
			list := []*Sequence{m.NewSequence(), m.NewSequence()}
			ids := [][]int32{{5, 6, 7}, {8}}
			var samplers []*generate.Sampler
			for range list {
				s, err := generate.NewSampler(o)
				require.NoError(t, err)
				samplers = append(samplers, s)
			}
			replayed := 0
			for range 12 {
				var next []generate.Choice
				if eager {
					next, err = generate.Sample(m.Step(list, ids), samplers)
				} else {
					next, err = generate.Next(m, list, ids, samplers)
				}
				require.NoError(t, err, name)
				chosen[i] = append(chosen[i], next...)
				for j, c := range next {
					require.NoError(t, samplers[j].Accept(c.ID))
					ids[j] = []int32{c.ID}
				}
				if m.Replayed() == nil {
					replayed++
				}
			}
			require.Equal(t, !eager, replayed > 0, name)
		}
		require.Equal(t, chosen[1], chosen[0], name)
	}
}

// What follows a step gets the numbers of each step.
func TestStepThen(t *testing.T) {
	all, err := readGolden()
	require.NoError(t, err)
	m, err := Open(all["llama"].folder(t), Options{Device: cpu(t)})
	require.NoError(t, err)
	s := m.NewSequence()
	then := func(logits, numbers *tensor.Tensor) *tensor.Tensor {
		return numbers.Cast(tensor.F32).Add(logits.GetOn(1, 0))
	}
	for i := range int32(6) {
		y, logits := m.StepThen([]*Sequence{s}, [][]int32{{i}}, "sum", []int32{10 * i, 20 * i}, then)
		first := floats(t, logits)[0]
		require.Equal(t, []float32{float32(10*i) + first, float32(20*i) + first}, floats(t, y))
	}
	require.NoError(t, m.Replayed())
	y, _ := m.StepThen([]*Sequence{s}, [][]int32{{3}}, "other", nil, func(logits, _ *tensor.Tensor) *tensor.Tensor { return logits })
	require.Equal(t, tensor.Shape{1, m.Vocab()}, y.Shape())
	y, logits := m.StepThen([]*Sequence{s}, [][]int32{{-3}}, "sum", nil, then)
	require.ErrorIs(t, y.Err(), tensor.ErrRange)
	require.ErrorIs(t, logits.Err(), tensor.ErrRange)
	require.Equal(t, 7, s.Len())
}
