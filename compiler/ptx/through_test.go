package ptx_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/nvrtc"
)

// TestTilesThrough runs the products by mma.sync in the simulator as the PTX that NVRTC makes of CUDA
// C++, and LLVM of LLVM IR: the same matrix instructions as ours, and the same sums. Those of warpgroups
// are PTX's alone.
func TestTilesThrough(t *testing.T) {
	ways := map[string]func(t *testing.T, c *tileProduct) string{"cuda": byNVRTC, "llvm": byLLVM}
	for way, ptx := range ways {
		for _, c := range tileProducts() {
			if c.arch == "sm_90a" || !tooltest.Sweeps() && c.types[0] == "dsl.BF16" && c.m > 32 {
				continue
			}
			t.Run(way+"/"+c.String(), func(t *testing.T) {
				t.Parallel()
				text := ptx(t, &c)
				require.Equal(t, instructions(c.text(t, c.arch)), instructions(text))
				c.check(t, text, false)
			})
		}
	}
}

func byNVRTC(t *testing.T, c *tileProduct) string {
	text, log, err := nvrtc.For(t).PTX("tiles.cu", c.emit(t, "cuda:"+c.arch), c.arch)
	require.NoError(t, err)
	require.Empty(t, nvrtc.Warnings(log))
	return string(text)
}

func byLLVM(t *testing.T, c *tileProduct) string {
	tgt, err := target.Parse("llvm:" + c.arch)
	require.NoError(t, err)
	tools, err := llvm.FindTools(tgt)
	tooltest.Need(t, err)
	text, err := tools.Build(t.Context(), c.emit(t, "llvm:"+c.arch), tgt)
	require.NoError(t, err)
	return string(text)
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
