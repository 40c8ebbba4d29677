package cuda

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/cudatest"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

const noop = ".version 7.0\n.target sm_75\n.visible .entry noop() { ret; }\n"

func open(t *testing.T, lib *cudatest.Library, ordinal int) *vendorapi.Device {
	t.Helper()
	dev, err := New(lib.Path).Open(ordinal)
	require.NoError(t, err)
	return dev.(*vendorapi.Device)
}

func TestProbe(t *testing.T) {
	lib := cudatest.Open(t)
	b := New(lib.Path)
	require.Equal(t, "cuda", b.Kind())
	r := b.Probe()
	require.NoError(t, r.Err)
	require.Equal(t, lib.Path, r.Library)
	require.Equal(t, []string{lib.Path}, r.Looked)
	require.Contains(t, r.Driver, "CUDA 12.8")
	require.Len(t, r.Devices, 2)
	require.Equal(t, driver.Info{
		Name: "cuda:1", Kind: "cuda", Vendor: "NVIDIA", Model: "Stand-in GPU 1", Arch: "sm_90", Driver: r.Driver,
		Formats: []string{"cubin", "ptx"}, WarpSize: 32, MaxThreads: 1024,
		MaxBlock: [3]int{1024, 1024, 64}, MaxGrid: [3]int{2147483647, 65535, 65535}, SharedPerBlock: 232448,
		Units: 132, ThreadsPerUnit: 2048, RegistersPerUnit: 65536, ClockKHz: 1980000, MemClockKHz: 3201000, MemBusBits: 6144,
		L2: 60 << 20, MemTotal: 128 << 20, ComputeMajor: 9, PCI: "0000:1c:00.0", MemoryPool: true, Cooperative: true, GridBarriers: true,
	}, r.Devices[1])

	lib.Set("devices", 0)
	require.ErrorIs(t, b.Probe().Err, driver.ErrNoDevice)
	lib.Fail("cuDeviceGetName", 101, 0, 1)
	lib.Set("devices", 2)
	r = b.Probe()
	require.ErrorContains(t, r.Err, "CUDA_ERROR_INVALID_DEVICE")
	require.Equal(t, lib.Path, r.Library, "found all the same")
}

func TestLibraryFromEnvironment(t *testing.T) {
	lib := cudatest.Open(t)
	t.Setenv(LibraryEnv, lib.Path)
	dev, err := New().Open(1)
	require.NoError(t, err)
	require.Equal(t, "cuda:1", dev.Info().Name)
	require.NoError(t, dev.Close())
	t.Setenv(LibraryEnv, "/nowhere/libcuda.so")
	r := New().Probe()
	require.Equal(t, []string{"/nowhere/libcuda.so"}, r.Looked)
	require.ErrorIs(t, r.Err, driver.ErrNoDevice)
	require.NotContains(t, r.Err.Error(), "\n")
	t.Setenv(LibraryEnv, "")
	require.NotEmpty(t, New().Vendor.Looked())
	_, err = vendorapi.OpenLibrary(new(library), nil)
	require.ErrorIs(t, err, driver.ErrNoDevice)
}

func TestLibraryThatIsNoDriver(t *testing.T) {
	lib := cudatest.Open(t) // skips where libraries cannot be opened
	_, err := New("libc.so.6").Open(0)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "too old or not the CUDA driver")
	require.ErrorContains(t, err, "cuLaunchKernel")
	require.NotContains(t, err.Error(), "cuMemAllocAsync", "is optional")

	lib.Fail("cuInit", 100, 0, 1)
	_, err = New(lib.Path).Open(0)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "start the CUDA driver")
	for _, name := range []string{"cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceTotalMem_v2",
		"cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute"} {
		lib.Fail(name, 101, 0, 1)
		_, err = New(lib.Path).Open(0)
		require.ErrorContains(t, err, "CUDA_ERROR_INVALID_DEVICE", name)
		require.Zero(t, lib.Get("retained"), name)
	}
	_, err = New(lib.Path).Open(2)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "number of devices that the driver sees: 2")
}

// A library without the functions that came with CUDA 11.2.
func TestOldDriver(t *testing.T) {
	cudatest.Open(t)
	gcc, err := exec.LookPath("gcc")
	require.NoError(t, err)
	dir := t.TempDir()
	var src bytes.Buffer
	for _, e := range new(api).Entries(new(vendorapi.Functions)) {
		if !e.Optional {
			src.WriteString("int " + e.Names[0] + "(void) { return 0; }\n")
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.c"), src.Bytes(), 0o600))
	out := filepath.Join(dir, "libold.so")
	text, err := exec.Command(gcc, "-shared", "-fPIC", "-o", out, filepath.Join(dir, "old.c")).CombinedOutput()
	require.NoError(t, err, "%s", text)
	l, err := vendorapi.OpenLibrary(new(library), []string{out})
	require.NoError(t, err)
	require.False(t, l.Pools())
	_, err = (&vendorapi.Device{Lib: l}).NewGraph(nil)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// The driver takes no longer rows, and no graph then.
func TestGraphWithLongRows(t *testing.T) {
	lib := cudatest.Open(t)
	d := open(t, lib, 0)
	for _, op := range []driver.Op{
		{Width: 1 << 31, Rows: 1},
		{Width: 1, Rows: 2, SrcPitch: 1 << 31, DstPitch: 1},
		{Width: 1, Rows: 2, SrcPitch: 1, DstPitch: 1 << 31},
	} {
		_, err := d.NewGraph([]driver.Op{op})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "rows of 2147483648 bytes")
	}
	_, err := (&library{Library: d.Lib}).Node(d, &driver.Op{Width: 1<<31 - 1, Rows: 1}, nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.Zero(t, lib.Get("graphs"))
}

// A graph is launched and filled with what is its device's.
func TestGraphOfAnotherDevice(t *testing.T) {
	lib := cudatest.Open(t)
	a, b := open(t, lib, 0), open(t, lib, 1)
	mod, err := a.Load(driver.Image{Format: "ptx", Code: []byte(noop)})
	require.NoError(t, err)
	fn, err := mod.Function("noop")
	require.NoError(t, err)
	ops := []driver.Op{{Kernel: fn, Launch: driver.Launch{Grid: [3]int{1, 1, 1}, Block: [3]int{1, 1, 1}}}}
	_, err = b.NewGraph(ops)
	require.ErrorIs(t, err, driver.ErrInvalid)
	require.ErrorContains(t, err, "another device")
	g, err := a.NewGraph(ops)
	require.NoError(t, err)
	require.ErrorIs(t, g.Launch(b.Default()), driver.ErrInvalid)
	require.NoError(t, g.Launch(a.Default()))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestVersionIn(t *testing.T) {
	const head = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U22)\nGCC version:  gcc 12.3.0\n"
	require.Equal(t, "570.86.15", versionIn(head))
	require.Empty(t, versionIn("nothing here\n1.2.3"))
}

func TestWithoutPool(t *testing.T) {
	for _, pools := range []int{0, -1} {
		lib := cudatest.Open(t)
		lib.Set("pools", pools)
		d := open(t, lib, 0)
		s := d.Default()
		a, err := s.Alloc(1 << 20)
		require.NoError(t, err)
		require.NoError(t, s.Upload(a, make([]byte, 1<<20)))
		free, total, err := d.MemInfo()
		require.NoError(t, err)
		require.Equal(t, total-1<<20, free)
		require.NoError(t, s.Free(a, 1<<20))
		require.NoError(t, d.Trim())
		require.Equal(t, 1, lib.Calls("cuMemAlloc_v2"))
		require.Equal(t, 1, lib.Calls("cuMemFree_v2"))
		require.Zero(t, lib.Calls("cuMemAllocAsync")+lib.Calls("cuMemPoolTrimTo"))
		require.NoError(t, d.Close())
	}
}

// Copies use a bounded number of chunks, which are made once.
func TestStagingIsBounded(t *testing.T) {
	lib := cudatest.Open(t)
	lib.Set("memory", 512<<20)
	d := open(t, lib, 0)
	lib.Set("delay_us", 100)
	small, large := make([]byte, 1000), make([]byte, 10<<20)
	for i := range large {
		large[i] = byte(i >> 8)
	}
	s := d.Default()
	a, err := s.Alloc(int64(len(large)))
	require.NoError(t, err)
	for range 4 * hostcopy.SmallChunks {
		require.NoError(t, s.Upload(a, small))
	}
	var wg sync.WaitGroup
	for range 3 * hostcopy.LargeChunks {
		wg.Go(func() {
			b, err := s.Alloc(int64(len(large)))
			back := make([]byte, len(large))
			if err == nil {
				err = s.Upload(b, large)
			}
			if err == nil {
				err = s.Download(back, b)
			}
			if err == nil {
				err = s.Free(b, int64(len(large)))
			}
			if err != nil || !bytes.Equal(large, back) {
				t.Error("copy went wrong", err)
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, lib.Get("hosts"), hostcopy.SmallChunks+hostcopy.LargeChunks)
	require.Equal(t, lib.Get("hosts"), lib.Get("events"))
	made, idle := d.Chunks()
	require.Equal(t, made, idle, "all came back")
	require.NoError(t, d.Close())
	require.Zero(t, lib.Get("hosts"))
	require.Zero(t, lib.Get("events"))
}

// Whatever fails, the chunks come back and the next copy works.
func TestStagingSurvivesFailures(t *testing.T) {
	lib := cudatest.Open(t)
	d := open(t, lib, 0)
	s := d.Default()
	data, back := make([]byte, 9<<20), make([]byte, 9<<20)
	for i := range data {
		data[i] = byte(i >> 10)
	}
	a, err := s.Alloc(int64(len(data)))
	require.NoError(t, err)
	for _, name := range []string{"cuMemHostAlloc", "cuEventCreate", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuEventQuery", "cuEventSynchronize"} {
		for after := range 4 {
			lib.Fail(name, 1, after, 1)
			upErr := s.Upload(a, data)
			downErr := s.Download(back, a)
			lib.Fail(name, 0, 0, 0)
			for _, err := range []error{upErr, downErr} {
				if err != nil {
					require.ErrorContains(t, err, "CUDA_ERROR_INVALID_VALUE", name)
				}
			}
			require.NoError(t, d.Sync())
			require.NoError(t, s.Upload(a, data), name)
			clear(back)
			require.NoError(t, s.Download(back, a), name)
			require.True(t, bytes.Equal(data, back), name)
			made, idle := d.Chunks()
			require.Equal(t, made, idle, name)
		}
	}
	require.NoError(t, d.Close())
	require.Zero(t, lib.Get("hosts"))
}

// When page-locked memory runs out, the chunks there are have to do.
func TestStagingWithFewChunks(t *testing.T) {
	lib := cudatest.Open(t)
	d := open(t, lib, 0)
	s := d.Default()
	data, back := bytes.Repeat([]byte("kiln"), 6<<20), make([]byte, 24<<20)
	a, err := s.Alloc(int64(len(data)))
	require.NoError(t, err)
	lib.Fail("cuMemHostAlloc", 2, 1, 0)
	lib.Set("delay_us", 200)
	require.NoError(t, s.Upload(a, data))
	require.NoError(t, s.Download(back, a))
	require.True(t, bytes.Equal(data, back))
	require.Equal(t, 1, lib.Get("hosts"))
	require.NoError(t, d.Close())
}

func TestForeignHandles(t *testing.T) {
	lib := cudatest.Open(t)
	a, b := open(t, lib, 0), open(t, lib, 1)
	e, err := a.NewEvent()
	require.NoError(t, err)
	require.ErrorIs(t, b.Default().Record(e), driver.ErrInvalid)
	require.ErrorIs(t, b.Default().Wait(e), driver.ErrInvalid)
	require.ErrorIs(t, b.Default().Record(nil), driver.ErrInvalid)
	_, err = e.Since(nil)
	require.ErrorIs(t, err, driver.ErrInvalid)
	m, err := a.Load(driver.Image{Format: "ptx", Name: "noop", Code: []byte(noop)})
	require.NoError(t, err)
	f, err := m.Function("noop")
	require.NoError(t, err)
	require.ErrorIs(t, b.Default().Launch(f, &driver.Launch{}), driver.ErrInvalid)
	require.NoError(t, m.Close())
	require.NoError(t, e.Close())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestMissingCompilerHasAHint(t *testing.T) {
	lib := cudatest.Open(t)
	d := open(t, lib, 0)
	lib.Fail("cuModuleLoadDataEx", int(vendorapi.JITCompilerAbsent), 0, 1)
	_, err := d.Load(driver.Image{Format: "ptx", Name: "noop", Code: []byte(noop)})
	require.ErrorIs(t, err, driver.ErrBadImage)
	require.ErrorContains(t, err, "libnvidia-ptxjitcompiler")
	lib.Fail("cuLinkAddData_v2", 222, 0, 1)
	_, _, err = d.Finalize(driver.Image{Format: "ptx", Name: "noop", Code: []byte(noop)})
	require.ErrorIs(t, err, driver.ErrBadImage)
	require.ErrorContains(t, err, "CUDA error 222 (222)")
	lib.Fail("cuDevicePrimaryCtxRelease_v2", 1, 0, 1)
	require.ErrorContains(t, d.Close(), "close")
	require.NoError(t, d.Close())
}

func TestIllegalAddressTellsTheWayOut(t *testing.T) {
	lib, err := New(cudatest.Open(t).Path).Library()
	require.NoError(t, err)
	err = lib.Error("wait", "cuda:0", vendorapi.IllegalAddress)
	require.ErrorContains(t, err, "CUDA_ERROR_ILLEGAL_ADDRESS (700)")
	require.ErrorContains(t, err, "(the same launch on the device cpu names line, thread and index)")
}
