package kernels

import "github.com/gokiln/kiln/dsl"

// Limits of the shared memory of BlurRows.
const (
	// MaxRadius is how many pixels a blur may reach to each side.
	MaxRadius = 64

	// RowPiece is how many pixels of a row a block works on at a time.
	RowPiece = 1024
)

// BlurRows writes src, blurred along its rows, to dst. weights[k] is the weight
// of the pixels at distance k; there are at most MaxRadius+1.
//
// Blocks are one-dimensional. Each takes RowPiece pixels of a row, whatever its
// size, and the grid covers the width. Each pixel is read from global memory
// once per block, together with the halo that the block's neighbours own, and
// then len(weights)*2-1 times from shared memory.
//
//kiln:kernel
func BlurRows(t dsl.Thread, dst, src, weights []float32, width, height int) {
	line := dsl.Shared[[RowPiece + 2*MaxRadius]float32](t)
	radius := len(weights) - 1
	first := t.BlockX() * RowPiece
	n := min(RowPiece, width-first)
	for y := t.BlockY(); y < height; y += t.GridDimY() {
		row := y * width
		for i := t.ThreadX(); i < n+2*radius; i += t.BlockDimX() {
			line[i] = src[row+clamp(first+i-radius, width)]
		}
		t.Sync()
		for i := t.ThreadX(); i < n; i += t.BlockDimX() {
			at := i + radius
			sum := float32(weights[0] * line[at])
			for k := 1; k <= radius; k++ {
				sum += float32(weights[k] * (line[at-k] + line[at+k]))
			}
			dst[row+first+i] = sum
		}
		t.Sync() // the next row goes where others may still be reading
	}
}

// BlurCols writes src, blurred along its columns, to dst, with weights as in
// [BlurRows].
//
// It needs no shared memory: threads that are neighbours along x read neighbours
// in memory, and rows that were read a moment ago are still in a cache.
//
//kiln:kernel
func BlurCols(t dsl.Thread, dst, src, weights []float32, width, height int) {
	last := (height - 1) * width // where the last row begins
	for y := t.GlobalY(); y < height; y += t.GridDimY() * t.BlockDimY() {
		row := y * width
		for x := t.GlobalX(); x < width; x += t.GlobalSize() {
			sum := float32(weights[0] * src[row+x])
			above, below := row, row
			for k := 1; k < len(weights); k++ {
				above, below = max(above-width, 0), min(below+width, last)
				sum += float32(weights[k] * (src[above+x] + src[below+x]))
			}
			dst[row+x] = sum
		}
	}
}
