// Package quantized has tensors whose elements are stored in blocks of few bits, in the formats of
// GGUF files.
//
// Package quantized/format describes the formats: a row of a table, and a file that says how a
// block is read and written.
package quantized
