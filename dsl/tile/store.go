package tile

import "github.com/gokiln/kiln/dsl"

// storeBuffers is how many staging buffers a warp has in shared memory: one is filled while the other
// is copied to global memory.
const storeBuffers = 2

// Store stores what f makes of the sums of the tile at (row, col) in plane of the tensor that m
// describes, of which a box is 128 bytes of as many rows as a warp multiplies. It is for products with
// bulk copies, in place of [EachPair]: the copies go on while the next product is made. The slice has
// the type of the results, and is not read.
func Store[O, T, C dsl.Number](t dsl.Thread, _ []O, _ []T, sums []C, m dsl.TensorMap, row, col, plane int, c *Config, f func(row, col int, v C) O) {
	high, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	length := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC))
	wide := c.boxColumns()
	size := high * int(wide)
	buffers := dsl.SharedSlice[O](t, c.Warps()*storeBuffers*dsl.MatrixShape[T, C](t, dsl.MatrixM)*wide)
	down := t.Warp() * high
	pending := dsl.ConstInt(storeBuffers - 1)
	if c.N/wide%storeBuffers != 0 {
		pending = 0 // the next tile begins with the buffer that this one ends with
	}
	for p := range int(c.N / wide) {
		if t.Lane() == 0 {
			dsl.StoreTensorWait(t, pending)
		}
		t.SyncWarp()
		at := (t.Warp()*storeBuffers + p%storeBuffers) * size
		for j := range int(wide) / n {
			for e := 0; e < length; e += 2 {
				r, q := dsl.MatrixRow[T](t, dsl.MatrixC, e), j*n+dsl.MatrixCol[T](t, dsl.MatrixC, e)
				i := (p*int(wide)/n+j)*length + e
				x, y := row+down+r, col+p*int(wide)+q
				chunk := int(wide) / panel
				to := at + r*int(wide) + (q/chunk^r%panel)*chunk + q%chunk
				dsl.StoreVec(buffers, to>>1, [2]O{f(x, y, sums[i]), f(x, y+1, sums[i+1])})
			}
		}
		dsl.AsyncFence()
		t.SyncWarp()
		if t.Lane() == 0 {
			dsl.StoreTensorAsync(t, buffers, at, m, col+p*int(wide), row+down, plane)
		}
	}
}
