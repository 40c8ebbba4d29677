package metal

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// LibraryEnv is the environment variable that names the library to open.
const LibraryEnv = "KILN_METAL_LIBRARY"

// The values of Metal's enumerations that are used.
const (
	familyMetal3     = 5001
	familyApple7     = 1007
	storageShared    = 0 << 4
	storagePrivate   = 2 << 4
	mathSafe         = 0
	usageReadWrite   = 3
	statusCompleted  = 4
	statusError      = 5
	errorOutOfMemory = 8 // MTLCommandBufferErrorOutOfMemory
)

// Backend finds Apple's GPUs. The libraries are opened at first use.
type Backend struct {
	names []string // of libraries, all of which are opened; nil for the usual ones
	mu    sync.Mutex
	tried []string
	lib   *library
	err   error
}

// New returns a backend that looks for Metal where it usually is, or opens the given
// libraries.
func New(names ...string) *Backend { return &Backend{names: names} }

// Kind is "metal".
func (b *Backend) Kind() string { return "metal" }

func (b *Backend) looked() []string {
	if b.names != nil {
		return b.names
	}
	if name := os.Getenv(LibraryEnv); name != "" {
		return []string{name}
	}
	return frameworks
}

// frameworks are the libraries of macOS.
var frameworks = []string{
	"/usr/lib/libobjc.A.dylib", "/System/Library/Frameworks/Foundation.framework/Foundation", "/System/Library/Frameworks/Metal.framework/Metal",
}

// open opens the libraries once. A failure is final as long as the same names are
// looked for.
func (b *Backend) open() (*library, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := b.looked()
	if b.lib != nil || b.err != nil && slices.Equal(names, b.tried) {
		return b.lib, b.err
	}
	b.tried, b.err = names, nil
	var err error
	if goruntime.GOOS != "darwin" && slices.Equal(names, frameworks) {
		err = fmt.Errorf("this is %s, and only macOS has %s", goruntime.GOOS, strings.Join(names, ", "))
	} else {
		b.lib, err = load(names)
	}
	if err != nil {
		b.err = &driver.Error{Op: "no Metal device", Kind: driver.ErrNoDevice, Text: strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	return b.lib, b.err
}

// Probe looks for Metal and asks it for its devices.
func (b *Backend) Probe() driver.Report {
	r := driver.Report{Kind: b.Kind(), Looked: b.looked()}
	l, err := b.open()
	if err != nil {
		r.Err = err
		return r
	}
	r.Library = l.name
	defer l.pool()()
	list := l.devices()
	for i, dev := range list {
		info, err := l.info(i, dev)
		if err != nil {
			r.Err = err
			continue
		}
		r.Devices, r.Driver = append(r.Devices, info), info.Driver
	}
	for _, dev := range list {
		l.send(dev, l.release)
	}
	switch {
	case len(r.Devices) > 0:
		r.Err = nil
	case r.Err == nil:
		r.Err = &driver.Error{Op: "no Metal device", Kind: driver.ErrNoDevice, Text: "Metal sees none"}
	}
	return r
}

// devices returns the devices that there are, each to be released.
func (l *library) devices() []uintptr {
	array := call(l.copyAllDevices)
	var out []uintptr
	for i := range l.send(array, l.count) {
		out = append(out, l.send(l.send(array, l.objectAt, i), l.retain))
	}
	l.send(array, l.release)
	return out
}

// language is the newest version of the language that a device compiles: 3.1 and 3.2
// came together with other things that can be asked for. Code for these multiplies matrices
// in simdgroups, which GPUs of others than Apple cannot (Metal Feature Set Tables, family Apple 7).
func (l *library) language(dev uintptr) int {
	switch {
	case l.send(dev, l.supportsFamily, familyApple7)&0xff == 0:
		return 30
	case l.send(l.options, l.instancesRespond, l.setMathMode)&0xff != 0: // macOS 15
		return 32
	case l.has(dev, l.architecture): // macOS 14
		return 31
	}
	return 30
}

// info describes a device, with a pool in place.
func (l *library) info(i int, dev uintptr) (driver.Info, error) {
	name := fmt.Sprintf("metal:%d", i)
	model := l.text(l.send(dev, l.selectors.name))
	if l.send(dev, l.supportsFamily, familyMetal3)&0xff == 0 {
		return driver.Info{}, &driver.Error{Op: "open", Device: name, Kind: driver.ErrNoDevice,
			Text: model + " is not of the family Metal 3 (macOS 13, GPUs from 2016 on); its buffers have no addresses"}
	}
	v := l.language(dev)
	return driver.Info{
		Name: name, Kind: "metal", Vendor: "Apple", Model: model, Arch: fmt.Sprintf("%d.%d", v/10, v%10),
		Driver: fmt.Sprintf("Metal 3, language %d.%d, macOS %s", v/10, v%10, l.system()), Formats: []string{formatArchive, formatLibrary, formatText}, WarpSize: 32,
		MaxThreads: 1024, MaxBlock: [3]int{1024, 1024, 1024}, MaxGrid: [3]int{1<<31 - 1, 65535, 65535},
		SharedPerBlock: int(l.send(dev, l.sharedLength)), MemTotal: int64(l.send(dev, l.workingSet)),
		Units: units(model), ThreadsPerUnit: 2048,
	}, nil
}

// units is about how many cores a model has: Metal does not say, and who divides work
// among blocks needs a number. The same goes for the threads that a core can hold.
func units(model string) int {
	for _, size := range []struct {
		name  string
		cores int
	}{{"Ultra", 64}, {"Max", 32}, {"Pro", 16}} {
		if strings.HasSuffix(model, size.name) {
			return size.cores
		}
	}
	return 10
}

// system is the version of the system, such as "15.1 (Build 24B83)".
func (l *library) system() string {
	return strings.TrimPrefix(l.text(l.send(l.send(l.process, l.processInfo), l.systemVersion)), "Version ")
}

// Open opens a GPU.
func (b *Backend) Open(ordinal int) (driver.Device, error) {
	l, err := b.open()
	if err != nil {
		return nil, err
	}
	defer l.pool()()
	list := l.devices()
	defer func() {
		for _, dev := range list {
			l.send(dev, l.release)
		}
	}()
	if ordinal >= len(list) {
		return nil, &driver.Error{Op: fmt.Sprintf("open metal:%d", ordinal), Kind: driver.ErrNoDevice,
			Text: fmt.Sprintf("number of devices that Metal sees: %d", len(list))}
	}
	info, err := l.info(ordinal, list[ordinal])
	if err != nil {
		return nil, err
	}
	return newDevice(l, info, list[ordinal])
}
