package generate

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rules hold with what is drawn, and beside a constraint.
func TestRules(t *testing.T) {
	five, nine := int32(5), int32(9)
	m := &toy{dev: openDevice(t), vocab: 12, seed: 4}
	g := &Generator[*toySequence]{Model: m, EOS: []int32{0, 1}}
	o := Options{MaxTokens: 9, Rules: Rules{ForcedBOS: &five, ForcedEOS: &nine, MinTokens: 8,
		BadWords: [][]int32{{3}, {0}, {5, 7}, {5, 8}}, NoRepeatNGram: 2}}
	o.Temperature = 5
	for seed := range uint64(50) {
		o.Seed = &seed
		o.Constraint = even{}
		s := g.NewSession()
		run, err := s.Generate(context.Background(), []int32{2, 4}, o)
		require.NoError(t, err)
		ids := []int32{2, 4}
		for tok, err := range run.Tokens() {
			if len(ids) < 10 { // 9 is odd
				require.NoError(t, err)
				ids = append(ids, tok.ID)
			}
		}
		require.Equal(t, five, ids[2])
		pairs := map[[2]int32]bool{}
		for i := 1; i < len(ids); i++ {
			pair := [2]int32{ids[i-1], ids[i]}
			require.False(t, pairs[pair], "%v", ids)
			pairs[pair] = true
			require.True(t, even{}.Allowed(ids[i]) && ids[i] != 0, "%v", ids)
		}
		require.False(t, pairs[[2]int32{5, 8}])
	}
	for _, r := range []Rules{{NoRepeatNGram: -1}, {MinTokens: -1}, {BadWords: [][]int32{{}}}} {
		_, err := g.NewSession().Generate(context.Background(), []int32{1}, Options{Rules: r})
		require.ErrorIs(t, err, ErrOption)
		_, err = g.Beam(context.Background(), []int32{1}, BeamOptions{Width: 1, MaxTokens: 1, Rules: r})
		require.ErrorIs(t, err, ErrOption)
	}
}

// even allows even tokens, and 5.
type even struct{}

func (even) Allowed(id int32) bool { return id%2 == 0 || id == 5 }
func (even) Accept(int32) error    { return nil }

func TestEarlyStopping(t *testing.T) {
	for text, want := range map[string]EarlyStopping{
		`"never"`: StopWhenSure, "false": StopWhenLikely, "true": StopWhenFull,
	} {
		var o BeamOptions
		require.NoError(t, json.Unmarshal([]byte(`{"early_stopping": `+text+`}`), &o))
		require.Equal(t, want, o.EarlyStopping)
		b, err := json.Marshal(want)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
	require.ErrorIs(t, json.Unmarshal([]byte("1"), new(EarlyStopping)), ErrOption)
	require.NoError(t, json.Unmarshal([]byte(`{"early_stopping": null}`), &BeamOptions{}))
	_, err := json.Marshal(EarlyStopping(3))
	require.ErrorContains(t, err, "early_stopping 3")
}

// A search of which one beam has ended with a mean of −0.5, while one of a sum of −3 goes on.
func TestDecided(t *testing.T) {
	b := &beams[*toySequence]{done: []Beam{{Score: -0.5}}, live: []Beam{{LogProb: -3}}}
	for _, c := range []struct {
		how     EarlyStopping
		penalty float64
		n       int
		want    bool
	}{
		{StopWhenLikely, 1, 7, true}, // 6 tokens: −0.5
		{StopWhenLikely, 1, 8, false},
		{StopWhenSure, 1, 7, false}, // 10 tokens: −0.3
		{StopWhenSure, -1, 7, true},
		{StopWhenFull, 1, 8, true},
	} {
		b.o = BeamOptions{Width: 1, MaxTokens: 10, LengthPenalty: c.penalty, EarlyStopping: c.how}
		require.Equal(t, c.want, b.decided(c.n), "%+v", c)
	}
	b.o.Width = 2
	require.False(t, b.decided(8))
}
