package hip_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
)

const (
	bitcode   = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode" // of Debian's rocm-device-libs
	libraries = "--rocm-device-lib-path=" + bitcode
)

// together writes all kernels for a target as one text.
func together(t *testing.T, all []*compiler.Program, tgt target.Target, opt compiler.Options) string {
	text, err := hip.Language.EmitAll(everykernel.Modules(t, all, tgt, opt), tgt, cfamily.Options{Disjoint: opt.Assume&compiler.Disjoint != 0})
	require.NoError(t, err)
	return text
}

// TestKernels compiles all kernels of this repository to assembly, without any of
// ROCm, and for gfx90a with its device libraries and the compiler of the ROCm that
// Debian has. Warnings are errors. Checked builds, which are long, are read only.
func TestKernels(t *testing.T) {
	all := everykernel.Programs(t)
	plain := []string{"-nogpulib", "-nogpuinc", "-S"}
	const compiled = 3 // the first rows, which take all kernels between them
	for i, c := range []struct {
		arch, env, clang string
		opt              compiler.Options
		flags            []string
	}{
		{"gfx942", "KILN_CLANG", "clang-19", everykernel.Fast, plain},
		{"gfx1100", "KILN_CLANG", "clang-19", everykernel.Fast, plain},
		{"gfx90a", "KILN_CLANG15", "clang-15", everykernel.Fast, []string{"--rocm-path=/usr", libraries, "-S"}},
		{"gfx942", "KILN_CLANG", "clang-19", everykernel.Checked, []string{"-nogpulib", "-nogpuinc", "-fsyntax-only"}},
		{"gfx1201", "KILN_CLANG", "clang-19", everykernel.Fast, plain},
	} {
		t.Run(fmt.Sprintf("%s checked=%t", c.arch, c.opt.Checked), func(t *testing.T) {
			everykernel.Most(t, c.arch, "gfx1201")
			if c.arch != "gfx1100" && !c.opt.Checked {
				tooltest.Sweep(t, "gfx1100, and gfx942 checked")
			}
			clang := tooltest.Find(t, c.env, c.clang)
			if _, err := os.Stat(bitcode); err != nil && slices.Contains(c.flags, libraries) && os.Getenv("KILN_REQUIRE_TOOLS") != "1" {
				t.Skipf("needs AMD's device libraries (Debian: rocm-device-libs): %v", err)
			}
			tgt, err := target.Parse("hip:" + c.arch)
			require.NoError(t, err)
			part := everykernel.Share(all, i, compiled)
			file := filepath.Join(t.TempDir(), "all.hip")
			require.NoError(t, os.WriteFile(file, []byte(together(t, part, tgt, c.opt)), 0o600))
			args := append([]string{"-x", "hip", "--offload-arch=" + c.arch, "--cuda-device-only", "-O1", "-Wall", "-Werror", "-o", file + ".s", file}, c.flags...)
			out, err := exec.Command(clang, args...).CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
			if c.opt.Checked {
				return
			}
			text, err := os.ReadFile(file + ".s")
			require.NoError(t, err)
			require.Equal(t, len(part), strings.Count(string(text), "\t.amdhsa_kernel kernel"))
		})
	}
}
