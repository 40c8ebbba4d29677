package main

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(tooltest.FreshCache(m)) }

// All kernels agree, for a size with edges and for one that is copied in chunks.
func TestGemm(t *testing.T) {
	for _, n := range []int{75, 136} {
		var out strings.Builder
		require.NoError(t, run(&out, cmp.Or(os.Getenv("KILN_DEVICE"), "cpu"), n))
		for _, k := range []string{"Naive", "Shared", "Tiles", "Layer", "ops/matmul"} {
			require.Contains(t, out.String(), k)
		}
	}
}
