package imatrix

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Collector adds up the squares of what weights are multiplied with, on the device where that is:
// nothing is copied to the host before [Collector.Matrix]. Its zero value is ready. Sums are in
// float64 on devices that have it, else in float32. Several goroutines may use it.
//
//	var c imatrix.Collector
//	y := c.Around("blk.0.ffn_up.weight", w.Linear)(x) // w is a quantized.Tensor, for example
//	m, err := c.Matrix()
//
// Package nn has Observe, which calls [Collector.Observe] for the layers of a network.
type Collector struct {
	mu   sync.Mutex
	of   map[string]*running
	errs []error // the first of each weight
}

// running is the sums of a weight.
type running struct {
	sums   *tensor.Tensor // (1, columns), with ends (experts + 1, columns): the last is of no expert
	counts *tensor.Tensor // (experts + 1), nil without ends
	rows   int64          // without ends
	bad    bool
}

// Observe adds the rows of x, of a floating-point type and shape (…, columns), to a weight. With
// ends the weight has as many experts, and x is (rows, columns), sorted by experts, whose rows end
// there, as [tensor.Tensor.GroupedMatMul] has it; rows behind the last end do not count. Without it
// is nil. An error is one of [Collector.Matrix]: of another number of columns, experts, or another
// device than before, and, as a graph would add the rows only on the device, of kind
// [runtime.ErrCapturing] while one is captured.
func (c *Collector) Observe(name string, x, ends *tensor.Tensor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]*running{}
	}
	r := c.of[name]
	if r == nil {
		r = &running{}
		c.of[name] = r
	}
	if r.bad {
		return
	}
	if err := r.add(x, ends); err != nil {
		r.bad = true
		c.errs = append(c.errs, fmt.Errorf("importance of %q: %w", name, err))
	}
}

// Around returns f, a product with a weight, such that its operand is observed first.
func (c *Collector) Around(name string,
	f func(x *tensor.Tensor) *tensor.Tensor) func(x *tensor.Tensor) *tensor.Tensor {
	return func(x *tensor.Tensor) *tensor.Tensor {
		c.Observe(name, x, nil)
		return f(x)
	}
}

// Matrix returns what was collected so far, for which it waits. The names of the texts and their
// chunks are left to the caller. Sums that are not finite, as those of a network that has computed
// NaN, are errors.
func (c *Collector) Matrix() (*Matrix, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, errs := &Matrix{}, c.errs
	for name, r := range c.of {
		if r.bad {
			continue
		}
		e, err := r.entry(name)
		if err == nil {
			err = m.Add(e)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m, nil
}

// check reports what cannot be added.
func (r *running) check(x, ends *tensor.Tensor) error {
	if err := x.Err(); err != nil {
		return err
	}
	switch {
	case x.Rank() == 0:
		return fmt.Errorf("%w: a single number has no columns", tensor.ErrRank)
	case !x.DType().IsFloat():
		return fmt.Errorf("%w: activations of %v", tensor.ErrDType, x.DType())
	case x.Device().Stream().Capturing():
		return fmt.Errorf("%w: rows would be counted once for all launches", runtime.ErrCapturing)
	}
	experts := 1
	if ends != nil {
		if err := ends.Err(); err != nil {
			return err
		}
		if ends.Rank() != 1 || ends.Count() == 0 || x.Rank() != 2 {
			return fmt.Errorf("%w: %v with ends %v: want (rows, columns) and (experts)", tensor.ErrRank,
				x.Shape(), ends.Shape())
		}
		experts = ends.Count() + 1
	}
	if r.sums == nil {
		return nil
	}
	switch s := r.sums.Shape(); {
	case (ends != nil) != (r.counts != nil) || s[0] != experts || s[1] != x.Size(-1):
		return fmt.Errorf("%w: %v for sums of %v before", tensor.ErrShape, x.Shape(), s)
	case x.Device() != r.sums.Device():
		return fmt.Errorf("%w: activations on %v, the sums on %v", tensor.ErrDevice, x.Device(),
			r.sums.Device())
	}
	return nil
}

// add adds rows.
func (r *running) add(x, ends *tensor.Tensor) error {
	if err := r.check(x, ends); err != nil {
		return err
	}
	d, columns := x.Device(), x.Size(-1)
	if r.sums == nil {
		dt, experts := tensor.F32, 1
		if d.Supports(tensor.F64) {
			dt = tensor.F64
		}
		if ends != nil {
			experts = ends.Count() + 1
			r.counts = tensor.Zeros(d, tensor.I64, experts)
		}
		r.sums = tensor.Zeros(d, dt, experts, columns)
	}
	if x.Count() == 0 {
		return r.sums.Err()
	}
	s := tensor.OpenScope() // of what is only needed here
	err := r.addSquares(s, x.Detach().In(s).Reshape(x.Count()/columns, columns), ends)
	return errors.Join(err, s.Close())
}

// addSquares adds the squares of the rows of x, which is in a scope.
func (r *running) addSquares(s *tensor.Scope, x, ends *tensor.Tensor) error {
	rows := x.Size(0)
	if x.DType() != tensor.F64 {
		x = x.Cast(tensor.F32)
	}
	dt := r.sums.DType()
	if ends == nil {
		r.rows += int64(rows)
		return r.sums.Assign(r.sums.Add(x.Sqr().SumKeep(0).Cast(dt)))
	}
	numbers := s.Own(tensor.Arange(x.Device(), 0, int64(rows)))
	ids := numbers.Bucketize(ends.Detach().Cast(tensor.I64), true) // the expert of each row
	counts := ids.Bincount(ends.Count() + 1).Cast(tensor.I64)
	if err := r.counts.Assign(r.counts.Add(counts)); err != nil {
		return err
	}
	return r.sums.IndexAddSet(ids, x.Sqr().Cast(dt), 0)
}

// entry is the sums as they are written.
func (r *running) entry(name string) (*Entry, error) {
	e := &Entry{Name: name, Counts: []int64{r.rows}}
	sums := r.sums
	var err error
	if r.counts != nil {
		n := r.counts.Count() - 1
		if e.Counts, err = tensor.ToSlice[int64](r.counts.Narrow(0, 0, n)); err != nil {
			return nil, fmt.Errorf("importance of %q: %w", name, err)
		}
		sums = sums.Narrow(0, 0, n)
	}
	if e.Sums, err = tensor.ToSlice[float32](sums.Cast(tensor.F32)); err != nil {
		return nil, fmt.Errorf("importance of %q: %w", name, err)
	}
	return e, nil
}
