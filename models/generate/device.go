package generate

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gokiln/kiln/models/generate/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor"
)

// Sample chooses a token for each row of logits, (n, vocabulary), by the sampler of that row. It
// does not accept them. One sampler may stand for several rows if nothing of it depends on what it
// accepts. On a device only what is needed for the choice is copied: the first tokens and the
// logits that penalties change; a whole row where that does not decide. The tokens are those of
// [Sampler.Pick] for the same logits.
func Sample(logits *tensor.Tensor, list []*Sampler) ([]Choice, error) {
	if err := logits.Err(); err != nil {
		return nil, err
	}
	if logits.Rank() != 2 || logits.Size(0) != len(list) || logits.Size(1) == 0 {
		return nil, errLogits("logits are %v for %d samplers: want (%[2]d, vocabulary)", logits.Shape(), len(list))
	}
	if len(list) == 0 {
		return nil, nil
	}
	return sampleDevice(logits.Detach().Cast(tensor.F32), list)
}

// sampleHost copies all logits.
func sampleHost(logits *tensor.Tensor, list []*Sampler) ([]Choice, error) {
	all, err := tensor.ToSlice[float32](logits)
	if err != nil {
		return nil, err
	}
	out, n := make([]Choice, len(list)), logits.Size(1)
	for i, s := range list {
		if out[i], err = s.Pick(all[i*n : (i+1)*n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// batch is what is copied of logits for a list of samplers.
type batch struct {
	list    []*Sampler
	vocab   int
	first   int // how many of the first tokens of each row
	best    int // how many of the most likely ones
	changed int // how many logits that penalties change
	noise   bool
	sums    bool // of scaled logits
	probs   bool // of logits

	scales, factors []float32 // of noise, 0 for none; of logits in sums
	keys            []int64
	ids             []int32 // changed ones, -1 behind those of a row
	width           int     // of a row of what is copied
	copied          []float32
}

func newBatch(list []*Sampler, vocab int) *batch {
	b := &batch{list: list, vocab: vocab}
	for _, s := range list {
		o := &s.o
		b.first = max(b.first, s.wants(vocab))
		b.best = max(b.best, min(o.TopLogProbs, vocab))
		b.probs = b.probs || o.LogProbs || o.TopLogProbs > 0
		b.sums = b.sums || o.filters() && (o.Mirostat != 0 || o.TopK == 0 && o.TopP < 1)
		b.changed = max(b.changed, len(s.adjusted()))
		scale, key := float32(0), int64(0)
		if !o.greedy() && !o.filters() {
			scale, key, b.noise = o.scale(), s.key(), true
		}
		b.scales, b.keys = append(b.scales, scale), append(b.keys, key)
		b.factors = append(b.factors, o.scale())
	}
	if b.changed > 0 { // few numbers, so that few graphs are captured
		b.changed = max(16, 1<<bits.Len(uint(b.changed-1)))
	}
	for _, s := range list {
		ids := s.adjusted()
		for i := range b.changed {
			id := int32(-1)
			if i < len(ids) && int(ids[i]) < vocab {
				id = ids[i]
			}
			b.ids = append(b.ids, id)
		}
	}
	return b
}

// maxExact is the number of ids that float32 represents, which they are copied as.
const maxExact = 1 << 24

// onDevice reports whether less than a row is copied, as numbers that float32 has.
func (b *batch) onDevice() bool { return b.vocab <= maxExact && b.first+b.changed <= b.vocab/2 }

// sampleDevice copies what the choices are likely to need, and rows where that was too little.
func sampleDevice(logits *tensor.Tensor, list []*Sampler) ([]Choice, error) {
	b := newBatch(list, logits.Size(1))
	if !b.onDevice() {
		return sampleHost(logits, list)
	}
	if err := b.copyOf(logits); err != nil {
		return nil, err
	}
	return b.choose(logits)
}

// copyOf brings the parts of logits to the host.
func (b *batch) copyOf(logits *tensor.Tensor) error {
	scope := tensor.OpenScope()
	defer scope.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	numbers := b.numbers()
	on := scope.Own(tensor.From(logits.Device(), numbers, len(numbers)))
	return b.copy(b.parts(logits.In(scope), on))
}

// choose chooses by what was copied, and copies rows of which that was too little.
func (b *batch) choose(logits *tensor.Tensor) ([]Choice, error) {
	list := b.list
	out := make([]Choice, len(list))
	for i, s := range list {
		r := &deviceRow{b, i, b.copied[i*b.width:][:b.width]}
		id, ok, err := s.choose(r)
		if err != nil {
			return nil, err
		}
		if !ok {
			part, err := sampleHost(logits.Narrow(0, i, 1), list[i:i+1])
			if err != nil {
				return nil, err
			}
			out[i] = part[0]
			continue
		}
		out[i] = r.choice(id)
	}
	return out, nil
}

// numbers are what the parts depend on beside the logits: keys of noise, its scales, factors of sums,
// and ids of changed logits.
func (b *batch) numbers() []int32 {
	var list []int32
	for _, key := range b.keys {
		list = append(list, int32(key), int32(key>>32))
	}
	for _, all := range [][]float32{b.scales, b.factors} {
		for _, x := range all {
			list = append(list, int32(math.Float32bits(x)))
		}
	}
	return append(list, b.ids...)
}

// key says what the parts are.
func (b *batch) key() string {
	return fmt.Sprint(len(b.list), b.first, b.best, b.changed, b.noise, b.sums, b.probs)
}

// parts returns what is copied, (rows, width) of F32, of logits on the device and of numbers, which
// begin at a multiple of 8 bytes.
func (b *batch) parts(logits, numbers *tensor.Tensor) *tensor.Tensor {
	if err := errors.Join(logits.Err(), numbers.Err()); err != nil {
		return tensor.Fail("sample", err)
	}
	dev, n := logits.Device(), len(b.list)
	at := numbers.Layout().Offset()
	next := func(dt tensor.DType, columns int) *tensor.Tensor {
		words := dt.Size() / tensor.I32.Size()
		l, err := layout.New(layout.Shape{n, columns}, []int{columns, 1}, at/words)
		if err != nil {
			return tensor.Fail("sample", err)
		}
		at += n * columns * words
		return tensor.FromBuffer(dev, numbers.Buffer(), dt, l)
	}
	noise, scales, factors, changed := next(tensor.I64, 1), next(tensor.F32, 1), next(tensor.F32, 1), next(tensor.I32, b.changed)
	keys := logits
	if b.noise {
		ids := tensor.Arange(dev, 0, uint32(b.vocab)).Unsqueeze(0)
		keys = tensor.Map4(kernels.Key, logits, ids, scales, noise)
	}
	first := keys.ArgMaxKeep(1)
	if b.first > 1 {
		_, first = keys.TopK(b.first, 1, false)
	}
	parts := []*tensor.Tensor{first.Cast(tensor.F32), logits.Gather(first, 1)}
	if b.changed > 0 {
		parts = append(parts, logits.Gather(changed, 1))
	}
	if b.sums {
		parts = append(parts, logits.Mul(factors).LogSumExpKeep(1))
	}
	if b.probs {
		parts = append(parts, logits.LogSumExpKeep(1))
	}
	if b.best > 0 {
		z, ids := logits.TopK(b.best, 1, false)
		parts = append(parts, ids.Cast(tensor.F32), z)
	}
	return tensor.Cat(1, parts...)
}

// copy brings the parts of all rows to the host, in one piece.
func (b *batch) copy(parts *tensor.Tensor) (err error) {
	if parts.Err() == nil {
		b.width = parts.Size(1)
	}
	b.copied, err = tensor.ToSlice[float32](parts)
	return err
}

// deviceRow is what was copied of a row.
type deviceRow struct {
	*batch
	i    int
	data []float32
}

func (r *deviceRow) size() int { return r.vocab }

func (r *deviceRow) top(n int) []entry {
	n = min(n, r.first)
	list := make([]entry, n)
	for k := range list {
		id, z := int32(r.data[k]), r.data[r.first+k]
		list[k] = entry{id, z, kernels.Key(z, uint32(id), r.scales[r.i], r.keys[r.i])}
	}
	return list
}

// logit is of one of the tokens that penalties change: their order is that of ids.
func (r *deviceRow) logit(id int32) float32 {
	k, _ := slices.BinarySearch(r.list[r.i].adjusted(), id)
	return r.data[2*r.first+k]
}

func (r *deviceRow) logSum(scale float32) (sum, off float64, ok bool) {
	if !r.sums {
		return 0, 0, false
	}
	sum = float64(r.data[2*r.first+r.changed])
	// The sum of float32 is a tree, and its logarithm is rounded: off by parts of 2²⁴.
	return sum, 1e-5 + math.Abs(sum)*0x1p-21, true
}

// choice is a token with what was asked for about it.
func (r *deviceRow) choice(id int32) Choice {
	out := Choice{ID: id}
	o := &r.list[r.i].o
	if !o.LogProbs && o.TopLogProbs == 0 {
		return out
	}
	at := 2*r.first + r.changed
	if r.sums {
		at++
	}
	sum := float64(r.data[at])
	ids, z := r.data[at+1:][:r.best], r.data[at+1+r.best:]
	for k := range min(o.TopLogProbs, r.best) {
		out.Top = append(out.Top, TokenProb{int32(ids[k]), float64(z[k]) - sum})
	}
	for k := range r.first {
		if int32(r.data[k]) == id {
			out.LogProb = float64(r.data[r.first+k]) - sum
			return out
		}
	}
	out.LogProb = float64(r.logit(id)) - sum
	return out
}
