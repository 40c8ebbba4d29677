package fuzz

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/engine"
	"github.com/gokiln/kiln/tests/fuzz/gen"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
)

func TestMain(m *testing.M) { sim.Main(m) }

// TestShort runs the regressions and some generated kernels, and then as machine code of
// the CPU, on simulated AMD GPUs of both wave widths, and on a simulated Apple GPU. KILN_FUZZ_SEED and KILN_FUZZ_N choose others,
// KILN_FUZZ_DEVICE another device for the first run. With -short it is that run alone, of few kernels.
func TestShort(t *testing.T) {
	binary, n := short(t)
	out, err := exec.Command(binary, "-passes", "one").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), strconv.Itoa(n)+" kernels on ")
	t.Logf("%s", out)
	if testing.Short() {
		t.Log("a -short run has few kernels and leaves out machine code and the simulated GPUs")
		return
	}
	for _, e := range engine.Native() {
		t.Run(e.Name, func(t *testing.T) {
			e.Need(t)
			out, err := exec.Command(binary, "-device", e.Device()).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), strconv.Itoa(n)+" compiled to machine code for cpu:"+e.Arch)
			t.Logf("%s", out)
		})
	}
	for arch, width := range map[string]int{"gfx942": 64, "gfx1100": 32} {
		t.Run(arch, func(t *testing.T) {
			if width == 64 {
				tooltest.Sweep(t, "gfx1100")
			}
			lib := hip.Attach(t)
			cmd := exec.Command(binary, "-device", "rocm:0")
			cmd.Env = append(os.Environ(), "KILN_SIM_ARCH="+arch, "KILN_HIP_LIBRARY="+lib.Path, "KILN_HIPRTC_LIBRARY="+lib.Path)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), " kernels on rocm:0 ")
			require.Equal(t, width == 64, strings.Contains(string(out), "passed over: their blocks are no whole warps of 64 threads"), "%s", out)
			t.Logf("%s", out)
		})
	}
	t.Run("metal", func(t *testing.T) { onMetal(t, binary) })
	throughOthers(t, binary)
}

// onMetal runs the program on the simulated Apple GPU. Kernels with 64-bit floats or
// 64-bit atomics are passed over there, which is said.
func onMetal(t *testing.T, binary string) {
	cmd := exec.Command(binary, "-device", "metal:0")
	cmd.Env = append(os.Environ(), "KILN_METAL_LIBRARY="+metal.Open(t).Path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), " kernels on metal:0 ")
	require.Contains(t, string(out), " kernels passed over: Metal has no 64-bit floats; use float32")
	t.Logf("%s", out)
}

// throughOthers runs the program by ways without a device.
func throughOthers(t *testing.T, binary string) {
	for _, way := range []string{"host:gfx942", "host:gfx1100", "host:sm_90", "opencl"} {
		t.Run(way, func(t *testing.T) {
			if way == "host:gfx942" {
				tooltest.Sweep(t, "host:gfx1100")
			}
			out, err := exec.Command(binary, "-through", way).CombinedOutput()
			if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 2 && os.Getenv("KILN_REQUIRE_TOOLS") != "1" {
				t.Skipf("%s", out)
			}
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), " 0 failed")
			t.Logf("%s", out)
		})
	}
}

// short builds the program of a short run, of n kernels.
func short(t *testing.T) (binary string, n int) {
	kernels, err := Regressions()
	require.NoError(t, err)
	require.NotEmpty(t, kernels)
	few := 8
	switch {
	case testing.Short():
		few = 3
	case tooltest.Sweeps():
		few = 60
	}
	seed, some := uint64(number(t, "KILN_FUZZ_SEED", 1)), number(t, "KILN_FUZZ_N", few)
	kernels = append(kernels, Generate(seed, some)...)
	kernels = append(kernels, Generate(gen.Narrow+seed, some/3)...)
	root, err := Root()
	require.NoError(t, err)
	binary = filepath.Join(t.TempDir(), "kilnfuzz")
	err = Batch{Kernels: kernels, Root: root}.Build(t.TempDir(), binary)
	if errors.Is(err, ErrNoGo) || errors.Is(err, ErrArch) {
		if os.Getenv("KILN_REQUIRE_TOOLS") == "1" && errors.Is(err, ErrNoGo) {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	return binary, len(kernels)
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := Batch{Kernels: Generate(1, 1)}.Build(t.TempDir(), "x")
	require.ErrorIs(t, err, ErrNoGo)
}

func TestParseRegression(t *testing.T) {
	const body = "\n\npackage testdata\n\nfunc K() {}\n"
	k, err := parseRegression("//fuzz: name=K blocks=1,2,1 threads=32,1,1 lens=4,0" + body)
	require.NoError(t, err)
	require.Equal(t, gen.Kernel{Name: "K", Blocks: [3]int{1, 2, 1}, Threads: [3]int{32, 1, 1}, Lens: []int{4, 0}, Source: "\nfunc K() {}\n"}, k)
	for _, bad := range []string{
		"package testdata\n",
		"//fuzz: name=K blocks=1,1,1 threads=32,1,1 lens=4\n",
		"//fuzz: name=K blocks=1,1 threads=32,1,1 lens=4" + body,
		"//fuzz: name=K blocks=1,1,1 threads=32,1,x lens=4" + body,
		"//fuzz: name=K blocks=1,1,1 threads=32,1,1" + body,
	} {
		_, err := parseRegression(bad)
		require.Error(t, err, bad)
	}
}
