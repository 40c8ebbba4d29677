package nvrtc_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/nvrtc"
)

// batch is how many programs are compiled together.
const batch = 100

// compiled compiles every program of irconf for tgt.
func compiled(t *testing.T, lib *nvrtc.Library, tgt target.Target, use func(part []irconf.Case, cubin []byte)) {
	for part := range slices.Chunk(irconf.Cases(), batch) {
		text, err := irconf.Together(cuda.Language, tgt, part)
		require.NoError(t, err)
		cubin, log, err := lib.Compile("irconf.cu", text, tgt.Arch)
		require.NoError(t, err)
		require.Empty(t, nvrtc.Warnings(log))
		use(part, cubin)
	}
}

// TestCompiles has every program compiled for the ends of the range of architectures.
func TestCompiles(t *testing.T) {
	lib := nvrtc.For(t)
	for _, arch := range []string{"sm_75", "sm_120"} {
		tgt, err := target.Parse("cuda:" + arch)
		require.NoError(t, err)
		compiled(t, lib, tgt, func(_ []irconf.Case, cubin []byte) { require.Equal(t, "\x7fELF", string(cubin[:4])) })
	}
}

// TestPrograms runs every program of irconf through CUDA C++.
func TestPrograms(t *testing.T) {
	dev, err := runtime.Open("cuda:0")
	if err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	defer dev.Close()
	tgt, err := target.Parse("cuda:" + dev.Info().Arch)
	require.NoError(t, err)
	compiled(t, nvrtc.For(t), tgt, func(part []irconf.Case, cubin []byte) {
		mod, err := dev.Load(runtime.Image{Format: "cubin", Name: "irconf", Code: cubin})
		require.NoError(t, err)
		for i, c := range part {
			t.Run(c.Name, func(t *testing.T) {
				fn, err := mod.Function(fmt.Sprintf("k%d", i))
				require.NoError(t, err)
				got, err := irconf.Run(dev, fn, c)
				require.NoError(t, err)
				require.NoError(t, c.Check(got))
			})
		}
	})
}

// An error has the compiler's log.
func TestError(t *testing.T) {
	_, log, err := nvrtc.For(t).Compile("wrong.cu", "extern \"C\" __global__ void k() { nonsense; }", "sm_90")
	require.ErrorContains(t, err, "nvrtcCompileProgram: NVRTC error 6")
	require.ErrorContains(t, err, "wrong.cu(1): error: identifier \"nonsense\" is undefined")
	require.Contains(t, log, "nonsense")
}

func TestWarnings(t *testing.T) {
	lib := nvrtc.For(t)
	log, err := lib.Check("k.cu", "extern \"C\" __global__ void k(unsigned* p) { if (*p < 0) *p = 1u * -2; }", "sm_90")
	require.NoError(t, err)
	require.Equal(t, []string{"k.cu(1): warning #68-D: integer conversion resulted in a change of sign"}, nvrtc.Warnings(log), log)
	_, err = lib.Check("k.cu", "nonsense", "sm_90")
	require.ErrorContains(t, err, "k.cu(1): error")
}
