package tensor

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokiln/kiln/jit"
	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Device is where tensors are. Two Devices are the same device if they are equal: opening
// a name again gives the same *Device.
type Device struct {
	rt     *runtime.Device
	stream *runtime.Stream
	graph  *Graph // that is captured, nil if none is
	random random

	precision atomic.Int32 // of products of matrices
	codes     sync.Map     // codeKey -> *Code
}

var devices struct {
	sync.Mutex
	open map[*runtime.Device]*Device
}

// Open opens a device: "cpu", "cuda:0", "rocm:0", "metal:0", or "auto" for the first GPU
// there is and else the CPU. The same name gives the same *Device.
func Open(name string) (*Device, error) {
	rt, err := runtime.Open(name)
	if err != nil {
		return nil, err
	}
	return On(rt), nil
}

// Devices returns the names of the devices of a kind that were found, such as "cuda:0" and
// "cuda:1", or of all kinds for "": what [Open] takes. It opens none. That a kind has none
// is no error; package runtime's Probe says why.
func Devices(kind string) []string {
	var names []string
	for _, info := range runtime.Devices() {
		if kind == "" || info.Kind == kind {
			names = append(names, info.Name)
		}
	}
	return names
}

// On returns the Device of an open device of package runtime, for programs that launch
// kernels of their own.
func On(rt *runtime.Device) *Device {
	devices.Lock()
	defer devices.Unlock()
	if d := devices.open[rt]; d != nil {
		return d
	}
	for old := range devices.open {
		if old.Closed() {
			delete(devices.open, old)
		}
	}
	if devices.open == nil {
		devices.open = map[*runtime.Device]*Device{}
	}
	d := &Device{rt: rt, stream: rt.DefaultStream()}
	d.random.seed(DefaultSeed)
	devices.open[rt] = d
	return d
}

// Runtime is the device as package runtime knows it.
func (d *Device) Runtime() *runtime.Device { return d.rt }

// Stream is the stream that operations are queued on.
func (d *Device) Stream() *runtime.Stream { return d.stream }

// Name is the device's name, such as "cuda:0".
func (d *Device) Name() string { return d.rt.Name() }

// Kind is the device's name without a number: what kind of device it is.
func (d *Device) Kind() string { return d.rt.Info().Kind }

// fillF64 is a kernel that takes no more than its type.
var fillF64 = jit.Of(elementwisekernels.Fill[float64])

// Supports reports whether the device computes with an element type. All devices do with
// all types that are not for storage only, but for F64, which some GPUs have not. It may
// compile a small kernel to find out; if that fails for another reason, operations say so.
func (d *Device) Supports(dt DType) bool {
	return dt.Computes() && (dt != F64 || !errors.Is(fillF64.Prepare(d.rt, core.Walk{}), jit.ErrUnsupported))
}

// String is the device's name.
func (d *Device) String() string { return d.Name() }

// Synchronize waits until all work of the device is done, and reports what failed.
func (d *Device) Synchronize() error { return wrap("synchronize", d.rt.Sync()) }

// MemInfo returns the free and the total memory in bytes.
func (d *Device) MemInfo() (free, total int64, err error) { return d.rt.MemInfo() }

// Stats counts the memory that the device has given out.
func (d *Device) Stats() runtime.Stats { return d.rt.Stats() }

// Close gives the device up, once for every Open. Tensors on it cannot be used
// afterwards.
func (d *Device) Close() error { return d.rt.Close() }

// check reports why nothing can be made on the device.
func (d *Device) check() error {
	if d == nil {
		return fmt.Errorf("%w: no device: Open gives one", ErrArgument)
	}
	return nil
}
