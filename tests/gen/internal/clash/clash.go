package clash

import (
	"embed"

	kiln "github.com/gokiln/kiln/dsl"
)

//go:generate go run ../../../../cmd/kiln gen

//go:embed *.go
var source embed.FS

var _ = kiln.Source(source)

// What the packages of generated code are usually called.
const (
	jit     = 1
	runtime = 2
)

// dsl is not package dsl.
type dsl struct{ V int32 }

//kiln:kernel
func add(t kiln.Thread, x []int32, d dsl) {
	if i := t.Global(); i < len(x) {
		x[i] += d.V + jit + runtime
	}
}

// Add differs from add.
//
//kiln:kernel
func Add[kilndsl kiln.Int](t kiln.Thread, x []kilndsl, by kilndsl) {
	if i := t.Global(); i < len(x) {
		x[i] += by
	}
}

func launchAdd() {}

// Run launches what is not exported.
func Run() any {
	launchAdd()
	return launchAddKernel
}

// Type is the type of an argument, and V makes one.
type Type = dsl

// V makes an argument.
func V(v int32) Type { return dsl{v} }
