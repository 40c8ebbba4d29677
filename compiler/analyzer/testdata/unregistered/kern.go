// Package unregistered forgot to register its source.
package unregistered

import "github.com/gokiln/kiln/dsl"

// One sets the first element.
//
//kiln:kernel
func One(t dsl.Thread, x []float32) { x[0] = 1 }
