// Package quantized has tensors whose elements are stored in blocks of few bits, in the formats of
// GGUF files.
//
// A [Tensor] is bytes on a device, a shape, and a format: a type of package quantized/format. It is
// dequantized as a whole, [Tensor.Dequantize], or by rows, [Tensor.Embedding]. Kernels take the
// format as a type argument, so that there is one of them for all formats.
//
//	w := quantized.FromBytes(dev, format.Q4_K, bytes, 4096, 14336)
//	x := w.Dequantize(tensor.BF16)
//	if err := x.Err(); err != nil { … }
//
// Values are those of the reference implementation bit for bit, on every device.
package quantized
