package opencl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
)

// TestClang compiles every program of irconf that needs no sub-groups. Warnings are
// errors.
func TestClang(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	tgt, err := target.Parse("opencl:1.2")
	require.NoError(t, err)
	have, lacks, err := irconf.Written(opencl.Language, tgt, irconf.Cases())
	require.NoError(t, err)
	require.Greater(t, len(have), 1000)
	for name, why := range lacks {
		require.ErrorContains(t, why, "no sub-groups; exchange values through shared memory", name)
	}
	text, err := irconf.Together(opencl.Language, tgt, have)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "all.cl")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	cmd := exec.Command(clang, "-x", "cl", "-cl-std=CL1.2", "--target=spir64", "-Xclang", "-finclude-default-header",
		"-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-function", "-Wno-missing-braces", "-Wno-missing-field-initializers", "-fsyntax-only", file)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
}

// A kernel that no driver would take is refused with the reason.
func TestRefusals(t *testing.T) {
	tgt, err := target.Parse("opencl:1.2")
	require.NoError(t, err)
	m, err := ir.Parse("module \"m\"\nshared 0 \"big\" [8193]u32\nkernel @k() args() {\nb0:\n  ret\n}\n")
	require.NoError(t, err)
	_, err = opencl.Language.Emit(m, tgt, cfamily.Options{})
	require.ErrorContains(t, err, "kernel k: needs 32772 bytes of shared memory, opencl:1.2 has 32768 for a block; use smaller dsl.Shared arrays")
}
