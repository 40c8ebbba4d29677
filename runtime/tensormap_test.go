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
		"a stride of -16 bytes":          func(m *TensorMap) { m.Strides[1] = -16 },
		"a stride of 1099511627776 byte": func(m *TensorMap) { m.Strides[1] = 1 << 40 },
	} {
		m := good
		change(&m)
		require.Contains(t, badTensorMap(&m), want)
	}
	dev, err := Open("cpu")
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	_, err = dev.EncodeTensorMap(good)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "make a tensor map")
}
