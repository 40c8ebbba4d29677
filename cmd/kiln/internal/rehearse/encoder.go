package rehearse

import (
	"context"

	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// longestText is how many tokens a text has at most.
const longestText = 512

// encoder rehearses an encoder, and its head if there is one, with texts of many lengths.
func encoder(e *models.Encoder) error {
	most := longestText
	for _, n := range []int{e.MaxTokens, e.Config.MaxPositions} {
		if n > 0 {
			most = min(most, n)
		}
	}
	for _, n := range []int{1, 2, 3, 8, 64} {
		for _, size := range counts(most) {
			list := make([]*tokenizers.Encoding, n)
			for i := range list {
				list[i] = &tokenizers.Encoding{IDs: make([]int32, max(1, size-i))}
			}
			if err := texts(e, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// texts has an encoder read texts.
func texts(e *models.Encoder, list []*tokenizers.Encoding) error {
	if e.Net.Head != nil {
		y := e.Logits(list)
		if y.Err() == nil && e.Task == models.ClassifyText {
			y = y.Sigmoid() // as scores of pairs
		}
		if _, err := tensor.ToSlice[float32](y); err != nil {
			return err
		}
	}
	_, err := tensor.ToSlice[float32](e.EmbedTokens(list))
	return err
}

// translate rehearses a model with an encoder: texts of many lengths, and answers in beams and
// without.
func (r *rehearsal) translate() error {
	for _, size := range counts(min(longestText, r.context)) {
		source, err := r.lm.Encode(same(1, size))
		if err != nil {
			return err
		}
		if size != 9 && size != 65 {
			continue
		}
		g := &generate.Generator[*models.Sequence]{Model: source[0], Context: r.lm.Config.MaxPositions}
		for width := 2; width <= 5; width++ {
			o := generate.BeamOptions{Width: width, MaxTokens: 20, LengthPenalty: 1}
			if _, err := g.Beam(context.Background(), []int32{0}, o); err != nil {
				return err
			}
		}
		for _, sampling := range options {
			s := g.NewSession()
			run, err := s.Generate(context.Background(), []int32{0}, generate.Options{Sampling: sampling, MaxTokens: 20})
			if err == nil {
				_, err = run.Text()
			}
			s.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
