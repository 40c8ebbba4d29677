//go:build !kiln_nogpu

package dl

import "unsafe"

// One crossing from Go to C costs as much as the rest of a launch, so both
// calls are made in one: pairABI0 makes them with the C stack under it.

// pairABI0 is the address of the function of that name in pair_linux_amd64.s.
var pairABI0 uintptr

// cgocall runs a function with C's calling convention on the thread's own
// stack and tells the scheduler. The runtime lets packages that call C without
// cgo use it; package purego, which this package needs besides, prepares the
// threads for it.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, arg unsafe.Pointer) int32

func (p *Pair) call() int32 { return cgocall(pairABI0, unsafe.Pointer(p)) }
