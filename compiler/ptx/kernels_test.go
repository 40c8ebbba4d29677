package ptx_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
)

// TestKernels gives all kernels of this repository to the vendor's assembler, for the
// oldest architecture that CUDA 13 knows, the newest, and those whose code differs.
func TestKernels(t *testing.T) {
	ptxas := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	all := everykernel.Programs(t)
	builds := []struct {
		arch string
		opt  compiler.Options
	}{
		{"sm_75", everykernel.Fast}, {"sm_80", everykernel.Fast}, {"sm_90", everykernel.Fast}, {"sm_90", compiler.Options{}},
		{"sm_90", everykernel.Checked}, {"sm_120", everykernel.Fast},
	}
	for i, c := range builds {
		t.Run(fmt.Sprintf("%s %s", c.arch, c.opt.Build()), func(t *testing.T) {
			if i != 0 && c.arch != "sm_90" || i == 3 {
				tooltest.Sweep(t, "sm_75, and sm_90 for small launches and checked")
			}
			tgt, err := target.Parse("ptx:" + c.arch)
			require.NoError(t, err)
			part := everykernel.Share(all, i, len(builds))
			fast := c.opt.Assume != 0
			var text strings.Builder
			for i, m := range everykernel.Modules(t, part, tgt, c.opt) {
				one, err := ptx.Options{Aligned: fast, Disjoint: fast}.Emit(m, tgt)
				require.NoError(t, err, part[i].Kernel)
				if i > 0 { // a module has one head
					_, one, _ = strings.Cut(one, ".address_size 64\n")
				}
				text.WriteString(one)
			}
			require.Equal(t, len(part), strings.Count(text.String(), ".visible .entry kernel"))
			file := filepath.Join(t.TempDir(), "all.ptx")
			require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
			out, err := exec.Command(ptxas, "-O1", "-arch="+c.arch, "-o", file+".cubin", file).CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
			require.Empty(t, string(out), "warnings")
		})
	}
}
