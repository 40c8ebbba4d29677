package geom

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Kind is a kind of shape.
type Kind uint8

// The kinds; the group mixes implicit repetition with what kernels never reach.
const (
	Point Kind = iota + 1
	Line
	_
	Square
	Many = 1 << iota
)

var names = [3]string{"point", "line", "square"}

// Names is for the host only.
func Names() []string { return names[:] }

// Scale is an untyped constant that float32 cannot hold.
const Scale = 1.0 / 3

// Vec is a generic vector.
type Vec[T dsl.Real] struct{ X, Y T }

// Dot is the inner product.
func (v Vec[T]) Dot(w Vec[T]) T { return v.X*w.X + v.Y*w.Y }

// Grow multiplies the vector in place.
func (v *Vec[T]) Grow(by T) {
	v.X *= by
	v.Y *= by
}

// Make returns a vector.
func Make[T dsl.Real](x, y T) Vec[T] { return Vec[T]{x, y} }
