// Package docs keeps the pages of docs/ true.
//
// [Reference] writes docs/reference.md out of the tables of the compiler: the
// functions of package dsl with their comments, the functions of package math
// and math/bits that kernels may call, and the operations of the IR. What each
// costs is not written down by hand: a probe, a kernel that calls the function
// once, is compiled, and its instructions beyond loading the arguments and
// storing the result are counted.
//
// [Figures] draws the pictures of docs/tensors.md, of tensors that are asked for their shapes and
// strides.
//
// The tests compare these with their files, extract the programs of the README, of the
// tutorial and of docs/tensors.md, build and run them, and compile every other Go example:
//
//	go test ./tests/docs          # are the pages true?
//	go test ./tests/docs -update  # write what is generated anew
package docs
