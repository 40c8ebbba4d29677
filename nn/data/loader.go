package data

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/gokiln/kiln/tensor"
)

// Collate makes a batch of samples. It is called by several goroutines at the same time. What it
// draws at random, it draws from r: numbers of the device's generator would depend on who is first.
type Collate[S, B any] func(samples []S, r *rand.Rand) (B, error)

// Samples is the collate that leaves samples as they are.
func Samples[S any](samples []S, _ *rand.Rand) ([]S, error) { return samples, nil }

// Options are how a dataset is divided into batches, and how many are made ahead.
type Options struct {
	Batch    int    // samples in a batch; 0 stands for 1
	Shuffle  bool   // samples have another order in each epoch
	Seed     uint64 // of the order, and of what a collate draws
	DropLast bool   // the samples at the end of an epoch that make no whole batch are left out
	Workers  int    // goroutines that make batches; 0 stands for as many as processors, 4 at most
	Prefetch int    // batches that are made ahead of the one in use; 0 stands for two for each worker
}

// fill checks options and fills in what was left out.
func (o *Options) fill() error {
	if o.Batch < 0 || o.Workers < 0 || o.Prefetch < 0 {
		return fmt.Errorf("data: %w: %d samples in a batch, %d workers, %d batches ahead", tensor.ErrArgument, o.Batch, o.Workers, o.Prefetch)
	}
	if o.Batch == 0 {
		o.Batch = 1
	}
	if o.Workers == 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 4)
	}
	if o.Prefetch == 0 {
		o.Prefetch = 2 * o.Workers
	}
	return nil
}

// Position is where a loop over batches is.
type Position struct {
	Epoch int `json:"epoch"` // from 0
	Batch int `json:"batch"` // of the epoch, that comes next
}

// Loader makes batches of a dataset: see the package's documentation. One loop at a time may be
// over it, or the second one has an error of kind [tensor.ErrArgument]; its position may be asked
// for inside of the loop.
type Loader[S, B any] struct {
	set     Dataset[S]
	collate Collate[S, B]
	o       Options
	batches int // of an epoch

	mu    sync.Mutex
	at    Position
	busy  bool
	epoch int // that order is of, -1 for none
	order []int
}

// NewLoader returns a loader. Numbers below 0 in its options are an error of kind
// [tensor.ErrArgument], as is a dataset that makes no batch.
func NewLoader[S, B any](set Dataset[S], collate Collate[S, B], o Options) (*Loader[S, B], error) {
	if set == nil || collate == nil {
		return nil, fmt.Errorf("data: %w: no dataset, or no collate", tensor.ErrArgument)
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	l := &Loader[S, B]{set: set, collate: collate, o: o, epoch: -1}
	if l.batches = set.Len() / o.Batch; !o.DropLast {
		l.batches = (set.Len() + o.Batch - 1) / o.Batch
	}
	if l.batches == 0 {
		return nil, fmt.Errorf("data: %w: %d samples make no batch of %d", tensor.ErrArgument, set.Len(), o.Batch)
	}
	return l, nil
}

// Len is how many batches an epoch has.
func (l *Loader[S, B]) Len() int { return l.batches }

// Position is where the loop is: the batch behind the one that it has.
func (l *Loader[S, B]) Position() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// Seek has the next loop begin at a position, which another loader of the same dataset and options
// may have been at. One that no loop comes to is an error of kind [tensor.ErrRange].
func (l *Loader[S, B]) Seek(p Position) error {
	if p.Epoch < 0 || p.Batch < 0 || p.Batch >= l.batches {
		return fmt.Errorf("data: seek: %w: batch %d of %d in epoch %d", tensor.ErrRange, p.Batch, l.batches, p.Epoch)
	}
	l.setPosition(p)
	return nil
}

func (l *Loader[S, B]) setPosition(p Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = p
}

// enter returns where a loop begins, and false if there is one already.
func (l *Loader[S, B]) enter() (Position, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.busy
	l.busy = true
	return l.at, !was
}

func (l *Loader[S, B]) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
}

// next is the position behind p.
func (l *Loader[S, B]) next(p Position) Position {
	if p.Batch+1 == l.batches {
		return Position{Epoch: p.Epoch + 1}
	}
	return Position{Epoch: p.Epoch, Batch: p.Batch + 1}
}

// indices returns the indices of a batch's samples. Only the goroutine of plan calls it.
func (l *Loader[S, B]) indices(p Position) []int {
	from := p.Batch * l.o.Batch
	to := min(from+l.o.Batch, l.set.Len())
	if !l.o.Shuffle {
		list := make([]int, to-from)
		for i := range list {
			list[i] = from + i
		}
		return list
	}
	if l.epoch != p.Epoch {
		l.order, l.epoch = shuffled(l.set.Len(), l.o.Seed, uint64(p.Epoch)), p.Epoch
	}
	return l.order[from:to]
}

// batch makes the batch of a position.
func (l *Loader[S, B]) batch(p Position, indices []int) (b B, err error) {
	samples := make([]S, len(indices))
	for i, at := range indices {
		if samples[i], err = l.set.Get(at); err != nil {
			return b, fmt.Errorf("data: sample %d: %w", at, err)
		}
	}
	// the first word differs from that of the shuffles, so that their numbers are others
	r := rand.New(rand.NewPCG(^l.o.Seed, uint64(p.Epoch)<<32^uint64(p.Batch)))
	if b, err = l.collate(samples, r); err != nil {
		return b, fmt.Errorf("data: batch %d of epoch %d: %w", p.Batch, p.Epoch, err)
	}
	return b, nil
}
