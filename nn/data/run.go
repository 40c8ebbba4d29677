package data

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/gokiln/kiln/tensor"
)

// Epoch goes over the rest of the current epoch; the next one begins where it ends. Its last batch
// is smaller if samples are left and [Options.DropLast] does not say otherwise.
func (l *Loader[S, B]) Epoch(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) { l.loop(ctx, false, yield) }
}

// Batches goes over batches epoch by epoch, without end.
func (l *Loader[S, B]) Batches(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) { l.loop(ctx, true, yield) }
}

// job is a batch to be made. Its result has room for one, so that no worker waits for the loop.
type job[B any] struct {
	at      Position
	indices []int
	result  chan result[B]
}

type result[B any] struct {
	batch B
	err   error
}

// loop yields batches in order. The pipeline is a queue of promised results in the order of
// batches, as long as batches may be made ahead, and a queue of work for the workers.
func (l *Loader[S, B]) loop(ctx context.Context, endless bool, yield func(B, error) bool) {
	begin, free := l.enter()
	if !free {
		var none B
		yield(none, fmt.Errorf("data: %w: two loops over one loader", tensor.ErrArgument))
		return
	}
	defer l.leave()
	inner, cancel := context.WithCancel(ctx) // which ends after ctx: await asks that one
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()

	promised := make(chan job[B], l.o.Prefetch)
	work := make(chan job[B])
	wg.Go(func() { l.plan(inner, begin, endless, promised, work) })
	for range l.o.Workers {
		wg.Go(func() { l.work(inner, work) })
	}
	for {
		j, r, ok := await(ctx, promised)
		if !ok {
			return
		}
		if r.err != nil {
			yield(r.batch, r.err)
			return
		}
		l.setPosition(l.next(j.at))
		if !yield(r.batch, nil) {
			return
		}
	}
}

// plan promises batches and hands them out, until the end of the epoch or of the context.
func (l *Loader[S, B]) plan(ctx context.Context, at Position, endless bool, promised, work chan<- job[B]) {
	defer close(promised)
	defer close(work)
	for epoch := at.Epoch; endless || at.Epoch == epoch; at = l.next(at) {
		j := job[B]{at: at, indices: l.indices(at), result: make(chan result[B], 1)}
		select {
		case promised <- j:
		case <-ctx.Done():
			return
		}
		select {
		case work <- j:
		case <-ctx.Done():
			return
		}
	}
}

// work makes batches until there are no more.
func (l *Loader[S, B]) work(ctx context.Context, jobs <-chan job[B]) {
	for j := range jobs {
		if ctx.Err() != nil {
			return
		}
		b, err := l.batch(j.at, j.indices)
		j.result <- result[B]{batch: b, err: err}
	}
}

// await returns the next batch, false behind the last one. A context that is done is an error,
// whatever is ready.
func await[B any](ctx context.Context, promised <-chan job[B]) (j job[B], r result[B], ok bool) {
	select {
	case j, ok = <-promised:
	case <-ctx.Done():
	}
	if ctx.Err() == nil && ok {
		select {
		case r = <-j.result:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return j, result[B]{err: context.Cause(ctx)}, true
	}
	return j, r, ok
}
