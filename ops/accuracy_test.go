package ops_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/ops/opstest/suite"
	"github.com/gokiln/kiln/runtime"
)

// TestLongSums tests the errors of sums of 2²⁵ numbers on each device. The CPU has them with
// KILN_SWEEP=all; otherwise it, the interpreter, and all devices in short tests have fewer, unless
// KILN_ACCURACY is all.
func TestLongSums(t *testing.T) {
	for _, name := range devices() {
		t.Run(name, func(t *testing.T) {
			dev, err := runtime.Open(name)
			require.NoError(t, err)
			defer dev.Close()
			// With 2²¹ numbers the first of 2²⁴ and ones is most of the sum, whose last place counts.
			lengths := []int{1 << 21, 1 << 25}
			if os.Getenv("KILN_ACCURACY") != "all" {
				switch {
				case name == "cpu:interp":
					lengths = []int{1 << 15}
				case testing.Short(), name == "cpu" && !tooltest.Whole():
					lengths = lengths[:1]
				}
			}
			for _, n := range lengths {
				list := suite.LongSums(t, dev, n, without(dev)...)
				for _, a := range list {
					t.Logf("%-32s %8.2f of %4.0f ulp, of %d: %s", a.Name, a.Ulps, a.Most, n, a.Data)
				}
				suite.CheckAccuracy(t, list)
			}
		})
	}
}

var update = flag.Bool("update", false, "measure the errors of sums, and write them to docs/accuracy.md")

// TestAccuracyInDocs writes the errors of sums on the CPU to the page about them, and tests that
// the page has all operations.
func TestAccuracyInDocs(t *testing.T) {
	const page, head, tail = "../docs/accuracy.md", "-run AccuracyInDocs -update -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), head)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, tail)
	require.True(t, ok)
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	if *update {
		table = accuracyTable(t, dev)
		require.NoError(t, os.WriteFile(page, []byte(before+head+table+tail+after), 0o644))
	}
	for _, a := range suite.LongSums(t, dev, 1<<10) {
		require.Contains(t, table, "| "+a.Name+" |", "%s is out of date: go test ./ops -run AccuracyInDocs -update", page)
	}
}

// accuracyTable is the errors of sums of 2^10 to 2^25 numbers, in steps.
func accuracyTable(t *testing.T, dev *runtime.Device) string {
	var sizes []int
	for k := 10; k <= 25; k += 5 {
		sizes = append(sizes, k)
	}
	rows := map[string]*strings.Builder{}
	var names []string
	head, line := "| operation |", "|---|"
	for _, k := range sizes {
		head, line = head+fmt.Sprintf(" 2^%d |", k), line+"---|"
		for _, a := range append(suite.LongSums(t, dev, 1<<k), suite.InOrder(1<<k)) {
			if rows[a.Name] == nil {
				rows[a.Name], names = new(strings.Builder), append(names, a.Name)
			}
			fmt.Fprintf(rows[a.Name], " %.2f |", a.Ulps)
		}
	}
	table := head + "\n" + line + "\n"
	for _, name := range names {
		table += "| " + name + " |" + rows[name].String() + "\n"
	}
	return table
}
