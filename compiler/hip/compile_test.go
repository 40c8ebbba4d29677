package hip_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
)

// TestClang compiles every program of irconf, which use every operation on every
// type, for each generation of hardware. Warnings are errors.
func TestClang(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	cases := irconf.Cases()
	for _, arch := range []string{"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		t.Run(arch, func(t *testing.T) {
			tgt, err := target.Parse("hip:" + arch)
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "all.hip")
			text, err := irconf.Together(hip.Language, tgt, cases)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			cmd := exec.Command(clang, "-x", "hip", "--offload-arch="+arch, "--cuda-device-only", "-nogpulib", "-nogpuinc",
				"-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-function", "-fsyntax-only", file)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
		})
	}
}
