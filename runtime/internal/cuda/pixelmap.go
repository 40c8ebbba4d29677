package cuda

import (
	"math/bits"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
	"github.com/gokiln/kiln/runtime/internal/vendorapi"
)

// pixelBytes is how much of the channels of a pixel a copy takes.
const pixelBytes = 128

// EncodePixelMap makes a map for mode im2col, by the host alone likewise.
func (l *library) EncodePixelMap(d *vendorapi.Device, m *driver.PixelMap) ([16]uint64, error) {
	if l.cuTensorMapEncodeIm2col == 0 || l.FuncParam == 0 || d.Info().ComputeMajor < 9 {
		return [16]uint64{}, driver.NoTensorMaps(d.Info().Name)
	}
	in := &struct {
		words        [16 + 8]uint64 // the map begins at a multiple of 64 bytes
		sizes        [5]uint64
		strides      [4]uint64
		lower, upper [3]int32
		steps        [5]uint32
	}{steps: [5]uint32{1, 1, 1, 1, 1}}
	in.sizes[0], in.sizes[m.Axes+1], in.strides[m.Axes] = uint64(m.Channels), uint64(m.Images), uint64(m.Strides[3])
	for a := range m.Axes {
		lower, upper := m.Corners(a)
		in.sizes[a+1], in.strides[a], in.steps[a+1] = uint64(m.Sizes[a]), uint64(m.Strides[a]), uint32(m.Step[a])
		in.lower[a], in.upper[a] = int32(lower), int32(upper)
	}
	skip := -uintptr(unsafe.Pointer(in)) % 64 / 8
	err := d.Do("make a map of pixels", l.cuTensorMapEncodeIm2col, uintptr(unsafe.Pointer(&in.words[skip])), tensorTypes[bits.TrailingZeros(uint(m.Elem))], uintptr(m.Axes+2), uintptr(m.Addr),
		uintptr(unsafe.Pointer(&in.sizes)), uintptr(unsafe.Pointer(&in.strides)), uintptr(unsafe.Pointer(&in.lower)), uintptr(unsafe.Pointer(&in.upper)),
		uintptr(pixelBytes/m.Elem), uintptr(m.Pixels), uintptr(unsafe.Pointer(&in.steps)), 0, tensorSwizzle128, tensorPromote128, 0)
	return [16]uint64(in.words[skip:]), err
}
