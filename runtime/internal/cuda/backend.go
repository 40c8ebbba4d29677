package cuda

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// LibraryEnv is the environment variable that names the library to open.
const LibraryEnv = "KILN_CUDA_LIBRARY"

// Backend finds NVIDIA GPUs. The library is opened at first use.
type Backend struct {
	names []string // of the library; nil for the usual ones
	once  sync.Once
	lib   *library
	err   error
}

// New returns a backend that looks for the library where it usually is, or
// tries only the given names.
func New(names ...string) *Backend { return &Backend{names: names} }

// Kind is "cuda".
func (b *Backend) Kind() string { return "cuda" }

// library is an open and initialised libcuda.
type library struct {
	api
	name    string
	version int    // 12080 for CUDA 12.8
	driver  string // "CUDA 12.8, driver 570.86.15"
}

// looked lists the names to try.
func (b *Backend) looked() []string {
	if b.names != nil {
		return b.names
	}
	if name := os.Getenv(LibraryEnv); name != "" {
		return []string{name}
	}
	switch goruntime.GOOS {
	case "windows":
		return []string{"nvcuda.dll"}
	case "linux":
		return []string{"libcuda.so.1", "libcuda.so", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"}
	}
	return nil
}

// open opens the library once; a failure is final for the process, as it is
// for the driver itself.
func (b *Backend) open() (*library, error) {
	b.once.Do(func() { b.lib, b.err = openLibrary(b.looked()) })
	return b.lib, b.err
}

func openLibrary(names []string) (*library, error) {
	if len(names) == 0 {
		return nil, noDriver(errors.New("there is no CUDA for " + goruntime.GOOS))
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, noDriver(err)
	}
	l := &library{name: lib.Name()}
	if err := l.resolve(lib); err != nil {
		return nil, noDriver(err)
	}
	if r := call(l.cuInit, 0); r != success {
		e := l.failure("start the CUDA driver "+l.name, "", r)
		e.Kind = driver.ErrNoDevice
		return nil, e
	}
	version := new(int32)
	if err := l.error("ask for the CUDA version", "", call(l.cuDriverGetVersion, uintptr(unsafe.Pointer(version)))); err != nil {
		return nil, err
	}
	l.version = int(*version)
	l.driver = fmt.Sprintf("CUDA %d.%d", l.version/1000, l.version%1000/10)
	if v := moduleVersion(); v != "" {
		l.driver += ", driver " + v
	}
	return l, nil
}

// noDriver is the error of a machine without the driver, on one line.
func noDriver(cause error) error {
	text := strings.Join(strings.Split(cause.Error(), "\n"), "; ")
	return &driver.Error{Op: "no CUDA device", Kind: driver.ErrNoDevice, Text: text}
}

// moduleVersion is the version of the kernel module, which the compiler in the
// driver shares; "" where it cannot be read.
func moduleVersion() string {
	if text, err := os.ReadFile("/sys/module/nvidia/version"); err == nil {
		return strings.TrimSpace(string(text))
	}
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if err != nil {
		return ""
	}
	return versionIn(string(text))
}

// versionIn finds the version in the first line of /proc/driver/nvidia/version:
// the first word of digits and dots.
func versionIn(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	for _, word := range strings.Fields(line) {
		if strings.Trim(word, "0123456789.") == "" && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}

// Probe looks for the driver and asks it for its devices.
func (b *Backend) Probe() driver.Report {
	r := driver.Report{Kind: b.Kind(), Looked: b.looked()}
	l, err := b.open()
	if err != nil {
		r.Err = err
		return r
	}
	r.Library, r.Driver = l.name, l.driver
	n, err := l.count()
	for i := 0; i < n && err == nil; i++ {
		var info driver.Info
		if _, info, err = l.device(i); err == nil {
			r.Devices = append(r.Devices, info)
		}
	}
	if err == nil && n == 0 {
		err = &driver.Error{Op: "no CUDA device", Kind: driver.ErrNoDevice, Text: "the driver " + l.name + " sees none"}
	}
	r.Err = err
	return r
}

func (l *library) count() (int, error) {
	n := new(int32)
	r := call(l.cuDeviceGetCount, uintptr(unsafe.Pointer(n)))
	return int(*n), l.error("count CUDA devices", "", r)
}

// device returns the handle and the properties of a device.
func (l *library) device(ordinal int) (uintptr, driver.Info, error) {
	info := driver.Info{Name: fmt.Sprintf("cuda:%d", ordinal), Kind: "cuda", Vendor: "NVIDIA",
		Driver: l.driver, Formats: []string{"cubin", "ptx"}}
	dev := new(int32)
	if err := l.error("open", info.Name, call(l.cuDeviceGet, uintptr(unsafe.Pointer(dev)), uintptr(ordinal))); err != nil {
		return 0, info, err
	}
	h := uintptr(*dev)
	name := make([]byte, 256)
	if err := l.error("ask for the name", info.Name, call(l.cuDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), h)); err != nil {
		return 0, info, err
	}
	info.Model, _, _ = strings.Cut(string(name), "\x00")
	total := new(uint64)
	if err := l.error("ask for the memory", info.Name, call(l.cuDeviceTotalMem, uintptr(unsafe.Pointer(total)), h)); err != nil {
		return 0, info, err
	}
	info.MemTotal = int64(*total)
	return h, info, l.attributes(h, &info)
}

// attributes fills in what the driver answers one number at a time.
func (l *library) attributes(dev uintptr, info *driver.Info) error {
	var bus, slot, domain, pools, cooperative, sharedDefault int
	list := []struct {
		attr uintptr
		to   *int
	}{
		{attrMaxThreadsPerBlock, &info.MaxThreads},
		{attrMaxBlockDimX, &info.MaxBlock[0]}, {attrMaxBlockDimX + 1, &info.MaxBlock[1]}, {attrMaxBlockDimX + 2, &info.MaxBlock[2]},
		{attrMaxGridDimX, &info.MaxGrid[0]}, {attrMaxGridDimX + 1, &info.MaxGrid[1]}, {attrMaxGridDimX + 2, &info.MaxGrid[2]},
		{attrSharedPerBlock, &sharedDefault}, {attrSharedPerBlockOptin, &info.SharedPerBlock},
		{attrWarpSize, &info.WarpSize}, {attrMultiprocessorCount, &info.Units},
		{attrMaxThreadsPerSM, &info.ThreadsPerUnit}, {attrMaxRegistersPerSM, &info.RegistersPerUnit},
		{attrClockRate, &info.ClockKHz}, {attrMemoryClockRate, &info.MemClockKHz}, {attrMemoryBusWidth, &info.MemBusBits},
		{attrL2CacheSize, &info.L2}, {attrComputeMajor, &info.ComputeMajor}, {attrComputeMinor, &info.ComputeMinor},
		{attrPCIDomain, &domain}, {attrPCIBus, &bus}, {attrPCIDevice, &slot}, {attrMemoryPools, &pools}, {attrCooperative, &cooperative},
	}
	v := new(int32)
	for _, a := range list {
		*v = 0
		r := call(l.cuDeviceGetAttribute, uintptr(unsafe.Pointer(v)), a.attr, dev)
		if r == invalidValue {
			continue // the driver is older than the attribute
		}
		if err := l.error(fmt.Sprintf("ask for attribute %d", a.attr), info.Name, r); err != nil {
			return err
		}
		*a.to = int(*v)
	}
	info.SharedPerBlock = max(info.SharedPerBlock, sharedDefault)
	info.Arch = fmt.Sprintf("sm_%d%d", info.ComputeMajor, info.ComputeMinor)
	info.PCI = fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, slot)
	info.Cooperative = cooperative != 0
	info.GridBarriers = info.Cooperative && l.cuLaunchKernelEx != 0 && l.cuOccupancyMaxActiveBlocksPerMultiprocessor != 0
	info.MemoryPool = pools != 0 && l.pools()
	return nil
}
