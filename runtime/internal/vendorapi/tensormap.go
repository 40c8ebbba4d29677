package vendorapi

import "github.com/gokiln/kiln/runtime/internal/driver"

// TensorMapper is a Vendor whose devices may have bulk copies of tensors.
type TensorMapper interface {
	EncodeTensorMap(d *Device, m *driver.TensorMap) ([16]uint64, error)
}

// EncodeTensorMap is that of driver.TensorMapper.
func (d *Device) EncodeTensorMap(m *driver.TensorMap) ([16]uint64, error) {
	if v, ok := d.Lib.vendor.(TensorMapper); ok {
		return v.EncodeTensorMap(d, m)
	}
	return [16]uint64{}, driver.NoTensorMaps(d.info.Name)
}
