// Package tensor has tensors: numbers of one type in a shape, on a device.
//
//	dev, err := tensor.Open("auto") // the first GPU, or else the CPU
//	x := tensor.From(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
//	y := x.Mul(x).AddScalar(1).T() // nothing to check on the way
//	rows, err := tensor.To2[float32](y)
//
// # The model
//
// A [Tensor] is a value: no operation but those that say so changes one, and every
// operation returns a new one. Views, which is what [Tensor.Narrow], [Tensor.Transpose]
// and the like return, share memory with what they are views of. Memory is given back
// when Go collects the last Tensor of it, or by [Tensor.Free].
//
// Work is asynchronous. Operations return when they are queued on the device; what
// takes numbers to the host waits for them.
//
// # Errors
//
// Errors stick. An operation that cannot be done returns a Tensor that holds the error,
// and every operation on that returns it on. What takes something out, such as
// [Tensor.Err], [To1], [Tensor.Item], [Tensor.Backward] and printing, reports the first
// one: with the operation, what was wrong, and the line of the program:
//
//	y := x.MatMul(w).Add(b).Gelu()
//	if err := y.Err(); err != nil {
//		return err // matmul: shape mismatch: [2, 3] and [4, 5] (main.go:12)
//	}
//
// The kinds of errors, for errors.Is, begin with Err.
//
// # Rules
//
// Operands of an operation have one element type and are on one device: [Tensor.To] and
// [Tensor.Cast] bring them there, nothing else does. Their shapes are broadcast as in
// NumPy: aligned at the last dimension, a size of 1 is repeated. Dimensions count from 0,
// or from -1 backwards. Any strides are fine for any operation. Numbers of fewer than 32
// bits are computed in float32 and rounded once at the end; integers wrap; NaN goes
// through minima and maxima. All devices give the same bits for elementwise operations.
// Which element types a method is for is listed in testdata/types.txt.
//
// What operations are not given right is one of these kinds: another element type than
// the operation or the other operand has is [ErrDType] or [ErrDTypeMismatch], another
// device [ErrDevice], shapes that do not fit [ErrShape] or [ErrBroadcast], a dimension that
// is not there [ErrDim], a number of dimensions [ErrRank], a range [ErrRange], an index
// [ErrIndex], a nil tensor and all else [ErrArgument]. An index in a tensor is looked at by
// the device: the error comes from what waits for it, and says which index it was and where.
//
// # Indices
//
// [Tensor.Index] picks by numbers, ranges, lists, tensors and masks, as x[1, -2:, ids] does
// in Python. [Tensor.IndexSelect], [Tensor.Gather] and [Tensor.Scatter] take indices of any
// integer type. The index -1, which for an unsigned type is its largest number, stands for none:
// what is there reads as 0, and what would be put there is left out. So padding and labels that are
// to be ignored need no mask. Only where indices count from the end, which is where numbers of the
// program are indices and in [Tensor.IndexPut], -1 is the last one.
//
// # Gradients
//
// Operations note how tensors are made of variables, see [NewVar], and [Tensor.Backward]
// goes back the way. [Tensor.Detach] leaves a tensor out, and nothing that is computed from one
// of [Tensor.NoGrad] is noted, on any goroutine; [Checkpoint] keeps less and computes it again, and
// [Tensor.BackwardBy] has gradients of gradients:
//
//	w := tensor.NewVar(tensor.Randn(dev, tensor.F32, 0, 1, 3, 4))
//	grads, err := x.MatMul(w.Tensor()).Sqr().Mean().Backward()
//	err = w.Set(w.Tensor().Sub(grads.Of(w.Tensor()).MulScalar(0.1)))
//
// [Tensor.OnGradient] has a function called with a gradient on the way, which may replace it.
// What changes a tensor in place, see [Tensor.Assign], is not noted: if a gradient needs what was
// there before, [Tensor.Backward] fails with [ErrChanged] and names the lines of both.
//
// # Matrices and spectra
//
// [Tensor.Solve], [Tensor.Inverse], [Tensor.Det] and the factors [Tensor.Cholesky], [Tensor.LU] and
// [Tensor.QR] are of matrices in the last two dimensions, any number of them at once, and
// [Tensor.FFT] and those after it are along any dimension, all of types F32 and F64: [Tensor.Cast]
// brings others there. What has no result, such as the inverse of a matrix that has none, gives
// infinities and NaN. Complex numbers are pairs in a last dimension of size 2.
//
// # Operations of programs
//
// [Map] and those after it compute elements by a Go function, which is compiled for the
// device into one kernel:
//
//	z := tensor.Map2(func(a, b float32) float32 { return a*b + 1 }, x, y)
//
// [Apply1] applies an operation that launches a kernel of its own and may have a
// gradient: see [CustomOp1].
//
// # Memory
//
// A [Scope] frees the memory of a step's tensors at its end. [Device.PeakBytes] and
// [Device.Stats] report what was used, and [Device.SetMemoryLimit] bounds it. When there is
// no memory left, dropped tensors are collected before an operation fails with
// [ErrOutOfMemory].
//
// # Printing
//
// Tensors print themselves by package fmt, with its verbs and precisions, as
// [Tensor.Format] says, and as [PrintOptions] say for the whole process:
//
//	fmt.Printf("%.2f\n", x)
package tensor
