package cpu

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// stoppable is a program that ends when a context is over: at once, or when the blocks that
// have begun are done.
type stoppable interface {
	RunUntil(ctx context.Context, grid, block [3]int, args []byte) error
}

// errOverTime is why a launch was ended.
var errOverTime = errors.New("the launch has taken too long")

// Bounds of how long a launch that was asked to end has time for it.
const (
	leastGrace = 100 * time.Millisecond
	mostGrace  = time.Second
)

// Limit bounds the time of each kernel.
func (d *device) Limit(t time.Duration) { d.limit.Store(int64(t)) }

// Running is the kernel that runs.
func (d *device) Running() (driver.Failure, bool) {
	q := d.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	var f driver.Failure
	var fn *function
	var grid, block [3]int
	switch {
	case q.inline != nil:
		l := q.inline
		f.Seq, f.Op, fn, grid, block = l.Seq, l.Op, q.kernel, l.Grid, l.Block
	case q.task != nil && q.task.fn != nil:
		t := q.task
		f.Seq, f.Op, fn, grid, block = t.seq, t.op, t.fn, t.grid, t.block
	default:
		return f, false
	}
	e := fn.late()
	e.Text = driver.Shape(grid, block)
	f.Err = e
	return f, true
}

func (f *function) late() *driver.Error {
	return &driver.Error{Device: f.dev.info.Name, Kernels: []string{f.name}, Kind: driver.ErrTimeout}
}

// runWithin runs a kernel that has so long. One that cannot be ended is left alone: it goes on
// on its goroutine, so the arguments are its own.
func (f *function) runWithin(limit time.Duration, grid, block [3]int, args []byte) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errOverTime)
	defer cancel()
	own := slices.Clone(args)
	ended := make(chan error, 1)
	go func() {
		ended <- f.guarded(func() error {
			if p, ok := f.program.(stoppable); ok {
				return p.RunUntil(ctx, grid, block, own)
			}
			return f.program.Run(grid, block, own)
		})
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		grace := time.NewTimer(min(max(limit, leastGrace), mostGrace))
		defer grace.Stop()
		select {
		case err = <-ended:
		case <-grace.C:
			e := f.late()
			e.Text, e.Sticky = driver.OverTime(grid, block, limit)+"; it cannot be stopped within a block, so the device is given up", true
			return e
		}
	}
	if errors.Is(err, errOverTime) {
		e := f.late()
		e.Text = driver.OverTime(grid, block, limit) + "; it was stopped"
		return e
	}
	return err
}
