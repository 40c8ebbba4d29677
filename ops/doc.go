// Package ops has the tensor operations, as launches of kernels over strided memory.
//
// An operation is a row of a table: its name, the function that a kernel of package
// kernels is compiled with, and the element types it is for. Its operands are [View]s.
// Nothing here knows tensors, gradients or who owns memory; package tensor has that.
//
//	out := ops.View{Mem: mem, DType: dtype.F32, Layout: layout.Contiguous(shape)}
//	err := ops.Unary(stream, ops.Exp, out, x)
//
// The way of a call: the row gives the functions for the element type; [plan] joins
// the dimensions of the operands and chooses how blocks walk over them; the kernel is
// specialised for that, resolved once, and launched without allocating.
//
// Nothing here names a backend: what differs between devices are numbers in
// [runtime.Info].
package ops
