package tensor

import "fmt"

// Views share memory, so its buffer counts the changes in place, and whoever needs the elements
// that were there keeps the count of that time: see RATIONALE.md.

// change is an operation that has changed memory in place.
type change struct{ op, pos string }

func (c change) String() string { return at(c.op, c.pos) }

// at is an operation and its line, if that is known.
func at(op, pos string) string {
	if pos == "" {
		return op
	}
	return op + " (" + pos + ")"
}

// changed notes that op has changed the elements of t, if err, which it returns as an error of
// op, is nil.
func (t *Tensor) changed(op string, err error) error {
	if err == nil && t.buf != nil {
		t.buf.NoteChange(change{op, position()})
		t.dev.graph.writes(t.buf)
	}
	return wrap(op, err)
}

// version counts the changes of the memory, from 1 on.
func (t *Tensor) version() uint64 {
	if t.buf == nil {
		return 1
	}
	n, _ := t.buf.Changes()
	return n + 1
}

// lastChange is the last change of the memory, in words.
func (t *Tensor) lastChange() any {
	if t.buf == nil {
		return nil
	}
	_, by := t.buf.Changes()
	return by
}

// pinned is the tensor with the elements that it had at a version, without its gradient: an
// operation that reads them finds an error if they were changed.
func (t *Tensor) pinned(version uint64) *Tensor {
	p := t.with(t.layout)
	p.pin = version
	return p
}

// kept is the tensor with the elements that it has now, for gradients that need them later.
func (t *Tensor) kept() *Tensor {
	if t == nil || t.err != nil || t.pin != 0 {
		return t
	}
	p := t.pinned(t.version())
	p.noGrad = t.noGrad
	return p
}

// stale reports that the elements are not those that t stands for any more.
func (t *Tensor) stale() error {
	if t.pin == 0 || t.pin == t.version() {
		return nil
	}
	return &staleError{t.layout.Shape(), t.lastChange()}
}

// staleError is that elements were changed which somebody needs.
type staleError struct {
	shape Shape
	by    any
}

func (e *staleError) Error() string {
	return fmt.Sprintf("%v: %v by %v", ErrChanged, e.shape, e.by)
}

func (e *staleError) Unwrap() error { return ErrChanged }

// needs is the error of a gradient that needs what was changed.
func (e *staleError) needs(n *node) *Tensor {
	return failf("backward", ErrChanged, "the gradient of %s needs a tensor of %v, which %v has changed since: change a Copy, or call Backward before", at(n.op, n.pos), e.shape, e.by)
}

// torn reports that a tensor, which had a version when it was used, was changed after it was made:
// its elements are then not those that the operations before it computed.
func torn(t *Tensor, version uint64) error {
	if n := t.node; n.born != 0 && n.born != version {
		return failf("backward", ErrChanged, "the result of %s, of %v, was changed by %v before it was used: its gradient is not that of what it was computed from; change a Copy", at(n.op, n.pos), t.layout.Shape(), t.lastChange()).err
	}
	return nil
}
