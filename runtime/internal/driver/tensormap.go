package driver

import "errors"

// TensorMap describes a tensor of three dimensions in device memory, and the box of it that one bulk
// copy takes. Dimensions are listed from the innermost on, whose elements are contiguous.
type TensorMap struct {
	Addr    uint64 // of the first element, a multiple of 16
	Elem    int    // bytes of an element: 1, 2, 4 or 8
	Sizes   [3]int // in elements
	Strides [2]int // bytes from a row to the next, and from a plane to the next: multiples of 16
	Box     [3]int // in elements; a row of it has 128 bytes, no other side is longer than 256
	Stores  bool   // copies go to the tensor: devices store 16 bytes at least, so rows are multiples of that
}

// TensorMapper is a Device that makes maps for bulk copies.
type TensorMapper interface {
	Device
	EncodeTensorMap(*TensorMap) ([16]uint64, error)
}

// NoTensorMaps is the error of a device without bulk copies of tensors.
func NoTensorMaps(device string) error {
	return &Error{Op: "make a tensor map", Device: device, Kind: errors.ErrUnsupported, Text: "the device or its driver has no bulk copies of tensors"}
}
