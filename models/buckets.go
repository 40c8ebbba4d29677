package models

import (
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

// buckets is T5's positions (Raffel et al., 2020): what is added to the score of a query and a key
// depends on the head and on how far they are apart, distances being in buckets that grow.
type buckets struct {
	of     *nn.Embedding      // (buckets, heads)
	bucket func(back int) int // of a key so many positions in front of the query

	table *tensor.Tensor // (heads, 2·rows−1) for distances of keys from 1−rows to rows−1, F32
	rows  int
}

// newBuckets returns n buckets for heads, in both directions or for keys in front of queries.
func newBuckets(n, most, heads int, both bool) *buckets {
	b := &buckets{of: nn.NewEmbedding(n, heads), bucket: bucketsT5(n, most)}
	if !both {
		half := bucketsT5(2*n, most)
		b.bucket = func(back int) int { return half(max(back, 0)) }
	}
	return b
}

// grow makes the table for so many positions.
func (s *buckets) grow(d *tensor.Device, rows int) {
	if rows <= s.rows {
		return
	}
	s.rows = max(2*s.rows, (rows+cacheStep-1)/cacheStep*cacheStep)
	at := make([]int32, 2*s.rows-1)
	for i := range at {
		at[i] = int32(s.bucket(s.rows - 1 - i))
	}
	ids := tensor.From(d, at, len(at))
	s.table = s.of.Forward(ids).Cast(tensor.F32).T().Contiguous()
}

// bias returns what is added to scores of count queries from position n on and all keys up to the
// last of them: (heads, count, n+count).
func (s *buckets) bias(d *tensor.Device, n, count int) *tensor.Tensor {
	s.grow(d, n+count)
	if count == 1 {
		return s.table.Narrow(1, s.rows-1-n, n+1).Unsqueeze(1)
	}
	// The row of the query at n+i begins at the distance −(n+i).
	return s.table.Unfold(1, n+count, 1).Narrow(1, s.rows-n-count, count).Flip(1)
}

// optionsOf are the options for sequence n of a batch. Layers with the same buckets have the same
// tensor.
func (a *Attention) optionsOf(b *batch, n int) attention.Options {
	o := a.options
	if a.buckets == nil {
		return o
	}
	if b.biases == nil {
		b.biases = map[*buckets][]*tensor.Tensor{}
	}
	list := b.biases[a.buckets]
	if list == nil {
		list = make([]*tensor.Tensor, len(b.list))
		b.biases[a.buckets] = list
	}
	if list[n] == nil {
		list[n] = a.buckets.bias(b.device, b.list[n].n, b.count(n))
	}
	o.Mask = list[n]
	return o
}
