package tile

import "github.com/gokiln/kiln/dsl"

// warpgroup is how many warps multiply together.
const warpgroup = 4

// chunkBytes is the size of a chunk.
const chunkBytes = 16

// maxStages is how many stages a ring has at most.
const maxStages = 64

// BarrierBytes is what the barriers of stages take in shared memory with bulk copies, so that objects
// behind them begin at a multiple of that, too.
const BarrierBytes = 2 * 8 * maxStages

// Each computes the products first, first + step and so on below end: product says what the factors
// of number i are and how long they are along k, and done gets its sums, see [EachPair]. mad multiplies
// and adds where the device has no matrix instruction for the type. All threads of the block call it.
//
// With bulk copies, one warp of the block copies and the others multiply; it goes on to the next
// product while the others are in done, which therefore contains no barrier of the block.
func Each[T, C dsl.Number](t dsl.Thread, c *Config, first, end, step int, mad func(a, b, c C) C, product func(i int) (a, b Factor[T], k int), done func(i int, sums []C)) {
	EachScaled(t, c, first, end, step, mad, product, func(_, _ int, sums, part []C) { Add(t, sums, part, c) }, done)
}

// EachScaled is [Each] with a function that adds the sums of stages to those of product number i, if
// the Config says Promote: they begin at index k along k.
func EachScaled[T, C dsl.Number](t dsl.Thread, c *Config, first, end, step int, mad func(a, b, c C) C, product func(i int) (a, b Factor[T], k int), add func(i, k int, sums, part []C), done func(i int, sums []C)) {
	if hasBulk[T, C](t, c) {
		eachBulk(t, c, 0, first, end, step, func(i int) int {
			_, _, k := product(i)
			return k
		}, func(r *ring[T], i int) {
			a, b, k := product(i)
			r.fill(t, b, k, c, func(at, k int, bar *dsl.MBarrier) { copyBox(t, r.xs, at, &a, c.M, c.A, k, bar, c, 0) })
		}, add, done)
		return
	}
	for i := first; i < end; i += step {
		sums := dsl.LocalSlice[C](c.Sums(t))
		a, b, k := product(i)
		multiply(t, sums, a, b, k, c, mad, func(k int, sums, part []C) { add(i, k, sums, part) })
		done(i, sums)
	}
}

// Add adds the sums of stages, for [EachScaled].
func Add[C dsl.Number](t dsl.Thread, sums, part []C, c *Config) {
	for e := range int(c.Sums(t)) {
		sums[e] += part[e]
	}
}

// hasBulk reports whether factors are copied by tensor maps.
func hasBulk[T, C dsl.Number](t dsl.Thread, c *Config) bool {
	return bool(c.Bulk) && hasWarpgroups[T, C](t, c) && c.Stages <= maxStages
}

// ring is stages in shared memory that one thread fills by bulk copies and warpgroups multiply.
type ring[T dsl.Number] struct {
	xs, ys     []T
	full, free *[maxStages]dsl.MBarrier
	at, parity int // of the next stage
}

// next goes on to the next stage.
func (r *ring[T]) next(c *Config) {
	if r.at++; r.at == int(c.Stages) {
		r.at, r.parity = 0, r.parity^1
	}
}

// eachBulk is [Each] by bulk copies and warpgroup instructions: length says how long the factors of
// a product are along k, and fill copies their stages. One thread calls fill if fillers is 0. Else all
// of the warpgroup do, and each of its warps, so many, arrives at the barrier of a stage, too; they
// keep their registers.
func eachBulk[T, C dsl.Number](t dsl.Thread, c *Config, fillers dsl.ConstInt, first, end, step int, length func(i int) int, fill func(r *ring[T], i int), add func(i, k int, sums, part []C), done func(i int, sums []C)) {
	dsl.Cluster(t, c.cluster())
	r := ring[T]{
		xs:   dsl.SharedSlice[T](t, c.Stages*c.M*c.K),
		ys:   dsl.SharedSlice[T](t, c.Stages*c.N*c.K),
		full: dsl.Shared[[maxStages]dsl.MBarrier](t),
		free: dsl.Shared[[maxStages]dsl.MBarrier](t),
	}
	if t.ThreadX() == 0 {
		for s := range int(c.Stages) {
			r.full[s].Init(1 + int(fillers))
			r.free[s].Init(int(c.Down) / warpgroup * int(c.cluster()))
		}
		dsl.AsyncFence()
	}
	c.sync(t)
	if t.Warp() < int(c.Warps()) {
		if c.Down > warpgroup && fillers == 0 {
			dsl.MoreRegisters(t, c.registers())
		}
		for i := first; i < end; i += step {
			sums := dsl.LocalSlice[C](c.Sums(t))
			multiplyRing(t, &r, sums, c.steps(length(i)), c, func(k int, sums, part []C) { add(i, k, sums, part) })
			done(i, sums)
		}
	} else {
		if c.Down > warpgroup && fillers == 0 {
			dsl.FewerRegisters(t, copyRegisters)
		}
		for i := first; i < end && (fillers > 0 || t.ThreadX() == int(c.Threads(t))); i += step {
			fill(&r, i)
		}
	}
	if c.cluster() > 1 {
		t.SyncCluster() // no block ends while others may arrive at its barriers
	}
}

// sync is a barrier of the block, or of all blocks that copy for each other.
func (c *Config) sync(t dsl.Thread) {
	if c.cluster() > 1 {
		t.SyncCluster()
	} else {
		t.Sync()
	}
}

// copyRegisters is what a thread that copies needs, and allRegisters what threads of a block have.
const (
	copyRegisters = 40
	allRegisters  = 1 << 16
)

// registers is how many each thread that multiplies gets: the block begins with the same for all,
// in units of 8.
func (c *Config) registers() dsl.ConstInt {
	groups := c.Down / warpgroup
	begin := allRegisters / ((groups + 1) * warpgroup * 32) / 8 * 8
	return min((begin*(groups+1)-copyRegisters)/groups/8*8, 240)
}

// steps is how many stages so many elements along k are.
func (c *Config) steps(k int) int { return (k + int(c.K) - 1) / int(c.K) }

// fill copies the stages of a product, k long along k, each as soon as it is free: copyA begins to copy
// a stage of A, to an index, from a place along k on. Blocks of a cluster have the same columns of B,
// of which each copies a part for all.
func (r *ring[T]) fill(t dsl.Thread, b Factor[T], k int, c *Config, copyA func(at, k int, bar *dsl.MBarrier)) {
	half := c.N / b.halves()
	part := half / c.cluster()
	from := t.BlockX() % int(c.cluster()) * int(part)
	b.Row += from
	up := b.up()
	all := dsl.ConstInt(0) // the block itself
	if c.cluster() > 1 {
		all = 1<<c.cluster() - 1
	}
	for j := range c.steps(k) {
		r.free[r.at].Wait(t, r.parity^1)
		r.full[r.at].ArriveExpect(int(c.M+c.N) * panel * chunkBytes)
		copyA(r.at*int(c.M*c.K), j*int(c.K), &r.full[r.at])
		copyBox(t, r.ys, r.at*int(c.N*c.K)+from*int(c.K), &b, part, c.B, j*int(c.K), &r.full[r.at], c, all)
		if b.Gated {
			copyBox(t, r.ys, r.at*int(c.N*c.K)+int(half*c.K)+from*int(c.K), &up, part, c.B, j*int(c.K), &r.full[r.at], c, all)
		}
		r.next(c)
	}
}

// copyBox copies what a stage has of a factor, or a part of it: so many rows or columns.
func copyBox[T dsl.Number](t dsl.Thread, to []T, i int, f *Factor[T], across, order dsl.ConstInt, k int, bar *dsl.MBarrier, c *Config, blocks dsl.ConstInt) {
	if order == AlongK {
		dsl.CopyTensorAsync(t, to, i, f.Map, f.K+k, f.Row, f.Plane, bar, blocks)
		return
	}
	for p := 0; p < int(across); p += panel * int(c.Chunk) {
		dsl.CopyTensorAsync(t, to, i+p*int(c.K), f.Map, f.Row+p, f.K+k, f.Plane, bar, blocks)
	}
}

// multiplyRing adds the product of so many stages to the sums. The product of a stage is in flight
// while the next one begins; then the stage before is free. Products of stages that are added apart
// are waited for: other warpgroups multiply meanwhile.
func multiplyRing[T, C dsl.Number](t dsl.Thread, r *ring[T], sums []C, steps int, c *Config, add func(k int, sums, part []C)) {
	inA, inB := c.layoutOf(c.M, c.A), c.layoutOf(c.N, c.B)
	if c.Promote > 0 {
		promoteRing(t, r, sums, steps, c, &inA, &inB, add)
		return
	}
	last := 0
	for j := range steps {
		multiplyNext(t, r, sums, c, &inA, &inB, true)
		dsl.WarpgroupWait(t, 1)
		if j > 0 {
			r.release(t, last, c)
		}
		last = r.at
		r.next(c)
	}
	dsl.WarpgroupWait(t, 0)
	if steps > 0 {
		r.release(t, last, c)
	}
}

// promoteRing is multiplyRing of a Config that says Promote. A product is waited for before the next
// one begins: other warpgroups multiply meanwhile.
func promoteRing[T, C dsl.Number](t dsl.Thread, r *ring[T], sums []C, steps int, c *Config, inA, inB *layout, add func(k int, sums, part []C)) {
	part := dsl.LocalSlice[C](c.Sums(t))
	for first := 0; first < steps; first += int(c.Promote) {
		multiplyNext(t, r, part, c, inA, inB, false)
		r.finish(t, c)
		if c.Promote > 1 {
			for range min(int(c.Promote), steps-first) - 1 {
				multiplyNext(t, r, part, c, inA, inB, true)
				r.finish(t, c)
			}
		}
		add(first*int(c.K), sums, part)
	}
}

// multiplyNext waits for the next stage and begins to add its product to the sums, or to store it there.
func multiplyNext[T, C dsl.Number](t dsl.Thread, r *ring[T], sums []C, c *Config, inA, inB *layout, add dsl.ConstBool) {
	r.full[r.at].Wait(t, r.parity)
	dsl.WarpgroupFence()
	multiplyStage(t, sums, r.xs, r.ys, r.at, inA, inB, c, add)
	dsl.WarpgroupCommit()
}

// finish waits for the product of the stage, which is free then.
func (r *ring[T]) finish(t dsl.Thread, c *Config) {
	dsl.WarpgroupWait(t, 0)
	r.release(t, r.at, c)
	r.next(c)
}

// release says that the warpgroup has read a stage, to all blocks that copy into it.
func (r *ring[T]) release(t dsl.Thread, stage int, c *Config) {
	i := t.ThreadX() % (warpgroup * t.WarpSize())
	if c.cluster() > 1 {
		if i < int(c.cluster()) {
			r.free[stage].ArriveRemote(i)
		}
	} else if i == 0 {
		r.free[stage].Arrive()
	}
}
