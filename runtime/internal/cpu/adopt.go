package cpu

import (
	goruntime "runtime"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Adopt returns the address of host memory, which is the device's own. What Go has just
// allocated is not there yet as far as the system is concerned.
func (d *device) Adopt(mem []byte, result bool) driver.Addr {
	if result {
		touch(mem)
	}
	return driver.Addr(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
}

// Drop holds host memory until no earlier kernel can use it.
func (d *device) Drop(mem []byte) {
	if d.queue.idle() {
		goruntime.KeepAlive(mem)
		return
	}
	d.queue.submit(d.defaultStream, true, func() { goruntime.KeepAlive(mem) })
}
