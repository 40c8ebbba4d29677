// Package ops has what the families of tensor operations share: operands, how kernels walk over
// them, properties of devices that launches are planned for, and launches. The operations are in
// the packages below, a family each:
//
//	elementwise   unary, binary, comparing and scaled operations, functions of a program, copies
//	rows          reductions, scans, softmax and norms
//	matmul        products of matrices
//	conv          convolutions, pooling, windows, resizing and sampling
//	sort          sorts, the k largest elements, quantiles
//	index         gather, embedding, search, selection, padding and rearranging
//	scatter       scatter, index_add, index_put
//	linalg        factorisations and solutions
//	fourier       Fourier transforms
//	random        random numbers
//	attention     scaled dot-product attention in one kernel
//
// Operands are [View]s. Nothing here knows tensors, gradients or who owns memory; package tensor
// has that.
//
//	out := ops.View{Buf: buf, DType: dtype.F32, Layout: layout.Contiguous(shape)}
//	err := elementwise.Exp.Run(stream, out, []ops.View{x})
//
// The steps of a call: the operation gives the functions for the element type, [PlanViews] joins
// the dimensions of the operands and chooses how blocks walk over them; the kernel is specialised
// for that, resolved once, and launched without allocating.
//
// Imports point one way: this package, then elementwise, then rows, index and matmul, then sort and
// conv, then scatter. Nothing here names a backend: what differs between devices are numbers in
// [runtime.Info].
package ops
