// Package hostargs passes Go values to code for kernels that runs in this process, or
// that another library runs here: slices of plain elements, and numbers.
//
//	a := hostargs.Copy(x, float32(2)) // x is a slice, which stays as it is
//	defer a.Close()
//	err = lib.Run("scale", grid, block, a.Block(), false)
//	got := a.Values // [the slice as the kernel left it, 2]
package hostargs
