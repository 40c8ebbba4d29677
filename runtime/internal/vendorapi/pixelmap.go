package vendorapi

import "github.com/gokiln/kiln/runtime/internal/driver"

// PixelMapper is a TensorMapper whose devices may have bulk copies of pixels, too.
type PixelMapper interface {
	EncodePixelMap(d *Device, m *driver.PixelMap) ([16]uint64, error)
}

// EncodePixelMap is that of driver.PixelMapper.
func (d *Device) EncodePixelMap(m *driver.PixelMap) ([16]uint64, error) {
	if v, ok := d.Lib.vendor.(PixelMapper); ok {
		return v.EncodePixelMap(d, m)
	}
	return [16]uint64{}, driver.NoTensorMaps(d.info.Name)
}
