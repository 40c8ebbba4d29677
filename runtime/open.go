package runtime

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gokiln/kiln/runtime/internal/cpu"
	"github.com/gokiln/kiln/runtime/internal/cuda"
	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/idle"
	"github.com/gokiln/kiln/runtime/internal/metal"
	"github.com/gokiln/kiln/runtime/internal/rocm"
)

// Info is what a device is: names, architecture, limits, memory.
type Info = driver.Info

// ProbeReport says what was looked for when searching devices of one kind,
// what was found, and why nothing was.
type ProbeReport = driver.Report

// registry holds the kinds of device and the devices that are open. A device
// is opened once; everyone who opens it shares it.
type registry struct {
	mu       sync.Mutex
	backends []driver.Backend // in the order "auto" prefers them
	open     map[string]*Device
}

func newRegistry(backends ...driver.Backend) *registry {
	return &registry{backends: backends, open: map[string]*Device{}}
}

var devices = newRegistry(cuda.New(), rocm.New(), metal.New(), cpu.New())

// aliases are other names of a kind.
var aliases = map[string]string{"hip": "rocm"}

// Open returns a device: "cpu", "cuda" (the first), "cuda:1", "rocm:0", "metal:0", or "auto" (also
// "") for the first GPU that can be opened and else the CPU. Kernels run on the CPU in native code
// where that is possible and else on the interpreter; "cpu:avx512", "cpu:avx2" and "cpu:interp"
// choose, and the variable KILN_CPU with these names does for "cpu". "cpu:avx512-record" and
// "cpu:avx2-record" are such processors on any machine, and "cpu:amx-record" one with AVX-512 and
// AMX, for records of which kernels they use (KILN_RECORD): nothing runs there, and results cannot
// be read. Those of [RecordDevices] stand for devices of all kinds. Opening a device again returns the same *Device; it is closed when every Open has been
// matched by a Close.
func Open(name string) (*Device, error) { return devices.openDevice(name) }

// RecordDevices returns names of devices that stand for those which run code for a target, with
// some numbers of multiprocessors or cores, or those that are usual: "record:ptx:sm_90/132" for
// "ptx:sm_90". There are none if no such device is known. They are for records of which kernels a
// program uses there (KILN_RECORD), need no device, and run nothing: their memory takes none, of files
// nothing is read, and results are zeros.
func RecordDevices(target string, units ...int) []string { return idle.Names(target, units...) }

// Probe looks for devices of every kind and reports what it found.
func Probe() []ProbeReport { return devices.probe() }

// Devices lists the devices that were found, in the order "auto" prefers them.
func Devices() []Info {
	var list []Info
	for _, r := range Probe() {
		list = append(list, r.Devices...)
	}
	return list
}

func (r *registry) probe() []ProbeReport {
	var list []ProbeReport
	for _, b := range r.backends {
		list = append(list, b.Probe())
	}
	return list
}

func (r *registry) openDevice(name string) (*Device, error) {
	opts, err := readOptions()
	if err != nil {
		return nil, err
	}
	if name == "" || name == "auto" {
		return r.openAuto(opts)
	}
	kind, number, hasNumber := strings.Cut(name, ":")
	if usual, ok := aliases[kind]; ok {
		kind = usual
	}
	for _, b := range append(slices.Clip(r.backends), driver.Backend(idle.New())) {
		if b.Kind() != kind {
			continue
		}
		ordinal := 0
		if hasNumber {
			if ordinal, err = ordinalOf(b, number); err != nil {
				return nil, fmt.Errorf("device %q: %w: %w", name, err, ErrNoDevice)
			}
		}
		return r.openAt(b, ordinal, opts)
	}
	return nil, fmt.Errorf("device %q: unknown kind; this build knows %s and auto: %w", name, strings.Join(r.kinds(), ", "), ErrNoDevice)
}

// ordinalOf reads what is behind the colon of a device's name: a number, or a name
// where a backend knows any.
func ordinalOf(b driver.Backend, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err == nil && n >= 0 {
		return n, nil
	}
	if named, ok := b.(interface {
		Ordinal(name string) (int, error)
	}); ok && err != nil && text != "" {
		return named.Ordinal(text)
	}
	return 0, fmt.Errorf("want a number after the colon, as in %s:0", b.Kind())
}

func (r *registry) kinds() []string {
	var list []string
	for _, b := range r.backends {
		list = append(list, b.Kind())
	}
	return list
}

// openAuto takes the first backend that has a device. The errors of the others
// matter only when none has.
func (r *registry) openAuto(opts options) (*Device, error) {
	var failures []error
	for _, b := range r.backends {
		d, err := r.openAt(b, 0, opts)
		if err == nil {
			return d, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (r *registry) openAt(b driver.Backend, ordinal int, opts options) (*Device, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := b.Kind() + ":" + strconv.Itoa(ordinal)
	if d := r.open[key]; d != nil {
		d.refs++
		return d, nil
	}
	drv, err := b.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := newDevice(drv)
	d.registry, d.key, d.refs, d.blocking = r, key, 1, opts.blocking
	d.SetLaunchTimeout(opts.timeout)
	r.open[key] = d
	return d, nil
}

// options are what the environment says of all devices.
type options struct {
	blocking bool          // wait for every launch
	timeout  time.Duration // of a launch, 0 without one
}

func readOptions() (o options, err error) {
	if o.blocking, err = blockingLaunches(); err == nil {
		o.timeout, err = launchTimeout()
	}
	return o, err
}

// blockingLaunches reports whether launches wait for their kernels.
func blockingLaunches() (bool, error) {
	switch v := os.Getenv("KILN_LAUNCH_BLOCKING"); v {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, fmt.Errorf("KILN_LAUNCH_BLOCKING=%s: want 1 or 0: %w", v, ErrInvalid)
	}
}

// release counts a Close and reports whether it was the last.
func (r *registry) release(d *Device) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.refs == 0 {
		return false
	}
	if d.refs--; d.refs > 0 {
		return false
	}
	delete(r.open, d.key)
	return true
}
