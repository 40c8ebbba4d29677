//go:build !amd64

package native

// Supported says whether this build can call native code.
const Supported = false

// call is not reached: Load refuses code where Supported is false.
func call(_, _ uintptr) {}

func enter(_, _ uintptr) {}

func pause() {}
