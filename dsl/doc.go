// Package dsl is the language of Kiln kernels.
//
// A kernel is a Go function marked //kiln:kernel whose first parameter is a
// [Thread]. It is ordinary Go: the type checker, gopls, vet and a debugger all
// work on it, and package dsltest runs it as it stands. The compiler translates
// the same text for a device.
//
//	//kiln:kernel
//	func Scale[T dsl.Float](t dsl.Thread, out, in []T, by float32) {
//		for i := t.Global(); i < len(out); i += t.GlobalSize() {
//			out[i] = dsl.To[T](by * dsl.F32(in[i]))
//		}
//	}
//
// The model in short:
//
//   - A launch is a grid of blocks of threads. Threads of a block share
//     [Shared] memory and meet at [Thread.Sync]; threads of a warp exchange
//     registers by [Shuffle] and its relatives.
//   - Parameters are numbers, bools, structs and arrays of fixed size, which are
//     passed by value, and slices of all of these. One of type [ConstInt] or
//     [ConstBool], and a field of a struct of such a type, is a constant of the
//     compiled kernel: loops over it unroll, branches on it disappear, and
//     [SharedSlice] and [LocalSlice] make arrays of that length.
//   - Half types ([F16], [BF16]) and those of 8 bits ([F8E4M3], [F8E5M2]) are
//     storage. Arithmetic is in float32: [F32] loads, [To] stores.
//   - Math functions ([Exp], [Sin], …) return the same bits on every target,
//     plain Go included. Their largest errors stand in docs/math.md.
//   - [Assert] and [Printf] report to the host, which reads them when it next
//     waits for the stream.
//   - A package that holds kernels embeds its own source and hands it to
//     [Source], so that a binary can compile them without files.
//
// # Where devices differ from plain Go
//
// All devices agree with each other, and with plain Go but for what Go leaves
// open or what makes it panic, which checked code reports instead (see
// docs/semantics.md):
//
//   - x/0 is 0 and x%0 is x, for integers. Go panics.
//   - A negative shift count is past the width. Go panics.
//   - A float out of the range of an integer type becomes its nearest value, and
//     NaN 0. In Go the result depends on the machine.
//   - x*y + z is rounded twice. Go may round once on some machines; [FMA] always
//     does, and so do kernels with the mark below.
//   - An index out of range is a panic in Go and an error on the CPU, with line
//     and thread. A GPU does not check it.
//
// # Contraction
//
// A kernel with the line //kiln:fastmath next to its //kiln:kernel lets the
// compiler make one operation of a product and a sum:
//
//	//kiln:kernel
//	//kiln:fastmath
//	func Axpy(t dsl.Thread, y, x []float32, a float32) {
//		for i := t.Global(); i < len(y); i += t.GlobalSize() {
//			y[i] += a * x[i] // is dsl.FMA(a, x[i], y[i])
//		}
//	}
//
// In the kernel and the functions that it calls, x*y + z, x*y - z and z - x*y are
// then rounded once, in variables and across statements too, but where a
// conversion rounds the product, as in float32(x*y) + z: just what the Go language
// allows on a machine that has the instruction. Nothing else changes: no
// reassociation, no approximation, no flushing of subnormal numbers, and the
// functions of this package keep their bits. All devices still agree with each
// other; plain Go need not, in the last places.
//
// # Two kinds of function
//
// This package is itself kernel source. Functions marked //kiln:intrinsic are
// primitives of the compiler, and their Go bodies serve runs on the host only.
// All others are compiled from their bodies, which therefore use nothing but
// what a kernel may use. Functions marked //kiln:dispatch choose by their type
// argument between such functions, named with the first letter in lower case and
// the type's width or format at the end: Exp[float32] is exp32, F32[F8E4M3] is
// f32E4M3. One that is an intrinsic, too, is one for the other types.
package dsl
