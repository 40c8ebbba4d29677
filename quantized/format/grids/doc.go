// Command grids writes the code books of package format as tables of the kernel language, from the
// numbers in testdata/iq_grids.json:
//
//	go generate ./quantized/format
//
// A vector of a code book becomes one number of 16 bits: 2 bits for each of 8 elements, or 3 bits
// for each of 4, which count the values that the code book has, in ascending order. Tables of 16
// values become four words of bytes.
package main
