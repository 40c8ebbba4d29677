package ptx

// Simulate runs text over a grid in the simulator of the tests, with asynchronous copies as late as
// may be, or early.
func Simulate(text string, early bool, grid, block [3]int, args []byte, buffers [][]byte) error {
	p := simParse(text)
	p.early = early
	return p.run(grid, block, args, buffers)
}
