package conformance_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance"
	"github.com/gokiln/kiln/tests/nvrtc"
	"github.com/gokiln/kiln/tests/through"
)

// by runs the suite on a device by another way than its own, to which kernels of a kind
// of target lead.
func by(t *testing.T, name string, way *detour.Way, kind string) {
	dev, err := runtime.Open(name)
	require.NoError(t, err)
	defer dev.Close()
	defer detour.Take(way)()
	var resolved atomic.Int64
	defer jit.OnResolve(func(e jit.Event) {
		if strings.HasPrefix(e.Target, kind+":") {
			resolved.Add(1)
		}
	})()
	conformance.RunAll(t, dev)
	if kind == "cuda" {
		conformance.RunHuge(t, dev)
	}
	t.Logf("%d kernels for %s", resolved.Load(), kind)
	require.Greater(t, int(resolved.Load()), 300)
}

// TestNVRTC runs the suite on an NVIDIA GPU as CUDA C++ text.
func TestNVRTC(t *testing.T) {
	if os.Getenv("KILN_THROUGH") != "nvrtc" {
		t.Skip("compiles every kernel with NVRTC, for a minute, and needs an NVIDIA GPU: KILN_THROUGH=nvrtc asks for it")
	}
	by(t, "cuda:0", through.NVRTC(nvrtc.For(t)), "cuda")
}

// TestLLVM runs the suite on an NVIDIA GPU as the PTX that LLVM makes, which is in a
// file that TestRecordLLVM has written.
func TestLLVM(t *testing.T) {
	file := os.Getenv("KILN_LLVM_IMAGES")
	if file == "" {
		t.Skip("needs an NVIDIA GPU and what TestRecordLLVM has written: KILN_LLVM_IMAGES names it")
	}
	images, err := through.OpenImages(file)
	require.NoError(t, err)
	defer images.Close()
	by(t, "cuda:0", through.LLVM(images), "llvm")
}

// TestRecordLLVM has LLVM make PTX of the whole suite. KILN_LLVM_RECORD names the file
// that is for TestLLVM.
func TestRecordLLVM(t *testing.T) {
	tooltest.Sweep(t, "TestRecordLLVM of tests/irconf")
	rec := through.For(t, "sm_90")
	by(t, "cpu:interp", rec.Way(), "llvm")
	rec.WriteFile(t)
}
