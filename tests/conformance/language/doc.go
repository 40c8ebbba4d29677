// Package language holds kernels that use the whole of the kernel language, each
// a corner of it: structs and slices of them, control flow, generics with functors
// as type arguments, function values, pointers, slices, constants, shadowing, the
// order of evaluation. The suite of package conformance runs them on devices and
// as plain Go, which says what they mean.
//
// Some of the code is odd on purpose; what linters say of it is ignored by file.
package language

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // kernels that are compiled when they are launched
