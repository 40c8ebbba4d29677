package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
	"github.com/gokiln/kiln/tests/nvrtc"
)

// TestKernels gives all kernels of this repository to NVIDIA's run-time compiler, which
// has nothing to warn of. It needs no GPU. Checked builds, which are long, are read only.
func TestKernels(t *testing.T) {
	lib := nvrtc.For(t)
	all := everykernel.Programs(t)
	const compiled = 2 // the first rows, which take all kernels between them
	for i, c := range []struct {
		arch string
		opt  compiler.Options
	}{{"sm_90", everykernel.Fast}, {"sm_75", compiler.Options{}}, {"sm_75", everykernel.Checked}} {
		t.Run(fmt.Sprintf("%s %s", c.arch, c.opt.Build()), func(t *testing.T) {
			if i == 1 {
				tooltest.Sweep(t, "small launches on sm_90")
			}
			tgt, err := target.Parse("cuda:" + c.arch)
			require.NoError(t, err)
			part := everykernel.Share(all, i, compiled)
			text, err := cuda.Language.EmitAll(everykernel.Modules(t, part, tgt, c.opt), tgt, cfamily.Options{Disjoint: c.opt.Assume&compiler.Disjoint != 0})
			require.NoError(t, err)
			if c.opt.Checked {
				log, err := lib.Check("all.cu", text, tgt.Arch)
				require.NoError(t, err)
				require.Empty(t, nvrtc.Warnings(log))
				return
			}
			cubin, log, err := lib.Compile("all.cu", text, tgt.Arch)
			require.NoError(t, err)
			require.Empty(t, nvrtc.Warnings(log))
			for i := range part {
				require.Contains(t, string(cubin), fmt.Sprintf("\x00kernel%d\x00", i))
			}
		})
	}
}
