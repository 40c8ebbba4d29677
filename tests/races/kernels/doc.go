// Package kernels holds the kernels of package races: each with a mistake that a
// checked build finds, and without.
//
//	jit.Of(kernels.TransposeNoSync).Checked().Launch(stream, grid, out, in, n)
package kernels
