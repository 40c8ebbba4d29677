package nvrtc_test

import (
	"fmt"
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

// TestPrograms runs every program of irconf through CUDA C++.
func TestPrograms(t *testing.T) {
	dev, err := runtime.Open("cuda:0")
	if err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	}
	defer dev.Close()
	lib, err := nvrtc.Open()
	if err != nil {
		t.Skipf("needs NVRTC: %v", err)
	}
	tgt, err := target.Parse("cuda:" + dev.Info().Arch)
	require.NoError(t, err)
	cases := irconf.Cases()
	for first := 0; first < len(cases); first += batch {
		part := cases[first:min(first+batch, len(cases))]
		text, err := irconf.Together(cuda.Language, tgt, part)
		require.NoError(t, err)
		cubin, err := lib.Compile("irconf.cu", text, tgt.Arch)
		require.NoError(t, err)
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
	}
}
