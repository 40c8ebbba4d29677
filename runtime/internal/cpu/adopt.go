package cpu

import (
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Adopt returns the address of host memory, which is the device's own.
func (d *device) Adopt(mem []byte) driver.Addr {
	return driver.Addr(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Drop holds host memory until no earlier kernel can use it.
func (d *device) Drop(mem []byte) {
	if d.queue.idle() {
		goruntime.KeepAlive(mem)
		return
	}
	d.queue.submit(d.defaultStream, true, func() error {
		goruntime.KeepAlive(mem)
		return nil
	})
}
