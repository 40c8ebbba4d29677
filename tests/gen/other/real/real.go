package real

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Small is a constraint.
type Small interface{ ~float32 | ~int32 }

// Pair is passed by value.
type Pair[T any] struct{ Low, High T }

// Add is a function for kernels.
func Add[T dsl.Number](a, b T) T { return a + b }
