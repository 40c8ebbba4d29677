package kernels

import "github.com/gokiln/kiln/dsl"

// Limits of the shared memory below. A launch keeps to them; see BlurRows and
// BlurCols.
const (
	// MaxRadius is how many pixels a blur may reach to each side.
	MaxRadius = 64

	// RowThreads is the most threads that a block of BlurRows may have.
	RowThreads = 256

	// ColThreads is the most threads along x that a block of BlurCols may
	// have, and ColTile the number of rows that a block works on at a time.
	ColThreads = 32
	ColTile    = 32
)

// BlurRows writes src, blurred along its rows, to dst. weights[k] is the weight
// of the pixels at distance k; there are at most MaxRadius+1.
//
// Blocks are one-dimensional, of up to RowThreads threads: a block takes as
// many pixels of a row, and the grid covers the width. Each pixel is read from
// global memory once per block, together with the halo that the block's
// neighbours own, and then len(weights)*2-1 times from shared memory.
//
//kiln:kernel
func BlurRows(t dsl.Thread, dst, src, weights []float32, width, height int) {
	line := dsl.Shared[[RowThreads + 2*MaxRadius]float32](t)
	radius := len(weights) - 1
	first := t.BlockX() * t.BlockDimX()
	for y := t.BlockY(); y < height; y += t.GridDimY() {
		for i := t.ThreadX(); i < t.BlockDimX()+2*radius; i += t.BlockDimX() {
			line[i] = src[y*width+clamp(first+i-radius, width)]
		}
		t.Sync()
		if x := first + t.ThreadX(); x < width {
			at := t.ThreadX() + radius
			sum := float32(weights[0] * line[at])
			for k := 1; k <= radius; k++ {
				sum += float32(weights[k] * (line[at-k] + line[at+k]))
			}
			dst[y*width+x] = sum
		}
		t.Sync() // the next row goes where others may still be reading
	}
}

// BlurCols writes src, blurred along its columns, to dst, with weights as in
// [BlurRows].
//
// Blocks are up to ColThreads wide, and the grid covers the width. A block
// takes ColTile rows at a time, whatever its height. Threads that are
// neighbours along x read neighbours in memory.
//
//kiln:kernel
func BlurCols(t dsl.Thread, dst, src, weights []float32, width, height int) {
	tile := dsl.Shared[[ColTile + 2*MaxRadius][ColThreads]float32](t)
	radius := len(weights) - 1
	x, column := t.GlobalX(), t.ThreadX()
	for top := t.BlockY() * ColTile; top < height; top += t.GridDimY() * ColTile {
		for j := t.ThreadY(); j < ColTile+2*radius; j += t.BlockDimY() {
			// Threads right of the picture load the last column, so that all
			// of them come to the barrier.
			tile[j][column] = src[clamp(top+j-radius, height)*width+clamp(x, width)]
		}
		t.Sync()
		for j := t.ThreadY(); j < ColTile; j += t.BlockDimY() {
			if y := top + j; x < width && y < height {
				at := j + radius
				sum := float32(weights[0] * tile[at][column])
				for k := 1; k <= radius; k++ {
					sum += float32(weights[k] * (tile[at-k][column] + tile[at+k][column]))
				}
				dst[y*width+x] = sum
			}
		}
		t.Sync()
	}
}
