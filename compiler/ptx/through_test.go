package ptx_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/nvrtc"
)

// TestTilesThrough runs the products by mma.sync in the simulator as the PTX that NVRTC makes of CUDA
// C++: the same matrix instructions as ours, and the same sums. Those of warpgroups are PTX's alone.
func TestTilesThrough(t *testing.T) {
	lib := nvrtc.For(t)
	for _, c := range tileProducts() {
		if c.arch == "sm_90a" {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			text, log, err := lib.PTX("tiles.cu", c.emit(t, "cuda:"+c.arch), c.arch)
			require.NoError(t, err)
			require.Empty(t, nvrtc.Warnings(log))
			require.Equal(t, instructions(c.text(t, c.arch)), instructions(string(text)))
			c.check(t, string(text), false)
		})
	}
}

var matrixInstruction = regexp.MustCompile(`\b(mma|ldmatrix)\.sync\.[\w.]+`)

// instructions are the matrix instructions of a text.
func instructions(text string) map[string]bool {
	found := map[string]bool{}
	for _, name := range matrixInstruction.FindAllString(text, -1) {
		found[name] = true
	}
	return found
}
