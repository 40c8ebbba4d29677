package llvm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
)

// TestKernels makes one object of all kernels of this repository for each
// architecture. In sweeps the first two take all of them between them, and so do the two builds for
// the third.
func TestKernels(t *testing.T) {
	all := everykernel.Programs(t)
	for i, arch := range []string{"gfx942", "gfx1100", "sm_90", "gfx90a", "gfx1030", "gfx1201", "sm_70"} {
		t.Run(arch, func(t *testing.T) {
			everykernel.Most(t, arch, "gfx90a", "gfx1030", "gfx1201", "sm_70")
			if arch == "gfx942" {
				tooltest.Sweep(t, "gfx1100")
			}
			tgt, err := target.Parse("llvm:" + arch)
			require.NoError(t, err)
			tools, err := llvm.FindTools(tgt)
			tooltest.Need(t, err)
			variants := []compiler.Options{everykernel.Fast, everykernel.Checked}
			if arch != "gfx942" && arch != "sm_90" {
				variants = variants[:1] // the rest differs by little, and takes a while
			}
			var list []string
			n := 0
			for k, opt := range variants {
				for _, m := range everykernel.Modules(t, everykernel.Share(all, i+k, 2), tgt, opt) {
					m.Kernel().Name = fmt.Sprintf("kernel%d", n)
					n++
					one, err := llvm.Options{Aligned: opt.Assume != 0, Disjoint: opt.Assume != 0}.Emit(m, tgt)
					require.NoError(t, err)
					list = append(list, one)
				}
			}
			object, err := tools.Build(context.Background(), llvm.Join(list), tgt)
			require.NoError(t, err)
			if tgt.CC != 0 {
				require.Equal(t, n, strings.Count(string(object), ".visible .entry kernel"))
				assemble(t, arch, object)
				return
			}
			for i := range n {
				assert.Contains(t, string(object), fmt.Sprintf("\x00kernel%d.kd\x00", i))
			}
		})
	}
}

// TestPrograms has programs built without this package, whose targets they do not compile for.
func TestPrograms(t *testing.T) {
	out, err := exec.Command(tooltest.Go(t), "list", "-deps", "../../jit").Output()
	require.NoError(t, err)
	require.Contains(t, string(out), "kiln/compiler/ptx\n")
	require.NotContains(t, string(out), "llvm")
}

// assemble gives PTX to the vendor's assembler where there is one.
func assemble(t *testing.T, arch string, text []byte) {
	path := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	if arch == "sm_70" {
		arch = "sm_75" // the oldest that CUDA 13 knows; it takes PTX for older ones
	}
	in := filepath.Join(t.TempDir(), "k.ptx")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	msg, err := exec.Command(path, "-O1", "-arch="+arch, "-o", in+".cubin", in).CombinedOutput()
	require.NoError(t, err, "%s", msg)
}
