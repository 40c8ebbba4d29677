package engine

import (
	"os"
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/gokiln/kiln/runtime"
)

// Engine is a way to run kernels.
type Engine struct {
	Name string // as KILN_CPU takes it, and behind cpu: in the name of the device
	Arch string // that it has machine code for; "" for the interpreter
	Warp int    // threads of a warp
}

// Engines are all but the interpreters with warps as machine code has them, that of
// every machine first.
var Engines = []Engine{{"interp", "", 32}, {"avx2", "x86-64-v3", 8}, {"avx512", "x86-64-v4", 16}}

// A kernel that the compiler has no machine code for fails a test; elsewhere it runs on
// the interpreter. Package jit reads this at the first launch.
func init() { os.Setenv("KILN_STRICT", "1") }

// Native returns the engines that run machine code.
func Native() []Engine { return Engines[1:] }

// Device is the name by which to open the engine.
func (e Engine) Device() string { return "cpu:" + e.Name }

// Lacks says what the machine is without that the engine needs, "" if it can run it.
func (e Engine) Lacks() string {
	x := cpu.X86
	switch {
	case e.Arch == "":
	case goruntime.GOARCH != "amd64":
		return "an x86-64 processor"
	case !(x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2):
		return "a processor with AVX2"
	case e.Arch == "x86-64-v4" && !(x.HasAVX512F && x.HasAVX512BW && x.HasAVX512CD && x.HasAVX512DQ && x.HasAVX512VL):
		return "a processor with AVX-512"
	}
	return ""
}

// Need skips a test on a machine that cannot run the engine.
func (e Engine) Need(t testing.TB) {
	t.Helper()
	if lacks := e.Lacks(); lacks != "" {
		t.Skipf("needs %s", lacks)
	}
}

// Open opens the engine's device until the test ends. A machine that cannot run it
// skips the test.
func (e Engine) Open(t testing.TB) *runtime.Device {
	t.Helper()
	e.Need(t)
	dev, err := runtime.Open(e.Device())
	if err != nil {
		t.Fatalf("opening %s: %v", e.Device(), err)
	}
	t.Cleanup(func() { dev.Close() })
	if info := dev.Info(); e.Arch != "" && info.Arch != e.Arch || info.WarpSize != e.Warp {
		t.Fatalf("%s runs %v for %s with warps of %d, want code for %s with warps of %d",
			e.Device(), info.Formats, info.Arch, info.WarpSize, e.Arch, e.Warp)
	}
	return dev
}

// Each runs fn as a subtest with each of [Engines].
func Each(t *testing.T, fn func(t *testing.T, dev *runtime.Device)) {
	for _, e := range Engines {
		t.Run(e.Name, func(t *testing.T) { fn(t, e.Open(t)) })
	}
}
