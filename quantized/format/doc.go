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
// Formats with blocks have a type, such as [BlockQ4_K], in a file with the layout of the block. It is
// a [Block], which reads runs of eight elements and is kernel code; a [Quantizer] and [Weighted] if
// blocks are written by kernel code, or a [HostQuantizer]. [Dequantize] and [Quantize] are all of it
// on the host:
//
//	err := format.Quantize(bytes, x, 4096, format.Q4_K, nil)
//
// The package knows no device and no tensor.
//
//go:generate go run ./grids
package format
