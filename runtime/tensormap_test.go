package runtime

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTensorMap(t *testing.T) {
	good := TensorMap{Addr: 1 << 20, Elem: 2, Sizes: [3]int{100, 7, 1}, Strides: [2]int{208, 0}, Box: [3]int{64, 16, 1}}
	require.Empty(t, badTensorMap(&good))
	for want, change := range map[string]func(m *TensorMap){
		"elements of 3 bytes":            func(m *TensorMap) { m.Elem = 3 },
		"memory at 0x100008":             func(m *TensorMap) { m.Addr += 8 },
		"a box with rows of 64 bytes":    func(m *TensorMap) { m.Box[0] = 32 },
		"of the box in dimension 1":      func(m *TensorMap) { m.Box[1] = 257 },
		"size 0 of the tensor and 1":     func(m *TensorMap) { m.Sizes[2] = 0 },
		"a stride of 200 bytes":          func(m *TensorMap) { m.Strides[0] = 200 },
		"rows of 200 bytes; copies to":   func(m *TensorMap) { m.Stores = true },
		"a stride of -16 bytes":          func(m *TensorMap) { m.Strides[1] = -16 },
		"a stride of 1099511627776 byte": func(m *TensorMap) { m.Strides[1] = 1 << 40 },
	} {
		m := good
		change(&m)
		require.Contains(t, badTensorMap(&m), want)
	}
	pixels := PixelMap{Addr: 1 << 20, Elem: 2, Axes: 2, Channels: 64, Images: 2, Sizes: [3]int{7, 9}, Strides: [4]int{128, 896, 0, 8064}, First: [3]int{-1, -1}, Count: [3]int{7, 5}, Step: [3]int{1, 2}, Pixels: 128}
	require.Empty(t, pixels.Bad())
	lower, upper := pixels.Corners(1)
	require.Equal(t, [2]int{-1, -1}, [2]int{lower, upper})
	for want, change := range map[string]func(m *PixelMap){
		"4 axes":                       func(m *PixelMap) { m.Axes = 4 },
		"elements of 3 bytes":          func(m *PixelMap) { m.Elem = 3 },
		"memory at 0x100008":           func(m *PixelMap) { m.Addr += 8 },
		"1025 pixels":                  func(m *PixelMap) { m.Pixels = 1025 },
		"0 channels":                   func(m *PixelMap) { m.Channels = 0 },
		"a stride of 200 bytes":        func(m *PixelMap) { m.Strides[3] = 200 },
		"9 apart":                      func(m *PixelMap) { m.Step[1] = 9 },
		"positions from -129":          func(m *PixelMap) { m.First[0] = -129 },
		"distances are -16 to 15":      func(m *PixelMap) { m.Axes, m.Sizes[2], m.Count[2], m.Step[2], m.First[2] = 3, 1, 1, 1, 16 },
		"0 positions 1 apart on 7 pix": func(m *PixelMap) { m.Count[0] = 0 },
	} {
		m := pixels
		change(&m)
		require.Contains(t, m.Bad(), want)
	}
	require.Equal(t, []int{65535, 255, 31}, []int{MaxPixelOffset(1), MaxPixelOffset(2), MaxPixelOffset(3)})
	dev, err := Open("cpu")
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	_, err = dev.EncodeTensorMap(good)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "make a tensor map")
	_, err = dev.EncodePixelMap(pixels)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
