package idle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Kind is what names of these devices begin with. It is not the kind that they say they are of,
// which is that of the devices that they stand for.
const Kind = "record"

// Backend has a device for each model.
type Backend struct{}

// New returns the backend.
func New() Backend { return Backend{} }

// Kind is [Kind].
func (Backend) Kind() string { return Kind }

// Probe reports nothing: these are no devices of the machine.
func (Backend) Probe() driver.Report { return driver.Report{Kind: Kind} }

// mostUnits bounds the units of a device. Its number is that of its row in the table, times this, and
// its units.
const mostUnits = 1 << 12

// Ordinal returns the number by which Open knows a model, such as "ptx:sm_90/132", or one of a
// target with a usual number of units.
func (Backend) Ordinal(name string) (int, error) {
	for i, m := range table {
		if name == m.target {
			return i*mostUnits + m.units[0], nil
		}
		rest, _ := strings.CutPrefix(name, m.target+"/")
		units, err := strconv.Atoi(strings.TrimSuffix(rest, "+packed"))
		if err == nil && units > 0 && units < mostUnits && name == m.name(units) {
			return i*mostUnits + units, nil
		}
	}
	return 0, fmt.Errorf("no model of a device is known for %q: want a target and a number of units, "+
		"such as %s:ptx:sm_90/132", name, Kind)
}

// Open returns a new device.
func (Backend) Open(ordinal int) (driver.Device, error) {
	row, units := ordinal/mostUnits, ordinal%mostUnits
	if units < 1 || row >= len(table) {
		return nil, &driver.Error{Op: fmt.Sprintf("open %s:%d", Kind, ordinal), Kind: driver.ErrNoDevice,
			Text: "want the name of a target"}
	}
	return &device{info: table[row].with(units), next: firstAddr, free: map[int64][]driver.Addr{}}, nil
}

// Memory begins at an address that is not that of nothing, and at multiples of what any device
// aligns it to.
const (
	firstAddr = 1 << 20
	alignment = 512
)

// device gives out addresses, and those that come back once more.
type device struct {
	info driver.Info

	mu   sync.Mutex
	next driver.Addr
	free map[int64][]driver.Addr // by size
	used int64
}

func (d *device) Info() driver.Info                                         { return d.info }
func (d *device) Default() driver.Stream                                    { return stream{d} }
func (d *device) NewStream() (driver.Stream, error)                         { return stream{d}, nil }
func (d *device) NewEvent() (driver.Event, error)                           { return event{}, nil }
func (d *device) AllocHost(size int) ([]byte, error)                        { return make([]byte, size), nil }
func (d *device) FreeHost([]byte) error                                     { return nil }
func (d *device) Trim() error                                               { return nil }
func (d *device) Finalize(i driver.Image) (driver.Image, string, error)     { return i, "", nil }
func (d *device) FinalKey() string                                          { return "" }
func (d *device) Sync() error                                               { return nil }
func (d *device) Close() error                                              { return nil }
func (d *device) EncodeTensorMap(*driver.TensorMap) (m [16]uint64, e error) { return m, nil }

// MemInfo counts what was given out.
func (d *device) MemInfo() (free, total int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info.MemTotal - d.used, d.info.MemTotal, nil
}

// Load takes any code that such a device loads.
func (d *device) Load(img driver.Image) (driver.Module, error) {
	if !slices.Contains(d.info.Formats, img.Format) {
		return nil, &driver.Error{Op: "load kernel " + img.Name, Device: d.info.Name, Kind: driver.ErrBadImage,
			Text: fmt.Sprintf("the device loads code of %v, not %s", d.info.Formats, img.Format)}
	}
	return module{d}, nil
}

type module struct{ dev *device }

func (m module) Function(name string) (driver.Function, error) { return function{m.dev, name}, nil }
func (m module) Close() error                                  { return nil }

type function struct {
	dev  *device
	name string
}

func (f function) Info() driver.FunctionInfo {
	return driver.FunctionInfo{Name: f.name, MaxThreads: f.dev.info.MaxThreads}
}

// ResidentBlocks is how many blocks there is room for by their threads alone.
func (f function) ResidentBlocks(block [3]int, _ int) (int, error) {
	return f.dev.info.Units * max(1, f.dev.info.ThreadsPerUnit/max(1, block[0]*block[1]*block[2])), nil
}

// stream takes all work for done.
type stream struct{ dev *device }

// Alloc gives out an address.
func (s stream) Alloc(size int64) (driver.Addr, error) {
	d := s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if size < 0 || d.used+size > d.info.MemTotal {
		return 0, &driver.Error{Op: fmt.Sprintf("allocate %d bytes", size), Device: d.info.Name, Kind: driver.ErrOutOfMemory}
	}
	d.used += size
	if list := d.free[size]; len(list) > 0 {
		d.free[size] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
	a := d.next
	d.next += driver.Addr((size + alignment) / alignment * alignment)
	return a, nil
}

// Free takes an address back.
func (s stream) Free(a driver.Addr, size int64) error {
	d := s.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used -= size
	d.free[size] = append(d.free[size], a)
	return nil
}

// UploadFrom reads nothing.
func (s stream) UploadFrom(driver.Addr, int64, func([]byte, int64) error) error { return nil }

// Download gives zeros.
func (s stream) Download(dst []byte, _ driver.Addr) error {
	clear(dst)
	return nil
}

func (s stream) Upload(driver.Addr, []byte) error                                        { return nil }
func (s stream) Copy(_, _ driver.Addr, _ int64) error                                    { return nil }
func (s stream) Copy2D(_ driver.Addr, _ int64, _ driver.Addr, _ int64, _, _ int64) error { return nil }
func (s stream) Fill(driver.Addr, byte, int64) error                                     { return nil }
func (s stream) Launch(driver.Function, *driver.Launch) error                            { return nil }
func (s stream) Record(driver.Event) error                                               { return nil }
func (s stream) Wait(driver.Event) error                                                 { return nil }
func (s stream) Sync() error                                                             { return nil }
func (s stream) Close() error                                                            { return nil }

type event struct{}

func (event) Done() (bool, error)                       { return true, nil }
func (event) Sync() error                               { return nil }
func (event) Since(driver.Event) (time.Duration, error) { return time.Microsecond, nil }
func (event) Close() error                              { return nil }
