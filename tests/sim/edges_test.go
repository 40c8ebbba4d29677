package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

// TestEdgesOnROCm runs the example as a user does: on the GPU, compared with the CPU.
func TestEdgesOnROCm(t *testing.T) {
	lib := hip.Attach(t)
	t.Setenv("KILN_HIP_LIBRARY", lib.Path)
	t.Setenv("KILN_HIPRTC_LIBRARY", lib.Path)
	edges := buildEdges(t)
	for _, arch := range []string{"gfx942", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			t.Setenv("KILN_SIM_ARCH", arch)
			compareEdges(t, edges, "rocm:0", t.TempDir())
		})
	}
}

// TestEdgesOnMetal does the same on the simulated Apple GPU. The second process takes
// the machine code of all kernels from the cache.
func TestEdgesOnMetal(t *testing.T) {
	lib := metal.Open(t)
	t.Setenv("KILN_METAL_LIBRARY", lib.Path)
	edges, cache := buildEdges(t), t.TempDir()
	count := func() (kernels, archived int) {
		trace := filepath.Join(t.TempDir(), "trace")
		t.Setenv("KILN_SIM_METAL_TRACE", trace)
		compareEdges(t, edges, "metal:0", cache)
		text, err := os.ReadFile(trace)
		require.NoError(t, err)
		return strings.Count(string(text), "kernel\n"), strings.Count(string(text), "archived\n")
	}
	compiled, archived := count()
	require.Positive(t, compiled)
	require.Equal(t, compiled, archived, "each is compiled once, into the archive")
	again, archived := count()
	require.Zero(t, again, "Metal compiles no kernel to machine code twice")
	require.Equal(t, compiled, archived)

	t.Setenv("KILN_SIM_METAL_VERSION", "30") // another version is another target
	compiled, archived = count()
	require.Positive(t, compiled)
	require.Equal(t, compiled, archived)
}

// buildEdges builds the example and returns its path.
func buildEdges(t *testing.T) string {
	tool := tooltest.Go(t)
	exe := filepath.Join(t.TempDir(), "edges")
	out, err := exec.Command(tool, "build", "-o", exe, "../../examples/edges").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return exe
}

// compareEdges fails unless the picture of a device is that of the CPU.
func compareEdges(t *testing.T, exe, device, cache string) {
	cmd := exec.Command(exe, "-device", device, "-compare", "cpu")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+cache)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), device+" against cpu: 0 of ")
	require.Contains(t, string(out), "pixels differ, largest difference 0")
}
