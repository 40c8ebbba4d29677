package llvm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

// arches are the architectures that tests compile for: each generation of AMD's
// and the ends of NVIDIA's.
var arches = []string{"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "sm_70", "sm_90"}

func mustTarget(t testing.TB, arch string) target.Target {
	t.Helper()
	got, err := target.Parse("llvm:" + arch)
	require.NoError(t, err)
	return got
}

// tool returns the path of an LLVM program for tests, and skips without one.
func tool(t testing.TB, name string) string {
	t.Helper()
	for v := newest; v >= oldest; v-- {
		if path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, v)); err == nil {
			return path
		}
	}
	require.NotEqual(t, "1", os.Getenv("KILN_REQUIRE_TOOLS"), "KILN_REQUIRE_TOOLS=1, but no %s from %d to %d is on the PATH", name, oldest, newest)
	t.Skipf("%s of LLVM %d or later not found: Debian has it in llvm-19 or clang-19", name, oldest)
	return ""
}

func tools(t testing.TB, tgt target.Target) Tools {
	t.Helper()
	found, err := FindTools(tgt)
	tooltest.Need(t, err)
	return found
}

// verify fails the test if LLVM's verifier refuses text.
func verify(t testing.TB, text string) {
	t.Helper()
	cmd := exec.Command(tool(t, "opt"), "-passes=verify", "-disable-output", "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%s", out, text)
	}
}

// assemble makes machine code of text, for NVIDIA through PTX and ptxas where
// that is found and knows the architecture.
func assemble(t testing.TB, arch, text string) []byte {
	t.Helper()
	tgt := mustTarget(t, arch)
	out, err := tools(t, tgt).Build(context.Background(), text, tgt)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if dialectOf(tgt) == dialectNVPTX {
		assembled(t, arch, out)
	}
	return out
}

// assembled gives PTX to the vendor's assembler.
func assembled(t testing.TB, arch string, text []byte) {
	t.Helper()
	path := os.Getenv("KILN_PTXAS")
	if path == "" {
		path, _ = exec.LookPath("ptxas")
	}
	if path == "" {
		require.NotEqual(t, "1", os.Getenv("KILN_REQUIRE_TOOLS"), "KILN_REQUIRE_TOOLS=1, but neither KILN_PTXAS nor PATH leads to ptxas")
		t.Log("ptxas not found: set KILN_PTXAS or put it on PATH")
		return
	}
	if arch == "sm_70" {
		arch = "sm_75" // the oldest that CUDA 13 knows; it takes PTX for older ones
	}
	in := filepath.Join(t.TempDir(), "k.ptx")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	msg, err := exec.Command(path, "-arch="+arch, "-o", in+".cubin", in).CombinedOutput()
	require.NoError(t, err, "%s\n%s", msg, text)
}
