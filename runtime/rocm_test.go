package runtime

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// "hip" is another name of "rocm", and the two devices differ in their waves.
func TestOpenROCm(t *testing.T) {
	r := newRig(t, "rocm64")
	r.sim.Set("devices", 2)
	require.Equal(t, "rocm:0", r.Name())
	require.Equal(t, 64, r.WarpSize())
	again, err := r.registry.openDevice("hip:0")
	require.NoError(t, err)
	require.Same(t, r.Device, again)
	require.NoError(t, again.Close())
	narrow, err := r.registry.openDevice("hip:1")
	require.NoError(t, err)
	require.Equal(t, "rocm:1", narrow.Name())
	require.Equal(t, 32, narrow.WarpSize())
	require.Equal(t, "gfx1100", narrow.Info().Arch)
	require.NoError(t, narrow.Close())
	_, err = r.registry.openDevice("hip:2")
	require.ErrorIs(t, err, ErrNoDevice)
	require.ErrorContains(t, err, "open rocm:2: number of devices that the runtime sees: 2")
}

// What hipRTC says about the text comes with the error.
func TestCompilerLogOfHIP(t *testing.T) {
	r := newRig(t, "rocm64")
	bad := Image{Format: "hip", Name: "broken", Code: []byte("extern \"C\" __global__ void broken() {\n\t// saxpy.go:12\n\tbogus(1);\n}\n")}
	_, loadErr := r.Load(bad)
	_, log, finalErr := r.Finalize(bad)
	for _, err := range []error{loadErr, finalErr} {
		require.ErrorIs(t, err, ErrBadImage)
		e, ok := errors.AsType[*Error](err)
		require.True(t, ok)
		require.Equal(t, "HIPRTC_ERROR_COMPILATION", e.Name)
		require.Equal(t, 6, e.Code)
		require.Equal(t, log, e.Log)
		require.NotContains(t, err.Error(), "\n", "one line")
		require.ErrorContains(t, err, "broken.hip:3:2: error: use of undeclared identifier 'bogus' [saxpy.go:12]")
		require.Contains(t, fmt.Sprintf("%+v", err), strings.TrimSpace(e.Log))
	}
}

// Code is for one architecture.
func TestCodeObjectOfAnotherDevice(t *testing.T) {
	wide, narrow := newRig(t, "rocm64"), newRig(t, "rocm32")
	final, _, err := wide.Finalize(wide.image())
	require.NoError(t, err)
	_, err = wide.Load(final)
	require.NoError(t, err)
	_, err = narrow.Load(final)
	require.ErrorIs(t, err, ErrBadImage)
	require.ErrorContains(t, err, "hipErrorNoBinaryForGpu (209)")
	require.ErrorContains(t, err, "made for gfx942:sramecc+:xnack-, and this is gfx1100")
	require.NotEqual(t, wide.FinalKey(), narrow.FinalKey())
}

func TestFailuresOfHIP(t *testing.T) {
	r := newRig(t, "rocm64")
	r.sim.Fail("hipMallocAsync", 2, 0, 1)
	s, err := Alloc[byte](r.Device, 1000)
	require.NoError(t, err, "the second try must succeed")
	require.Equal(t, 2, r.sim.Calls("hipMallocAsync"))
	require.Equal(t, 1, r.sim.Calls("hipMemPoolTrimTo"))
	r.sim.Fail("hipMemsetD8Async", 1, 0, 1)
	require.EqualError(t, s.Zero(), "rocm:0: fill: hipErrorInvalidValue (1): invalid argument")

	fn, st := r.function(t, "nothing"), r.DefaultStream()
	r.sim.Fail("hipModuleLaunchKernel", 701, 0, 1)
	require.ErrorIs(t, st.Launch(fn, Blocks(1, 1), 0, nil), ErrLaunch)
	require.NoError(t, st.Launch(fn, Blocks(1, 1), 0, nil), "that does not lose the device")
	r.sim.Fail("hipSetDevice", 101, 0, 1)
	require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 0, nil), "hipErrorInvalidDevice")
	r.sim.Fail("hipStreamSynchronize", 98765, 0, 1)
	require.ErrorContains(t, st.Sync(), "wait for the stream: HIP error 98765 (98765)")
	fresh := r.image() // text that is not compiled yet
	fresh.Code = append([]byte("// anew\n"), fresh.Code...)
	for name, use := range map[string]func() error{
		"hipStreamCreateWithFlags": func() error { _, err := r.NewStream(); return err },
		"hipEventCreateWithFlags":  func() error { _, err := r.NewEvent(); return err },
		"hipMemGetInfo":            func() error { _, _, err := r.MemInfo(); return err },
		"hipHostMalloc":            func() error { _, err := AllocPinned[int](r.Device, 1); return err },
		"hipDeviceSynchronize":     r.Sync,
		"hipModuleLoadData":        func() error { _, err := r.Load(r.image()); return err },
		"hipFuncGetAttribute":      func() error { m, _ := r.Load(r.image()); _, err := m.Function("nothing"); return err },
	} {
		r.sim.Fail(name, 1, 0, 1)
		require.ErrorContains(t, use(), "hipErrorInvalidValue (1)", name)
		require.NoError(t, use(), name)
	}
	for _, name := range []string{"hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize", "hiprtcGetCode"} {
		r.sim.Fail(name, 11, 0, 1)
		_, _, err := r.Finalize(fresh)
		require.ErrorContains(t, err, "HIPRTC_ERROR_INTERNAL_ERROR (11)", name)
		_, _, err = r.Finalize(fresh)
		require.NoError(t, err, name)
	}
}
