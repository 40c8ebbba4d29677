package hip_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/ir"
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
			require.NoError(t, os.WriteFile(file, []byte(together(t, tgt, cases)), 0o600))
			cmd := exec.Command(clang, "-x", "hip", "--offload-arch="+arch, "--cuda-device-only", "-nogpulib", "-nogpuinc",
				"-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-function", "-fsyntax-only", file)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
		})
	}
}

// together puts the kernels of many modules into one text, each in a namespace of
// its own: starting a compiler takes longer than most of them.
func together(t *testing.T, tgt target.Target, cases []irconf.Case) string {
	var b strings.Builder
	for i, c := range cases {
		m, err := ir.Parse(c.Text)
		require.NoError(t, err, c.Name)
		m.Kernel().Name = fmt.Sprintf("k%d", i)
		text, err := hip.Language.Emit(m, tgt, cfamily.Options{})
		require.NoError(t, err, c.Name)
		fmt.Fprintf(&b, "namespace n%d { // %s\n%s}\n", i, c.Name, text)
	}
	return b.String()
}
