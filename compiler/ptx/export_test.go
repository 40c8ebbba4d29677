package ptx

// SimMap makes a tensor map for the simulator.
func SimMap(addr uint64, elem int, sizes [3]int, strides [2]int, box [3]int) []byte {
	return (&simMap{addr: addr, elem: elem, sizes: sizes, strides: strides, box: box}).bytes()
}

// Simulate runs text over a grid in the simulator of the tests, with asynchronous copies as late as
// may be, or early.
func Simulate(text string, early bool, grid, block [3]int, args []byte, buffers [][]byte) error {
	p := simParse(text)
	p.early = early
	return p.run(grid, block, args, buffers)
}
