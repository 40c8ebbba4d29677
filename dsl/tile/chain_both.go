package tile

import "github.com/gokiln/kiln/dsl"

// Both are two products whose factors B come in tiles, and each is a factor of a second product, too, as
// in the gradients of attention: see [ChainBoth].
type Both[T dsl.Number] struct {
	A, A2 Factor[T] // which stay
	K, K2 int       // elements along k of each
}

// ChainBoth computes n times the products of b.A and b.A2 with factors that tiles says, of so many
// columns that count. start sets what the sums of the second product begin with. f may change the sums
// of the first product, and g then both. If two is true, columns gives two numbers for column c of tile
// number i: f and g get the first ones, start the second ones, of the [Columns] of the thread. What they
// have made of the sums of the first product is then multiplied with the second factor that tiles said
// and added to the sums of c2. What they have made of those of the second product is multiplied with the
// first factor and added to the sums of c. Last done gets the sums of c and of c2.
//
// Of describes the first products, c and c2 the second ones, as [MultiplySums] wants them, of as many
// columns as b.K and b.K2 rounded up to whole stages. mad multiplies and adds where the device has no
// matrix instruction for the type. All threads of the block call it.
//
// With bulk copies (of.Bulk) both A stay in shared memory, of.Stages tiles are copied ahead by one warp
// of the block, in boxes of 128 bytes of as many rows as the tiles have, the second product is under way
// while f works, another warp calls columns, and no function contains a barrier of the block. What is
// beyond the edge of a tensor is zeros then, and tiles may have rows that do not count.
func ChainBoth[T, C dsl.Number](t dsl.Thread, of, c, c2 *Config, two dsl.ConstBool, b Both[T], n int, mad func(a, b, c C) C, tiles func(i int) (b, b2 Factor[T], n int), columns func(i, c int) (x, y C), start func(i int, ofColumns, sums2 []C), f func(i int, ofColumns, sums []C), g func(i int, ofColumns, sums, sums2 []C), done func(sums, sums2 []C)) {
	if chains[T, C](t, of, of) {
		chainBothBulk(t, of, c, c2, two, b, n, tiles, columns, start, f, g, done)
		return
	}
	sums, sums2 := dsl.LocalSlice[C](c.Sums(t)), dsl.LocalSlice[C](c2.Sums(t))
	for i := range n {
		x, y := dsl.LocalSlice[C](of.Sums(t)), dsl.LocalSlice[C](of.Sums(t))
		ofX, ofY := dsl.LocalSlice[C](Columns[T, C](t, of)), dsl.LocalSlice[C](Columns[T, C](t, of))
		b1, b2, count := tiles(i)
		Multiply(t, x, b.A, b1, b.K, of, mad)
		if two {
			eachColumn[T, C](t, of, func(col, j int) { _, ofY[j] = columns(i, col) })
		}
		start(i, ofY, y)
		Multiply(t, y, b.A2, b2, b.K2, of, mad)
		if two {
			eachColumn[T, C](t, of, func(col, j int) { ofX[j], _ = columns(i, col) })
		}
		f(i, ofX, x)
		g(i, ofX, x, y)
		if two {
			MultiplySums(t, sums2, x, of, across(b2, b.K2), count, c2, mad)
		}
		MultiplySums(t, sums, y, of, across(b1, b.K), count, c, mad)
	}
	done(sums, sums2)
}

// across is a factor whose rows are those along k of another one, n elements long.
func across[T dsl.Number](f Factor[T], n int) Factor[T] {
	return Factor[T]{Mem: f.Mem, At: f.At, Limit: n, Across: 1, Along: f.Across}
}

// chainBothBulk is [ChainBoth] by bulk copies and warpgroup instructions.
func chainBothBulk[T, C dsl.Number](t dsl.Thread, of, c, c2 *Config, two dsl.ConstBool, b Both[T], n int, tiles func(i int) (b, b2 Factor[T], n int), columns func(i, c int) (x, y C), start func(i int, ofColumns, sums2 []C), f func(i int, ofColumns, sums []C), g func(i int, ofColumns, sums, sums2 []C), done func(sums, sums2 []C)) {
	l := links[T]{
		xs:       dsl.SharedSlice[T](t, of.M*c.N),
		as:       dsl.SharedSlice[T](t, of.M*c2.N),
		bs:       dsl.SharedSlice[T](t, of.Stages*of.N*c.N),
		ds:       dsl.SharedSlice[T](t, of.Stages*of.N*c2.N),
		barriers: dsl.Shared[barriers](t),
	}
	numbers := dsl.SharedSlice[C](t, 2*of.Stages*of.N) // of the columns of tiles
	if t.ThreadX() == 0 {
		l.there.Init(1)
		arrivals := 1
		if two {
			arrivals += t.WarpSize()
		}
		for s := range int(of.Stages) {
			l.fullB[s].Init(arrivals)
			l.freeB[s].Init(int(of.Warps()))
		}
		dsl.AsyncFence()
	}
	t.Sync()
	if t.Warp() < int(of.Warps()) {
		if of.Down > warpgroup {
			dsl.MoreRegisters(t, of.registers())
		}
		sums, sums2 := dsl.LocalSlice[C](c.Sums(t)), dsl.LocalSlice[C](c2.Sums(t))
		l.there.Wait(t, 0)
		for i := range n {
			multiplyBoth(t, &l, numbers, sums, sums2, of, c, c2, two, i, n, start, f, g)
		}
		done(sums, sums2)
	} else {
		if of.Down > warpgroup {
			dsl.FewerRegisters(t, copyRegisters)
		}
		if t.ThreadX() == int(of.Threads(t)) {
			l.there.ArriveExpect(int(of.M*(c.N+c2.N)/of.K) * panel * chunkBytes)
			copyTile(t, l.xs, 0, &b.A, of.M, c.N, &l.there, of)
			copyTile(t, l.as, 0, &b.A2, of.M, c2.N, &l.there, of)
			for i := range n {
				b1, b2, _ := tiles(i)
				l.freeB[l.at].Wait(t, l.parity^1)
				l.fullB[l.at].ArriveExpect(int(of.N*(c.N+c2.N)/of.K) * panel * chunkBytes)
				copyTile(t, l.bs, l.at*int(of.N*c.N), &b1, of.N, c.N, &l.fullB[l.at], of)
				copyTile(t, l.ds, l.at*int(of.N*c2.N), &b2, of.N, c2.N, &l.fullB[l.at], of)
				l.next(of)
			}
		} else if bool(two) && t.Warp() == int(of.Warps())+1 {
			fillColumns(t, &l, numbers, of, n, columns)
		}
	}
}

// fillColumns stores the numbers of the columns of all tiles, each tile's as soon as its memory is free.
// All threads of a warp call it.
func fillColumns[T, C dsl.Number](t dsl.Thread, l *links[T], numbers []C, of *Config, n int, columns func(i, c int) (x, y C)) {
	each := of.N / dsl.ConstInt(t.WarpSize())
	own := dsl.LocalSlice[C](2 * each)
	for i := range n {
		//kiln:unroll
		for j := range int(each) {
			own[2*j], own[2*j+1] = columns(i, j*t.WarpSize()+t.Lane())
		}
		l.freeB[l.at].Wait(t, l.parity^1)
		//kiln:unroll
		for j := range int(each) {
			at := 2*l.at*int(of.N) + j*t.WarpSize() + t.Lane()
			numbers[at], numbers[at+int(of.N)] = own[2*j], own[2*j+1]
		}
		l.fullB[l.at].Arrive()
		l.next(of)
	}
}

// copyTile copies rows of a factor in order AlongK, so many elements of each.
func copyTile[T dsl.Number](t dsl.Thread, to []T, i int, f *Factor[T], rows, wide dsl.ConstInt, bar *dsl.MBarrier, c *Config) {
	for j := range int(wide / c.K) {
		copyBox(t, to, i+j*int(rows*c.K), f, rows, AlongK, j*int(c.K), bar, c, 0)
	}
}

// multiplyBoth multiplies tile number i of n in all ways. Its last products begin when all fragments of
// A are there: two tiles of sums and the fragments of one, beside sums of products under way, are more
// registers than a thread has for heads of 128, and an assembler lets products wait for each other then.
func multiplyBoth[T, C dsl.Number](t dsl.Thread, l *links[T], numbers, sums, sums2 []C, of, c, c2 *Config, two dsl.ConstBool, i, n int, start func(i int, ofColumns, sums2 []C), f func(i int, ofColumns, sums []C), g func(i int, ofColumns, sums, sums2 []C)) {
	x, y := dsl.LocalSlice[C](of.Sums(t)), dsl.LocalSlice[C](of.Sums(t))
	size := of.N / dsl.MatrixShape[T, C](t, dsl.MatrixK) * dsl.MatrixShape[T, C](t, dsl.MatrixLenA)
	a, a2 := dsl.LocalSlice[T](size), dsl.LocalSlice[T](size)
	ofX, ofY := dsl.LocalSlice[C](Columns[T, C](t, of)), dsl.LocalSlice[C](Columns[T, C](t, of))
	numbers = numbers[2*l.at*int(of.N):]
	l.fullB[l.at].Wait(t, l.parity)
	if two {
		eachColumn[T, C](t, of, func(col, j int) { ofY[j] = numbers[int(of.N)+col] })
	}
	start(i, ofY, y)
	dsl.WarpgroupFence()
	multiplyAlong(t, x, l.xs, l.bs[l.at*int(of.N*c.N):], of, c.N, false)
	dsl.WarpgroupCommit()
	multiplyAlong(t, y, l.as, l.ds[l.at*int(of.N*c2.N):], of, c2.N, true)
	dsl.WarpgroupCommit()
	dsl.WarpgroupWait(t, 1)
	if two {
		eachColumn[T, C](t, of, func(col, j int) { ofX[j] = numbers[col] })
	}
	f(i, ofX, x)
	at := l.at
	l.next(of)
	// A loop stands between f and the wait for the second product, as assemblers move that up to where
	// its block begins.
	if of.Stages > 1 && i+1 < n {
		l.fullB[l.at].Wait(t, l.parity)
	}
	dsl.WarpgroupWait(t, 0)
	g(i, ofX, x, y)
	if two {
		takeAll(t, a2, x, of)
	}
	takeAll(t, a, y, of)
	dsl.WarpgroupFence()
	if two {
		multiplyRows(t, sums2, a2, l.ds, at*int(of.N*c2.N), of, c2)
	}
	multiplyRows(t, sums, a, l.bs, at*int(of.N*c.N), of, c)
	dsl.WarpgroupCommit()
	dsl.WarpgroupWait(t, 0)
	if t.Lane() == 0 { // of each warp, as each reads numbers of columns itself
		l.freeB[at].Arrive()
	}
}

// multiplyAlong begins to multiply rows of two factors of so many elements in shared memory, and to add
// the product to the sums or to store it there.
func multiplyAlong[T, C dsl.Number](t dsl.Thread, sums []C, xs, ys []T, of *Config, wide dsl.ConstInt, add dsl.ConstBool) {
	inA, inB := of.layoutOf(of.M, AlongK), of.layoutOf(of.N, AlongK)
	multiplyStage(t, sums, xs, ys, 0, &inA, &inB, of, add)
	//kiln:unroll
	for j := 1; j < int(wide/of.K); j++ {
		multiplyStage(t, sums, xs, ys, j, &inA, &inB, of, true)
	}
}

// multiplyRows begins to add the product of a, in registers, with a tile in shared memory whose rows
// are those along k.
func multiplyRows[T, C dsl.Number](t dsl.Thread, sums []C, a, tile []T, at int, of, c *Config) {
	k, lenA := dsl.MatrixShape[T, C](t, dsl.MatrixK), int(dsl.MatrixShape[T, C](t, dsl.MatrixLenA))
	//kiln:unroll
	for j := range int(of.N / k) {
		dsl.WarpgroupMMA(t, a, j*lenA, tile, at+j*int(k*of.K), sums, 0, c.N, of.N, false, true, true)
	}
}
