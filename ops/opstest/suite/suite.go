package suite

import (
	"testing"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// Run tests all operations on a device, or a share of the parts that belong to an operation, a type
// and a layout, with all types but those that the device does not compute with: devices on which
// compilers take long share the work. Errors are tested on each.
func Run(t *testing.T, dev *runtime.Device, share opstest.Share, without ...dtype.DType) {
	all := groups(func(opstest.Group) bool { return true })
	opstest.Run(t, dev, append(all, ofAll...), share, without...)
}
