package cuda

import (
	"math/bits"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// Values of the enumerations of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col (CUDA driver API,
// "Tensor Map Object Management").
const (
	tensorSwizzle128 = 3
	tensorPromote128 = 2 // what is copied comes to L2 in pieces of 128 bytes
)

// tensorTypes are the unsigned types of 1, 2, 4 and 8 bytes: only the size counts where elements
// beyond the edges are zeros.
var tensorTypes = [4]uintptr{0, 1, 2, 4}

// EncodeTensorMap makes a map. The function computes it on the host alone, and wants a context.
func (l *library) EncodeTensorMap(d *vendorapi.Device, m *driver.TensorMap) ([16]uint64, error) {
	// Kernels with tensor maps have parameters whose places are asked for.
	if l.cuTensorMapEncodeTiled == 0 || l.FuncParam == 0 || d.Info().ComputeMajor < 9 {
		return [16]uint64{}, driver.NoTensorMaps(d.Info().Name)
	}
	in := &struct {
		words         [16 + 8]uint64 // the map begins at a multiple of 64 bytes
		sizes         [3]uint64
		strides       [2]uint64
		box, elements [3]uint32
	}{elements: [3]uint32{1, 1, 1}}
	for i, n := range m.Sizes {
		in.sizes[i], in.box[i] = uint64(n), uint32(m.Box[i])
	}
	for i, n := range m.Strides {
		in.strides[i] = uint64(n)
	}
	skip := -uintptr(unsafe.Pointer(in)) % 64 / 8
	err := d.Do("make a tensor map", l.cuTensorMapEncodeTiled, uintptr(unsafe.Pointer(&in.words[skip])), tensorTypes[bits.TrailingZeros(uint(m.Elem))], uintptr(len(in.sizes)), uintptr(m.Addr),
		uintptr(unsafe.Pointer(&in.sizes)), uintptr(unsafe.Pointer(&in.strides)), uintptr(unsafe.Pointer(&in.box)), uintptr(unsafe.Pointer(&in.elements)),
		0, tensorSwizzle128, tensorPromote128, 0)
	return [16]uint64(in.words[skip:]), err
}
