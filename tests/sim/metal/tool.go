package metal

import (
	_ "embed"
	"os"
	"path/filepath"
	"testing"
)

//go:embed src/tool.sh
var tool []byte

// Tool writes a stand-in for Apple's compiler of Metal's language, for KILN_METAL, and
// returns its path. What it makes are libraries that only the simulator opens. It is strict about
// its options.
func Tool(tb testing.TB) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "metal")
	if err := os.WriteFile(name, tool, 0o700); err != nil {
		tb.Fatal(err)
	}
	return name
}
