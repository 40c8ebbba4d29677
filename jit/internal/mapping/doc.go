// Package mapping has the kernels behind jit.Fn.Map: a function of one to four
// numbers, applied to the elements of as many slices. The function is a parameter
// of the kernel, fixed when the kernel is compiled, so that its body stands in the
// loop:
//
//	add := jit.Func(func(a, b float32) float32 { return a + b })
//	err := add.Map(stream, out, x, y) // Map2[float32, float32, float32]{f:main.main.func1}
package mapping
