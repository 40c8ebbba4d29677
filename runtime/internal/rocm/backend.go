package rocm

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// The environment variables that name the libraries to open.
const (
	LibraryEnv    = "KILN_HIP_LIBRARY"
	RTCLibraryEnv = "KILN_HIPRTC_LIBRARY"
)

// Backend finds AMD GPUs. The libraries are opened at first use.
type Backend struct{ vendorapi.Backend }

// New returns a backend that looks for libamdhip64 where it usually is, or tries
// only the given names.
func New(names ...string) *Backend {
	return &Backend{vendorapi.Backend{Names: names, Vendor: new(library)}}
}

// library is libamdhip64, with hipRTC if there is one.
type library struct {
	*vendorapi.Library
	api
	rtc    *rtc // nil if there is none
	rtcErr error
}

// Looked lists the names to try: the newest first, and what the package of the
// development files installs last.
func (*library) Looked() []string {
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

// Start looks for hipRTC and writes the versions, as "HIP 6.2.40000, hipRTC 6.2, amdgpu 6.8.5" of
// 60240000: HIP_VERSION_MAJOR * 10000000 + HIP_VERSION_MINOR * 100000 + HIP_VERSION_PATCH.
func (l *library) Start(lib *vendorapi.Library) error {
	l.Library = lib
	if l.hipGraphAddMemcpyNode1D == 0 {
		lib.Graphs = vendorapi.Graphs{} // there are none without it
	}
	v := lib.Version
	lib.Driver = fmt.Sprintf("HIP %d.%d.%d", v/1e7, v/1e5%100, v%1e5)
	names := rtcLooked(lib.Name, v)
	lib.Looked = append(slices.Clone(lib.Looked), names...)
	if l.rtc, l.rtcErr = openRTC(names); l.rtc != nil {
		lib.Driver += ", " + l.rtc.version
	} else {
		lib.Driver += ", no hipRTC"
	}
	if v := moduleVersion(); v != "" {
		lib.Driver += ", amdgpu " + v
	}
	return nil
}

// moduleVersion is the version of AMD's kernel module; "" where it is the one
// that comes with the kernel.
func moduleVersion() string {
	text, err := os.ReadFile("/sys/module/amdgpu/version")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Describe asks for the architecture. The target is its name with all features.
func (l *library) Describe(dev uintptr, info *driver.Info) (target string, err error) {
	info.Formats = []string{"hsaco"}
	if l.rtc != nil {
		info.Formats = append(info.Formats, "hip")
	}
	info.GridBarriers = info.GridBarriers && l.hipModuleLaunchCooperativeKernel != 0
	target, err = l.arch(dev, info.Name)
	info.Arch, _, _ = strings.Cut(target, ":")
	return target, err
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
	if err := l.Error("ask for the properties", device, vendorapi.Call(l.hipGetDeviceProperties, uintptr(unsafe.Pointer(&buf[0])), dev)); err != nil {
		return "", err
	}
	if name := archIn(string(buf[256:])); name != "" {
		return name, nil
	}
	return "", &driver.Error{Op: "ask for the architecture", Device: device, Kind: driver.ErrNoDevice,
		Text: "the properties that " + l.Name + " gives name no gfx architecture"}
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

// Current is the device itself.
func (*library) Current(d *vendorapi.Device) (uintptr, error) { return d.Handle, nil }

// Release has nothing to give up: HIP's state of a device lives as long as the process.
func (*library) Release(*vendorapi.Device) error { return nil }

// FinalKey is what a code object depends on: the architecture with its features,
// and the version of the compiler. It is "" without a compiler.
func (l *library) FinalKey(d *vendorapi.Device) string {
	if l.rtc == nil {
		return ""
	}
	return d.Target + ", " + l.Driver
}
