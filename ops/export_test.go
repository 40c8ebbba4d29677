package ops

// LimitBlocks makes the grids of kernels that loop over rows, products or images at most so many
// blocks high and deep, until the function that it returns is called.
func LimitBlocks(n int) (end func()) {
	gridLimit = n
	return func() { gridLimit = MaxGridY }
}
