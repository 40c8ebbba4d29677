//go:build !(amd64 || arm64)

package callsite

import (
	goruntime "runtime"
	"unsafe"
)

// walk asks the runtime, which takes longer, since it unwinds the stack.
func walk(pcs *uintptr, n, skip int) int {
	return goruntime.Callers(3+skip, unsafe.Slice(pcs, n))
}
