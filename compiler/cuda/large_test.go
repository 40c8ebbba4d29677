package cuda_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/nvrtc"
)

// TestLargeShared has more shared memory than NVRTC takes in arrays of known length.
func TestLargeShared(t *testing.T) {
	src, err := os.ReadFile("../ptx/testdata/large.ir")
	require.NoError(t, err)
	m, err := ir.Parse(string(src))
	require.NoError(t, err)
	tgt, err := target.Parse("cuda:sm_90")
	require.NoError(t, err)
	text, err := cuda.Language.Emit(m, tgt, cfamily.Options{})
	require.NoError(t, err)
	require.Contains(t, text, "\textern __shared__ __align__(16) unsigned char shared_memory[];\n")
	require.Contains(t, text, "& shared2 = *reinterpret_cast<")
	require.Contains(t, text, ">(shared_memory + 80416);\n")
	_, log, err := nvrtc.For(t).Compile("large.cu", text, tgt.Arch)
	require.NoError(t, err)
	require.Empty(t, nvrtc.Warnings(log))
}
