package kernels

import "github.com/gokiln/kiln/dsl"

// Saxpy adds a·x to y for any grid. Each thread takes four elements a turn, one
// grid apart, and loads all eight operands before it stores a result: a memory
// system is kept busy by the bytes in flight, and a load that follows a store
// would have to wait for it, because y and x might overlap.
//
//kiln:kernel
func Saxpy(t dsl.Thread, y, x []float32, a float32) {
	step := t.GlobalSize()
	i := t.Global()
	for ; i+3*step < len(y); i += 4 * step {
		x0, x1, x2, x3 := x[i], x[i+step], x[i+2*step], x[i+3*step]
		y0, y1, y2, y3 := y[i], y[i+step], y[i+2*step], y[i+3*step]
		y[i] = a*x0 + y0
		y[i+step] = a*x1 + y1
		y[i+2*step] = a*x2 + y2
		y[i+3*step] = a*x3 + y3
	}
	for ; i < len(y); i += step {
		y[i] = a*x[i] + y[i]
	}
}

// SaxpyTile is Saxpy for a grid of len(y)/(4·block) blocks, rounded up: a block
// takes one run of memory and is done, and the hardware hands out the blocks.
//
//kiln:kernel
func SaxpyTile(t dsl.Thread, y, x []float32, a float32) {
	step := t.BlockDimX()
	i := t.BlockX()*4*step + t.ThreadX()
	if i+3*step < len(y) {
		x0, x1, x2, x3 := x[i], x[i+step], x[i+2*step], x[i+3*step]
		y0, y1, y2, y3 := y[i], y[i+step], y[i+2*step], y[i+3*step]
		y[i] = a*x0 + y0
		y[i+step] = a*x1 + y1
		y[i+2*step] = a*x2 + y2
		y[i+3*step] = a*x3 + y3
		return
	}
	for ; i < len(y); i += step {
		y[i] = a*x[i] + y[i]
	}
}
