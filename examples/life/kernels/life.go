package kernels

import "github.com/gokiln/kiln/dsl"

// Alive is the state of a living cell. One that dies fades to 0, by 1 in each generation, so
// that what moves leaves a trail.
const Alive uint8 = 15

// Step computes a generation of Conway's game of life: a cell is born with three living
// neighbours, and lives on with two or three. Cells at the border of the world stay dead.
// The grid has a thread for each of size × size cells.
//
//kiln:kernel
func Step(t dsl.Thread, next, cells []uint8, size int) {
	x, y := t.GlobalX(), t.GlobalY()
	if x < 1 || y < 1 || x >= size-1 || y >= size-1 {
		return
	}
	at := y*size + x
	state, neighbours := cells[at], -alive(cells[at])
	for dy := -1; dy <= 1; dy++ {
		row := at + dy*size
		neighbours += alive(cells[row-1]) + alive(cells[row]) + alive(cells[row+1])
	}
	switch {
	case neighbours == 3 || neighbours == 2 && state == Alive:
		state = Alive
	case state > 0:
		state--
	}
	next[at] = state
}

// alive is 1 for a living cell, and 0 for a dead one.
func alive(state uint8) int32 {
	if state == Alive {
		return 1
	}
	return 0
}

// Paint draws the upper left of a world of size × size cells: each is a square of scale × scale pixels.
//
//kiln:kernel
func Paint(t dsl.Thread, pixels, cells []uint8, width, height, scale, size int) {
	if x, y := t.GlobalX(), t.GlobalY(); x < width && y < height {
		pixels[y*width+x] = cells[y/scale*size+x/scale]
	}
}
