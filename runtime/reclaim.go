package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// reclaimTries is how often an allocation is tried again. The first collection
// finds what is unreachable now; the second what only the first one's cleanups
// let go of.
const reclaimTries = 2

// allocate asks the driver for memory. Go's collector does not see device
// memory, so a program can fill a device with buffers it has long dropped:
// when the driver has none left, they are collected before giving up.
func (d *Device) allocate(s driver.Stream, size int64) (driver.Addr, error) {
	addr, err := d.take(s, size)
	for try := 0; try < reclaimTries && errors.Is(err, ErrOutOfMemory); try++ {
		if trimErr := d.reclaim(); trimErr != nil {
			return 0, d.wrap(trimErr)
		}
		addr, err = d.take(s, size)
	}
	if !errors.Is(err, ErrOutOfMemory) {
		return addr, d.wrap(err)
	}
	return 0, d.noMemory(size, err)
}

// reclaim frees the buffers that the program has dropped and gives memory that
// the driver keeps for reuse back to the device.
func (d *Device) reclaim() error {
	d.reclaiming.Lock()
	defer d.reclaiming.Unlock()
	collect()
	for last, left := d.buffers.Load(), 20; left > 0; left-- {
		time.Sleep(time.Millisecond)
		now := d.buffers.Load()
		if now == last {
			break
		}
		last = now
	}
	if err := d.letGo(false); err != nil {
		return err
	}
	return d.drv.Trim()
}

// collect runs the garbage collector and waits until it has begun to run finalizers, which
// those of buffers are, and cleanups: one of our own of each is queued with the others.
func collect() {
	begun := make(chan struct{}, 2)
	tell := func() { begun <- struct{}{} }
	one, two := new([64]byte), new([64]byte) // too large for the allocator that shares blocks
	goruntime.AddCleanup(one, func(tell func()) { tell() }, tell)
	goruntime.SetFinalizer(two, func(*[64]byte) { tell() })
	goruntime.GC()
	for range cap(begun) {
		select {
		case <-begun:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *Device) noMemory(size int64, cause error) error {
	text := fmt.Sprintf("%s wanted, %s in %d buffers of this program", bytesText(size), bytesText(d.bytes.Load()), d.buffers.Load())
	if free, total, err := d.drv.MemInfo(); err == nil {
		text += fmt.Sprintf(", %s of %s free on the device", bytesText(free), bytesText(total))
	}
	if limit := d.MemoryLimit(); limit > 0 {
		text += fmt.Sprintf(", limited to %s", bytesText(limit))
	}
	e := &driver.Error{Op: "allocate", Device: d.name, Kind: ErrOutOfMemory, Text: text}
	if c, ok := errors.AsType[*driver.Error](cause); ok {
		e.Name, e.Code, e.Cause = c.Name, c.Code, c.Cause
	}
	return e
}

// bytesText writes a size for people: "1.5 GiB".
func bytesText(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[u])
}
