//go:build !kiln_nogpu && (linux || darwin) && (amd64 || arm64)

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func open(name string) (uintptr, error) {
	// The loader keeps its error text per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

func sym(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// Call calls the C function at fn with args and returns its result. It
// allocates nothing. The C function runs on the calling goroutine's thread;
// lock the thread around calls that depend on it.
func Call(fn uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
