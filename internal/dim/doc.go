// Package dim has the size of grids and blocks in up to three dimensions. It is below package
// dsl, whose tests run kernels as plain Go, and package runtime, which launches them: both call
// the type Dim3, and it is one.
//
//	d := dim.Dim3{X: 40, Y: 8}
//	d.Count()    // 320
//	dim.Array(d) // [3]int{40, 8, 1}
package dim
