package runtime

import (
	"fmt"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// TensorMap describes a tensor in device memory for the bulk copies of a kernel, see
// [Device.EncodeTensorMap].
type TensorMap = driver.TensorMap

// maxBox is the longest side of a box.
const maxBox = 256

// EncodeTensorMap makes the dsl.TensorMap that stands for m in the arguments of a launch. It holds
// the address, so the memory must still be there when the kernel runs: pass the kernel the slice, too.
// A device without bulk copies of tensors returns [errors.ErrUnsupported].
func (d *Device) EncodeTensorMap(m TensorMap) ([16]uint64, error) {
	if err := d.usable(); err != nil {
		return [16]uint64{}, err
	}
	mapper, ok := d.drv.(driver.TensorMapper)
	if !ok {
		return [16]uint64{}, driver.NoTensorMaps(d.name)
	}
	if text := badTensorMap(&m); text != "" {
		return [16]uint64{}, d.invalid("make a tensor map", text)
	}
	words, err := mapper.EncodeTensorMap(&m)
	return words, d.wrap(err)
}

// badTensorMap returns what no map can describe.
func badTensorMap(m *TensorMap) string {
	switch {
	case m.Elem != 1 && m.Elem != 2 && m.Elem != 4 && m.Elem != 8:
		return fmt.Sprintf("elements of %d bytes; they have 1, 2, 4 or 8", m.Elem)
	case m.Addr%16 != 0:
		return fmt.Sprintf("memory at %#x; it begins at a multiple of 16 bytes", m.Addr)
	case m.Stores && m.Sizes[0]*m.Elem%16 != 0:
		return fmt.Sprintf("rows of %d bytes; copies to them would write behind them, up to a multiple of 16 bytes", m.Sizes[0]*m.Elem)
	case m.Box[0]*m.Elem != 128:
		return fmt.Sprintf("a box with rows of %d bytes; they have 128", m.Box[0]*m.Elem)
	}
	for i, n := range m.Sizes {
		if n < 1 || n > 1<<32 || m.Box[i] < 1 || m.Box[i] > maxBox {
			return fmt.Sprintf("size %d of the tensor and %d of the box in dimension %d; sizes are 1 to 2^32, those of the box up to %d", n, m.Box[i], i, maxBox)
		}
	}
	for _, n := range m.Strides {
		if n < 0 || n%16 != 0 || n >= 1<<40 {
			return fmt.Sprintf("a stride of %d bytes; strides are multiples of 16 bytes below 2^40", n)
		}
	}
	return ""
}
