package generate

import "github.com/gokiln/kiln/tensor"

// Stepper is a [Model] whose steps have what follows the logits as a part of them, as a graph has:
// StepThen is Step, and y is what then returns of the logits and of numbers on the device. What
// then does depends on the key and on how many numbers there are. The next step may change both
// results.
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
	all, _, err := stepAndSample(m, list, ids, samplers)
	return all, err
}

// stepAndSample is Next, with the logits, which the next step may change. They have the error of a
// step that failed.
func stepAndSample[S Sequence](
	m Model[S], list []S, ids [][]int32, samplers []*Sampler,
) (all []Choice, logits *tensor.Tensor, err error) {
	s, ok := m.(Stepper[S])
	if ok && len(list) == len(samplers) && len(list) > 0 {
		if b := newBatch(samplers, s.Vocab()); b.onDevice() {
			y, logits := s.StepThen(list, ids, b.key(), b.numbers(), b.parts)
			if err := b.copy(y); err != nil {
				return nil, logits, err
			}
			all, err = b.choose(logits)
			return all, logits, err
		}
	}
	if logits = m.Step(list, ids); logits.Err() != nil {
		return nil, logits, logits.Err()
	}
	all, err = Sample(logits, samplers)
	return all, logits, err
}
