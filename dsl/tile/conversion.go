package tile

import "github.com/gokiln/kiln/dsl"

// Convert stores the sums of a product of type T as type D, in the order in which products of type U
// have sums of that type: of the same part of the tile, so that [Map], [ReduceRows], [EachPair] and the
// others take them with factors of type U, and [MultiplySums] does. Sums of 8-bit integers, say, become
// float32 numbers that are scaled, and are factor A of a product of BF16.
//
// Where both orders are the same the sums stay in registers. Elsewhere they go through shared memory,
// some rows of the warp at a time, which takes no barrier of the block. The Config is that of the tile,
// of which M, N, Down and Across count. The slices of factors say what types they have, and are not
// read.
func Convert[U, D, T, C dsl.Number](t dsl.Thread, _ []U, to []D, _ []T, sums []C, c *Config) {
	if sameOrder[U, D, T, C](t) {
		for i := range int(c.Sums(t)) {
			to[i] = dsl.Convert[D](sums[i])
		}
		return
	}
	high := max(dsl.MatrixShape[T, C](t, dsl.MatrixM), dsl.MatrixShape[U, D](t, dsl.MatrixM)) // rows at a time
	pitch := c.N/c.Across + convertPad
	buffer := dsl.SharedSlice[D](t, c.Warps()*high*pitch)
	base := t.Warp() * int(high*pitch)
	//kiln:unroll
	for p := range int(c.M / c.Down / high) {
		t.SyncWarp() // lanes may still be reading
		eachOfRows[T, C](t, c, p, int(high), func(r, q, i int) { buffer[base+r*int(pitch)+q] = dsl.Convert[D](sums[i]) })
		t.SyncWarp()
		eachOfRows[U, D](t, c, p, int(high), func(r, q, i int) { to[i] = buffer[base+r*int(pitch)+q] })
	}
}

// convertPad is how many elements rows have between them in shared memory, so that sums of lanes of a
// warp are in different banks.
const convertPad = 8

// sameOrder reports whether lanes have the same sums of products of both types: a test of package
// compiler/matrix says that instructions that agree in these facts do in all.
func sameOrder[U, D, T, C dsl.Number](t dsl.Thread) bool {
	return dsl.MatrixShape[U, D](t, dsl.MatrixM) == dsl.MatrixShape[T, C](t, dsl.MatrixM) &&
		dsl.MatrixShape[U, D](t, dsl.MatrixN) == dsl.MatrixShape[T, C](t, dsl.MatrixN) &&
		dsl.MatrixShape[U, D](t, dsl.MatrixNext) == dsl.MatrixShape[T, C](t, dsl.MatrixNext) &&
		dsl.MatrixShape[U, D](t, dsl.MatrixRunC) == dsl.MatrixShape[T, C](t, dsl.MatrixRunC) &&
		dsl.MatrixShape[U, D](t, dsl.MatrixRowLanes) == dsl.MatrixShape[T, C](t, dsl.MatrixRowLanes)
}

// eachOfRows calls f for the thread's sums in part number p of so many rows of the warp's part: where
// they are in it, and which sum it is.
func eachOfRows[T, C dsl.Number](t dsl.Thread, c *Config, p, rows int, f func(row, col, i int)) {
	m, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	if m == 0 {
		cols := int(c.N/c.Across) / t.WarpSize()
		for r := range rows {
			for q := range cols {
				f(r, q*t.WarpSize()+t.Lane(), (p*rows+r)*cols+q)
			}
		}
		return
	}
	length, across := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)), int(c.N/c.Across)/n
	for i := range rows / m * across {
		for e := range length {
			f(i/across*m+dsl.MatrixRow[T](t, dsl.MatrixC, e), i%across*n+dsl.MatrixCol[T](t, dsl.MatrixC, e), (p*rows/m*across+i)*length+e)
		}
	}
}
