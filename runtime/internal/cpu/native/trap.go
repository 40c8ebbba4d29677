package native

import (
	"fmt"
	"os"
	"runtime/debug"
)

// trapping makes a bad address in native code an error of the kernel, as it is on the
// interpreter, instead of the end of the program: KILN_CPU_TRAP=1, for finding faults
// of the compiler. The code then runs as any Go function, and keeps its processor from
// other goroutines and the collector until it returns.
var trapping = os.Getenv("KILN_CPU_TRAP") == "1"

// trapped calls code and reports a fault of memory. To the runtime it looks like a
// call to an address that is no code: it takes the return address on the top of the
// stack for the address of the fault (shouldPushSigpanic), which is in enter.
func trapped(code, ctx uintptr) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = fmt.Errorf("native code used the address %#x", r.Addr())
		default:
			err = fmt.Errorf("native code failed: %v", r)
		}
	}()
	enter(code, ctx)
	return nil
}
