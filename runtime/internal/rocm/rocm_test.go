package rocm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/hostcopy"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
	"github.com/gokiln/kiln/tests/sim/hip"
)

func TestMain(m *testing.M) { hip.Main(m) }

const noop = "extern \"C\" __global__ void noop() {}\n"

// simulator returns the stand-in, as both libraries.
func simulator(t *testing.T) *hip.Library {
	t.Helper()
	lib := hip.Open(t)
	t.Setenv(RTCLibraryEnv, lib.Path)
	return lib
}

func open(t *testing.T, lib *hip.Library, ordinal int) *vendorapi.Device {
	t.Helper()
	dev, err := New(lib.Path).Open(ordinal)
	require.NoError(t, err)
	return dev.(*vendorapi.Device)
}

func TestProbe(t *testing.T) {
	lib := simulator(t)
	lib.Set("devices", 2)
	b := New(lib.Path)
	require.Equal(t, "rocm", b.Kind())
	r := b.Probe()
	require.NoError(t, r.Err)
	require.Equal(t, lib.Path, r.Library)
	require.Equal(t, []string{lib.Path, lib.Path}, r.Looked, "for HIP and for hipRTC")
	require.Regexp(t, `^HIP 6\.2\.\d+, hipRTC 6\.2`, r.Driver)
	require.Len(t, r.Devices, 2)
	want := driver.Info{
		Name: "rocm:0", Kind: "rocm", Vendor: "AMD", Model: "Simulated Instinct MI300X", Arch: "gfx942", Driver: r.Driver,
		Formats: []string{"hsaco", "hip"}, WarpSize: 64, MaxThreads: 1024,
		MaxBlock: [3]int{1024, 1024, 1024}, MaxGrid: [3]int{2147483647, 65535, 65535}, SharedPerBlock: 64 << 10,
		Units: 304, ThreadsPerUnit: 2048, RegistersPerUnit: 131072, ClockKHz: 2100000, MemClockKHz: 1300000, MemBusBits: 8192,
		L2: 4 << 20, MemTotal: 4 << 30, PCI: "0000:0c:00.0", MemoryPool: true, GridBarriers: true,
	}
	require.Equal(t, want, r.Devices[0])
	require.Equal(t, "gfx1100", r.Devices[1].Arch)
	require.Equal(t, 32, r.Devices[1].WarpSize)

	lib.Set("devices", 0)
	require.ErrorIs(t, b.Probe().Err, driver.ErrNoDevice)
	lib.Fail("hipDeviceGetName", 101, 0, 1)
	lib.Set("devices", 2)
	r = b.Probe()
	require.ErrorContains(t, r.Err, "hipErrorInvalidDevice")
	require.Equal(t, lib.Path, r.Library, "found all the same")
}

func TestLibraryFromEnvironment(t *testing.T) {
	lib := simulator(t)
	b := New()
	t.Setenv(LibraryEnv, "/nowhere/libamdhip64.so")
	r := b.Probe()
	require.Equal(t, []string{"/nowhere/libamdhip64.so"}, r.Looked)
	require.ErrorIs(t, r.Err, driver.ErrNoDevice)
	require.NotContains(t, r.Err.Error(), "\n")
	t.Setenv(LibraryEnv, lib.Path)
	dev, err := b.Open(1)
	require.NoError(t, err, "another name is tried")
	require.Equal(t, "rocm:1", dev.Info().Name)
	require.NoError(t, dev.Close())
	t.Setenv(LibraryEnv, "")
	if goruntime.GOOS == "linux" {
		t.Setenv("ROCM_PATH", "/my/rocm")
		require.Contains(t, New().Vendor.Looked(), "libamdhip64.so.6")
		require.Contains(t, New().Vendor.Looked(), "/my/rocm/lib/libamdhip64.so")
	}
	_, err = vendorapi.OpenLibrary(new(library), nil)
	require.ErrorIs(t, err, driver.ErrNoDevice)
}

func TestLibraryThatIsNotHIP(t *testing.T) {
	lib := simulator(t)
	_, err := New("libc.so.6").Open(0)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "too old or not the HIP runtime")
	require.ErrorContains(t, err, "hipModuleLaunchKernel")
	require.NotContains(t, err.Error(), "hipMallocAsync", "is optional")

	lib.Fail("hipInit", 100, 0, 1)
	_, err = New(lib.Path).Open(0)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "start the HIP runtime")
	for _, name := range []string{"hipRuntimeGetVersion", "hipGetDeviceCount", "hipDeviceGet", "hipDeviceTotalMem", "hipGetDevicePropertiesR0600",
		"hipDeviceGetAttribute", "hipDeviceGetDefaultMemPool", "hipMemPoolSetAttribute"} {
		lib.Fail(name, 101, 0, 1)
		_, err = New(lib.Path).Open(0)
		require.ErrorContains(t, err, "hipErrorInvalidDevice", name)
	}
	lib.Set("devices", 2)
	_, err = New(lib.Path).Open(2)
	require.ErrorIs(t, err, driver.ErrNoDevice)
	require.ErrorContains(t, err, "number of devices that the runtime sees: 2")
}

// A library without the functions that came with HIP 5.2, and with the properties
// behind the symbol of HIP 5.
func TestOldRuntime(t *testing.T) {
	simulator(t)
	gcc, err := exec.LookPath("gcc")
	require.NoError(t, err)
	dir := t.TempDir()
	src := bytes.NewBufferString("#include <string.h>\n")
	var written []string
	for _, e := range new(api).Entries(new(vendorapi.Functions)) {
		switch name := e.Names[len(e.Names)-1]; {
		case e.Optional, slices.Contains(written, name):
		case name == "hipGetDeviceProperties":
			src.WriteString("int hipGetDeviceProperties(char *p, int d) { strcpy(p, \"gfx of some kind\"); strcpy(p + 396, \"gfx908:xnack-\"); return 0; }\n")
		default:
			src.WriteString("int " + name + "(void) { return 0; }\n")
			written = append(written, name)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old.c"), src.Bytes(), 0o600))
	out := filepath.Join(dir, "libold.so")
	text, err := exec.Command(gcc, "-shared", "-fPIC", "-o", out, filepath.Join(dir, "old.c")).CombinedOutput()
	require.NoError(t, err, "%s", text)
	l, err := vendorapi.OpenLibrary(new(library), []string{out})
	require.NoError(t, err)
	require.False(t, l.Pools())
	_, info, target, err := l.Device(0)
	require.NoError(t, err)
	require.Equal(t, "gfx908", info.Arch)
	require.Equal(t, "gfx908:xnack-", target)
}

func TestArchIn(t *testing.T) {
	for props, want := range map[string]string{
		"\x00\x00gfx942:sramecc+:xnack-\x00\x01":         "gfx942:sramecc+:xnack-",
		"gfx90a\x00":                                     "gfx90a",
		"gfx\x00\x07gfx Card 9000\x00\x00gfx1100\x00gfx": "gfx1100",
		"gfx9-generic\x00":                               "gfx9-generic",
		"gfx\x00":                                        "",
		"":                                               "",
	} {
		require.Equal(t, want, archIn(props), "%q", props)
	}
}

func TestNamesOfRTC(t *testing.T) {
	t.Setenv(RTCLibraryEnv, "")
	if goruntime.GOOS == "linux" {
		names := rtcLooked("/opt/rocm-6.2/lib/libamdhip64.so.6", 60240000)
		require.Equal(t, "/opt/rocm-6.2/lib/libhiprtc.so.6", names[0], "the one beside it first")
		require.Equal(t, "/opt/rocm-6.2/lib/libamdhip64.so.6", names[len(names)-1])
		require.Len(t, rtcLooked("libamdhip64.so.6", 60240000), 6, "each name once")
	}
	t.Setenv(RTCLibraryEnv, "mine.so")
	require.Equal(t, []string{"mine.so"}, rtcLooked("libamdhip64.so.6", 60240000))
}

// Without hipRTC a device takes code objects and says why no text.
func TestWithoutRTC(t *testing.T) {
	lib := simulator(t)
	full := open(t, lib, 0)
	final, log, err := full.Finalize(driver.Image{Format: "hip", Name: "noop", Code: []byte(noop)})
	require.NoError(t, err)
	require.Empty(t, log)
	require.Regexp(t, `^gfx942:sramecc\+:xnack-, HIP 6\.2\.\d+, hipRTC 6\.2`, full.FinalKey())
	require.NoError(t, full.Close())
	for name, want := range map[string]string{"/nowhere/libhiprtc.so": "/nowhere/libhiprtc.so", "libc.so.6": "not hipRTC"} {
		t.Setenv(RTCLibraryEnv, name)
		d := open(t, lib, 0)
		require.Equal(t, []string{"hsaco"}, d.Info().Formats)
		require.Contains(t, d.Info().Driver, "no hipRTC")
		require.Empty(t, d.FinalKey())
		_, err = d.Load(driver.Image{Format: "hip", Name: "noop", Code: []byte(noop)})
		require.ErrorIs(t, err, driver.ErrBadImage)
		require.ErrorContains(t, err, "needs the compiler hipRTC, which was not found")
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
		m, err := d.Load(final)
		require.NoError(t, err)
		_, err = m.Function("noop")
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	t.Setenv(RTCLibraryEnv, lib.Path)
	lib.Fail("hiprtcVersion", 11, 0, 1)
	d := open(t, lib, 0)
	_, _, err = d.Finalize(driver.Image{Format: "hip", Name: "noop", Code: []byte(noop)})
	require.ErrorContains(t, err, "does not tell its version")
	require.NoError(t, d.Close())
}

func TestImagesThatAreNoCode(t *testing.T) {
	lib := simulator(t)
	d := open(t, lib, 0)
	for text, img := range map[string]driver.Image{
		"not ptx":                           {Format: "ptx", Code: []byte("x")},
		"the image is empty":                {Format: "hip"},
		"the image is not a code object":    {Format: "hsaco", Code: []byte("\x7fELF")},
		"hipErrorNoBinaryForGpu (209)":      {Format: "hsaco", Code: append([]byte("\x7fELF"), make([]byte, 60)...)},
		"unknown type name 'nonsense'":      {Format: "hip", Code: []byte("nonsense;")},
		"use of undeclared identifier 'x1'": {Format: "hip", Code: []byte("int y = x1;")},
	} {
		_, err := d.Load(img)
		require.ErrorIs(t, err, driver.ErrBadImage, text)
		if e := err.(*driver.Error); text[0] == 'u' {
			require.Contains(t, e.Log, text[len("use of "):len("use of ")+4])
			continue
		}
		require.ErrorContains(t, err, text)
	}
	img := driver.Image{Format: "hip", Name: "noop", Code: []byte(noop), LineInfo: true}
	_, _, err := d.Finalize(img)
	require.NoError(t, err)
	require.Contains(t, options("gfx90a", img), "-gline-tables-only")
	require.NoError(t, d.Close())
}

func TestWithoutPool(t *testing.T) {
	for _, pools := range []int{0, -1} {
		lib := simulator(t)
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
		require.Equal(t, 1, lib.Calls("hipMalloc"))
		require.Equal(t, 1, lib.Calls("hipFree"))
		require.Zero(t, lib.Calls("hipMallocAsync")+lib.Calls("hipMemPoolTrimTo"))
		require.NoError(t, d.Close())
	}
}

// Copies use a bounded number of chunks, which are made once.
func TestStagingIsBounded(t *testing.T) {
	lib := simulator(t)
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
	for range 2 * hostcopy.LargeChunks {
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
	require.NoError(t, d.Close())
	require.Zero(t, lib.Get("hosts"))
	require.Zero(t, lib.Get("events"))
}

// Whatever fails, the next copy works.
func TestCopiesSurviveFailures(t *testing.T) {
	lib := simulator(t)
	d := open(t, lib, 1)
	s := d.Default()
	data, back := make([]byte, 9<<20), make([]byte, 9<<20)
	for i := range data {
		data[i] = byte(i >> 10)
	}
	a, err := s.Alloc(int64(len(data)))
	require.NoError(t, err)
	for _, name := range []string{"hipHostMalloc", "hipEventCreateWithFlags", "hipMemcpyAsync", "hipEventRecord", "hipEventSynchronize"} {
		for after := range 3 {
			lib.Fail(name, 1, after, 1)
			upErr := s.Upload(a, data)
			downErr := s.Download(back, a)
			lib.Fail(name, 0, 0, 0)
			for _, err := range []error{upErr, downErr} {
				if err != nil {
					require.ErrorContains(t, err, "hipErrorInvalidValue", name)
				}
			}
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

// HIP has no context that takes everything with it: Close destroys what is left.
func TestCloseDestroysWhatIsLeft(t *testing.T) {
	lib := simulator(t)
	d := open(t, lib, 0)
	s, err := d.NewStream()
	require.NoError(t, err)
	_, err = d.NewEvent()
	require.NoError(t, err)
	_, err = d.AllocHost(100)
	require.NoError(t, err)
	_, err = d.Load(driver.Image{Format: "hip", Name: "noop", Code: []byte(noop)})
	require.NoError(t, err)
	for range 3 {
		_, err = s.Alloc(100)
		require.NoError(t, err)
	}
	a, err := s.Alloc(100)
	require.NoError(t, err)
	require.NoError(t, s.Free(a, 100))
	require.NoError(t, d.Close())
	for _, what := range []string{"used", "hosts", "streams", "events", "modules"} {
		require.Zero(t, lib.Get(what), what)
	}

	d = open(t, lib, 0)
	_, err = d.NewStream()
	require.NoError(t, err)
	lib.Fail("hipStreamDestroy", 1, 0, 1)
	require.ErrorContains(t, d.Close(), "close: hipErrorInvalidValue")
}

func TestForeignHandles(t *testing.T) {
	lib := simulator(t)
	a, b := open(t, lib, 0), open(t, lib, 1)
	e, err := a.NewEvent()
	require.NoError(t, err)
	require.ErrorIs(t, b.Default().Record(e), driver.ErrInvalid)
	require.ErrorIs(t, b.Default().Wait(e), driver.ErrInvalid)
	require.ErrorIs(t, b.Default().Record(nil), driver.ErrInvalid)
	_, err = e.Since(nil)
	require.ErrorIs(t, err, driver.ErrInvalid)
	m, err := a.Load(driver.Image{Format: "hip", Name: "noop", Code: []byte(noop)})
	require.NoError(t, err)
	f, err := m.Function("noop")
	require.NoError(t, err)
	require.ErrorIs(t, b.Default().Launch(f, &driver.Launch{}), driver.ErrInvalid)
	wide := &driver.Launch{Grid: [3]int{1, 1 << 23, 1}, Block: [3]int{1, 512, 1}}
	err = a.Default().Launch(f, wide)
	require.ErrorIs(t, err, driver.ErrInvalid)
	require.ErrorContains(t, err, "8388608 blocks of 512 threads in Y")
	require.NoError(t, m.Close())
	require.NoError(t, e.Close())
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestErrors(t *testing.T) {
	b := New(simulator(t).Path)
	lib, err := b.Library()
	require.NoError(t, err)
	require.ErrorContains(t, lib.Error("wait", "rocm:0", vendorapi.IllegalAddress), "(the same launch on the device cpu names line, thread and index)")
	require.ErrorIs(t, b.Vendor.(*library).rtc.failure("compile", "rocm:0", rtcOutOfMemory), driver.ErrOutOfMemory)
}
