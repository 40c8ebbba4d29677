package tile

import "github.com/gokiln/kiln/dsl"

// Multiply adds the product of two factors, k elements along k, to the block's sums; mad multiplies
// and adds where the device has no matrix instruction for the type. Copies of the next stages are
// under way while one is multiplied. All threads of the block call it; it contains barriers, and it
// begins and ends with shared memory free.
func Multiply[T, C dsl.Number](t dsl.Thread, sums []C, a, b Factor[T], k int, c *Config, mad func(a, b, c C) C) {
	multiply(t, sums, a, b, k, c, mad, func(_ int, sums, part []C) { Add(t, sums, part, c) })
}

// multiply is [Multiply] with a function that adds the products of a stage, if the Config says Promote.
func multiply[T, C dsl.Number](t dsl.Thread, sums []C, a, b Factor[T], k int, c *Config, mad func(a, b, c C) C, add func(k int, sums, part []C)) {
	m := newLoader(t, a, c.layoutOf(c.M, c.A), c.AVec, c)
	run(t, sums, b, k, c, mad, func(xs []T, base, at int) { m.load(xs, base, at, k) }, add)
}

// run is multiply with a function that begins to copy the stage of A at a place along k, to chunk base
// of shared memory on.
func run[T, C dsl.Number](t dsl.Thread, sums []C, b Factor[T], k int, c *Config, mad func(a, b, c C) C, loadA func(xs []T, base, k int), add func(k int, sums, part []C)) {
	p := pipeline[T]{
		xs:  dsl.SharedSlice[T](t, c.Stages*c.M*c.K),
		ys:  dsl.SharedSlice[T](t, c.Stages*c.N*c.K),
		inA: c.layoutOf(c.M, c.A), inB: c.layoutOf(c.N, c.B), k: k,
	}
	p.loaderB = newLoader(t, b, c.layoutOf(c.N/b.halves(), c.B), c.BVec, c)
	if b.Gated {
		p.loaderUp = newLoader(t, b.up(), p.loaderB.b, c.BVec, c)
	}
	steps := c.steps(k)
	switch {
	case hasWarpgroups[T, C](t, c):
		multiplyWarpgroups(t, &p, sums, steps, c, loadA, add)
	case dsl.MatrixShape[T, C](t, dsl.MatrixM) > 0:
		eachPart(t, &p, sums, steps, c, loadA, add, func(sums []C, xs, ys []T) { multiplyFragments(t, sums, xs, ys, p.inA, p.inB, c) })
	default:
		eachPart(t, &p, sums, steps, c, loadA, add, func(sums []C, xs, ys []T) { multiplyLanes(t, sums, xs, ys, p.inA, p.inB, c, mad) })
	}
	dsl.CopyWait()
	t.Sync()
}

// eachPart calls f to add the product of each stage to the sums, or to sums of its own.
func eachPart[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums []C, steps int, c *Config, loadA func(xs []T, base, k int), add func(k int, sums, part []C), f func(sums []C, xs, ys []T)) {
	if c.Promote == 0 {
		p.eachStage(t, steps, c, loadA, func(_ int, xs, ys []T) { f(sums, xs, ys) })
		return
	}
	part := dsl.LocalSlice[C](c.Sums(t))
	p.eachStage(t, steps, c, loadA, func(step int, xs, ys []T) {
		begin(t, part, step, c)
		f(part, xs, ys)
		end(step, steps, c, func(k int) { add(k, sums, part) })
	})
}

// begin sets sums that are made apart to 0 in the first of the stages that they are of.
func begin[C dsl.Number](t dsl.Thread, part []C, step int, c *Config) {
	if step%int(c.Promote) == 0 {
		for e := range int(c.Sums(t)) {
			part[e] = 0
		}
	}
}

// end has add add sums of a Config that says Promote in the last of the stages that they are of.
func end(step, steps int, c *Config, add func(k int)) {
	n := int(c.Promote)
	if (step+1)%n == 0 || step+1 == steps {
		add(step / n * n * int(c.K))
	}
}

// pipeline is the stages of two factors.
type pipeline[T dsl.Number] struct {
	xs, ys   []T
	inA, inB layout
	loaderB  loader[T]
	loaderUp loader[T] // if loaderB has half of the columns
	k        int
}

// prefetch begins to copy the stage of a step, if there are so many.
func (p *pipeline[T]) prefetch(step, steps int, c *Config, loadA func(xs []T, base, k int)) {
	if step < steps {
		s := step % int(c.Stages)
		loadA(p.xs, s*int(c.M*c.K/c.Chunk), step*int(c.K))
		p.loaderB.load(p.ys, s*int(c.N*c.K/c.Chunk), step*int(c.K), p.k)
		if p.loaderB.f.Gated {
			p.loaderUp.load(p.ys, s*int(c.N*c.K/c.Chunk)+int(c.N/2*c.K/c.Chunk), step*int(c.K), p.k)
		}
	}
	dsl.CopyCommit()
}

// eachStage calls f for the stages of all steps in turn, which are there by then.
func (p *pipeline[T]) eachStage(t dsl.Thread, steps int, c *Config, loadA func(xs []T, base, k int), f func(step int, xs, ys []T)) {
	for s := range int(c.Stages) - 1 {
		p.prefetch(s, steps, c, loadA)
	}
	for step := range steps {
		dsl.CopyWaitGroups(c.Stages - 2)
		t.Sync() // the stage is there, and all warps are done with the one that is overwritten next
		p.prefetch(step+int(c.Stages)-1, steps, c, loadA)
		s := step % int(c.Stages)
		f(step, p.xs[s*int(c.M*c.K):], p.ys[s*int(c.N*c.K):])
	}
}

// hasWarpgroups reports whether warpgroups multiply the factors in shared memory: each has 64 rows
// and all columns. A stage is free one step later than otherwise, which takes three of them. Types
// of which the instruction transposes no factors are in order AlongK.
func hasWarpgroups[T, C dsl.Number](t dsl.Thread, c *Config) bool {
	if dsl.MatrixShape[T, C](t, dsl.MatrixTransposes) == 0 && (c.A == AcrossK || c.B == AcrossK) {
		return false
	}
	return c.Stages >= 3 && groups[T, C](t, c)
}

// groups reports whether the parts of a tile are those of warpgroups.
func groups[T, C dsl.Number](t dsl.Thread, c *Config) bool {
	group := dsl.MatrixShape[T, C](t, dsl.MatrixWarpgroup)
	return group > 0 && c.Across == 1 && c.Down%group == 0 && c.M == c.Down*dsl.MatrixShape[T, C](t, dsl.MatrixM) && c.N <= 256 && c.K == panel*c.Chunk
}

// multiplyWarpgroups multiplies the stages of all steps by warpgroup instructions. The product of a
// step is in flight while the next one begins.
func multiplyWarpgroups[T, C dsl.Number](t dsl.Thread, p *pipeline[T], sums []C, steps int, c *Config, loadA func(xs []T, base, k int), add func(k int, sums, part []C)) {
	part := sums
	if c.Promote > 0 {
		part = dsl.LocalSlice[C](c.Sums(t))
	}
	for s := range int(c.Stages) - 2 {
		p.prefetch(s, steps, c, loadA)
	}
	for step := range steps {
		dsl.CopyWaitGroups(c.Stages - 3)
		dsl.AsyncFence()
		t.Sync() // the stage is there, and all groups are done with the one that is overwritten next
		s := step % int(c.Stages)
		if c.Promote > 1 {
			begin(t, part, step, c)
		}
		dsl.WarpgroupFence()
		multiplyStage(t, part, p.xs, p.ys, s, &p.inA, &p.inB, c, c.Promote != 1)
		dsl.WarpgroupCommit()
		p.prefetch(step+int(c.Stages)-2, steps, c, loadA)
		if c.Promote > 0 {
			dsl.WarpgroupWait(t, 0)
			end(step, steps, c, func(k int) { add(k, sums, part) })
		} else {
			dsl.WarpgroupWait(t, 1)
		}
	}
	dsl.WarpgroupWait(t, 0)
}

// multiplyStage begins to add the product of stage s to the sums, or to store it there: a warpgroup has
// 64 rows and all columns.
func multiplyStage[T, C dsl.Number](t dsl.Thread, sums []C, xs, ys []T, s int, inA, inB *layout, c *Config, add dsl.ConstBool) {
	row := t.Warp() / warpgroup * warpgroup * int(dsl.MatrixShape[T, C](t, dsl.MatrixM))
	a, b := s*int(c.M*c.K), s*int(c.N*c.K)
	for k := 0; k < int(c.K); k += int(dsl.MatrixShape[T, C](t, dsl.MatrixK)) {
		dsl.WarpgroupMMA(t, xs, a+inA.of(row, k), ys, b+inB.of(0, k), sums, 0, c.N, c.K, c.A == AcrossK, c.B == AcrossK, dsl.ConstBool(bool(add) || k > 0))
	}
}

// multiplyFragments adds the product of a stage by matrix instructions.
func multiplyFragments[T dsl.Number, C dsl.Number](t dsl.Thread, sums []C, xs, ys []T, inA, inB layout, c *Config) {
	m, n, k := dsl.MatrixShape[T, C](t, dsl.MatrixM), dsl.MatrixShape[T, C](t, dsl.MatrixN), dsl.MatrixShape[T, C](t, dsl.MatrixK)
	lenA, lenB, lenC := dsl.MatrixShape[T, C](t, dsl.MatrixLenA), dsl.MatrixShape[T, C](t, dsl.MatrixLenB), dsl.MatrixShape[T, C](t, dsl.MatrixLenC)
	down, across := c.M/c.Down/m, c.N/c.Across/n // fragments of the warp
	row, col := c.part(t)
	a := dsl.LocalSlice[T](down * lenA)
	b := dsl.LocalSlice[T](across * lenB)
	for kk := range int(c.K / k) {
		for i := range int(down) {
			loadA[T, C](t, a, i*int(lenA), xs, row, i*int(m), kk*int(k), inA)
		}
		loadB[T, C](t, b, int(across), ys, col, kk*int(k), inB)
		for i := range int(down) {
			for j := range int(across) {
				dsl.MMA(t, a, i*int(lenA), b, j*int(lenB), sums, (i*int(across)+j)*int(lenC))
			}
		}
	}
}

// loadA loads the fragment of A that is down rows below a row of the factor.
func loadA[T, C dsl.Number](t dsl.Thread, to []T, i int, from []T, row, down, k int, in layout) {
	half := int(dsl.MatrixShape[T, C](t, dsl.MatrixK)) / 2
	l := t.Lane()
	switch {
	case dsl.MatrixShape[T, C](t, dsl.MatrixLoads) == 1 && in.order == AlongK:
		dsl.LoadMatrix(t, to, i, from, in.ofFragment(row+l%16, down, l/16*half, k), false)
	case dsl.MatrixShape[T, C](t, dsl.MatrixTransposes) == 1 && in.order == AcrossK:
		dsl.LoadMatrix(t, to, i, from, in.ofFragment(row+l/8%2*8, down, l%8+l/16*8, k), true)
	default:
		n := in.vector(dsl.MatrixShape[T, C](t, dsl.MatrixVecA))
		for e := 0; e < int(dsl.MatrixShape[T, C](t, dsl.MatrixLenA)); e += int(n) {
			loadVec(to, i+e, from, in.ofFragment(row+dsl.MatrixRow[T](t, dsl.MatrixA, e), down, dsl.MatrixCol[T](t, dsl.MatrixA, e), k), n)
		}
	}
}

// vector returns how many elements of a lane are loaded at once, of so many that are contiguous along
// k: one where the factor is stored across.
func (b *layout) vector(n dsl.ConstInt) dsl.ConstInt {
	if b.order == AcrossK {
		return 1
	}
	return min(n, b.chunk)
}

// loadVec loads n elements that are contiguous in a stage, at a multiple of n.
func loadVec[T dsl.Number](to []T, i int, from []T, at int, n dsl.ConstInt) {
	switch n {
	case 2:
		moveVec[[2]T](to, i, from, at/2)
	case 4:
		moveVec[[4]T](to, i, from, at/4)
	case 8:
		moveVec[[8]T](to, i, from, at/8)
	case 16:
		moveVec[[16]T](to, i, from, at/16)
	default:
		to[i] = from[at]
	}
}

// moveVec loads vector j of from to to[i:].
func moveVec[V dsl.Vec[T], T dsl.Number](to []T, i int, from []T, j int) {
	v := dsl.LoadVec[V](from, j)
	for e := range len(v) {
		to[i+e] = v[e]
	}
}

// loadB loads fragments of B for n adjacent parts of the columns. An instruction loads two.
func loadB[T, C dsl.Number](t dsl.Thread, to []T, n int, from []T, col, k int, in layout) {
	length, wide := int(dsl.MatrixShape[T, C](t, dsl.MatrixLenB)), int(dsl.MatrixShape[T, C](t, dsl.MatrixN))
	half := int(dsl.MatrixShape[T, C](t, dsl.MatrixK)) / 2
	l := t.Lane()
	switch {
	case dsl.MatrixShape[T, C](t, dsl.MatrixLoads) == 1 && in.order == AlongK:
		for j := 0; j < n; j += 2 {
			dsl.LoadMatrix(t, to, j*length, from, in.ofFragment(col+l%8+l/16*8, j*wide, l/8%2*half, k), false)
		}
	case dsl.MatrixShape[T, C](t, dsl.MatrixTransposes) == 1 && in.order == AcrossK:
		for j := 0; j < n; j += 2 {
			dsl.LoadMatrix(t, to, j*length, from, in.ofFragment(col+l/16*8, j*wide, l%16, k), true)
		}
	default:
		vec := in.vector(dsl.MatrixShape[T, C](t, dsl.MatrixVecB))
		for j := range n {
			for e := 0; e < length; e += int(vec) {
				loadVec(to, j*length+e, from, in.ofFragment(col+dsl.MatrixCol[T](t, dsl.MatrixB, e), j*wide, dsl.MatrixRow[T](t, dsl.MatrixB, e), k), vec)
			}
		}
	}
}

// multiplyLanes adds the product of a stage by ordinary arithmetic: a lane has columns, a warp's
// width apart, of all rows of the warp's part.
func multiplyLanes[T dsl.Number, C dsl.Number](t dsl.Thread, sums []C, xs, ys []T, inA, inB layout, c *Config, mad func(a, b, c C) C) {
	rows, cols := int(c.M/c.Down), int(c.N/c.Across)/t.WarpSize()
	row, col := c.part(t)
	b := dsl.LocalSlice[C](dsl.ConstInt(cols))
	//kiln:unroll 1
	for k := range int(c.K) {
		for j := range cols {
			b[j] = dsl.Convert[C](ys[inB.of(col+j*t.WarpSize()+t.Lane(), k)])
		}
		for i := range rows {
			a := dsl.Convert[C](xs[inA.of(row+i, k)])
			for j := range cols {
				sums[i*cols+j] = mad(a, b[j], sums[i*cols+j])
			}
		}
	}
}
