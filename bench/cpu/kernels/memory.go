package kernels

import "github.com/gokiln/kiln/dsl"

// Transpose moves tiles of 32 by 32 through shared memory. A block has 32 by 2
// threads. Rows of a tile are pad numbers apart, 1 where columns would lie in one
// bank of shared memory, as on a GPU. The sides are multiples of 32.
//
//kiln:kernel
func Transpose(t dsl.Thread, out, in []float32, rows, cols int, pad dsl.ConstInt) {
	pitch := 32 + int(pad)
	tile := dsl.SharedSlice[float32](t, 32*(32+pad))
	tx, ty := t.ThreadX()%32, t.ThreadY()%2 // which is no change, but says what the indices cannot exceed
	x, y := t.BlockX()*32+tx, t.BlockY()*32+ty
	for j := 0; j < 32; j += 2 {
		tile[(ty+j)*pitch+tx] = in[(y+j)*cols+x]
	}
	t.Sync()
	x, y = t.BlockY()*32+tx, t.BlockX()*32+ty
	for j := 0; j < 32; j += 2 {
		out[(y+j)*rows+x] = tile[tx*pitch+ty+j]
	}
}

// Histogram counts bytes, four in a word, in shared memory first.
//
//kiln:kernel
func Histogram(t dsl.Thread, bins, x []uint32) {
	counts := dsl.Shared[[256]uint32](t)
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		counts[i] = 0
	}
	t.Sync()
	first, end := part(t, len(x))
	in := x[first:end]
	for i := t.ThreadX(); i < len(in); i += t.BlockDimX() {
		w := in[i]
		dsl.AtomicAdd(&counts[w&255], 1)
		dsl.AtomicAdd(&counts[w>>8&255], 1)
		dsl.AtomicAdd(&counts[w>>16&255], 1)
		dsl.AtomicAdd(&counts[w>>24], 1)
	}
	t.Sync()
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		dsl.AtomicAdd(&bins[i], counts[i])
	}
}

// Stencil is a step of the heat equation on a grid of nx·ny·nz points. Each thread
// walks along a part of y, one for each block there, with three values of its column
// in registers. Long walks would leave the first cache before the neighbours come.
//
//kiln:kernel
func Stencil(t dsl.Thread, out, in []float32, nx, ny int, a, b float32) {
	x := t.GlobalX() + 1
	if x >= nx-1 {
		return
	}
	plane, each := nx*ny, (ny-2+t.GridDimY()-1)/t.GridDimY()
	first := t.BlockY() * each
	at := (t.BlockZ()+1)*plane + first*nx + x
	before, here := in[at], in[at+nx]
	for y := first; y < min(first+each, ny-2); y++ {
		at += nx
		after := in[at+nx]
		sum := in[at-1] + in[at+1] + before + after + in[at-plane] + in[at+plane]
		out[at] = dsl.FMA(a, here, b*sum)
		before, here = here, after
	}
}
