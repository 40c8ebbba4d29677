// Package kern has right and wrong kernels.
package kern

import (
	"embed"
	"fmt"

	"github.com/gokiln/kiln/compiler/analyzer/testdata/lib"
	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Right calls two other packages.
//
//kiln:kernel
func Right(t dsl.Thread, x []float32) { x[0] = lib.Quarter(x[0]) }

// Wrong calls what is wrong two packages away.
//
//kiln:kernel
func Wrong(t dsl.Thread, x []float32) { x[0] = lib.Wrong(x[0]) }

// Waits has a barrier that half of the threads miss.
//
//kiln:kernel
func Waits(t dsl.Thread, x []float32) {
	if t.ThreadX() < 16 {
		t.Sync()
	}
	fmt.Println("done")
}

// Divergent has nothing else wrong.
//
//kiln:kernel
func Divergent(t dsl.Thread, x []float32) {
	if t.ThreadX() < 16 {
		t.Sync()
	}
}

// Host may do what it likes.
func Host() map[string]int { return map[string]int{"a": 1} }
