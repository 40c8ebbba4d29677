package tile

import "github.com/gokiln/kiln/dsl"

// storeBuffers is how many staging buffers a warp has in shared memory: one is filled while the other
// is copied to global memory.
const storeBuffers = 2

// storeRows is how many rows a warp multiplies by warpgroup instructions.
const storeRows = 16

// Store stores what f makes of the sums of the tile at (row, col) in plane of the tensor that m
// describes, of which a row is a multiple of 16 bytes, and a box 128 bytes of as many rows as a warp
// multiplies. f gets two neighbouring
// sums of a row at a time, the first in an even column, and those beyond the edge, which are not
// stored. It is for products with bulk copies, in place of [EachPair]: the copies go on while the next
// product is made. The slice has the type of the results, and is not read.
func Store[O, T, C dsl.Number](t dsl.Thread, _ []O, _ []T, sums []C, m dsl.TensorMap, row, col, plane int, c *Config, f func(row, col int, v, v2 C) [2]O) {
	storeBoxes[O, T, C](t, row, col, c, func(r, q, i int) [2]O { return f(r, q, sums[i], sums[i+1]) }, func(buffers []O, at, r, q int) {
		if t.Lane() == 0 {
			dsl.StoreTensorAsync(t, buffers, at, m, q, r, plane)
		}
	})
}

// StoreElements is how many elements of the result [Store] has in shared memory.
func (c *Config) StoreElements() int {
	return int(c.Warps()) * storeBuffers * storeRows * int(c.boxColumns())
}

// StoreGated is [Store] for a product with two factors B, see [EachGated].
func StoreGated[O, T, C dsl.Number](t dsl.Thread, _ []O, _ []T, sums []C, m dsl.TensorMap, row, col, plane int, c *Config, f func(row, col int, v, v2, up, up2 C) [2]O) {
	half := c.half()
	storeBoxes[O, T, C](t, row, col, &half, func(r, q, i int) [2]O {
		i, up := gatedPlace[T, C](t, i, &half)
		return f(r, q, sums[i], sums[i+1], sums[up], sums[up+1])
	}, func(buffers []O, at, r, q int) {
		if t.Lane() == 0 {
			dsl.StoreTensorAsync(t, buffers, at, m, q, r, plane)
		}
	})
}

// StoreRows is [Store] of the rows in front of end, for tiles below which other blocks store. A warp
// that has others, too, stores its own in vectors: in out, whose rows are stride elements apart, a
// multiple of a vector, and have so many columns, likewise.
func StoreRows[O, T, C dsl.Number](t dsl.Thread, out []O, _ []T, sums []C, m dsl.TensorMap, row, col, end, stride, columns int, c *Config, f func(row, col int, v, v2 C) [2]O) {
	high, chunk := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), chunkBytes/max(int(c.OutSize), 1)
	whole := row+(t.Warp()+1)*high <= end
	if !whole && t.Lane() == 0 {
		dsl.StoreTensorWait(t, 0) // from here on nobody counts copies
	}
	storeBoxes[O, T, C](t, row, col, c, func(r, q, i int) [2]O { return f(r, q, sums[i], sums[i+1]) }, func(buffers []O, at, r, q int) {
		if whole {
			if t.Lane() == 0 {
				dsl.StoreTensorAsync(t, buffers, at, m, q, r, 0)
			}
			return
		}
		for i := t.Lane(); i < high*panel; i += t.WarpSize() {
			down, right := i/panel, i%panel
			if r+down < end && q+right*chunk < columns {
				from, to := at/chunk+down*panel+(right^down%panel), ((r+down)*stride+q)/chunk+right
				copyVec(out, to, buffers, from, c.OutSize)
			}
		}
	})
}

// copyVec copies vector j of from to vector i of to, 16 bytes of elements of a size.
func copyVec[O dsl.Number](to []O, i int, from []O, j int, size dsl.ConstInt) {
	switch size {
	case 1:
		dsl.StoreVec(to, i, dsl.LoadVec[[16]O](from, j))
	case 2:
		dsl.StoreVec(to, i, dsl.LoadVec[[8]O](from, j))
	case 4:
		dsl.StoreVec(to, i, dsl.LoadVec[[4]O](from, j))
	default:
		dsl.StoreVec(to, i, dsl.LoadVec[[2]O](from, j))
	}
}

// storeBoxes puts what f makes of the sums at places i and i + 1 of the tile at (row, col) into staging
// buffers of the warp, a box at a time, and has store begin to store the one at (r, q) from index at on.
func storeBoxes[O, T, C dsl.Number](t dsl.Thread, row, col int, c *Config, f func(row, col, i int) [2]O, store func(buffers []O, at, r, q int)) {
	high, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	length := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC))
	wide := c.boxColumns()
	size := high * int(wide)
	buffers := dsl.SharedSlice[O](t, c.Warps()*storeBuffers*dsl.MatrixShape[T, C](t, dsl.MatrixM)*wide)
	down := t.Warp() * high
	pending, boxes := dsl.ConstInt(storeBuffers-1), (c.N+wide-1)/wide
	if boxes%storeBuffers != 0 {
		pending = 0 // the next tile begins with the buffer that this one ends with
	}
	//kiln:unroll
	for p := range int(boxes) {
		first := min(p*int(wide), int(c.N-wide)) // the last box may store columns of the one before again
		if t.Lane() == 0 {
			dsl.StoreTensorWait(t, pending)
		}
		t.SyncWarp()
		at := (t.Warp()*storeBuffers + p%storeBuffers) * size
		for j := range int(wide) / n {
			for e := 0; e < length; e += 2 {
				r, q := dsl.MatrixRow[T](t, dsl.MatrixC, e), j*n+dsl.MatrixCol[T](t, dsl.MatrixC, e)
				i := (first/n+j)*length + e
				x, y := row+down+r, col+first+q
				chunk := int(wide) / panel
				to := at + r*int(wide) + (q/chunk^r%panel)*chunk + q%chunk
				dsl.StoreVec(buffers, to>>1, f(x, y, i))
			}
		}
		dsl.AsyncFence()
		t.SyncWarp()
		store(buffers, at, row+down, col+first)
	}
}
