// Package kernels holds the kernel of command fault.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Divide divides n by each element.
//
//kiln:kernel
func Divide(t dsl.Thread, x []int32, n int32) {
	i := t.Global()
	x[i] = n / x[i]
}
