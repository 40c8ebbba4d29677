package tooltest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Find returns the path of a program: what the environment variable says if it is
// set, else the first of names that is in PATH.
func Find(t testing.TB, variable string, names ...string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const format = "needs %s: neither %s nor PATH leads to it"
	if os.Getenv("KILN_REQUIRE_TOOLS") == "1" {
		t.Fatalf(format, strings.Join(names, " or "), variable)
	}
	t.Skipf(format, strings.Join(names, " or "), variable)
	return ""
}
