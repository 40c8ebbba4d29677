package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDependencies compares what go.mod requires directly with the table of RATIONALE.md.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile(root + "/RATIONALE.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Dependencies\n")
	require.True(t, found)
	rows := map[string]bool{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 1 {
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.TrimSpace(name)] = true
			}
		}
	}
	mod, err := os.ReadFile(root + "/go.mod")
	require.NoError(t, err)
	direct := regexp.MustCompile(`(?m)^\t(?:github\.com/)?(\S+?)(?:/v\d+)? v\S+$`).FindAllStringSubmatch(string(mod), -1)
	require.NotEmpty(t, direct)
	for _, m := range direct {
		assert.Contains(t, rows, m[1], "a module that go.mod requires has no row in the table of dependencies of RATIONALE.md")
	}
}
