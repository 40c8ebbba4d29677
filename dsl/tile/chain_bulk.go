package tile

import "github.com/gokiln/kiln/dsl"

// Chain computes two products of which the first is never in memory, as attention does: for each
// tile of of.N columns from begin on below end that skip is not true of, f gets the sums of a·b, to
// make of them the factor A of a product with d that is added to sums. tiles says what b and d are, and
// how many of the columns count. Before that, when what was added so far is there, rescale may change
// the sums, and last done gets them. wide is k rounded up to whole stages, a constant.
//
// Both configurations are as [MultiplySums] wants them. mad multiplies and adds where the device has no
// matrix instruction for the type. All threads of the block call it.
//
// With bulk copies (of.Bulk) a stays in shared memory, one warp of the block copies of.Stages tiles of
// b and d ahead, boxes of of.N rows by 128 bytes (d's rows are those along k), and the first
// product of a tile is under way while the second one of the tile before is (FlashAttention-3: Shah et
// al., 2024). If pingPong is true, two warpgroups alternate (ping-pong): one begins products while the other is in f. The
// other functions contain no barrier of the block then, and what is beyond the edge of a tensor is zeros.
func Chain[T, C dsl.Number](t dsl.Thread, of, c *Config, wide dsl.ConstInt, pingPong dsl.ConstBool, a Factor[T], k, begin, end int, mad func(a, b, c C) C, skip func(at int) bool, tiles func(at int) (b, d Factor[T], n int), f func(at int, scores []C), rescale, done func(sums []C)) {
	if chains[T, C](t, of, c) {
		chainBulk(t, of, c, wide, pingPong, a, begin, end, skip, tiles, f, rescale, done)
		return
	}
	sums := dsl.LocalSlice[C](c.Sums(t))
	for at := begin; at < end; at += int(of.N) {
		if skip(at) {
			continue
		}
		b, d, n := tiles(at)
		scores := dsl.LocalSlice[C](of.Sums(t))
		Multiply(t, scores, a, b, k, of, mad)
		f(at, scores)
		rescale(sums)
		MultiplySums(t, sums, scores, of, d, n, c, mad)
	}
	done(sums)
}

// ChainBytes is what the barriers of a [Chain] with bulk copies take in shared memory, so that objects
// behind them begin at a multiple of that, too.
const ChainBytes = 1024

// maxTiles is how many tiles of b and d shared memory holds at most.
const maxTiles = 8

// chains reports whether a [Chain] is one of bulk copies and warpgroup instructions.
func chains[T, C dsl.Number](t dsl.Thread, of, c *Config) bool {
	return bool(of.Bulk) && groups[T, C](t, of) && groups[T, C](t, c) && of.Stages <= maxTiles &&
		dsl.MatrixShape[T, C](t, dsl.MatrixReuse) == 2 && dsl.MatrixShape[T, C](t, dsl.MatrixTransposes) == 1
}

// links are the tiles of a [Chain] in shared memory, each full or free.
type links[T dsl.Number] struct {
	xs, bs, ds []T
	as         []T // the second factor that stays, of [ChainBoth]
	*barriers
	at, parity int // of the next tile
	phase      int // the parity of the phase that the warp waits for next
}

// barriers are those of a [Chain].
type barriers struct {
	there                      dsl.MBarrier // a is
	fullB, freeB, fullD, freeD [maxTiles]dsl.MBarrier
	pingPong                   [2 * warpgroup]dsl.MBarrier // of the warps of two warpgroups
	_                          [ChainBytes/8 - 1 - 4*maxTiles - 2*warpgroup]dsl.MBarrier
}

// next goes on to the next tile.
func (l *links[T]) next(of *Config) {
	if l.at++; l.at == int(of.Stages) {
		l.at, l.parity = 0, l.parity^1
	}
}

// chainBulk is [Chain] by bulk copies and warpgroup instructions.
func chainBulk[T, C dsl.Number](t dsl.Thread, of, c *Config, wide dsl.ConstInt, pingPong dsl.ConstBool, a Factor[T], begin, end int, skip func(at int) bool, tiles func(at int) (b, d Factor[T], n int), f func(at int, scores []C), rescale, done func(sums []C)) {
	l := links[T]{
		xs:       dsl.SharedSlice[T](t, of.M*wide),
		bs:       dsl.SharedSlice[T](t, of.Stages*of.N*wide),
		ds:       dsl.SharedSlice[T](t, of.Stages*of.N*c.N),
		barriers: dsl.Shared[barriers](t),
	}
	if t.ThreadX() == 0 {
		l.there.Init(1)
		for s := range int(of.Stages) {
			l.fullB[s].Init(1)
			l.fullD[s].Init(1)
			l.freeB[s].Init(int(of.Down) / warpgroup)
			l.freeD[s].Init(int(of.Down) / warpgroup)
		}
		for i := range 2 * warpgroup {
			l.pingPong[i].Init(1)
		}
		dsl.AsyncFence()
	}
	t.Sync()
	if t.Warp() < int(of.Warps()) {
		if of.Down > warpgroup {
			dsl.MoreRegisters(t, of.registers())
		}
		sums := dsl.LocalSlice[C](c.Sums(t))
		multiplyChain(t, &l, sums, of, c, wide, bool(pingPong) && of.Down == 2*warpgroup, begin, end, skip, f, rescale)
		done(sums)
	} else {
		if of.Down > warpgroup {
			dsl.FewerRegisters(t, copyRegisters)
		}
		if t.ThreadX() == int(of.Threads(t)) {
			fillChain(t, &l, of, c, wide, a, begin, end, skip, tiles)
		}
	}
}

// fillChain copies a, and then the tiles of b and d, each as soon as its memory is free.
func fillChain[T dsl.Number](t dsl.Thread, l *links[T], of, c *Config, wide dsl.ConstInt, a Factor[T], begin, end int, skip func(at int) bool, tiles func(at int) (b, d Factor[T], n int)) {
	l.there.ArriveExpect(int(of.M*wide/of.K) * panel * chunkBytes)
	copyTile(t, l.xs, 0, &a, of.M, wide, &l.there, of)
	for at := begin; at < end; at += int(of.N) {
		if skip(at) {
			continue
		}
		b, d, _ := tiles(at)
		l.freeB[l.at].Wait(t, l.parity^1)
		l.fullB[l.at].ArriveExpect(int(of.N*wide/of.K) * panel * chunkBytes)
		copyTile(t, l.bs, l.at*int(of.N*wide), &b, of.N, wide, &l.fullB[l.at], of)
		l.freeD[l.at].Wait(t, l.parity^1)
		l.fullD[l.at].ArriveExpect(int(of.N*c.N/of.K) * panel * chunkBytes)
		copyTile(t, l.ds, l.at*int(of.N*c.N), &d, of.N, c.N, &l.fullD[l.at], of)
		l.next(of)
	}
}

// multiplyChain adds the second products of all tiles to the sums. Between the tiles the first product
// of one and the second of the one before are under way, and while that one is, f works.
func multiplyChain[T, C dsl.Number](t dsl.Thread, l *links[T], sums []C, of, c *Config, wide dsl.ConstInt, pingPong bool, begin, end int, skip func(at int) bool, f func(at int, scores []C), rescale func(sums []C)) {
	next := func(at int) int {
		for at < end && skip(at) {
			at += int(of.N)
		}
		return at
	}
	at := next(begin)
	if at >= end {
		return
	}
	a := dsl.LocalSlice[T](of.N / dsl.MatrixShape[T, C](t, dsl.MatrixK) * dsl.MatrixShape[T, C](t, dsl.MatrixLenA))
	scores := dsl.LocalSlice[C](of.Sums(t))
	l.there.Wait(t, 0)
	l.await(t, pingPong)
	firstProduct(t, l, scores, of, wide)
	l.pass(t, pingPong)
	dsl.WarpgroupWait(t, 0)
	release(t, &l.freeB[l.at])
	f(at, scores)
	rescale(sums)
	takeAll(t, a, scores, of)
	last, parity := l.at, l.parity
	l.next(of)
	for at = next(at + int(of.N)); at < end; {
		l.await(t, pingPong)
		firstProduct(t, l, scores, of, wide)
		l.fullD[last].Wait(t, parity)
		secondProduct(t, l, sums, a, last, of, c)
		l.pass(t, pingPong)
		dsl.WarpgroupWait(t, 1)
		release(t, &l.freeB[l.at])
		f(at, scores)
		now, phase := l.at, l.parity
		l.next(of)
		at = next(at + int(of.N))
		// A loop stands between f and the wait for the second product, as assemblers move that up to
		// where its block begins. One stage is not free for the next tile before that product ends.
		if of.Stages > 1 && at < end {
			l.fullB[l.at].Wait(t, l.parity)
		}
		dsl.WarpgroupWait(t, 0)
		release(t, &l.freeD[last])
		rescale(sums)
		takeAll(t, a, scores, of)
		last, parity = now, phase
	}
	l.fullD[last].Wait(t, parity)
	secondProduct(t, l, sums, a, last, of, c)
	dsl.WarpgroupWait(t, 0)
}

// await waits until it is the warp's turn to multiply. Warps of the first warpgroup begin.
func (l *links[T]) await(t dsl.Thread, pingPong bool) {
	if pingPong {
		w := t.Warp()
		l.pingPong[w].Wait(t, l.phase^(1-w/warpgroup))
	}
}

// pass says that it is the turn of the warp of the other warpgroup that has the same tensor core.
func (l *links[T]) pass(t dsl.Thread, pingPong bool) {
	if pingPong {
		if t.Lane() == 0 {
			l.pingPong[t.Warp()^warpgroup].Arrive()
		}
		l.phase ^= 1
	}
}

// firstProduct waits for the next tile of b and begins to multiply a with it.
func firstProduct[T, C dsl.Number](t dsl.Thread, l *links[T], scores []C, of *Config, wide dsl.ConstInt) {
	l.fullB[l.at].Wait(t, l.parity)
	dsl.WarpgroupFence()
	multiplyAlong(t, scores, l.xs, l.bs[l.at*int(of.N*wide):], of, wide, false)
	dsl.WarpgroupCommit()
}

// secondProduct begins to add the product of a, in registers, with tile number at of d.
func secondProduct[T, C dsl.Number](t dsl.Thread, l *links[T], sums []C, a []T, at int, of, c *Config) {
	dsl.WarpgroupFence()
	multiplyRows(t, sums, a, l.ds, at*int(of.N*c.N), of, c)
	dsl.WarpgroupCommit()
}

// takeAll makes the fragments of A of the sums of a tile.
func takeAll[T, C dsl.Number](t dsl.Thread, a []T, scores []C, of *Config) {
	//kiln:unroll
	for kk := range int(of.N / dsl.MatrixShape[T, C](t, dsl.MatrixK)) {
		takeA(t, a, kk*int(dsl.MatrixShape[T, C](t, dsl.MatrixLenA)), scores, 0, kk, of)
	}
}

// release says that the warpgroup has read a tile.
func release(t dsl.Thread, free *dsl.MBarrier) {
	if t.ThreadX()%(warpgroup*t.WarpSize()) == 0 {
		free.Arrive()
	}
}
