package runtime

import "github.com/gokiln/kiln/runtime/internal/driver"

// PixelMap describes images in device memory for the bulk copies of a kernel, see
// [Device.EncodePixelMap].
type PixelMap = driver.PixelMap

// MaxPixelOffset is the largest offset of a dsl.Pixel along an axis of images with so many axes.
func MaxPixelOffset(axes int) int { return driver.MaxPixelOffset(axes) }

// EncodePixelMap is [Device.EncodeTensorMap] for dsl.CopyPixelsAsync.
func (d *Device) EncodePixelMap(m PixelMap) ([16]uint64, error) {
	if err := d.usable(); err != nil {
		return [16]uint64{}, err
	}
	mapper, ok := d.drv.(driver.PixelMapper)
	if !ok {
		return [16]uint64{}, driver.NoTensorMaps(d.name)
	}
	if text := m.Bad(); text != "" {
		return [16]uint64{}, d.invalid("make a map of pixels", text)
	}
	words, err := mapper.EncodePixelMap(&m)
	return words, d.wrap(err)
}
