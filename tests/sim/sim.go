package sim

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

var rocmEnv sync.Once

// OpenROCm opens the simulated AMD GPU of an architecture, such as gfx942, and
// closes it when the test ends. A machine without the compiler that it needs skips
// the test, or fails it when KILN_REQUIRE_TOOLS=1. Devices of several
// architectures can be open at the same time.
func OpenROCm(tb testing.TB, arch string) *runtime.Device {
	tb.Helper()
	lib := hip.Attach(tb)
	rocmEnv.Do(func() { setROCm(tb, lib) })
	for _, report := range runtime.Probe() {
		if report.Kind != "rocm" {
			continue
		}
		var known []string
		for i, info := range report.Devices {
			if info.Arch == arch {
				lib.Revive(i)
				return open(tb, info.Name)
			}
			known = append(known, info.Arch)
		}
		tb.Fatalf("no simulated AMD GPU is a %q; there are %s (error: %v)", arch, strings.Join(known, ", "), report.Err)
	}
	tb.Fatal("this build has no ROCm driver")
	return nil
}

// setROCm names the stand-in to the ROCm driver, for the whole process: the driver
// opens its libraries once.
func setROCm(tb testing.TB, lib *hip.Library) {
	for _, name := range []string{"KILN_HIP_LIBRARY", "KILN_HIPRTC_LIBRARY"} {
		if err := os.Setenv(name, lib.Path); err != nil {
			tb.Fatal(err)
		}
	}
}

// QuickROCm has kernels for AMD GPUs compiled without optimising until the test ends, for
// tests of which the compiler takes most of the time.
func QuickROCm(tb testing.TB) {
	tb.Helper()
	lib := hip.Attach(tb)
	lib.Set("quick", 1)
	tb.Cleanup(func() { lib.Set("quick", 0) })
}

// QuickMetal does that for Apple's, until the device is closed.
func QuickMetal(tb testing.TB) {
	tb.Helper()
	metal.Open(tb).Set("quick", 1)
}

// OpenMetal opens the simulated Apple GPU, and closes it when the test ends. It skips
// and fails as OpenROCm does.
func OpenMetal(tb testing.TB) *runtime.Device {
	tb.Helper()
	lib := metal.Open(tb)
	// For the whole process: the driver opens its libraries once.
	if err := os.Setenv("KILN_METAL_LIBRARY", lib.Path); err != nil {
		tb.Fatal(err)
	}
	return open(tb, "metal:0")
}

func open(tb testing.TB, name string) *runtime.Device {
	tb.Helper()
	dev, err := runtime.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		// A device that a test has lost says so again.
		_ = dev.Close()
	})
	return dev
}

// Main runs the tests and removes what was built for them.
func Main(m *testing.M) {
	code := tooltest.Run(m)
	hip.Clean()
	metal.Clean()
	os.Exit(code)
}
