package driver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

func TestGoLines(t *testing.T) {
	const text = "head\n// a.go:3\nx;\ny; // b.go:9\nz;\n"
	for log, want := range map[string]string{
		"k.hip:1:5: error: early\n":         "k.hip:1:5: error: early\n",
		"k.hip:3:1: error: bad x\n\tx;\n":   "k.hip:3:1: error: bad x [a.go:3]\n\tx;\n",
		"k.hip:4:1: error: bad y":           "k.hip:4:1: error: bad y [b.go:9]\n",
		"k.hip:5:1: note: z\nother:5:1: z":  "k.hip:5:1: note: z [b.go:9]\nother:5:1: z",
		"k.hip:99:1: error: after the end":  "k.hip:99:1: error: after the end",
		"k.hip:what: error: is not a line":  "k.hip:what: error: is not a line",
		"k.hip:-1: error: is not one too\n": "k.hip:-1: error: is not one too\n",
	} {
		require.Equal(t, want, driver.GoLines(log, "k.hip", text))
	}
}
