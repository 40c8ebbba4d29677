package real

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Wide is a constraint.
type Wide interface{ ~float64 | ~int64 }

// Range is passed by value.
type Range struct{ From, To int }
