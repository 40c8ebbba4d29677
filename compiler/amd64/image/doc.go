// Package image is the container of native kernels for amd64: what package
// amd64 makes, caches keep and the CPU driver loads.
//
// The model:
//
//   - An [Image] is one kernel: a piece of code that does not depend on where
//     it lies, with its constants, and what has to be known to call it.
//   - [Image.Encode] writes a container and [Decode] reads it. A checksum covers
//     all of it: a damaged or foreign container is an error, never code.
//   - Positions of faults are numbers in a table of source positions, as in
//     ir.Module, because code is cached while lines move. Whoever loads a kernel
//     has the table.
//   - The code is called with the address of a context in a register and runs
//     a number of blocks. The offsets of the context's fields are constants
//     here: code and driver share them.
//
// Example:
//
//	data := (&image.Image{Kernel: "Scale", ISA: "x86-64-v4", Warp: 16, General: -1, Code: code}).Encode()
//	img, err := image.Decode(data)
package image
