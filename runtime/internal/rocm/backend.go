package rocm

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/dl"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// The environment variables that name the libraries to open.
const (
	LibraryEnv    = "KILN_HIP_LIBRARY"
	RTCLibraryEnv = "KILN_HIPRTC_LIBRARY"
)

// Backend finds AMD GPUs. The libraries are opened at first use.
type Backend struct {
	names []string // of libamdhip64; nil for the usual ones
	mu    sync.Mutex
	tried []string
	lib   *library
	err   error
}

// New returns a backend that looks for libamdhip64 where it usually is, or tries
// only the given names.
func New(names ...string) *Backend { return &Backend{names: names} }

// Kind is "rocm".
func (b *Backend) Kind() string { return "rocm" }

// library is an open and initialised libamdhip64, with hipRTC if there is one.
type library struct {
	api
	rtc     *rtc // nil if there is none
	rtcErr  error
	name    string
	looked  []string // names that were tried, of both libraries
	version int      // 60240000 for HIP 6.2.40000
	driver  string   // "HIP 6.2.40000, hipRTC 6.2, amdgpu 6.8.5"
}

// looked lists the names to try: the newest first, and what the package of the
// development files installs last.
func (b *Backend) looked() []string {
	if b.names != nil {
		return b.names
	}
	if name := os.Getenv(LibraryEnv); name != "" {
		return []string{name}
	}
	switch goruntime.GOOS {
	case "windows":
		return []string{"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"}
	case "linux":
		names := []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"}
		if root := os.Getenv("ROCM_PATH"); root != "" {
			names = append(names, root+"/lib/libamdhip64.so")
		}
		return names
	}
	return nil
}

// open opens the libraries once. A failure is final as long as the same names are
// looked for.
func (b *Backend) open() (*library, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names := b.looked(); b.lib == nil && (b.err == nil || !slices.Equal(names, b.tried)) {
		b.tried = names
		b.lib, b.err = openLibrary(names)
	}
	return b.lib, b.err
}

func openLibrary(names []string) (*library, error) {
	if len(names) == 0 {
		return nil, noDriver(errors.New("there is no ROCm for " + goruntime.GOOS))
	}
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, noDriver(err)
	}
	l := &library{name: lib.Name(), looked: names}
	if err := resolve(lib, "the HIP runtime", l.entries()); err != nil {
		return nil, noDriver(err)
	}
	if r := call(l.hipInit, 0); r != success {
		e := l.failure("start the HIP runtime "+l.name, "", r)
		e.Kind = driver.ErrNoDevice
		return nil, e
	}
	version := new(int32)
	if err := l.error("ask for the HIP version", "", call(l.hipRuntimeGetVersion, uintptr(unsafe.Pointer(version)))); err != nil {
		return nil, err
	}
	l.version = int(*version)
	// HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH
	l.driver = fmt.Sprintf("HIP %d.%d.%d", l.version/1e7, l.version/1e5%100, l.version%1e5)
	rtcNames := rtcLooked(l.name, l.version)
	l.looked = append(slices.Clone(names), rtcNames...)
	if l.rtc, l.rtcErr = openRTC(rtcNames); l.rtc != nil {
		l.driver += ", " + l.rtc.version
	} else {
		l.driver += ", no hipRTC"
	}
	if v := moduleVersion(); v != "" {
		l.driver += ", amdgpu " + v
	}
	return l, nil
}

// noDriver is the error of a machine without the runtime, on one line.
func noDriver(cause error) error {
	return &driver.Error{Op: "no ROCm device", Kind: driver.ErrNoDevice, Text: oneLine(cause)}
}

func oneLine(err error) string { return strings.Join(strings.Split(err.Error(), "\n"), "; ") }

// moduleVersion is the version of AMD's kernel module; "" where it is the one
// that comes with the kernel.
func moduleVersion() string {
	text, err := os.ReadFile("/sys/module/amdgpu/version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Probe looks for the runtime and asks it for its devices.
func (b *Backend) Probe() driver.Report {
	r := driver.Report{Kind: b.Kind(), Looked: b.looked()}
	l, err := b.open()
	if err != nil {
		r.Err = err
		return r
	}
	r.Looked, r.Library, r.Driver = l.looked, l.name, l.driver
	n, err := l.count()
	for i := 0; i < n && err == nil; i++ {
		var info driver.Info
		if _, info, _, err = l.device(i); err == nil {
			r.Devices = append(r.Devices, info)
		}
	}
	if err == nil && n == 0 {
		err = &driver.Error{Op: "no ROCm device", Kind: driver.ErrNoDevice, Text: "the runtime " + l.name + " sees none"}
	}
	r.Err = err
	return r
}

// count returns the number of devices. The runtime of a machine without an AMD
// GPU calls that an error.
func (l *library) count() (int, error) {
	n := new(int32)
	r := call(l.hipGetDeviceCount, uintptr(unsafe.Pointer(n)))
	if r == noDevice {
		return 0, nil
	}
	return int(*n), l.error("count ROCm devices", "", r)
}

// device returns the handle and the properties of a device, and its architecture
// with all features.
func (l *library) device(ordinal int) (uintptr, driver.Info, string, error) {
	info := driver.Info{Name: fmt.Sprintf("rocm:%d", ordinal), Kind: "rocm", Vendor: "AMD", Driver: l.driver, Formats: []string{"hsaco"}}
	if l.rtc != nil {
		info.Formats = append(info.Formats, "hip")
	}
	dev := new(int32)
	if err := l.error("open", info.Name, call(l.hipDeviceGet, uintptr(unsafe.Pointer(dev)), uintptr(ordinal))); err != nil {
		return 0, info, "", err
	}
	h := uintptr(*dev)
	name := make([]byte, 256)
	if err := l.error("ask for the name", info.Name, call(l.hipDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)-1), h)); err != nil {
		return 0, info, "", err
	}
	info.Model, _, _ = strings.Cut(string(name), "\x00")
	total := new(uint64)
	if err := l.error("ask for the memory", info.Name, call(l.hipDeviceTotalMem, uintptr(unsafe.Pointer(total)), h)); err != nil {
		return 0, info, "", err
	}
	info.MemTotal = int64(*total)
	full, err := l.arch(h, info.Name)
	if err != nil {
		return 0, info, "", err
	}
	info.Arch, _, _ = strings.Cut(full, ":")
	return h, info, full, l.attributes(h, &info)
}

// propertiesSize is room for a hipDeviceProp_t of any version: it has had 792
// bytes (R0000) and 1472 (R0600).
const propertiesSize = 8 << 10

// arch asks for the name of the architecture. It stands in hipDeviceProp_t only,
// whose layout differs between versions: symbols of one name fill in different
// ones. The name itself is unmistakable, so it is searched for behind the
// device's name, which always comes first and has 256 bytes.
func (l *library) arch(dev uintptr, device string) (string, error) {
	buf := make([]byte, propertiesSize)
	if err := l.error("ask for the properties", device, call(l.hipGetDeviceProperties, uintptr(unsafe.Pointer(&buf[0])), dev)); err != nil {
		return "", err
	}
	if name := archIn(string(buf[256:])); name != "" {
		return name, nil
	}
	return "", &driver.Error{Op: "ask for the architecture", Device: device, Kind: driver.ErrNoDevice,
		Text: "the properties that " + l.name + " gives name no gfx architecture"}
}

// archIn finds "gfx", digits and perhaps features, up to a zero byte.
func archIn(props string) string {
	for {
		at := strings.Index(props, "gfx")
		if at < 0 {
			return ""
		}
		name, rest, _ := strings.Cut(props[at:], "\x00")
		base, _, _ := strings.Cut(name, ":")
		if len(base) >= len("gfx900") && len(base) <= len("gfx12-generic") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789:+-_") == "" {
			return name
		}
		props = rest
	}
}

// attributes fills in what the runtime answers one number at a time.
func (l *library) attributes(dev uintptr, info *driver.Info) error {
	var bus, slot, domain, pools, cooperative int
	list := []struct {
		attr uintptr
		to   *int
	}{
		{attrMaxThreadsPerBlock, &info.MaxThreads},
		{attrMaxBlockDimX, &info.MaxBlock[0]}, {attrMaxBlockDimX + 1, &info.MaxBlock[1]}, {attrMaxBlockDimX + 2, &info.MaxBlock[2]},
		{attrMaxGridDimX, &info.MaxGrid[0]}, {attrMaxGridDimX + 1, &info.MaxGrid[1]}, {attrMaxGridDimX + 2, &info.MaxGrid[2]},
		{attrSharedPerBlock, &info.SharedPerBlock}, {attrWarpSize, &info.WarpSize}, {attrMultiprocessorCount, &info.Units},
		{attrMaxThreadsPerUnit, &info.ThreadsPerUnit}, {attrRegistersPerUnit, &info.RegistersPerUnit},
		{attrClockRate, &info.ClockKHz}, {attrMemoryClockRate, &info.MemClockKHz}, {attrMemoryBusWidth, &info.MemBusBits},
		{attrL2CacheSize, &info.L2}, {attrPCIDomain, &domain}, {attrPCIBus, &bus}, {attrPCIDevice, &slot}, {attrMemoryPools, &pools},
		{attrCooperativeLaunch, &cooperative},
	}
	v := new(int32)
	for _, a := range list {
		*v = 0
		r := call(l.hipDeviceGetAttribute, uintptr(unsafe.Pointer(v)), a.attr, dev)
		if r == invalidValue {
			continue // the runtime is older than the attribute
		}
		if err := l.error(fmt.Sprintf("ask for attribute %d", a.attr), info.Name, r); err != nil {
			return err
		}
		*a.to = int(*v)
	}
	info.PCI = fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, slot)
	info.GridBarriers = cooperative != 0 && l.hipModuleLaunchCooperativeKernel != 0 && l.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor != 0
	info.MemoryPool = pools != 0 && l.pools()
	return nil
}
