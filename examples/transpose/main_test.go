package main

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kiln-transpose")
	if err != nil {
		panic(err)
	}
	os.Setenv("KILN_CACHE_DIR", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func TestRun(t *testing.T) {
	device := os.Getenv("KILN_DEVICE")
	if device == "" {
		device = "cpu"
	}
	for _, size := range [][2]int{{1, 1}, {64, 64}, {33, 257}} {
		require.NoError(t, run(io.Discard, device, size[0], size[1]), "%v", size)
	}
}
