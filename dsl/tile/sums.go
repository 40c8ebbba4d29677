package tile

import "github.com/gokiln/kiln/dsl"

// far is a distance to a column that no matrix has.
const far = 1 << 30

// EachPair calls f for all sums of the thread, two at a time: those of a row and of columns c and
// c + next of the tile. next is a constant: 1 where the device's fragments have neighbours, more
// where they do not, and beyond the edge of any matrix where a thread has no second sum in the row.
// The slice of factors says what type they have, and is not read.
func EachPair[T dsl.Number, C dsl.Number](t dsl.Thread, _ []T, sums []C, c *Config, f func(row, col, next int, v, v2 C)) {
	eachPlace[T, C](t, c, func(row, col, next, i, j int) { f(row, col, next, sums[i], sums[j]) })
}

// EachInside calls f for the sums of the thread in the first rows and columns of the tile, so many of
// each: those that a matrix with an edge in the tile has, one at a time. The slice of factors says what
// type they have, and is not read.
func EachInside[T, C dsl.Number](t dsl.Thread, _ []T, sums []C, rows, columns int, c *Config, f func(row, col int, v C)) {
	eachSum[T, C](t, c, func(row, col, i, _, _ int) {
		if row < rows && col < columns {
			f(row, col, sums[i])
		}
	})
}

// EachGated is [EachPair] for a product with two factors B: of the same row and columns, f gets the
// sums of the first and then those of the second. Columns are counted in one of them: the tile has
// half of c.N.
func EachGated[T dsl.Number, C dsl.Number](t dsl.Thread, _ []T, sums []C, c *Config, f func(row, col, next int, v, v2, up, up2 C)) {
	half := c.half()
	eachPlace[T, C](t, &half, func(row, col, next, i, j int) {
		i, up := gatedPlace[T, C](t, i, &half)
		j, up2 := gatedPlace[T, C](t, j, &half)
		f(row, col, next, sums[i], sums[j], sums[up], sums[up2])
	})
}

// half is the configuration of half of the columns.
func (c *Config) half() Config {
	h := *c
	h.N /= 2
	return h
}

// gatedPlace returns where the sums of both factors B are of which one half would have place i.
func gatedPlace[T, C dsl.Number](t dsl.Thread, i int, half *Config) (first, second int) {
	row := int(half.N) / t.WarpSize() // sums of a row
	if n := int(dsl.MatrixShape[T, C](t, dsl.MatrixN)); n > 0 {
		row = int(half.N) / n * int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC))
	}
	first = i + i/row*row
	return first, first + row
}

// eachPlace is [EachPair] with the places of two sums in place of them.
func eachPlace[T dsl.Number, C dsl.Number](t dsl.Thread, c *Config, f func(row, col, next, i, j int)) {
	row, col := c.part(t)
	m, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	if m == 0 {
		cols := int(c.N/c.Across) / t.WarpSize()
		if cols%2 != 0 {
			for i := range int(c.Sums(t)) {
				f(row+i/cols, col+i%cols*t.WarpSize()+t.Lane(), far, i, i)
			}
			return
		}
		for i := 0; i < int(c.Sums(t)); i += 2 {
			f(row+i/cols, col+i%cols*t.WarpSize()+t.Lane(), t.WarpSize(), i, i+1)
		}
		return
	}
	length, across := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)), int(c.N/c.Across)/n
	next := int(dsl.MatrixShape[T, C](t, dsl.MatrixNext))
	//kiln:unroll
	for i := range int(c.Sums(t)) / length {
		for e := 0; e < length; e += 2 {
			r, q := row+i/across*m+dsl.MatrixRow[T](t, dsl.MatrixC, e), col+i%across*n+dsl.MatrixCol[T](t, dsl.MatrixC, e)
			f(r, q, next, i*length+e, i*length+e+1)
		}
	}
}

// AddScaled is [Add] of sums that are scaled by a factor of their row and one of their column, which is
// the same for so many columns from a multiple of them on. The slice of factors says what type they
// have, and is not read.
func AddScaled[T, C dsl.Number](t dsl.Thread, _ []T, sums, part []C, c *Config, wide dsl.ConstInt, ofRow, ofCol func(i int) C) {
	row, col := c.part(t)
	m, n := dsl.MatrixShape[T, C](t, dsl.MatrixM), dsl.MatrixShape[T, C](t, dsl.MatrixN)
	length := dsl.MatrixShape[T, C](t, dsl.MatrixLenC)
	if m == 0 {
		cols := int(c.N/c.Across) / t.WarpSize()
		for i := range int(c.Sums(t)) {
			sums[i] += part[i] * (ofRow(row+i/cols) * ofCol(col+i%cols*t.WarpSize()+t.Lane()))
		}
		return
	}
	across := c.N / c.Across / n
	rows := dsl.LocalSlice[C](length)
	for i := range int(c.M / c.Down / m) {
		for e := range int(length) {
			rows[e] = ofRow(row + i*int(m) + dsl.MatrixRow[T](t, dsl.MatrixC, e))
		}
		var scale C
		for j := range int(across) {
			for e := range int(length) {
				q := col + j*int(n) + dsl.MatrixCol[T](t, dsl.MatrixC, e)
				switch {
				case wide == 1:
					scale = ofCol(q)
				case j*int(n)%int(wide) == 0 && e == 0:
					scale = ofCol(col + j*int(n))
				}
				at := (i*int(across)+j)*int(length) + e
				sums[at] += part[at] * (rows[e] * scale)
			}
		}
	}
}
