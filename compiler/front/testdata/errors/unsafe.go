package k

import (
	"unsafe"

	"github.com/gokiln/kiln/dsl"
)

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	p := unsafe.Pointer(&x[0]) // ERROR 7 "K0121: unsafe.Pointer in a kernel"
	_ = p
	x[0] = float32(unsafe.Sizeof(x[1])) // ERROR 17 "K0121: unsafe.Sizeof"
}
