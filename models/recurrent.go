package models

import (
	"fmt"

	"github.com/gokiln/kiln/tensor"
)

// recurrent is what a sequence keeps for a layer whose state has one size however long the sequence
// is. What was in it before its last token is gone, so it can be truncated to nothing only.
type recurrent struct {
	n    int              // tokens that were fed
	kept []*tensor.Tensor // of all sequences that were fed together, (sequences, …) each, or nil
	row  int              // which of them this is
}

func (r *recurrent) oldest() int { return r.n }

func (r *recurrent) truncate(n int) error {
	if n != r.n {
		return fmt.Errorf("a recurrent state of %d tokens has none of %d", r.n, n)
	}
	return nil
}

func (r *recurrent) reset() { *r = recurrent{} }

// states returns tensor k of a layer's states, (sequences, shape…). Those of sequences without
// tokens are zeros.
func (b *batch) states(layer, k int, dt tensor.DType, shape ...int) *tensor.Tensor {
	shape = append([]int{1}, shape...)
	list := make([]*tensor.Tensor, len(b.list))
	together := true // as they were stored
	for i, s := range b.list {
		r := s.layers[layer].(*recurrent)
		if r.kept == nil {
			list[i], together = tensor.Zeros(b.device, dt, shape...), false
			continue
		}
		list[i] = r.kept[k].Narrow(0, r.row, 1)
		first := b.list[0].layers[layer].(*recurrent)
		together = together && first.kept != nil && r.kept[k] == first.kept[k] && r.row == i
	}
	if r := b.list[0].layers[layer].(*recurrent); together && r.kept[k].Size(0) == len(list) {
		return r.kept[k]
	}
	if len(list) == 1 {
		return list[0]
	}
	return tensor.Cat(0, list...)
}

// keep stores a layer's states behind what the batch feeds, (sequences, …) each.
func (b *batch) keep(layer int, states ...*tensor.Tensor) {
	for i, s := range b.list {
		*s.layers[layer].(*recurrent) = recurrent{n: s.n + b.count(i), kept: states, row: i}
	}
}

// bounds is where sequences begin among the ids, and the end, (sequences+1).
func (b *batch) bounds() *tensor.Tensor {
	if b.at == nil {
		at := make([]int32, len(b.starts))
		for i, n := range b.starts {
			at[i] = int32(n)
		}
		b.at = tensor.From(b.device, at, len(at))
	}
	return b.at
}
