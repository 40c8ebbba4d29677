package main

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

func TestRun(t *testing.T) {
	device := os.Getenv("KILN_DEVICE")
	if device == "" {
		device = "cpu"
	}
	for _, size := range [][2]int{{1, 1}, {64, 64}, {33, 257}} {
		require.NoError(t, run(io.Discard, device, size[0], size[1]), "%v", size)
	}
}
