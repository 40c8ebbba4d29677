package tooltest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Find returns the path of a program: what the environment variable says if it is
// set, and may be "" for none, else the first of names that is in PATH.
func Find(t testing.TB, variable string, names ...string) string {
	t.Helper()
	if path := os.Getenv(variable); variable != "" && path != "" {
		return path
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing := "needs " + strings.Join(names, " or ") + ", which PATH does not lead to"
	if variable != "" {
		missing += "; nor is " + variable + " set"
	}
	if os.Getenv("KILN_REQUIRE_TOOLS") == "1" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// Need skips the test if err says that a tool was not found. KILN_REQUIRE_TOOLS=1 makes a failure of that.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("KILN_REQUIRE_TOOLS") == "1":
		t.Fatalf("KILN_REQUIRE_TOOLS=1: %v", err)
	default:
		t.Skip(err)
	}
}

// Go returns the path of the go command. Tests of a binary that was built elsewhere
// may run where there is none.
func Go(t testing.TB) string {
	t.Helper()
	return Find(t, "", "go")
}
