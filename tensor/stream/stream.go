package stream

import "github.com/gokiln/kiln/tensor"

// Tensor is a piece of a stream: a tensor, or nothing. The zero Tensor is nothing.
type Tensor struct{ t *tensor.Tensor }

// Of is the piece that is t; nothing if t is nil.
func Of(t *tensor.Tensor) Tensor { return Tensor{t} }

// Get returns the tensor. It reports false if the piece is nothing.
func (x Tensor) Get() (*tensor.Tensor, bool) { return x.t, x.t != nil }

// Empty reports whether the piece is nothing.
func (x Tensor) Empty() bool { return x.t == nil }

// Err is the error that the tensor holds, nil if there is none or if the piece is
// nothing.
func (x Tensor) Err() error {
	if x.t == nil {
		return nil
	}
	return x.t.Err()
}

// Shape is the shape of the tensor, nil if the piece is nothing.
func (x Tensor) Shape() tensor.Shape {
	if x.t == nil {
		return nil
	}
	return x.t.Shape()
}

// Len is the size of dimension d, 0 if the piece is nothing.
func (x Tensor) Len(d int) int {
	if x.t == nil {
		return 0
	}
	return x.t.Size(d)
}

// Cat is the piece with y behind it along dimension d.
func (x Tensor) Cat(y Tensor, d int) Tensor {
	switch {
	case x.t == nil:
		return y
	case y.t == nil:
		return x
	}
	return Of(tensor.Cat(d, x.t, y.t))
}

// Narrow is the part of dimension d from start on, n long or as much as there is; nothing
// if there is nothing from start on.
func (x Tensor) Narrow(d, start, n int) Tensor {
	if bad, ok := x.without(d); ok {
		return bad
	}
	if start >= x.Len(d) {
		return Tensor{}
	}
	return Of(x.t.Narrow(d, start, min(n, x.Len(d)-start)))
}

// Split returns the first n along dimension d, or as much as there is, and the rest.
// Either may be nothing.
func (x Tensor) Split(d, n int) (head, rest Tensor) {
	if bad, ok := x.without(d); ok {
		return bad, bad
	}
	switch size := x.Len(d); {
	case n <= 0:
		return Tensor{}, x
	case n >= size:
		return x, Tensor{}
	default:
		return Of(x.t.Narrow(d, 0, n)), Of(x.t.Narrow(d, n, size-n))
	}
}

// without returns what there is to return of a piece that has no dimension d: nothing, or
// the error. It reports false if there is such a dimension.
func (x Tensor) without(d int) (Tensor, bool) {
	if x.t == nil {
		return x, true
	}
	if none := x.t.Narrow(d, 0, 0); none.Err() != nil {
		return Of(none), true
	}
	return Tensor{}, false
}

// Apply is f of the tensor, and nothing of nothing.
func (x Tensor) Apply(f func(*tensor.Tensor) *tensor.Tensor) Tensor {
	if x.t == nil {
		return x
	}
	return Of(f(x.t))
}

// Module computes a stream from a stream.
type Module interface {
	// Step takes the next piece and returns the piece that follows from what it has been
	// given so far.
	Step(x Tensor) Tensor
	// Reset forgets what was given.
	Reset()
}

// Map is the module that applies a function to each piece; it needs no memory.
func Map(f func(*tensor.Tensor) *tensor.Tensor) Module { return stateless(f) }

type stateless func(*tensor.Tensor) *tensor.Tensor

func (f stateless) Step(x Tensor) Tensor { return x.Apply(f) }
func (f stateless) Reset()               {}

// Chain is the module that gives each piece to all modules, one after the other.
func Chain(modules ...Module) Module { return chain(modules) }

type chain []Module

func (c chain) Step(x Tensor) Tensor {
	for _, m := range c {
		x = m.Step(x)
	}
	return x
}

func (c chain) Reset() {
	for _, m := range c {
		m.Reset()
	}
}
