package prebuilt_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/prebuilt/prebuild"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim"
	"github.com/gokiln/kiln/tests/sim/hip"
	"github.com/gokiln/kiln/tests/sim/metal"
	"github.com/gokiln/kiln/tests/sim/standin"
)

func TestMain(m *testing.M) { sim.Main(m) }

// What the test binary is told as the program.
const (
	deviceEnv = "KILN_PREBUILT_TEST_DEVICES" // to run on, separated by commas
	outEnv    = "KILN_PREBUILT_TEST_OUT"     // file for the report
)

// report is what the program did on a device.
type report struct {
	Device  string
	Results [][]float32
	Kernels []jit.Event
	Missing []string // errors for kernels that it was not recorded with
}

// TestProgram is the program. It does nothing in the process of the tests.
func TestProgram(t *testing.T) {
	out := os.Getenv(outEnv)
	if out == "" {
		t.Log("TestCPU and others run it in a process of its own")
		return
	}
	var list []report
	for name := range strings.SplitSeq(os.Getenv(deviceEnv), ",") {
		list = append(list, program(t, name, openDevice(t, name)))
	}
	text, err := json.Marshal(list)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(out, text, 0o600))
}

// openDevice opens a device, a simulated one if it has the name of a simulated architecture.
func openDevice(t *testing.T, name string) *runtime.Device {
	if arch, ok := strings.CutPrefix(name, "sim:"); ok {
		if arch == "metal" {
			sim.QuickMetal(t)
			return sim.OpenMetal(t)
		}
		sim.QuickROCm(t)
		return sim.OpenROCm(t, arch)
	}
	dev, err := runtime.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// program uses kernels with and without compile-time values, and operations of tensors.
func program(t *testing.T, name string, dev *runtime.Device) report {
	r := report{Device: name}
	stop := jit.OnResolve(func(e jit.Event) { r.Kernels = append(r.Kernels, e) })
	defer stop()

	const n = 64
	ints, err := runtime.From(dev, make([]int32, n))
	require.NoError(t, err)
	fill := func(value dsl.ConstInt) error {
		return jit.Of(testkernels.Fill).Launch(dev.DefaultStream(), runtime.Cover(n, 32), ints, value, dsl.ConstBool(true))
	}
	require.NoError(t, fill(7))
	filled, err := ints.Host()
	require.NoError(t, err)
	require.Equal(t, slices.Repeat([]int32{-7}, n), filled)
	require.NoError(t, ints.Free())

	d := tensor.On(dev)
	keep := func(x *tensor.Tensor) {
		list, err := tensor.ToSlice[float32](x)
		require.NoError(t, err, "%s", name)
		r.Results = append(r.Results, list)
	}
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}).Reshape(2, 3)
	product := x.MatMul(x.T())
	keep(product)
	keep(product.AddScalar(1).Sum(1))
	keep(x.Neg())

	if os.Getenv("KILN_JIT") == string(jit.ReadOnly) {
		_, err := exec.LookPath("go")
		require.Error(t, err, "there is a Go toolchain")
		err = fill(8) // another value is another kernel
		require.ErrorIs(t, err, jit.ErrNotPrebuilt)
		r.Missing = append(r.Missing, err.Error())
		err = x.Exp().Err()
		require.ErrorIs(t, err, jit.ErrNotPrebuilt)
		r.Missing = append(r.Missing, err.Error())
	}
	require.NoError(t, d.Synchronize())
	return r
}

// run runs the program on devices, in a process with an empty directory, home and PATH, but
// for some tools that simulators need.
func run(t *testing.T, devices, tools []string, env ...string) (list []report, log string) {
	t.Helper()
	home, bin := t.TempDir(), t.TempDir()
	for _, tool := range tools {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, filepath.Base(tool))))
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^TestProgram$", "-test.v")
	cmd.Dir = home
	out := filepath.Join(home, "report.json")
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return strings.HasPrefix(name, "GO") || name == "KILN_CHECK" || name == "KILN_BUNDLES" || name == "KILN_TRUST" || name == "KILN_RECORD"
	}), append([]string{
		"PATH=" + bin, "HOME=" + home, deviceEnv + "=" + strings.Join(devices, ","), outEnv + "=" + out,
	}, env...)...)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	data, err := os.ReadFile(out)
	require.NoError(t, err, "%s", text)
	require.NoError(t, json.Unmarshal(data, &list))
	require.Len(t, list, len(devices))
	return list, string(text)
}

// deploy records the program on devices, prebuilds what it used, and runs it with nothing else. It
// returns what that run logs.
func deploy(t *testing.T, assemble bool, tools []string, devices ...string) string {
	dir := t.TempDir()
	recorded := filepath.Join(dir, "kernels.txt")
	first, _ := run(t, devices, tools, "KILN_RECORD="+recorded, "KILN_JIT=auto", "KILN_CACHE_DIR="+filepath.Join(dir, "developer"))

	var set record.Set
	require.NoError(t, set.Load(recorded))
	job := &prebuild.Job{Load: compiler.Registered, Specs: set.Specs()}
	if assemble {
		targets, err := job.Wants()
		require.NoError(t, err)
		var absent []error
		job.Tools, absent = prebuild.Assemblers(targets)
		t.Logf("machine code by %v; absent: %v", job.Tools, absent)
		assemble = len(job.Tools) > 0
	}
	w, err := job.Run(t.Context())
	require.NoError(t, err)
	name := filepath.Join(dir, "app"+jit.BundleSuffix)
	require.NoError(t, w.WriteFile(name))

	empty := filepath.Join(dir, "empty")
	second, log := run(t, devices, tools, "KILN_BUNDLES="+name, "KILN_JIT=readonly", "KILN_CACHE_DIR="+empty, "KILN_LOG=debug")
	require.Contains(t, log, "msg=chosen")
	require.Equal(t, assemble, regexp.MustCompile(`msg=chosen .*kind=machine`).MatchString(log), "%s", log)
	require.NoDirExists(t, empty)
	for i, r := range second {
		require.Equal(t, [][]float32{{14, 32, 32, 77}, {48, 111}, {-1, -2, -3, -4, -5, -6}}, r.Results, r.Device)
		require.Equal(t, first[i].Results, r.Results, r.Device)
		require.GreaterOrEqual(t, len(r.Kernels), 5, r.Device)
		require.Len(t, r.Kernels, len(first[i].Kernels), r.Device)
		for j, e := range r.Kernels {
			require.Equal(t, "compiled", first[i].Kernels[j].Source, "%s: %s", r.Device, e.Kernel)
			require.Equal(t, "bundle", e.Source, "%s: %s", r.Device, e.Kernel)
			require.Zero(t, e.Emit+e.Link, "%s: %s", r.Device, e.Kernel)
		}
		require.Len(t, r.Missing, 2)
		require.Contains(t, r.Missing[0], "bundle "+name+": has ")
		require.Contains(t, r.Missing[0], "to build it: kiln prebuild -target "+r.Kernels[0].Target+" -spec '")
		require.Contains(t, r.Missing[1], "cache "+empty+": not there")
		t.Logf("%s: %d kernels for %s from the bundle", r.Device, len(r.Kernels), r.Kernels[0].Target)
	}
	return log
}

func TestCPU(t *testing.T) { deploy(t, false, nil, "cpu", "cpu:interp") }

// simulated is deploy for simulated devices. Their library is built by this process for both of
// the program's, and their drivers need a compiler for this machine.
func simulated(t *testing.T, assemble bool, library string, devices ...string) (log string) {
	t.Setenv(standin.BuiltEnv, filepath.Dir(library))
	tools := []string{tooltest.Find(t, "KILN_CLANG", "clang++-19"), tooltest.Find(t, "", "ld")}
	return deploy(t, assemble, tools, devices...)
}

func TestROCm(t *testing.T) { simulated(t, false, hip.Attach(t).Path, "sim:gfx1100", "sim:gfx942") }

func TestMetal(t *testing.T) { simulated(t, false, metal.Open(t).Path, "sim:metal") }

// TestMetalLibrary has Apple's compiler, simulated too, make libraries.
func TestMetalLibrary(t *testing.T) {
	library := metal.Open(t).Path
	t.Setenv("KILN_METAL", metal.Tool(t))
	simulated(t, true, library, "sim:metal")
}

// TestMetalLibraryNotUsable has libraries that the system does not open, and some in which it
// does not find the kernel: it compiles the text then.
func TestMetalLibraryNotUsable(t *testing.T) {
	library := metal.Open(t).Path
	for body, why := range map[string]string{
		"simulated metallib 99": "language version 9.9 which is not supported",
		"simulated metallib 30\n#include <metal_stdlib>\nusing namespace metal;\nkernel void other() {}": "the library has no function of that name",
	} {
		t.Run(why, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "metal")
			script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo version 1; else echo '" + body + "' >\"$8\"; fi\n"
			tooltest.WriteProgram(t, tool, []byte(script))
			t.Setenv("KILN_METAL", tool)
			log := simulated(t, true, library, "sim:metal")
			require.Regexp(t, `msg="machine code of a bundle not usable" .*`+why, log)
			require.Regexp(t, `msg=chosen .*kind=artifact`, log)
		})
	}
}

// TestDevice is for a device that KILN_DEVICE names, such as cuda.
func TestDevice(t *testing.T) {
	name := os.Getenv("KILN_DEVICE")
	if name == "" {
		t.Skipf("needs KILN_DEVICE, the name of a real device that %s/%s has a driver of, such as cuda, rocm or metal", goruntime.GOOS, goruntime.GOARCH)
	}
	deploy(t, true, nil, name)
}
