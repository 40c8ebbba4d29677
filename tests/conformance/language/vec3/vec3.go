package vec3

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Color is an enumeration.
type Color uint8

// The colors.
const (
	Red Color = iota
	Green
	Blue
)

// Next is the color after c.
func (c Color) Next() Color { return (c + 1) % 3 }

// V3 is a generic struct.
type V3[T dsl.Real] struct{ X, Y, Z T }

// Add is the sum.
func (a V3[T]) Add(b V3[T]) V3[T] { return V3[T]{a.X + b.X, a.Y + b.Y, a.Z + b.Z} }

// Dot is the inner product.
func (a V3[T]) Dot(b V3[T]) T { return a.X*b.X + a.Y*b.Y + a.Z*b.Z }

// Scale multiplies in place.
func (a *V3[T]) Scale(s T) { a.X *= s; a.Y *= s; a.Z *= s }
