package cuda

import (
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// LibraryEnv is the environment variable that names the library to open.
const LibraryEnv = "KILN_CUDA_LIBRARY"

// Backend finds NVIDIA GPUs. The library is opened at first use.
type Backend struct{ vendorapi.Backend }

// New returns a backend that looks for the library where it usually is, or
// tries only the given names.
func New(names ...string) *Backend {
	return &Backend{vendorapi.Backend{Names: names, Vendor: new(library)}}
}

// library is libcuda.
type library struct {
	*vendorapi.Library
	api
}

// Looked lists the names to try.
func (*library) Looked() []string {
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

// Start writes the version, as "CUDA 12.8, driver 570.86.15" of 12080.
func (l *library) Start(lib *vendorapi.Library) error {
	l.Library = lib
	lib.Driver = fmt.Sprintf("CUDA %d.%d", lib.Version/1000, lib.Version%1000/10)
	if v := moduleVersion(); v != "" {
		lib.Driver += ", driver " + v
	}
	return nil
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

// Describe queries the properties of a device that HIP has no attributes for.
func (l *library) Describe(dev uintptr, info *driver.Info) (string, error) {
	var shared, cooperative int
	err := l.Ask(dev, info.Name, vendorapi.Attribute{ID: attrSharedPerBlockOptin, To: &shared},
		vendorapi.Attribute{ID: attrComputeMajor, To: &info.ComputeMajor}, vendorapi.Attribute{ID: attrComputeMinor, To: &info.ComputeMinor},
		vendorapi.Attribute{ID: attrCooperative, To: &cooperative})
	info.Formats = []string{"cubin", "ptx"}
	info.SharedPerBlock = max(info.SharedPerBlock, shared)
	info.Arch = fmt.Sprintf("sm_%d%d", info.ComputeMajor, info.ComputeMinor)
	info.Cooperative = cooperative != 0
	info.GridBarriers = info.GridBarriers && l.cuLaunchKernelEx != 0
	return info.Arch, err
}

// Current makes or finds the primary context, which is a counted reference.
func (l *library) Current(d *vendorapi.Device) (uintptr, error) {
	ctx := new(uintptr)
	r := vendorapi.Call(l.cuDevicePrimaryCtxRetain, uintptr(unsafe.Pointer(ctx)), d.Handle)
	return *ctx, l.Error("create a context", d.Info().Name, r)
}

// Release gives the context up, and with it what was made on the device.
func (l *library) Release(d *vendorapi.Device) error {
	return l.Error("close", d.Info().Name, vendorapi.Call(l.cuDevicePrimaryCtxRelease, d.Handle))
}

// FinalKey is what machine code depends on: the architecture, and the version
// of the compiler in the driver.
func (l *library) FinalKey(d *vendorapi.Device) string {
	key := d.Target + ", " + l.Driver
	if n, ok := optLevel(); ok {
		key += fmt.Sprintf(", optimised %d", n)
	}
	return key
}
