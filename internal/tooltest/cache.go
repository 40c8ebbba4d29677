package tooltest

import (
	"os"
	"testing"
)

// FreshCache runs the tests of a package with a cache of compiled kernels that is empty, and not
// that of whoever runs them, and returns their exit status. Processes that they start have it too.
func FreshCache(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kiln-test-cache-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("KILN_CACHE_DIR", dir)
	return m.Run()
}
