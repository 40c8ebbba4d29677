package tooltest

import (
	"os"
	"runtime/debug"
	"strconv"
	"testing"
)

// Run runs the tests of a package that compiles many kernels, with a heap that grows more before
// it is collected: nearly all of it is what compilers make and drop, and a third of the time was the
// collector's. Programs that the tests start, such as Go's compiler, have the same. It returns the
// exit status of the tests.
func Run(m *testing.M) int {
	if os.Getenv("GOGC") == "" {
		const percent = 400
		debug.SetGCPercent(percent)
		os.Setenv("GOGC", strconv.Itoa(percent))
	}
	return m.Run()
}

// FreshCache runs the tests of a package with a cache of compiled kernels that is empty, and not
// that of whoever runs them, as [Run] does. Processes that they start have it too.
func FreshCache(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kiln-test-cache-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("KILN_CACHE_DIR", dir)
	return Run(m)
}
