package generate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gokiln/kiln/tensor"
)

// Kinds of errors of a [Batch].
var (
	ErrBusy   = errors.New("too many generations wait")
	ErrClosed = errors.New("the batch is closed")
)

// BatchOptions are the limits of a [Batch].
type BatchOptions struct {
	Sequences int // that grow together at most; 0 for 64
	Waiting   int // generations that wait for their turn at most; 0 for 256
	// Tokens is how many tokens the model keeps of all sequences at most, 0 for any number. A
	// sequence counts by multiples of Page, 0 for 1.
	Tokens, Page int
	// Kept is how many sequences of ended generations are kept at most for prompts that begin with
	// the same tokens, as each turn of a conversation does. They go when memory is short.
	Kept int
	// Device is held while the batch uses the model, nil for a model that has its device for itself:
	// while a step is captured as a graph, nothing else may use tensors of the device.
	Device sync.Locker
}

// BatchStats counts what a [Batch] has done, and says what it does.
type BatchStats struct {
	Running, Waiting, Kept int // generations that grow and that wait, sequences that are kept
	Tokens                 int // that the model keeps

	Steps, Preempted, Refused int
	PromptTokens              int // of generations that began, of which
	CachedTokens              int // the model had these already
	CompletionTokens          int
}

// Batch runs many generations together: each step of the model gives one token to each sequence
// that is behind its prompt, and feeds parts of prompts, [Generator.Chunk] tokens together. They
// join and leave between steps (Yu et al., "Orca", 2022; Agrawal et al., "Sarathi-Serve", 2024).
//
// A generation gets the tokens that [Session.Generate] gives with the same options. Where
// [BatchOptions.Tokens] or the memory do not suffice, the youngest waits again, and goes on later as
// if nothing had happened. Drafters are not asked.
type Batch[S Sequence] struct {
	g    *Generator[S]
	o    BatchOptions
	stop context.CancelFunc
	base context.Context
	wake chan struct{} // something arrived
	done chan struct{} // the loop has ended

	mu      sync.Mutex
	waiting []*member[S]
	closing bool
	stats   BatchStats

	// Of the loop alone.
	active []*member[S] // the oldest first
	kept   []fed[S]     // the oldest first
	most   int          // sequences that there is memory for, until one of them ends; 0 for any number
}

// fed is a sequence, and the tokens that it was fed.
type fed[S Sequence] struct {
	seq S
	ids []int32
}

// member is a generation of a batch.
type member[S Sequence] struct {
	*answer
	out *Stream
	seq S
	fed int // how many of the ids

	again bool // it had to wait again
}

// pending is how many ids the model has not seen.
func (m *member[S]) pending() int { return len(m.ids) - m.fed }

// NewBatch returns a batch without generations. The model is used by no one else until
// [Batch.Close] returns.
func NewBatch[S Sequence](g *Generator[S], o BatchOptions) *Batch[S] {
	set := func(x *int, to int) {
		if *x <= 0 {
			*x = to
		}
	}
	set(&o.Sequences, 64)
	set(&o.Waiting, 256)
	set(&o.Page, 1)
	b := &Batch[S]{g: g, o: o, wake: make(chan struct{}, 1), done: make(chan struct{})}
	b.base, b.stop = context.WithCancel(context.Background())
	go b.loop()
	return b
}

// Stats says what the batch did so far.
func (b *Batch[S]) Stats() BatchStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.stats
	s.Waiting = len(b.waiting)
	return s
}

// Start has a generation wait for its turn. It is an error of kind [ErrBusy] if too many do, and of
// kind [ErrContext] for a prompt that is longer than the model can look at or keep. When the
// context ends, or [Stream.Close] is called, the memory of the sequence is free before the
// next step.
func (b *Batch[S]) Start(ctx context.Context, prompt []int32, o Options) (*Stream, error) {
	a, err := b.g.answer(prompt, o)
	if err != nil {
		return nil, err
	}
	if most := b.o.Tokens / b.o.Page * b.o.Page; b.o.Tokens > 0 && (a.limit == 0 || most < a.limit) {
		if a.limit = most; len(prompt) >= most {
			return nil, fmt.Errorf("generate: %w: %d tokens, and a sequence may have %d with the answer",
				ErrContext, len(prompt), most)
		}
	}
	a.start = time.Now()
	out := &Stream{seed: a.sampler.Seed(), more: make(chan struct{}, 1), usage: a.usage}
	out.ctx, out.cancel = context.WithCancel(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		out.cancel()
		return nil, fmt.Errorf("generate: %w", ErrClosed)
	}
	if len(b.waiting) >= b.o.Waiting {
		out.cancel()
		b.stats.Refused++
		return nil, fmt.Errorf("generate: %w: %d", ErrBusy, len(b.waiting))
	}
	b.waiting = append(b.waiting, &member[S]{answer: a, out: out})
	b.rouse()
	return out, nil
}

// rouse has the loop look for what arrived.
func (b *Batch[S]) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Close refuses further generations, and waits for the others to end. When the context ends before,
// it ends them with an error of kind [ErrClosed], and returns that of the context.
func (b *Batch[S]) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	b.rouse()
	var err error
	select {
	case <-b.done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.stop()
	<-b.done
	return err
}

// onDevice calls f while the device is the batch's.
func (b *Batch[S]) onDevice(f func()) {
	if l := b.o.Device; l != nil {
		l.Lock()
		defer l.Unlock()
	}
	f()
}

// loop steps the model as long as there are generations.
func (b *Batch[S]) loop() {
	defer close(b.done)
	defer b.onDevice(b.leaveAll)
	for b.base.Err() == nil {
		var idle, closing bool
		b.onDevice(func() {
			if idle, closing = b.admit(); !idle {
				b.step()
			}
		})
		if !idle {
			continue
		}
		if closing {
			return
		}
		select {
		case <-b.wake:
		case <-b.base.Done():
		}
	}
}

// leaveAll ends what is left, and frees all memory.
func (b *Batch[S]) leaveAll() {
	for _, m := range b.active {
		b.end(m, ErrClosed)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.waiting {
		m.out.end(m.answer, ErrClosed)
	}
	for _, k := range b.kept {
		k.seq.Close()
	}
	b.active, b.waiting, b.kept = nil, nil, nil
	b.count()
}

// admit lets generations leave whose clients did, and others join while their tokens fit.
func (b *Batch[S]) admit() (idle, closing bool) {
	b.active = slices.DeleteFunc(b.active, func(m *member[S]) bool {
		gone := m.out.ctx.Err()
		if gone != nil {
			b.end(m, gone)
		}
		return gone != nil
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(m *member[S]) bool {
		gone := m.out.ctx.Err()
		if gone != nil {
			m.out.end(m.answer, gone)
		}
		return gone != nil
	})
	for len(b.waiting) > 0 && len(b.active) < b.o.Sequences {
		m := b.waiting[0]
		if len(b.active) > 0 && (b.missing(m) > 0 || len(b.active) == b.most) {
			break
		}
		b.waiting = b.waiting[1:]
		b.join(m)
	}
	b.count()
	return len(b.active) == 0, b.closing
}

// missing is how many tokens are too many with one more generation, nil for none; sequences
// that are kept do not count.
func (b *Batch[S]) missing(m *member[S]) int {
	if b.o.Tokens == 0 {
		return 0
	}
	sum := -b.o.Tokens
	for _, a := range b.active {
		sum += b.inPages(len(a.ids))
	}
	if m != nil {
		sum += b.inPages(len(m.ids))
		if m.again { // with less it would have to wait once more before long
			sum += b.o.Page * len(b.active)
		}
	}
	return sum
}

// inPages is how many tokens a sequence of n counts as.
func (b *Batch[S]) inPages(n int) int { return (n + b.o.Page - 1) / b.o.Page * b.o.Page }

// join gives a generation a sequence: one that is kept and mostly has the same tokens, or a new one.
func (b *Batch[S]) join(m *member[S]) {
	best, most := -1, 0
	for i, k := range b.kept {
		if n := common(k.ids, m.ids[:len(m.ids)-1]); n > most && 2*n >= len(k.ids) {
			best, most = i, n
		}
	}
	m.fed = 0
	if best >= 0 {
		k := b.kept[best]
		b.kept = slices.Delete(b.kept, best, best+1)
		if k.seq.Truncate(most) == nil {
			m.seq, m.fed = k.seq, most
		} else {
			k.seq.Close()
		}
	}
	if m.fed == 0 {
		m.seq = b.g.Model.NewSequence()
	}
	if m.usage.CompletionTokens == 0 {
		m.usage.CachedTokens = m.fed
		b.stats.PromptTokens += m.usage.PromptTokens
		b.stats.CachedTokens += m.fed
	}
	b.active = append(b.active, m)
}

// release takes back the sequence of a generation that ended; it is kept if there was no error.
func (b *Batch[S]) release(m *member[S], err error) {
	b.most = 0
	if err != nil || b.o.Kept <= 0 {
		m.seq.Close()
		return
	}
	b.kept = append(b.kept, fed[S]{m.seq, m.ids[:m.fed]})
	if len(b.kept) > b.o.Kept {
		b.drop()
	}
}

// end ends a generation by an error.
func (b *Batch[S]) end(m *member[S], err error) {
	b.release(m, err)
	m.out.end(m.answer, err)
}

// drop frees the sequence that is kept for longest.
func (b *Batch[S]) drop() {
	b.kept[0].seq.Close()
	b.kept = slices.Delete(b.kept, 0, 1)
}

// preempt has the youngest generation wait again, before all others.
func (b *Batch[S]) preempt() {
	m := b.active[len(b.active)-1]
	b.active = b.active[:len(b.active)-1]
	m.seq.Close()
	m.again = true
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.Insert(b.waiting, 0, m)
	b.stats.Preempted++
}

// count brings the statistics up to date. The lock is held.
func (b *Batch[S]) count() {
	s := &b.stats
	s.Running, s.Kept, s.Tokens = len(b.active), len(b.kept), 0
	for _, m := range b.active {
		s.Tokens += m.fed
	}
	for _, k := range b.kept {
		s.Tokens += len(k.ids)
	}
}

// makeRoom frees what the next step needs.
func (b *Batch[S]) makeRoom() {
	keeps := func() (sum int) {
		for _, k := range b.kept {
			sum += b.inPages(len(k.ids))
		}
		return sum
	}
	for len(b.kept) > 0 && b.missing(nil)+keeps() > 0 {
		b.drop()
	}
	for len(b.active) > 1 && b.missing(nil) > 0 {
		b.preempt()
	}
}

// step steps the model once.
func (b *Batch[S]) step() {
	if b.o.Tokens > 0 {
		b.makeRoom()
	}
	members, ids, ready := b.plan()
	list := make([]S, len(members))
	for i, m := range members {
		list[i] = m.seq
	}
	samplers := make([]*Sampler, ready)
	for i := range samplers {
		samplers[i] = members[i].sampler
	}
	var logits *tensor.Tensor
	var chosen []Choice
	var refused error // of the choice; a step that failed has an error in its logits
	if ready == len(members) {
		chosen, logits, refused = stepAndSample(b.g.Model, list, ids, samplers)
	} else if logits = b.g.Model.Step(list, ids); logits.Err() == nil && ready > 0 {
		chosen, refused = Sample(logits.Narrow(0, 0, ready), samplers)
	}
	if err := logits.Err(); err != nil {
		b.failed(err)
		return
	}
	for i, m := range members {
		m.fed += len(ids[i])
	}
	if refused != nil {
		chosen = nil
	}
	all := b.take(members[:ready], chosen, logits)
	b.mu.Lock()
	b.stats.Steps++
	for _, r := range all {
		if r.err == nil {
			b.stats.CompletionTokens++
		}
	}
	b.count()
	b.mu.Unlock()
	for _, r := range all { // clients see what is counted already
		if r.err == nil {
			r.of.out.add(r.tok, r.of.usage)
		}
		if r.ends {
			r.of.out.end(r.of.answer, r.err)
		}
	}
}

// plan says what is fed: last tokens first, then prompts as far as a step goes, the oldest first.
// The first ready of them get a token.
func (b *Batch[S]) plan() (list []*member[S], ids [][]int32, ready int) {
	chunk := b.g.chunk()
	left := chunk
	for _, single := range []bool{true, false} {
		for _, m := range b.active {
			n := m.pending()
			if (n == 1) != single {
				continue
			}
			if !single {
				if n = min(n, left); n <= 0 {
					break
				}
			}
			list, ids = append(list, m), append(ids, m.ids[m.fed:m.fed+n:m.fed+n])
			if left -= n; n == m.pending() {
				ready++
			}
		}
		left = max(left, chunk/4, 1) // prompts go on beside however many others
	}
	return list, ids, ready
}

// result is what a generation got of a step.
type result[S Sequence] struct {
	of   *member[S]
	tok  Token
	ends bool
	err  error
}

// take gives each generation the token that was chosen for it. If none was, as the choice of one of
// them failed, each has one chosen for itself, so that the others do not suffer from it. Those that
// end give up their sequences.
func (b *Batch[S]) take(list []*member[S], chosen []Choice, logits *tensor.Tensor) []result[S] {
	out := make([]result[S], len(list))
	ended := map[*member[S]]bool{}
	for i, m := range list {
		r, one := &out[i], chosen
		if r.of = m; chosen != nil {
			one = chosen[i : i+1]
		} else {
			one, r.err = Sample(logits.Narrow(0, i, 1), []*Sampler{m.sampler})
		}
		if r.err == nil {
			r.tok, r.ends, r.err = r.of.take(one[0])
		}
		if r.ends = r.ends || r.err != nil; r.ends {
			ended[r.of] = true
			b.release(r.of, r.err)
		}
	}
	b.active = slices.DeleteFunc(b.active, func(m *member[S]) bool { return ended[m] })
	return out
}

// failed is for a step that failed, as without memory: with fewer sequences it may go. What one
// alone fails with ends it.
func (b *Batch[S]) failed(err error) {
	for _, m := range b.active {
		if n := m.seq.Len(); n != m.fed && (n < m.fed || m.seq.Truncate(m.fed) != nil) {
			m.seq.Close()
			m.seq, m.fed = b.g.Model.NewSequence(), 0
		}
	}
	switch {
	case len(b.kept) > 0:
		for len(b.kept) > 0 {
			b.drop()
		}
	case len(b.active) > 1:
		b.preempt()
		b.most = len(b.active)
	default:
		b.end(b.active[0], err)
		b.active = nil
	}
}
