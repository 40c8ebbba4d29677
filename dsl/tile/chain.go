package tile

import "github.com/gokiln/kiln/dsl"

// MultiplySums is [Multiply] with a factor A that is no matrix in memory but the sums of a tile that
// Config of describes, or what the kernel has made of them: a, converted to the type of the factors.
//
// If c.A is AlongK, A is the tile itself. k is how many of its columns count, at most of.N, a multiple
// of c.K; the warps and rows of both tiles are the same. Where a lane has the elements of A that it
// needs, they stay in registers, if a warp has all columns of both tiles. Elsewhere they go through
// shared memory.
//
// If c.A is AcrossK, A is the transpose of the tile. k is how many of its rows count, at most of.M, a
// multiple of c.K; it has as many columns as the result has rows, a multiple of 8·Chunk, and both are
// of as many warps. It goes through shared memory.
func MultiplySums[T, C dsl.Number](t dsl.Thread, sums, a []C, of *Config, b Factor[T], k int, c *Config, mad func(a, b, c C) C) {
	p := pipeline[T]{
		ys:  dsl.SharedSlice[T](t, c.Stages*c.N*c.K),
		inB: c.layoutOf(c.N, c.B), k: k,
	}
	p.loaderB = newLoader(t, b, p.inB, c.BVec, c)
	switch {
	case c.A == AcrossK:
		multiplyTransposedSums(t, &p, sums, a, of, c, mad)
	case reuses[T, C](t, of, c) && hasWarpgroups[T, C](t, c) && dsl.MatrixShape[T, C](t, dsl.MatrixReuse) == 2:
		multiplyGroupSums(t, &p, sums, a, of, c)
	case reuses[T, C](t, of, c):
		multiplyLaneSums(t, &p, sums, a, of, c)
	default:
		multiplySharedSums(t, &p, sums, a, of, c, mad)
	}
}

// reuses reports whether the sums of a lane are its elements of A: of the columns of the sums, or of
// those of A if these are more, a stage has whole groups.
func reuses[T, C dsl.Number](t dsl.Thread, of, c *Config) bool {
	n, k := dsl.MatrixShape[T, C](t, dsl.MatrixN), dsl.MatrixShape[T, C](t, dsl.MatrixK)
	return dsl.MatrixShape[T, C](t, dsl.MatrixReuse) > 0 && of.Across == 1 && c.Across == 1 && c.K%max(n, k, 1) == 0
}

// eachOf calls f for the stages of n steps in turn, which are there by then, of those that there are.
// f is done with a stage when it returns, and multiplies by warpgroup instructions or not.
func (p *pipeline[T]) eachOf(t dsl.Thread, n dsl.ConstInt, c *Config, groups dsl.ConstBool, f func(step int, ys []T)) {
	none := func([]T, int, int) {}
	steps := c.steps(p.k)
	for s := range int(c.Stages) - 1 {
		p.prefetch(s, steps, c, none)
	}
	//kiln:unroll
	for step := range int(n) {
		if step < steps {
			dsl.CopyWaitGroups(c.Stages - 2)
			if groups {
				dsl.AsyncFence()
			}
			t.Sync() // the stage is there, and all warps are done with the one that is overwritten next
			p.prefetch(step+int(c.Stages)-1, steps, c, none)
			f(step, p.ys[step%int(c.Stages)*int(c.N*c.K):])
		}
	}
	dsl.CopyWait()
	t.Sync()
}

// takeA makes elements of A of the lane's sums: those of fragment number kk along k, for row number i
// of fragments.
func takeA[T, C dsl.Number](t dsl.Thread, to []T, at int, sums []C, i, kk int, of *Config) {
	lenA, lenC := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenA)), int(dsl.MatrixShape[T, C](t, dsl.MatrixLenC))
	runA, runC := int(dsl.MatrixShape[T, C](t, dsl.MatrixRunA)), int(dsl.MatrixShape[T, C](t, dsl.MatrixRunC))
	rows, across := lenC/runC, int(of.N/dsl.MatrixShape[T, C](t, dsl.MatrixN))
	for e := range lenA {
		row := e / runA % rows
		n := kk*(lenA/rows) + e/(runA*rows)*runA + e%runA // which of the lane's sums in the row
		to[at+e] = dsl.Convert[T](sums[(i*across+n/runC)*lenC+row*runC+n%runC])
	}
}

// multiplyGroupSums multiplies by warpgroup instructions with A in registers.
func multiplyGroupSums[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums, from []C, of, c *Config) {
	k, lenA := dsl.MatrixShape[T, C](t, dsl.MatrixK), dsl.MatrixShape[T, C](t, dsl.MatrixLenA)
	a := dsl.LocalSlice[T](of.N / k * lenA)
	for kk := range int(of.N / k) {
		takeA(t, a, kk*int(lenA), from, 0, kk, of)
	}
	p.eachOf(t, of.N/c.K, c, true, func(step int, ys []T) {
		dsl.WarpgroupFence()
		for kk := range int(c.K / k) {
			dsl.WarpgroupMMA(t, a, (step*int(c.K/k)+kk)*int(lenA), ys, p.inB.of(0, kk*int(k)), sums, 0, c.N, c.K, false, c.B == AcrossK, true)
		}
		dsl.WarpgroupCommit()
		dsl.WarpgroupWait(t, 0)
	})
}

// multiplyLaneSums multiplies by matrix instructions, with elements of A that are the lane's own sums.
// Where no instruction loads fragments, there is one of B at a time: registers are full of sums.
func multiplyLaneSums[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums, from []C, of, c *Config) {
	m, n, k := dsl.MatrixShape[T, C](t, dsl.MatrixM), dsl.MatrixShape[T, C](t, dsl.MatrixN), dsl.MatrixShape[T, C](t, dsl.MatrixK)
	lenA, lenB, lenC := dsl.MatrixShape[T, C](t, dsl.MatrixLenA), dsl.MatrixShape[T, C](t, dsl.MatrixLenB), dsl.MatrixShape[T, C](t, dsl.MatrixLenC)
	down, across, loaded := c.M/c.Down/m, c.N/n, dsl.ConstInt(1)
	if dsl.MatrixShape[T, C](t, dsl.MatrixLoads) == 1 {
		loaded = across
	}
	a, b := dsl.LocalSlice[T](down*lenA), dsl.LocalSlice[T](loaded*lenB)
	p.eachOf(t, of.N/c.K, c, false, func(step int, ys []T) {
		//kiln:unroll
		for kk := range int(c.K / k) {
			for i := range int(down) {
				takeA(t, a, i*int(lenA), from, i, step*int(c.K/k)+kk, of)
			}
			//kiln:unroll
			for j := range int(across) {
				at := j % int(loaded)
				switch {
				case at > 0:
				case dsl.MatrixShape[T, C](t, dsl.MatrixReuse) == 2:
					loadB[T, C](t, b, int(loaded), ys, j*int(n), kk*int(k), p.inB)
				default:
					loadReordered[T, C](t, b, int(loaded), ys, j*int(n), kk, p.inB)
				}
				for i := range int(down) {
					dsl.MMA(t, a, i*int(lenA), b, at*int(lenB), sums, (i*int(across)+j)*int(lenC))
				}
			}
		}
	})
}

// loadReordered is loadB for step kk of a stage, with rows in the order of the columns of sums that
// are A.
func loadReordered[T, C dsl.Number](t dsl.Thread, to []T, n int, from []T, col, kk int, in layout) {
	wide, k := int(dsl.MatrixShape[T, C](t, dsl.MatrixN)), int(dsl.MatrixShape[T, C](t, dsl.MatrixK))
	length, parts := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenB)), max(wide/k, 1) // fragments of A in a group
	for j := range n {
		for e := range length {
			i := kk%parts*length + e
			to[j*length+e] = from[in.of(col+j*wide+dsl.MatrixCol[T](t, dsl.MatrixBSums, i), kk/parts*max(wide, k)+dsl.MatrixRow[T](t, dsl.MatrixBSums, i))]
		}
	}
}

// multiplySharedSums stores the sums in shared memory as stages of a factor A.
func multiplySharedSums[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums, from []C, of, c *Config, mad func(a, b, c C) C) {
	xs := dsl.SharedSlice[T](t, of.M*of.N)
	whole := layout{of.M, of.N, c.Chunk, AlongK}
	p.inA = c.layoutOf(c.M, AlongK)
	eachSum[T, C](t, of, func(row, col, i, _, _ int) { xs[whole.of(row, col)] = dsl.Convert[T](from[i]) })
	multiplyStored(t, p, sums, xs, of.N/c.K, c, false, mad)
}

// multiplyTransposedSums stores the sums in shared memory as stages of a factor A in order AcrossK, of
// which a row is one of the tile.
func multiplyTransposedSums[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums, from []C, of, c *Config, mad func(a, b, c C) C) {
	xs := dsl.SharedSlice[T](t, of.M*of.N)
	p.inA = c.layoutOf(c.M, AcrossK)
	eachSum[T, C](t, of, func(row, col, i, _, _ int) {
		xs[row/int(c.K)*int(c.M*c.K)+p.inA.of(col, row%int(c.K))] = dsl.Convert[T](from[i])
	})
	multiplyStored(t, p, sums, xs, of.M/c.K, c, dsl.ConstBool(hasWarpgroups[T, C](t, c)), mad)
}

// multiplyStored multiplies the n stages of a factor A in shared memory, by warpgroup instructions or
// not. The threads have stored it, and no barrier is behind that yet.
func multiplyStored[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums []C, xs []T, n dsl.ConstInt, c *Config, groups dsl.ConstBool, mad func(a, b, c C) C) {
	p.eachOf(t, n, c, groups, func(step int, ys []T) { // its first barrier is that of xs, too
		as := xs[step*int(c.M*c.K):]
		switch {
		case bool(groups):
			dsl.WarpgroupFence()
			multiplyStage(t, sums, as, ys, 0, &p.inA, &p.inB, c, true)
			dsl.WarpgroupCommit()
			dsl.WarpgroupWait(t, 0)
		case dsl.MatrixShape[T, C](t, dsl.MatrixM) > 0:
			multiplyFragments(t, sums, as, ys, p.inA, p.inB, c)
		default:
			multiplyLanes(t, sums, as, ys, p.inA, p.inB, c, mad)
		}
	})
}
