package driver

import (
	"fmt"
	"math"
)

// PixelMap describes images in device memory whose channels are innermost, and the pixels that one bulk
// copy takes of them. Axes are listed from the innermost on. Without an offset, the window of a
// convolution begins at First + i·Step along an axis, i below Count: a copy takes pixels in row-major
// order of these positions and images, from any of them on.
type PixelMap struct {
	Addr               uint64 // of the first element, a multiple of 16
	Elem               int    // bytes of an element: 1, 2, 4 or 8
	Axes               int    // 1 to 3
	Channels, Images   int
	Sizes              [3]int // pixels along each axis
	Strides            [4]int // bytes from a pixel to the next along each axis, and last those from image to image: multiples of 16
	First, Count, Step [3]int
	Pixels             int // of a copy, up to 1024, with 128 bytes of channels each
}

// PixelMapper is a TensorMapper that makes maps of pixels, too.
type PixelMapper interface {
	TensorMapper
	EncodePixelMap(*PixelMap) ([16]uint64, error)
}

// Limits of the windows of a PixelMap (PTX ISA, "im2col mode"): so many bits has the distance of the
// first position from the begin of an axis, and that of the last from its end, and one less have offsets.
var cornerBits = [4]int{1: 16, 2: 8, 3: 5}

const (
	maxPixels = 1024
	maxStep   = 8
)

// MaxPixelOffset is the largest offset of a copy of pixels with so many axes.
func MaxPixelOffset(axes int) int { return 1<<cornerBits[axes] - 1 }

// Corners returns the distance of the first position from the begin of axis a, and of the last one from
// its end.
func (m *PixelMap) Corners(a int) (lower, upper int) {
	return m.First[a], m.First[a] + (m.Count[a]-1)*m.Step[a] + 1 - m.Sizes[a]
}

// Bad returns what no map can describe.
func (m *PixelMap) Bad() string {
	switch {
	case m.Axes < 1 || m.Axes > 3:
		return fmt.Sprintf("%d axes; there are 1 to 3", m.Axes)
	case m.Elem != 1 && m.Elem != 2 && m.Elem != 4 && m.Elem != 8:
		return fmt.Sprintf("elements of %d bytes; they have 1, 2, 4 or 8", m.Elem)
	case m.Addr%16 != 0:
		return fmt.Sprintf("memory at %#x; it begins at a multiple of 16 bytes", m.Addr)
	case m.Pixels < 1 || m.Pixels > maxPixels:
		return fmt.Sprintf("%d pixels of a copy; there are 1 to %d", m.Pixels, maxPixels)
	case min(m.Channels, m.Images) < 1 || max(m.Channels, m.Images) > math.MaxUint32:
		return fmt.Sprintf("%d channels of %d images; there are 1 to 2^32-1", m.Channels, m.Images)
	}
	strides := append([]int{m.Strides[3]}, m.Strides[:m.Axes]...)
	for _, n := range strides {
		if n < 0 || n%16 != 0 || n >= 1<<40 {
			return fmt.Sprintf("a stride of %d bytes; strides are multiples of 16 bytes below 2^40", n)
		}
	}
	for a := range m.Axes {
		if m.Sizes[a] < 1 || m.Sizes[a] > math.MaxInt32 || m.Count[a] < 1 || m.Count[a] > math.MaxInt32 || m.Step[a] < 1 || m.Step[a] > maxStep {
			return fmt.Sprintf("%d positions %d apart on %d pixels of axis %d; they are 1 to %d apart", m.Count[a], m.Step[a], m.Sizes[a], a, maxStep)
		}
		most := 1<<(cornerBits[m.Axes]-1) - 1
		if lower, upper := m.Corners(a); min(lower, upper) < ^most || max(lower, upper) > most {
			return fmt.Sprintf("positions from %d to %d pixels beyond the end of axis %d; with %d axes distances are %d to %d", lower, upper, a, m.Axes, ^most, most)
		}
	}
	return ""
}
