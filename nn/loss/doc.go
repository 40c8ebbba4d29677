// Package loss has losses: functions of what a network gives and what it should give, with
// gradients. They are defined as those of PyTorch, and the zero value of their options is what
// PyTorch does by default.
//
//	logits := model.Forward(x)                                   // (batch, classes)
//	l := loss.CrossEntropy(logits, labels, loss.CrossEntropyOptions{LabelSmoothing: 0.1})
//	grads, err := l.Backward()
//
// # Model
//
// A loss is one number, or with [None] one for each element or row. Bad operands give a tensor
// that holds an error, as operations of package tensor do: shapes that differ are
// tensor.ErrShape, types tensor.ErrDType or tensor.ErrDTypeMismatch, options tensor.ErrArgument.
// Operands may have any strides. The result has the type of the first operand. Of types of fewer
// than 32 bits everything in between is float32, and the result is rounded once.
//
// The forms are those that stay finite where activations saturate: logits go in, not
// probabilities, wherever there is a choice. [CrossEntropy] and [CTC] are kernels of their own
// with gradients of first order; gradients of all others have gradients themselves.
//
// Means of no elements are NaN, as in PyTorch, and sums of them 0.
package loss
