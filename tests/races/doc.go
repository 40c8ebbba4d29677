// Package races tests what checked builds find in kernels on the CPU: data races and
// reads of shared memory that nobody wrote.
//
// Package kernels holds kernels with one mistake each, on a line that ends in
// "// bad"; the access with which it races ends in "// other". Each has a twin that is
// right, in which nothing may be found. A case launches one of them:
//
//	{"Transpose", kernels.Transpose, kernels.TransposeNoSync, …}
package races
