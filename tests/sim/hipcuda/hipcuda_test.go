package hipcuda_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/irconf"
	"github.com/gokiln/kiln/tests/sim/hipcuda"
)

func TestMain(m *testing.M) { hipcuda.Main(m) }

// options are those of the ROCm driver.
var options = []string{"--offload-arch=gfx1030", "-std=c++17", "-O3", "-ffp-contract=off", "-fno-fast-math", "-fno-strict-aliasing"}

// compiler is hipRTC on NVRTC, where a machine has that; it needs no GPU.
func compiler(t *testing.T) *hipcuda.Compiler {
	t.Helper()
	c, err := hipcuda.OpenCompiler(hipcuda.Build(t))
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("KILN_REQUIRE_TOOLS"), "KILN_NVRTC should name NVIDIA's run-time compiler: %v", err)
		t.Skipf("needs NVIDIA's run-time compiler: %v", err)
	}
	return c
}

// batch is how many programs are compiled together.
const batch = 100

// NVRTC takes every program of irconf as HIP text behind the prelude.
func TestPrograms(t *testing.T) {
	c := compiler(t)
	tgt, err := target.Parse("hip:gfx1030")
	require.NoError(t, err)
	cases := irconf.Cases()
	for first := 0; first < len(cases); first += batch {
		text, err := irconf.Together(hip.Language, tgt, cases[first:min(first+batch, len(cases))])
		require.NoError(t, err)
		code, err := c.Compile("irconf.hip", text, options...)
		require.NoError(t, err)
		require.Equal(t, "\x7fELF", string(code[:4]))
	}
}

// The kernels of the runtime's tests.
func TestRuntimeKernels(t *testing.T) {
	text, err := os.ReadFile("../../../runtime/testdata/kernels.hip")
	require.NoError(t, err)
	_, err = compiler(t).Compile("kernels.hip", string(text), options...)
	require.NoError(t, err)
}

// The log names the line as AMD's compiler does.
func TestLog(t *testing.T) {
	c := compiler(t)
	_, err := c.Compile("broken.hip", "extern \"C\" __global__ void broken() {\n\tbogus(1);\n}\n", options...)
	require.ErrorContains(t, err, "HIPRTC_ERROR_COMPILATION")
	require.ErrorContains(t, err, "broken.hip:2: error: identifier \"bogus\" is undefined")
	_, err = c.Compile("broken.hip", "", "-fwhatever")
	require.ErrorContains(t, err, "HIPRTC_ERROR_INVALID_OPTION")
	require.ErrorContains(t, err, "-fwhatever")
}

// open opens the first NVIDIA GPU through the ROCm driver. KILN_HIP_LIBRARY says
// that the library is built already.
func open(t *testing.T) *runtime.Device {
	t.Helper()
	if os.Getenv("KILN_HIP_LIBRARY") == "" {
		gpu, err := runtime.Open("cuda:0")
		if err != nil {
			t.Skipf("needs an NVIDIA GPU: %v", err)
		}
		require.NoError(t, gpu.Close())
		lib := hipcuda.Build(t)
		// For the whole process: the driver opens its libraries once.
		require.NoError(t, os.Setenv("KILN_HIP_LIBRARY", lib))
		require.NoError(t, os.Setenv("KILN_HIPRTC_LIBRARY", lib))
	}
	dev, err := runtime.Open("rocm:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// The programs of irconf, as HIP text through the ROCm driver.
func TestProgramsOnGPU(t *testing.T) {
	dev := open(t)
	tgt, err := target.Parse("hip:" + dev.Info().Arch)
	require.NoError(t, err)
	cases := irconf.Cases()
	for first := 0; first < len(cases); first += batch {
		part := cases[first:min(first+batch, len(cases))]
		text, err := irconf.Together(hip.Language, tgt, part)
		require.NoError(t, err)
		mod, err := dev.Load(runtime.Image{Format: "hip", Name: "irconf", Code: []byte(text)})
		if err != nil {
			t.Fatalf("%+v", err) // with NVRTC's log
		}
		for i, c := range part {
			t.Run(c.Name, func(t *testing.T) {
				if strings.HasPrefix(c.Name, "negated ") {
					t.Skip("text for AMD's compiler does nothing about the faults of NVIDIA's, which these programs look for")
				}
				fn, err := mod.Function(fmt.Sprintf("k%d", i))
				require.NoError(t, err)
				got, err := irconf.Run(dev, fn, c)
				require.NoError(t, err)
				require.NoError(t, c.Check(got))
			})
		}
	}
}

// The kernels of the conformance suite, compiled by package jit.
func TestConformanceOnGPU(t *testing.T) {
	conformance.RunAll(t, open(t))
}
