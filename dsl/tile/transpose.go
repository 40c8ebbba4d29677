package tile

import "github.com/gokiln/kiln/dsl"

// columnPad is how many elements columns have between them in shared memory, so that sums of lanes of
// a warp are in different banks.
const columnPad = 4

// EachTransposed calls f for all sums of the warp's part of the tile, converted to another type, two at
// a time: those of column col and of rows row, an even one, and row + 1. Neighbouring lanes have
// neighbouring rows, so that stores of the transposed tile are coalesced; [EachPair] is for the tile
// itself. Sums go through shared memory, some columns of the warp at a time, which takes no barrier of
// the block. A warp has an even number of rows. The slices have the types of the results and of the
// factors, and are not read.
func EachTransposed[O, T, C dsl.Number](t dsl.Thread, _ []O, _ []T, sums []C, c *Config, f func(row, col int, v, v2 O)) {
	wide := dsl.ConstInt(t.WarpSize()) // columns at a time
	if n := dsl.MatrixShape[T, C](t, dsl.MatrixN); n > 0 {
		wide = n
	}
	rows := c.M / c.Down
	pitch := rows + columnPad
	buffer := dsl.SharedSlice[O](t, c.Warps()*wide*pitch)
	base := t.Warp() * int(wide*pitch)
	row, col := c.part(t)
	//kiln:unroll
	for p := range int(c.N / c.Across / wide) {
		t.SyncWarp() // lanes may still be reading
		eachOfColumns[T, C](t, c, p, func(r, q, i int) { buffer[base+q*int(pitch)+r] = dsl.Convert[O](sums[i]) })
		t.SyncWarp()
		for i := t.Lane(); i < int(rows/2*wide); i += t.WarpSize() {
			r, q := i%int(rows/2)*2, i/int(rows/2)
			v := dsl.LoadVec[[2]O](buffer, (base+q*int(pitch)+r)/2)
			f(row+r, col+p*int(wide)+q, v[0], v[1])
		}
	}
}

// eachOfColumns calls f for the thread's sums in one of the parts of the warp's columns that
// [EachTransposed] takes: where they are in it, and which sum it is.
func eachOfColumns[T, C dsl.Number](t dsl.Thread, c *Config, part int, f func(row, col, i int)) {
	m, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	if m == 0 {
		cols := int(c.N/c.Across) / t.WarpSize()
		for r := range int(c.M / c.Down) {
			f(r, t.Lane(), r*cols+part)
		}
		return
	}
	length, across := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)), int(c.N/c.Across)/n
	for i := range int(c.M/c.Down) / m {
		for e := range length {
			f(i*m+dsl.MatrixRow[T](t, dsl.MatrixC, e), dsl.MatrixCol[T](t, dsl.MatrixC, e), (i*across+part)*length+e)
		}
	}
}
