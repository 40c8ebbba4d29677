package models

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// fixed is what a sequence keeps for a layer with a state of fixed size, beside the row that it has
// in the layer's [stateRows]: what was fed cannot be taken back, but for all that came with the last
// [LM.StepAll], of which a copy of the states before is kept.
type fixed struct {
	n      int // tokens fed
	before int // those that the copy is behind
	kept   []keptRow
}

// keptRow is a copy of a sequence's row of states.
type keptRow struct {
	of   *stateRows
	row  int
	copy *tensor.Tensor
}

func (f *fixed) oldest() int {
	if f.kept != nil {
		return f.before
	}
	return f.n
}

// has reports whether there is a state behind n tokens.
func (f *fixed) has(n int) bool { return n == f.n || f.kept != nil && n == f.before }

func (f *fixed) truncate(n int) error {
	switch {
	case n == f.n:
		return nil
	case !f.has(n):
		return fmt.Errorf("%w: a recurrent state behind %d tokens has none of %d",
			tensor.ErrRange, f.n, n)
	}
	for _, k := range f.kept {
		if err := k.of.t.Narrow(0, k.row, 1).Assign(k.copy); err != nil {
			return err
		}
	}
	f.n, f.kept = n, nil
	return nil
}

func (f *fixed) reset() { *f = fixed{} }

// keep copies states of a sequence, if the step may be taken back. A layer may have some more that it
// tells of later in the step.
func (f *fixed) keep(b *batch, s *Sequence, states []*stateRows) error {
	if f.n == s.n {
		f.before, f.kept = s.n, nil
	}
	if !b.keeps || s.n == 0 {
		return nil
	}
	for _, of := range states {
		row := s.stateRow()
		k := keptRow{of, row, of.t.Narrow(0, row, 1).Copy()}
		if err := k.copy.Err(); err != nil {
			return err
		}
		f.kept = append(f.kept, k)
	}
	return nil
}

func (f *fixed) reserve(int) error { return nil }

// memory is that of the layer: see [LM.states].
func (f *fixed) memory() (keys, values *tensor.Tensor) { return nil, nil }

func (f *fixed) advance() { f.n, f.kept = f.n+1, nil }

// stateRows is the states of a layer, a row for each sequence of the model. It grows.
type stateRows struct {
	shape []int // of a row
	t     *tensor.Tensor
}

// newStateRows returns states whose rows have a shape, without memory.
func newStateRows(shape ...int) *stateRows { return &stateRows{shape: shape} }

// upTo makes the tensor have so many rows at least.
func (s *stateRows) upTo(rows int, d *tensor.Device, dt tensor.DType) error {
	had := 0
	if s.t != nil {
		had = s.t.Size(0)
	}
	if rows <= had {
		return nil
	}
	next := tensor.Empty(d, dt, append([]int{max(rows, 2*had)}, s.shape...)...)
	if had > 0 && next.Err() == nil {
		if err := next.SliceSet(s.t, 0, 0); err != nil {
			return err
		}
	}
	if next.Err() == nil {
		s.t = next
	}
	return next.Err()
}

// recurrent says where the sequences of a batch and their states are, which layer i has in some
// tensors, and counts what the layer is fed. States are of the type that dt is computed in.
func (b *batch) recurrent(
	i int, dt tensor.DType, states ...*stateRows,
) (*recurrent.Sequences, error) {
	on, err := b.onRows()
	if err != nil {
		return nil, err
	}
	m := b.list[0].lm
	for _, s := range states {
		if !slices.Contains(m.states, s) {
			m.states = append(m.states, s)
		}
		if err := s.upTo(on.States(), b.device, dt.Compute()); err != nil {
			return nil, err
		}
	}
	if b.step != nil { // steps are counted when they are taken
		return on, nil
	}
	for j, s := range b.list {
		f := s.layers[i].(*fixed)
		if err := f.keep(b, s, states); err != nil {
			return nil, err
		}
		f.n = s.n + b.count(j)
	}
	return on, nil
}

// onRows says where the sequences of a batch and their states are.
func (b *batch) onRows() (*recurrent.Sequences, error) {
	if b.rowsOn == nil {
		list := make([]recurrent.Sequence, len(b.list))
		for j, s := range b.list {
			list[j] = recurrent.Sequence{Tokens: b.count(j), State: s.stateRow(), Fresh: s.n == 0}
		}
		on, err := recurrent.NewSequences(b.device, list)
		if err != nil {
			return nil, err
		}
		b.rowsOn = on
	}
	return b.rowsOn, nil
}

// rowList is which rows of states sequences have.
type rowList struct {
	mu    sync.Mutex // sequences that nobody closes give rows back at any time
	free  []int
	count int
}

// take returns a row that is nobody's, the first one that there is.
func (l *rowList) take() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) == 0 {
		l.count++
		return l.count - 1
	}
	i := slices.Index(l.free, slices.Min(l.free))
	row := l.free[i]
	l.free = slices.Delete(l.free, i, i+1)
	return row
}

func (l *rowList) give(row int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, row)
}

// heldRow is a row of a sequence, which has it until it is closed or is garbage.
type heldRow struct {
	row     int
	cleanup runtime.Cleanup
}

// stateRow is the sequence's row in tensors of states.
func (s *Sequence) stateRow() int {
	if s.row == nil {
		h := &heldRow{row: s.lm.rows.take()}
		h.cleanup = runtime.AddCleanup(s, s.lm.rows.give, h.row)
		s.row = h
	}
	return s.row.row
}

// dropRow gives the row back, if there is one.
func (s *Sequence) dropRow() {
	if s.row != nil {
		s.row.cleanup.Stop()
		s.lm.rows.give(s.row.row)
		s.row = nil
	}
}
