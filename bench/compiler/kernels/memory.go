package kernels

import "github.com/gokiln/kiln/dsl"

// Saxpy adds a·x to y, one element a turn.
//
//kiln:kernel
func Saxpy(t dsl.Thread, y, x []float32, a float32) {
	for i := t.Global(); i < len(y); i += t.GlobalSize() {
		y[i] = a*x[i] + y[i]
	}
}

// Copy4 copies 16 bytes a thread.
//
//kiln:kernel
func Copy4(t dsl.Thread, out, in []float32) {
	if i := t.Global(); i < len(out)/4 {
		dsl.StoreVec(out, i, dsl.LoadVec[[4]float32](in, i))
	}
}

// Transpose moves tiles of 32 by 32 through shared memory, four elements a
// thread of a block of 32 by 8. The sides are multiples of 32.
//
//kiln:kernel
func Transpose(t dsl.Thread, out, in []float32, rows, cols int) {
	tile := dsl.Shared[[32][33]float32](t)
	x, y := t.BlockX()*32+t.ThreadX(), t.BlockY()*32+t.ThreadY()
	for j := 0; j < 32; j += 8 {
		tile[t.ThreadY()+j][t.ThreadX()] = in[(y+j)*cols+x]
	}
	t.Sync()
	x, y = t.BlockY()*32+t.ThreadX(), t.BlockX()*32+t.ThreadY()
	for j := 0; j < 32; j += 8 {
		out[(y+j)*rows+x] = tile[t.ThreadX()][t.ThreadY()+j]
	}
}

// Reduce writes the sum of each block's share of x.
//
//kiln:kernel
func Reduce(t dsl.Thread, out, x []float32) {
	sum := float32(0)
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		sum += x[i]
	}
	if sum = dsl.BlockSum(t, sum); t.ThreadX() == 0 {
		out[t.BlockX()] = sum
	}
}

// Histogram counts bytes, four in a word, in shared memory first.
//
//kiln:kernel
func Histogram(t dsl.Thread, bins, x []uint32) {
	part := dsl.Shared[[256]uint32](t)
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		part[i] = 0
	}
	t.Sync()
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		w := x[i]
		dsl.AtomicAdd(&part[w&255], 1)
		dsl.AtomicAdd(&part[w>>8&255], 1)
		dsl.AtomicAdd(&part[w>>16&255], 1)
		dsl.AtomicAdd(&part[w>>24], 1)
	}
	t.Sync()
	for i := t.ThreadX(); i < 256; i += t.BlockDimX() {
		dsl.AtomicAdd(&bins[i], part[i])
	}
}

// Stencil is a step of the heat equation on a grid of nx·ny·nz points: each
// thread walks along z with three values of its column in registers.
//
//kiln:kernel
func Stencil(t dsl.Thread, out, in []float32, nx, ny, nz int, a, b float32) {
	x, y := t.GlobalX()+1, t.GlobalY()+1
	if x >= nx-1 || y >= ny-1 {
		return
	}
	plane := nx * ny
	at := y*nx + x
	below, here := in[at], in[at+plane]
	for z := 1; z < nz-1; z++ {
		at += plane
		above := in[at+plane]
		sum := in[at-1] + in[at+1] + in[at-nx] + in[at+nx] + below + above
		out[at] = dsl.FMA(a, here, b*sum)
		below, here = here, above
	}
}
