package k

import "github.com/gokiln/kiln/dsl"

// Spaced is a comment to Go, not a directive.
//
// kiln:kernel
func Spaced(t dsl.Thread, x []float32) { x[0] = 1 } // ERROR 1 "K0005: the comment // kiln:kernel of Spaced means nothing: the mark of kernels is //kiln:kernel"

//kiln:kernl
func Typo(t dsl.Thread, x []float32) { x[0] = 1 } // ERROR 1 "K0005: the comment //kiln:kernl of Typo"

//kiln:fastmath
func helper(x float32) float32 { return x * x } // ERROR 1 "K0005: the comment //kiln:fastmath of helper means nothing: the mark of kernels is //kiln:kernel"

// Right is fine; kiln:kernel in a sentence is no mark.
//
//kiln:kernel
func Right(t dsl.Thread, x []float32) { x[0] = 1 }
