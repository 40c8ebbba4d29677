package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

// gallery are the examples that draw, with flags for small pictures.
var gallery = map[string][]string{
	"flow":      {"-height", "24", "-steps", "64"},
	"life":      {"-size", "120", "-generations", "40"},
	"nbody":     {"-bodies", "158", "-steps", "40"},
	"raytracer": {"-width", "80", "-samples", "2"},
}

// TestGalleryOnROCm compares what the examples draw on the simulated GPU and on the CPU.
func TestGalleryOnROCm(t *testing.T) {
	tooltest.Sweep(t, "TestEdgesOnROCm")
	lib := hip.Attach(t)
	t.Setenv("KILN_HIP_LIBRARY", lib.Path)
	t.Setenv("KILN_HIPRTC_LIBRARY", lib.Path)
	t.Setenv("KILN_SIM_ARCH", "gfx942")
	compareGallery(t, "rocm:0")
}

// TestGalleryOnMetal does the same on the simulated Apple GPU.
func TestGalleryOnMetal(t *testing.T) {
	tooltest.Sweep(t, "TestEdgesOnMetal")
	t.Setenv("KILN_METAL_LIBRARY", metal.Open(t).Path)
	compareGallery(t, "metal:0")
}

// compareGallery fails unless each example writes the same file on a device and on the CPU.
func compareGallery(t *testing.T, device string) {
	bin := t.TempDir()
	for name, flags := range gallery {
		out, err := exec.Command(tooltest.Go(t), "build", "-o", bin, "../../examples/"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
		draw := func(device string) []byte {
			file := filepath.Join(t.TempDir(), name)
			cmd := exec.Command(filepath.Join(bin, name), append(flags, "-device", device, "-o", file)...)
			cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+filepath.Join(bin, "cache"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s on %s: %s", name, device, out)
			require.Regexp(t, `^`+device+`: [0-9.]+ million .*/s\n$`, string(out))
			picture, err := os.ReadFile(file)
			require.NoError(t, err)
			return picture
		}
		require.Equal(t, draw("cpu"), draw(device), "%s on %s", name, device)
	}
}
