package tile

import "github.com/gokiln/kiln/dsl"

// Rows is how many rows of the tile a thread has sums of: the length of a slice with a value for
// each of them, as [ReduceRows] makes and [MapRows] takes it. Threads with sums of one row have a
// copy of its value each. Which rows they are [EachRow] says. T is the type of the factors.
func Rows[T, C dsl.Number](t dsl.Thread, c *Config) dsl.ConstInt {
	if m := dsl.MatrixShape[T, C](t, dsl.MatrixM); m > 0 {
		return c.M / c.Down / m * (dsl.MatrixShape[T, C](t, dsl.MatrixLenC) / dsl.MatrixShape[T, C](t, dsl.MatrixRunC))
	}
	return c.M / c.Down
}

// Columns is [Rows] for columns.
func Columns[T, C dsl.Number](t dsl.Thread, c *Config) dsl.ConstInt {
	if n := dsl.MatrixShape[T, C](t, dsl.MatrixN); n > 0 {
		return c.N / c.Across / n * dsl.MatrixShape[T, C](t, dsl.MatrixRunC)
	}
	return c.N / c.Across / dsl.ConstInt(t.WarpSize())
}

// ReduceRows combines the sums of each row of the tile by op and stores the results in rows. op is
// commutative and associative, or nearly so: a thread combines its own sums along the row, then
// lanes are combined as in [dsl.WarpReduce], and then warps. All threads with sums of a row get the
// same bits. The slice of factors says what type they have, and is not read.
//
// All threads that multiply call it. It contains barriers if Across is more than 1; rows of a warp
// need none.
func ReduceRows[T, C dsl.Number](t dsl.Thread, x []T, sums, rows []C, c *Config, op func(a, b C) C) {
	eachSum[T, C](t, c, func(_, _, i, r, q int) {
		if q == 0 {
			rows[r] = sums[i]
		} else {
			rows[r] = op(rows[r], sums[i])
		}
	})
	JoinRows(t, x, rows, c, op)
}

// ReduceColumns is [ReduceRows] for columns. It contains barriers if Down is more than 1.
func ReduceColumns[T, C dsl.Number](t dsl.Thread, x []T, sums, columns []C, c *Config, op func(a, b C) C) {
	eachSum[T, C](t, c, func(_, _, i, r, q int) {
		if r == 0 {
			columns[q] = sums[i]
		} else {
			columns[q] = op(columns[q], sums[i])
		}
	})
	JoinColumns(t, x, columns, c, op)
}

// CombineRows combines the sums of the thread in each row with the values in rows, by op: nothing of other
// threads. See [JoinRows].
func CombineRows[T, C dsl.Number](t dsl.Thread, _ []T, sums, rows []C, c *Config, op func(a, b C) C) {
	eachSum[T, C](t, c, func(_, _, i, r, _ int) { rows[r] = op(rows[r], sums[i]) })
}

// JoinRows is the part of [ReduceRows] between threads: each has a value of its own for every row that
// it has sums of, and gets what op makes of those of all threads with sums of the row.
func JoinRows[T, C dsl.Number](t dsl.Thread, _ []T, rows []C, c *Config, op func(a, b C) C) {
	lanes := rowLanes[T, C](t)
	joinLanes(t, rows, Rows[T, C](t, c), lanes, op)
	if c.Across > 1 {
		parts := dsl.SharedSlice[C](t, c.M*c.Across)
		joinWarps(t, parts, rows, int(c.Across), t.Warp()%int(c.Across), t.Lane()&lanes == 0, op, func(f func(row, i int)) { eachRow[T, C](t, c, f) })
	}
}

// JoinColumns is [JoinRows] for columns.
func JoinColumns[T, C dsl.Number](t dsl.Thread, _ []T, columns []C, c *Config, op func(a, b C) C) {
	lanes := columnLanes[T, C](t)
	joinLanes(t, columns, Columns[T, C](t, c), lanes, op)
	if c.Down > 1 {
		parts := dsl.SharedSlice[C](t, c.N*c.Down)
		joinWarps(t, parts, columns, int(c.Down), t.Warp()/int(c.Across), t.Lane()&lanes == 0, op, func(f func(col, i int)) { eachColumn[T, C](t, c, f) })
	}
}

// rowLanes is the bits of a lane's number in which lanes with sums of one row differ: all of them
// where there is no matrix instruction.
func rowLanes[T, C dsl.Number](t dsl.Thread) int {
	if dsl.MatrixShape[T, C](t, dsl.MatrixM) > 0 {
		return int(dsl.MatrixShape[T, C](t, dsl.MatrixRowLanes))
	}
	return t.WarpSize() - 1
}

// columnLanes is rowLanes for columns: the other bits.
func columnLanes[T, C dsl.Number](t dsl.Thread) int {
	return rowLanes[T, C](t) ^ (t.WarpSize() - 1)
}

// joinLanes combines the first n values of lanes whose numbers differ in some bits, the lowest first.
func joinLanes[C dsl.Number](t dsl.Thread, values []C, n dsl.ConstInt, lanes int, op func(a, b C) C) {
	for d := 1; d < t.WarpSize(); d *= 2 {
		if lanes&d != 0 {
			for i := range int(n) {
				values[i] = op(values[i], dsl.ShuffleXor(t, values[i], d))
			}
		}
	}
}

// joinWarps combines the values of n warps that share rows or columns, of which each says which it
// has, in the order of the warps. Of those of its lanes that have the same one is first.
func joinWarps[C dsl.Number](t dsl.Thread, parts, values []C, n, warp int, first bool, op func(a, b C) C, each func(f func(at, i int))) {
	t.Sync() // an earlier call may still be reading
	if first {
		each(func(at, i int) { parts[at*n+warp] = values[i] })
	}
	t.Sync()
	each(func(at, i int) {
		v := parts[at*n]
		for w := 1; w < n; w++ {
			v = op(v, parts[at*n+w])
		}
		values[i] = v
	})
}

// EachRow calls f for the rows of the tile that the thread has sums of, with the number of their value
// in a slice of [Rows] values. first is true in one of the threads that have the row.
func EachRow[T, C dsl.Number](t dsl.Thread, _ []T, _ []C, c *Config, f func(row, i int, first bool)) {
	first := t.Lane()&rowLanes[T, C](t) == 0 && t.Warp()%int(c.Across) == 0
	eachRow[T, C](t, c, func(row, i int) { f(row, i, first) })
}

// EachColumn is [EachRow] for columns.
func EachColumn[T, C dsl.Number](t dsl.Thread, _ []T, _ []C, c *Config, f func(col, i int, first bool)) {
	first := t.Lane()&columnLanes[T, C](t) == 0 && t.Warp()/int(c.Across) == 0
	eachColumn[T, C](t, c, func(col, i int) { f(col, i, first) })
}

// eachRow is [EachRow] without saying which thread is first.
func eachRow[T, C dsl.Number](t dsl.Thread, c *Config, f func(row, i int)) {
	row, _ := c.part(t)
	m := int(dsl.MatrixShape[T, C](t, dsl.MatrixM))
	if m == 0 {
		for i := range int(c.M / c.Down) {
			f(row+i, i)
		}
		return
	}
	run, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixRunC)), int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)/dsl.MatrixShape[T, C](t, dsl.MatrixRunC))
	//kiln:unroll
	for i := range int(Rows[T, C](t, c)) {
		f(row+i/n*m+dsl.MatrixRow[T](t, dsl.MatrixC, i%n*run), i)
	}
}

// eachColumn is eachRow for columns.
func eachColumn[T, C dsl.Number](t dsl.Thread, c *Config, f func(col, i int)) {
	_, col := c.part(t)
	n := int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	if n == 0 {
		for i := range int(Columns[T, C](t, c)) {
			f(col+i*t.WarpSize()+t.Lane(), i)
		}
		return
	}
	run := int(dsl.MatrixShape[T, C](t, dsl.MatrixRunC))
	//kiln:unroll
	for i := range int(Columns[T, C](t, c)) {
		f(col+i/run*n+dsl.MatrixCol[T](t, dsl.MatrixC, i%run), i)
	}
}

// eachSum calls f for all sums of the thread: where they are in the tile, and which of the thread's
// sums, rows and columns they are.
func eachSum[T, C dsl.Number](t dsl.Thread, c *Config, f func(row, col, i, r, q int)) {
	row, col := c.part(t)
	m, n := int(dsl.MatrixShape[T, C](t, dsl.MatrixM)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	if m == 0 {
		cols := int(c.N/c.Across) / t.WarpSize()
		for r := range int(c.M / c.Down) {
			for q := range cols {
				f(row+r, col+q*t.WarpSize()+t.Lane(), r*cols+q, r, q)
			}
		}
		return
	}
	length, run, across := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)), int(dsl.MatrixShape[T, C](t, dsl.MatrixRunC)), int(c.N/c.Across)/n
	//kiln:unroll
	for i := range int(c.Sums(t)) / length {
		for e := range length {
			r, q := row+i/across*m+dsl.MatrixRow[T](t, dsl.MatrixC, e), col+i%across*n+dsl.MatrixCol[T](t, dsl.MatrixC, e)
			f(r, q, i*length+e, i/across*(length/run)+e/run, i%across*run+e%run)
		}
	}
}

// Map replaces each sum of the thread by what f makes of it and of where it is in the tile. A mask is
// such a function, too: it returns what shall be in the place of sums that are not to count, such as
// those beyond the edge of a matrix. The slice of factors says what type they have, and is not read.
func Map[T, C dsl.Number](t dsl.Thread, _ []T, sums []C, c *Config, f func(row, col int, v C) C) {
	eachSum[T, C](t, c, func(row, col, i, _, _ int) { sums[i] = f(row, col, sums[i]) })
}

// MapRows is [Map] with the value of each sum's row, of [Rows] that the thread has: a column that is
// broadcast over the tile.
func MapRows[T, C, R dsl.Number](t dsl.Thread, _ []T, sums []C, rows []R, c *Config, f func(row, col int, v C, ofRow R) C) {
	eachSum[T, C](t, c, func(row, col, i, r, _ int) { sums[i] = f(row, col, sums[i], rows[r]) })
}

// MapColumns is [MapRows] for columns.
func MapColumns[T, C, R dsl.Number](t dsl.Thread, _ []T, sums []C, columns []R, c *Config, f func(row, col int, v C, ofColumn R) C) {
	eachSum[T, C](t, c, func(row, col, i, _, q int) { sums[i] = f(row, col, sums[i], columns[q]) })
}

// KeepBefore replaces the sums of each row by v from a column on: ends has it for each of the [Rows] that
// the thread has. It is a mask that takes a comparison and a selection for a sum. The slice of factors
// says what type they have, and is not read.
func KeepBefore[T, C dsl.Number](t dsl.Thread, _ []T, sums []C, ends []int32, c *Config, v C) {
	from := dsl.LocalSlice[int32](Rows[T, C](t, c))
	ownColumns[T, C](t, from, ends, c)
	eachOffset[T, C](t, c, func(i, r, offset int) {
		x := sums[i]
		if int32(offset) >= from[r] {
			x = v
		}
		sums[i] = x
	})
}

// KeepFrom is [KeepBefore] for the sums in front of a column.
func KeepFrom[T, C dsl.Number](t dsl.Thread, _ []T, sums []C, begins []int32, c *Config, v C) {
	from := dsl.LocalSlice[int32](Rows[T, C](t, c))
	ownColumns[T, C](t, from, begins, c)
	eachOffset[T, C](t, c, func(i, r, offset int) {
		x := sums[i]
		if int32(offset) < from[r] {
			x = v
		}
		sums[i] = x
	})
}

// ownColumns stores columns of the tile, one for each row, less the first one that the thread has.
func ownColumns[T, C dsl.Number](t dsl.Thread, own, columns []int32, c *Config) {
	_, first := c.part(t)
	if dsl.MatrixShape[T, C](t, dsl.MatrixN) > 0 {
		first += dsl.MatrixCol[T](t, dsl.MatrixC, 0)
	} else {
		first += t.Lane()
	}
	for r := range int(Rows[T, C](t, c)) {
		own[r] = columns[r] - int32(first)
	}
}

// eachOffset calls f for all sums of the thread: which of its sums and rows each is, and how many columns
// it is behind the first one of the thread.
func eachOffset[T, C dsl.Number](t dsl.Thread, c *Config, f func(i, r, offset int)) {
	n, length, run := int(dsl.MatrixShape[T, C](t, dsl.MatrixN)), int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC)), int(dsl.MatrixShape[T, C](t, dsl.MatrixRunC))
	if n == 0 {
		eachSum[T, C](t, c, func(_, _, i, r, q int) { f(i, r, q*t.WarpSize()) })
		return
	}
	eachSum[T, C](t, c, func(_, _, i, r, q int) {
		f(i, r, q/run*n+dsl.MatrixCol[T](t, dsl.MatrixC, i%length%run)-dsl.MatrixCol[T](t, dsl.MatrixC, 0))
	})
}
