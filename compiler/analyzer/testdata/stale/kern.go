// Package stale has launchers of other kernels than it has.
package stale

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Scale scales.
//
//kiln:kernel
func Scale[T dsl.Real](t dsl.Thread, x []T, by T) { x[t.Global()] *= by }

// Fill is new.
//
//kiln:kernel
func Fill(t dsl.Thread, x []int32) { x[t.Global()] = 1 }

// Gone is no kernel any more.
func Gone(t dsl.Thread, x []int32) { x[t.Global()] = 2 }
