// Package format has the block formats of quantized tensors, those of GGUF files.
//
// A quantized tensor is rows of blocks: each block holds a fixed number of neighbouring elements of
// the last dimension in a fixed number of bytes, one after another without gaps. Multi-byte fields
// are little endian.
//
// [Type] is a format by its id in files; its row in the table, [Type.Info], has the name, the size
// of a block, the partner with which its dot product is computed in integers, and whether a
// quantizer takes the importance of columns. Types of one element a block, such as [F16], are in
// the table too.
//
//	t, err := format.Parse("Q4_K")
//	n, err := t.RowBytes(4096) // bytes of a row of 4096 elements
//
// The package knows no device and no tensor.
//
//go:generate go run ./grids
package format
