package runtime

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Metal's compiler says about the text comes with the error.
func TestCompilerLogOfMetal(t *testing.T) {
	r := newRig(t, "metal")
	for _, c := range []struct{ text, want string }{
		{"kernel void broken() {\n\tbogus(1);\n}\n", "program_source:2:2: error: use of undeclared identifier 'bogus'"},
		{"#include <metal_stdlib>\nkernel void broken(device float* p [[buffer(31)]]) {}\n", "'buffer' attribute parameter is out of bounds"},
		{"#include <metal_stdlib>\nkernel void broken(device float* p [[buffer(0)]]) { threadgroup float* q = p; }\n", "cannot initialize a variable of type '__local float *"},
		{"#include <metal_stdlib>\nkernel void broken(float x [[thread_position_in_grid]]) {}\n", "type 'float' is not valid for attribute 'thread_position_in_grid'"},
	} {
		text := c.text
		if text[0] != '#' {
			text = "#include <metal_stdlib>\n#line 1\n" + text
		}
		_, err := r.Load(Image{Format: "msl", Name: "broken", Code: []byte(text)})
		require.ErrorIs(t, err, ErrBadImage)
		e, ok := errors.AsType[*Error](err)
		require.True(t, ok)
		require.Equal(t, "MTLLibraryError", e.Name)
		require.NotContains(t, err.Error(), "\n", "one line")
		require.Contains(t, e.Log, c.want)
	}
}

// A kernel that fails is named, once, and the device stays usable.
func TestFaultOnMetal(t *testing.T) {
	r := newRig(t, "metal")
	fault, fn, st := r.function(t, "fault"), r.function(t, "saxpy"), r.DefaultStream()
	y, err := From(r.Device, ramp(10, 1))
	require.NoError(t, err)
	require.NoError(t, st.Launch(fault, Blocks(1, 1), 0, pack(uint64(16))), "a launch does not wait")
	saxpy(t, st, fn, 1, y, y)
	err = st.Sync()
	require.ErrorIs(t, err, ErrLaunch)
	require.ErrorContains(t, err, "metal:0: kernel fault failed: MTLCommandBufferError (3): kernel fault, block (0,0,0), thread (0,0,0): touches address 0x10")
	require.NoError(t, st.Sync(), "the error was reported once")
	got, err := y.Host()
	require.NoError(t, err)
	require.Equal(t, ramp(10, 2), got, "the next kernel ran")
}

// Memory that no argument points to is not resident, and a kernel cannot touch it.
func TestResidence(t *testing.T) {
	r := newRig(t, "metal")
	fault, st := r.function(t, "fault"), r.DefaultStream()
	y, err := From(r.Device, ramp(4, 1))
	require.NoError(t, err)
	require.NoError(t, st.Launch(fault, Blocks(1, 1), 0, pack(y.Addr())))
	require.NoError(t, st.Sync(), "an argument points to it")
	require.NoError(t, y.Free())
	require.NoError(t, r.Sync())
	require.NoError(t, st.Launch(fault, Blocks(1, 1), 0, pack(y.Addr())))
	require.ErrorContains(t, st.Sync(), "touches address")
}

// Everything is released when the device closes: Metal has no other owner of it.
func TestMetalLeaksNothing(t *testing.T) {
	r := newRig(t, "metal")
	fn, st := r.function(t, "saxpy"), r.DefaultStream()
	for range 3 {
		y, err := From(r.Device, ramp(100, 1))
		require.NoError(t, err)
		e, err := r.NewEvent()
		require.NoError(t, err)
		saxpy(t, st, fn, 1, y, y)
		require.NoError(t, st.Record(e))
		require.NoError(t, e.Sync())
		require.NoError(t, y.Zero())
		require.NoError(t, y.Free())
	}
	_, err := r.Load(Image{Format: "msl", Name: "broken", Code: []byte("bogus")})
	require.Error(t, err)
	require.NoError(t, st.Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
	require.Error(t, r.Sync())
	require.NoError(t, r.Close())
	for _, class := range []string{"MTLBuffer", "MTLCommandQueue", "MTLCommandBuffer", "MTLComputeCommandEncoder", "MTLBlitCommandEncoder", "MTLLibrary",
		"MTLFunction", "MTLComputePipelineState", "MTLSharedEvent", "MTLCompileOptions", "NSString", "NSArray", "NSError"} {
		require.Zero(t, r.metal.Get(class), class)
	}
}

// Failures of Metal are errors, and rules of Metal that are broken fail the test.
func TestFailuresOfMetal(t *testing.T) {
	r := newRig(t, "metal")
	r.metal.Fail("newBufferWithLength", 0, 1)
	s, err := Alloc[byte](r.Device, 1000)
	require.NoError(t, err, "the second try must succeed")
	fn, st := r.function(t, "nothing"), r.DefaultStream()
	r.metal.Fail("commandBuffer", 0, 1)
	require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 0, nil), "Metal makes no command buffer")
	require.NoError(t, st.Launch(fn, Blocks(1, 1), 0, nil))
	require.NoError(t, s.Zero())
	r.metal.Fail("newLibraryWithSource", 0, 1)
	_, err = r.Load(r.image())
	require.ErrorContains(t, err, "Compiler encountered an internal error")
	r.metal.Fail("newComputePipelineState", 0, 1)
	mod, err := r.Load(r.image())
	require.NoError(t, err)
	_, err = mod.Function("nothing")
	require.ErrorContains(t, err, "XPC_ERROR_CONNECTION_INTERRUPTED")
	require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 64, nil), "declare their threadgroup memory")

	// An argument block that is too short is what Metal's validation stops at.
	require.NoError(t, st.Launch(r.function(t, "saxpy"), Blocks(1, 1), 0, make([]byte, 8)))
	require.NoError(t, r.Sync())
	require.Contains(t, r.metal.Problems(), "argument args from buffer 0 needs 40 bytes, and has 8")
	require.NoError(t, st.Launch(r.function(t, "saxpy"), Blocks(1, 1), 0, nil))
	require.NoError(t, r.Sync())
	require.Contains(t, r.metal.Problems(), "missing buffer binding at index 0 for args")
}
