package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

func TestMain(m *testing.M) {
	code := tooltest.FreshCache(m)
	hip.Clean()
	metal.Clean()
	os.Exit(code)
}

// The report names each kind of device, and simulated AMD and Apple GPUs pass the
// self-test.
func TestDevices(t *testing.T) {
	lib, apple := hip.Attach(t), metal.Open(t)
	t.Setenv("KILN_HIP_LIBRARY", lib.Path)
	t.Setenv("KILN_HIPRTC_LIBRARY", lib.Path)
	t.Setenv("KILN_METAL_LIBRARY", apple.Path)
	t.Setenv("KILN_SIM_ARCH", "gfx942,gfx1100")
	var text strings.Builder
	require.NoError(t, devices(&text, false, true), "%s", &text)
	for _, want := range []string{
		"rocm: 2 devices\n", "looked for  " + lib.Path, "library     " + lib.Path, "driver      HIP ",
		"gfx942\n", "warps of 64 threads", "gfx1100\n", "warps of 32 threads", "shared 64 KiB a block", "loads     hsaco, hip",
		"features  ", "float64", "device log", "self-test ok", "cpu: 1 device", "cuda: ",
		"metal: 1 device\n", "looked for  " + apple.Path, "model     Simulated Apple GPU, 3.2\n", "units     10, warps of 32 threads", "lacks     atomics64: ", "lacks     float64: Metal has no 64-bit floats",
	} {
		require.Contains(t, text.String(), want)
	}
	_, part, _ := strings.Cut(text.String(), "metal: 1 device")
	part, _, _ = strings.Cut(part, "cpu: 1 device")
	require.Contains(t, part, "device log")
	require.Contains(t, part, "self-test ok")
}

func TestDevicesAsJSON(t *testing.T) {
	var text strings.Builder
	require.NoError(t, devices(&text, true, false))
	var reports []backendReport
	require.NoError(t, json.Unmarshal([]byte(text.String()), &reports))
	last := reports[len(reports)-1]
	require.Equal(t, "cpu", last.Kind)
	require.Contains(t, last.Devices[0].Features, compiler.WarpOperations)
	require.Empty(t, last.Devices[0].SelfTest)
}

func TestPrintsWhatIsLacking(t *testing.T) {
	d := deviceReport{Info: runtime.Info{Formats: []string{"msl"}, Arch: "3.0"}}
	d.features()
	var text strings.Builder
	printDevice(&text, d)
	require.Contains(t, text.String(), "lacks     float64: Metal has no 64-bit floats; use float32\n")
	require.NotContains(t, d.Features, compiler.Float64)
}
