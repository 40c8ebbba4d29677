// Package golden tests functions beside numbers that PyTorch has computed: values and gradients,
// for operands in several layouts and types.
//
//	golden.Run(t, dev, "testdata/golden.json", map[string]golden.Func{"mse": …}, nil)
//
// A file is a list of cases, which a script beside it makes. A case has a name; operands, each a
// shape and numbers, of which those of "i" are integers; the result; and gradients of the operands
// that are not integers, null where there is none, for a gradient of the result of 1, 2, 3, 1, 2,
// 3, and so on.
package golden
