//go:build !amd64

package interp

import "github.com/gokiln/kiln/compiler/ir"

// hasSIMD is false: all kernels are loops in Go.
var hasSIMD = false

func simdKern(*ir.Value, shape) (kern, bool) { return nil, false }

func simdIndex() kern { return nil }
