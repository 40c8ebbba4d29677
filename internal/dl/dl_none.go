//go:build kiln_nogpu || !(linux || darwin || windows) || !(amd64 || arm64)

package dl

func open(string) (uintptr, error) { return 0, ErrNoDL }

func sym(uintptr, string) (uintptr, error) { return 0, ErrNoDL }

// Call cannot be reached with an address from this package, because none is
// ever handed out; it returns a value that no C interface uses for success.
func Call(uintptr, []uintptr) uintptr { return ^uintptr(0) }
