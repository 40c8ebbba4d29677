//go:build !kiln_nogpu && windows && (amd64 || arm64)

package dl

import "syscall"

func open(name string) (uintptr, error) {
	h, err := syscall.LoadLibrary(name)
	return uintptr(h), err
}

func sym(handle uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(handle), name)
}

// Call calls the C function at fn with args and returns its result. It
// allocates nothing. The C function runs on the calling goroutine's thread;
// lock the thread around calls that depend on it.
func Call(fn uintptr, args []uintptr) uintptr {
	r, _, _ := syscall.SyscallN(fn, args...)
	return r
}
