//go:build amd64 || arm64

package callsite

// walk follows the frame pointers of the goroutine from the function that calls Capture,
// and stores up to n return addresses, without the first skip. It returns how many.
//
//go:noescape
func walk(pcs *uintptr, n, skip int) int
