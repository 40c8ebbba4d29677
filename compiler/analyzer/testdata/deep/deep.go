// Package deep is a kernel package that only lib's bodies mention.
package deep

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Half returns x/2.
func Half(x float32) float32 { return x / 2 }

// Wrong is no kernel code.
func Wrong(x float32) float32 {
	m := map[int]float32{0: x}
	return m[0]
}
