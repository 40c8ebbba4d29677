package kernels

import "github.com/gokiln/kiln/dsl"

// Transpose moves tiles of 32 by 32 through shared memory. A block has 32 by 4
// threads: the eight rows of each then fit in a set of the L1 cache, as they have to
// where rows are 4 KiB long. Rows of a tile are pad numbers apart, 1 where columns would
// lie in one bank of shared memory, as on a GPU. The sides are multiples of 32.
//
//kiln:kernel
func Transpose(t dsl.Thread, out, in []float32, rows, cols int, pad dsl.ConstInt) {
	pitch := 32 + int(pad)
	tile := dsl.SharedSlice[float32](t, 32*(32+pad))
	tx, ty := t.ThreadX()%32, t.ThreadY()%4 // which is no change, but says what the indices cannot exceed
	x, y := t.BlockX()*32+tx, t.BlockY()*32+ty
	for j := 0; j < 32; j += 4 {
		tile[(ty+j)*pitch+tx] = in[(y+j)*cols+x]
	}
	t.Sync()
	x, y = t.BlockY()*32+tx, t.BlockX()*32+ty
	for j := 0; j < 32; j += 4 {
		out[(y+j)*rows+x] = tile[tx*pitch+ty+j]
	}
}

// Histogram counts bytes, four in a word, in shared memory first: in four tables, so
// that equal bytes of a word do not wait for each other.
//
//kiln:kernel
func Histogram(t dsl.Thread, bins, x []uint32) {
	counts := dsl.Shared[[4][256]uint32](t)
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		for k := range counts {
			counts[k][i] = 0
		}
	}
	t.Sync()
	first, end := part(t, len(x))
	in := x[first:end]
	for i := t.ThreadX(); i < len(in); i += t.BlockDimX() {
		w := in[i]
		dsl.AtomicAdd(&counts[0][w&255], 1)
		dsl.AtomicAdd(&counts[1][w>>8&255], 1)
		dsl.AtomicAdd(&counts[2][w>>16&255], 1)
		dsl.AtomicAdd(&counts[3][w>>24], 1)
	}
	t.Sync()
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		dsl.AtomicAdd(&bins[i], counts[0][i]+counts[1][i]+counts[2][i]+counts[3][i])
	}
}

// Stencil is a step of the heat equation on a grid of nx·ny·nz points. Threads go along
// the rows, as the twin does: a column of the grid lies in few sets of the L1 cache.
// The rows are slices, checked here and not for each point.
//
//kiln:kernel
func Stencil(t dsl.Thread, out, in []float32, nx, ny int, a, b float32) {
	plane := nx * ny
	for y := t.GlobalY() + 1; y < ny-1; y += t.GridDimY() * t.BlockDimY() {
		at, n := (t.BlockZ()+1)*plane+y*nx+1, nx-2
		to, here, left, right := out[at:][:n], in[at:][:n], in[at-1:][:n], in[at+1:][:n]
		above, below, before, behind := in[at-nx:][:n], in[at+nx:][:n], in[at-plane:][:n], in[at+plane:][:n]
		for x := t.ThreadX(); x < n; x += t.BlockDimX() {
			sum := left[x] + right[x] + above[x] + below[x] + before[x] + behind[x]
			to[x] = dsl.FMA(a, here[x], b*sum)
		}
	}
}
