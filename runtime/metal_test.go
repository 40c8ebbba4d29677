package runtime

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What Metal's compiler says about the text comes with the error.
func TestCompilerLogOfMetal(t *testing.T) {
	r := newRig(t, "metal")
	for _, c := range []struct{ text, want string }{
		{"kernel void broken() {\n\tbogus(1);\n}\n", "program_source:2:2: error: use of undeclared identifier 'bogus'"},
		{"#include <metal_stdlib>\nkernel void broken() {\n\t// saxpy.go:12\n\tbogus(1);\n}\n", "program_source:4:2: error: use of undeclared identifier 'bogus' [saxpy.go:12]"},
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
	r := newRig(t, "metaldiscrete")
	img := r.image()
	img.Name = "saxpy"
	final, _, err := r.Finalize(img)
	require.NoError(t, err)
	_, err = r.Load(final)
	require.NoError(t, err)
	fn, st := r.function(t, "saxpy"), r.DefaultStream()
	other, err := r.NewStream()
	require.NoError(t, err)
	for range 3 {
		y, err := From(r.Device, ramp(100, 1))
		require.NoError(t, err)
		e, err := r.NewEvent()
		require.NoError(t, err)
		saxpy(t, st, fn, 1, y, y)
		require.NoError(t, st.Record(e))
		require.NoError(t, other.Wait(e))
		saxpy(t, other, fn, 1, y, y)
		require.NoError(t, e.Sync())
		require.NoError(t, y.Zero())
		require.NoError(t, y.Free())
	}
	_, err = r.Load(Image{Format: "msl", Name: "broken", Code: []byte("bogus")})
	require.Error(t, err)
	require.NoError(t, st.Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
	require.Error(t, r.Sync())
	require.NoError(t, r.Close())
	require.Empty(t, r.metal.Alive())
}

// The wait before a module is unloaded does not swallow what has failed.
func TestMetalUnloadKeepsErrors(t *testing.T) {
	r := newRig(t, "metal")
	for _, wait := range []func() error{r.Sync, r.DefaultStream().Sync} {
		m, err := r.Device.drv.Load(r.image())
		require.NoError(t, err)
		require.NoError(t, r.DefaultStream().Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
		r.unload(m)
		require.Eventually(t, func() bool { return r.unreported.Load() != nil }, time.Minute, time.Millisecond)
		require.ErrorIs(t, wait(), ErrLaunch)
		require.NoError(t, wait())
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
	require.ErrorContains(t, st.Launch(fn, Blocks(1, 1), 64, nil), "declares its threadgroup memory")

	// An argument block that is too short is what Metal's validation stops at.
	require.NoError(t, st.Launch(r.function(t, "saxpy"), Blocks(1, 1), 0, make([]byte, 8)))
	require.NoError(t, r.Sync())
	require.Contains(t, r.metal.Problems(), "argument args from buffer 0 needs 40 bytes, and has 8")
	require.NoError(t, st.Launch(r.function(t, "saxpy"), Blocks(1, 1), 0, nil))
	require.NoError(t, r.Sync())
	require.Contains(t, r.metal.Problems(), "missing buffer binding at index 0 for args")
}

// Streams overlap: each is a queue of its own.
func TestStreamsOfMetalOverlap(t *testing.T) {
	r := newRig(t, "metal")
	spin := r.function(t, "spin")
	a, err := r.NewStream()
	require.NoError(t, err)
	b, err := r.NewStream()
	require.NoError(t, err)
	x, err := From(r.Device, ramp(100, 1))
	require.NoError(t, err)
	pinned, err := AllocPinned[float32](r.Device, 100)
	require.NoError(t, err)
	ended, err := r.NewEvent()
	require.NoError(t, err)
	require.NoError(t, a.Launch(spin, Blocks(1, 1), 0, pack(500*time.Millisecond)))
	require.NoError(t, a.Record(ended))
	require.NoError(t, x.CopyToPinned(b, pinned))
	require.NoError(t, b.Sync())
	require.Equal(t, ramp(100, 1), pinned.Data())
	done, err := ended.Done()
	require.NoError(t, err)
	require.False(t, done, "the copy did not wait for the kernel of the other stream")

	require.NoError(t, x.Zero(), "the default stream waits for all")
	require.NoError(t, r.DefaultStream().Sync())
	done, err = ended.Done()
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, pinned.Free())
}

// A stream that waits for a kernel of another which fails goes on, and does not report
// what is not its own.
func TestWaitingForAKernelThatFails(t *testing.T) {
	r := newRig(t, "metal")
	a, err := r.NewStream()
	require.NoError(t, err)
	b, err := r.NewStream()
	require.NoError(t, err)
	e, err := r.NewEvent()
	require.NoError(t, err)
	y, err := From(r.Device, ramp(10, 1))
	require.NoError(t, err)
	require.NoError(t, a.Launch(r.function(t, "spin"), Blocks(1, 1), 0, pack(50*time.Millisecond)))
	require.NoError(t, a.Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
	require.NoError(t, a.Record(e))
	require.NoError(t, b.Wait(e))
	saxpy(t, b, r.function(t, "saxpy"), 1, y, y)
	require.NoError(t, b.Sync())
	require.ErrorContains(t, a.Sync(), "kernel fault failed")
	got, err := y.Host()
	require.NoError(t, err, "it was reported once")
	require.Equal(t, ramp(10, 2), got)
}

// Copies to private memory pass through chunks that streams take in turn. The kernel of
// one stream that failed is not reported by the copies of another.
func TestCopiesDoNotReportKernels(t *testing.T) {
	r := newRig(t, "metaldiscrete")
	a, err := r.NewStream()
	require.NoError(t, err)
	b, err := r.NewStream()
	require.NoError(t, err)
	x, err := Alloc[float32](r.Device, 100)
	require.NoError(t, err)
	require.NoError(t, a.Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
	for range 40 { // more than there are chunks
		require.NoError(t, x.CopyFromAsync(a, ramp(100, 1)))
	}
	for range 40 {
		require.NoError(t, x.CopyFromAsync(b, ramp(100, 2)))
	}
	require.NoError(t, b.Sync())
	require.ErrorContains(t, a.Sync(), "kernel fault failed")
	got, err := x.Host()
	require.NoError(t, err)
	require.Equal(t, ramp(100, 2), got)
}

// A queue takes only so many command buffers at a time; Metal blocks who wants more.
func TestManyLaunchesOnMetal(t *testing.T) {
	r := newRig(t, "metal")
	fn := r.function(t, "nothing")
	a, err := r.NewStream()
	require.NoError(t, err)
	b, err := r.NewStream()
	require.NoError(t, err)
	e, err := r.NewEvent()
	require.NoError(t, err)
	require.NoError(t, a.Launch(r.function(t, "spin"), Blocks(1, 1), 0, pack(50*time.Millisecond)))
	require.NoError(t, a.Launch(r.function(t, "fault"), Blocks(1, 1), 0, pack(uint64(16))))
	require.NoError(t, a.Record(e))
	require.NoError(t, b.Wait(e))
	for range 1500 {
		require.NoError(t, b.Launch(fn, Blocks(1, 1), 0, nil))
	}
	require.NoError(t, b.Sync())
	require.ErrorContains(t, r.Sync(), "kernel fault failed")
}

// runSaxpy loads an image, runs its kernel saxpy, and compares.
func runSaxpy(t *testing.T, r *rig, img Image) {
	t.Helper()
	mod, err := r.Load(img)
	require.NoError(t, err)
	fn, err := mod.Function("saxpy")
	require.NoError(t, err)
	y, err := From(r.Device, ramp(50, 1))
	require.NoError(t, err)
	saxpy(t, r.DefaultStream(), fn, 2, y, y)
	got, err := y.Host()
	require.NoError(t, err)
	require.Equal(t, ramp(50, 3), got)
}

// A library that Apple's tools made is opened, and its text is not compiled.
func TestLibraryOfMetal(t *testing.T) {
	r := newRig(t, "metal")
	img := r.image()
	text := img.Code
	img.Format, img.Code = "metallib", append([]byte("simulated metallib 30\n"), text...)
	require.Contains(t, r.Info().Formats, img.Format)
	before := r.metal.Compiled("library")
	runSaxpy(t, r, img)
	require.Equal(t, before, r.metal.Compiled("library"))

	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err := r.Load(img)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "metal:0: load kernel ")
	t.Setenv("TMPDIR", t.TempDir())

	for code, want := range map[string]string{
		"not a library":           "Invalid library file",
		"simulated metallib 99\n": "language version 9.9",
	} {
		img.Code = []byte(code)
		_, err = r.Load(img)
		require.ErrorIs(t, err, ErrBadImage)
		require.ErrorContains(t, err, want)
	}
}

// A finalised image has the kernels' machine code: they are taken from the archive,
// unless that is of no use.
func TestArchiveOfMetal(t *testing.T) {
	r := newRig(t, "metal")
	img := r.image()
	img.Code = append([]byte("// anew\n"), img.Code...)
	img.Name = "saxpy"
	final, log, err := r.Finalize(img)
	require.NoError(t, err)
	require.Empty(t, log)
	require.Equal(t, "mtlarchive", final.Format)
	require.Contains(t, r.FinalKey(), "macOS 15.0 (Build SIM1)")

	run := func(final Image, kernels, archived int) {
		t.Helper()
		before := [2]int{r.metal.Compiled("kernel"), r.metal.Compiled("archived")}
		runSaxpy(t, r, final)
		require.Equal(t, [2]int{kernels, archived}, [2]int{r.metal.Compiled("kernel") - before[0], r.metal.Compiled("archived") - before[1]})
	}
	libraries := r.metal.Compiled("library")
	run(final, 0, 1)
	require.Equal(t, libraries, r.metal.Compiled("library"), "the load that follows takes what Finalize has compiled")
	run(final, 0, 1)
	require.Equal(t, libraries+1, r.metal.Compiled("library"))

	r.metal.Fail("newBinaryArchive", 0, 1)
	run(final, 1, 0)
	other := final
	other.Code = bytes.Replace(final.Code, []byte("// anew\n"), []byte("// old!\n"), 1) // the archive is not of this text
	run(other, 1, 0)
	cut := final
	cut.Code = final.Code[:len(final.Code)-1]
	_, err = r.Load(cut)
	require.ErrorIs(t, err, ErrBadImage)
	require.ErrorContains(t, err, "the image is damaged")

	for _, name := range []string{"newComputePipelineState", "serializeToURL"} {
		r.metal.Fail(name, 0, 1)
		same, log, err := r.Finalize(img)
		require.NoError(t, err)
		require.Equal(t, img, same)
		require.Contains(t, log, "no archive: ")
		run(same, 1, 0)
	}
	img.Code = []byte("bogus")
	_, _, err = r.Finalize(img)
	require.ErrorIs(t, err, ErrBadImage)
}
