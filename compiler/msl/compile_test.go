package msl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
)

// TestClang compiles every program of irconf that Metal can have, for each version
// of the language, with headers that hold no more than that version does. Warnings
// are errors.
func TestClang(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	for _, version := range []string{"2.4", "3.0", "3.1", "3.2"} {
		t.Run(version, func(t *testing.T) {
			tgt, err := target.Parse("msl:" + version)
			require.NoError(t, err)
			have, lacks, err := irconf.Written(msl.Language, tgt, irconf.Cases())
			require.NoError(t, err)
			require.Greater(t, len(have), 1000)
			for name, why := range lacks {
				require.Regexp(t, "f64.* is not available on msl:.*: Metal has no 64-bit floats; use float32|no 64-bit atomics on all devices|fences from version 3.2 on", why.Error(), name)
			}
			text, err := irconf.Together(msl.Language, tgt, have)
			require.NoError(t, err)
			compiles(t, clang, version, text)
		})
	}
}

// compiles compiles a text with headers that hold no more than a version of the language
// does. Warnings are errors.
func compiles(t *testing.T, clang, version, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "all.metal")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	macro := "-D__METAL_VERSION__=" + strings.ReplaceAll(version, ".", "") + "0"
	cmd := exec.Command(clang, "-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-Xclang", "-cl-ext=+cl_khr_fp16", "-isystem", "../../tests/sim/metal/src", macro,
		"-Wall", "-Wextra", "-Werror", "-Wno-unknown-attributes", "-Wno-unknown-pragmas", "-Wno-unused-parameter", "-Wno-unused-variable", "-Wno-unused-function",
		"-fsyntax-only", file)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
}

// What Metal lacks is refused with the place, and what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, version, text, want string }{
		{"float64", "3.2", "kernel @k(%p: ptr<global,f64>, %n: i64) args(p slice f64 \"[]float64\") {\nb0:\n  ret\n}\n", "kernel k: parameter p []float64, which nothing uses: ptr<global,f64> is not available on msl:3.2: Metal has no 64-bit floats; use float32"},
		{"float64 in use", "3.2", "kernel @k(%p: ptr<global,f64>, %n: i64) args(p slice f64 \"[]float64\") {\nb0:\n  %0 = load %p : f64 !1\n  store %p, %0 !1\n  ret\n}\npos !1 \"k/k.go\" 7 3\n", "kernel k: k/k.go:7: f64 is not available on msl:3.2: Metal has no 64-bit floats; use float32"},
		{"threadgroup memory", "3.0", "shared 0 \"big\" [8193]u32\nkernel @k() args() {\nb0:\n  ret\n}\n", "kernel k: needs 32772 bytes of shared memory, msl:3.0 has 32768 for a block; use smaller dsl.Shared arrays"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tgt, err := target.Parse("msl:" + c.version)
			require.NoError(t, err)
			m, err := ir.Parse("module \"m\"\n" + c.text)
			require.NoError(t, err)
			_, err = msl.Language.Emit(m, tgt, cfamily.Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
}
