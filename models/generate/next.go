package generate

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// Stepper is a [Model] whose steps have what follows the logits as a part of them, as a graph has:
// StepThen is Step, and y is what then returns of the logits and of numbers on the device. What then
// does depends on the key and on how many numbers there are. The next step may change both results.
type Stepper[S Sequence] interface {
	Model[S]
	Vocab() int // how many logits there are
	StepThen(list []S, ids [][]int32, key string, numbers []int32,
		then func(logits, numbers *tensor.Tensor) *tensor.Tensor) (y, logits *tensor.Tensor)
}

// Next feeds ids[i] to list[i], and chooses a token behind the last by sampler i, which does not
// accept it: Step of a [Model] and [Sample]. What a [Stepper] needs for the choice is a part of its
// step, and only that comes to the host.
func Next[S Sequence](m Model[S], list []S, ids [][]int32, samplers []*Sampler) ([]Choice, error) {
	s, ok := m.(Stepper[S])
	if ok && len(list) == len(samplers) && len(list) > 0 {
		if b := newBatch(samplers, s.Vocab()); b.onDevice() {
			y, logits := s.StepThen(list, ids, b.key(), b.numbers(), b.parts)
			if err := b.copy(y); err != nil {
				return nil, err
			}
			return b.choose(logits)
		}
	}
	logits := m.Step(list, ids)
	if err := logits.Err(); err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	return Sample(logits, samplers)
}
