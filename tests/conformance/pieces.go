package conformance

import "github.com/gokiln/kiln/runtime"

// Run runs one case on the device of a stream and returns the arguments as the kernel
// leaves them.
func Run(s *runtime.Stream, c Case) ([]any, error) { return onStream(s, c, false) }

// Plain runs one case as plain Go with warps of that size, and returns the arguments
// likewise.
func Plain(c Case, warpSize int) ([]any, error) { return onHost(c, warpSize) }
