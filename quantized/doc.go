// Package quantized has tensors whose elements are stored in blocks of few bits, in the formats of
// GGUF files.
//
// A [Tensor] is bytes on a device, a shape, and a format: a type of package quantized/format. It is
// made of bytes or by [Quantize], dequantized as a whole, [Tensor.Dequantize], or by rows,
// [Tensor.Embedding], and multiplied with activations, [Tensor.Linear], those of each token with
// the weights of some of many experts, [Tensor.IndexedMoE]. Kernels take the format as a type
// argument, so that there is one of each for all formats.
//
//	w := quantized.FromBytes(dev, format.Q4_K, bytes, 4096, 14336)
//	y := w.Linear(x) // of (…, 14336): (…, 4096)
//	if err := y.Err(); err != nil { … }
//
// Values and blocks are those of the reference implementation bit for bit, on every device.
package quantized
