package tooltest

import (
	"os"
	"testing"
)

// Sweeps reports whether KILN_SWEEP=all asks for every combination of what a test goes
// through, such as each kernel for each architecture. Without it tests take a part in which
// every operation and every type is.
func Sweeps() bool { return os.Getenv("KILN_SWEEP") == "all" }

// Sweep skips a test that has a representative elsewhere unless KILN_SWEEP=all asks for it.
func Sweep(t testing.TB, representative string) {
	t.Helper()
	if !Sweeps() {
		t.Skipf("KILN_SWEEP=all asks for it; otherwise there is %s", representative)
	}
}
