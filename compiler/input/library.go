package input

import "slices"

// Import paths that the compiler itself provides.
const (
	DSL     = "github.com/gokiln/kiln/dsl"
	Fast    = DSL + "/fast"
	Math    = "math"
	Bits    = "math/bits"
	Float16 = "github.com/x448/float16"
)

// Library reports whether the compiler itself provides a package.
func Library(importPath string) bool {
	return slices.Contains([]string{DSL, Fast, Math, Bits, Float16}, importPath)
}
