package tile

import "github.com/gokiln/kiln/dsl"

// EachFilled is [Each] for a factor B that is nowhere in memory as the product takes it: a function
// makes its elements, as those of a quantized matrix, and threads store them in shared memory. product
// says what A is, from which row on and from which k on of B the tile multiplies, and how long the
// factors are along k. c.B is AlongK, and a stage is a panel long.
//
// A chunk of B is made in two steps. load stores in words, from index at on, so many words that the
// elements k to k+c.Chunk-1 of a row are made of, and make makes the chunk of them. Loads are in
// flight while other stages are made and multiplied. Both are called for all that is in a stage: where
// B ends along k elements are zeros, and those of rows beyond its last one are anything. A thread loads
// the words of several rows at one place along k.
//
// With bulk copies a warpgroup fills stages for the others, of which only A has a tensor map.
func EachFilled[T, C dsl.Number](t dsl.Thread, c *Config, first, end, step int, words dsl.ConstInt, mad func(a, b, c C) C, product func(i int) (a Factor[T], row, from, k int), load func(row, k int, words []uint32, at int), make func(words []uint32, at int, chunk []T), done func(i int, sums []C)) {
	if hasBulk[T, C](t, c) {
		f := newFiller(t.ThreadX()-int(c.Threads(t)), warpgroup*dsl.ConstInt(t.WarpSize()), words, c)
		eachBulk(t, c, warpgroup, first, end, step, func(i int) int {
			_, _, _, k := product(i)
			return k
		}, func(r *ring[T], i int) {
			a, row, from, k := product(i)
			fillRing(t, &f, r, &a, row, from, k, c, load, make)
		}, func(_, _ int, sums, part []C) { Add(t, sums, part, c) }, done)
		return
	}
	f := newFiller(t.ThreadX(), c.Threads(t), words, c)
	for i := first; i < end; i += step {
		sums := dsl.LocalSlice[C](c.Sums(t))
		a, row, from, k := product(i)
		multiplyFilled(t, &f, sums, a, row, from, k, c, mad, load, make)
		done(i, sums)
	}
}

// filler is which chunks of a stage a thread fills: one of each of its rows.
type filler struct {
	b          layout
	row, right int          // the first one, and which chunk of it
	step       int          // rows from one to the next
	rows       dsl.ConstInt // how many
	words      dsl.ConstInt // that a chunk is made of
}

// newFiller divides the chunks of B among so many threads: eight have a row.
func newFiller(thread int, threads, words dsl.ConstInt, c *Config) filler {
	b := c.layoutOf(c.N, AlongK)
	return filler{b, thread / panel, thread % panel, int(threads) / panel, (c.N*panel + threads - 1) / threads, words}
}

// eachRow calls do for the thread's rows, and says which of them they are.
func (f *filler) eachRow(do func(row, n int)) {
	//kiln:unroll
	for n := range int(f.rows) {
		if f.has(n) {
			do(f.row+n*f.step, n)
		}
	}
}

// has reports whether the thread has a row of a number.
func (f *filler) has(n int) bool {
	return int(f.b.rows)%f.step == 0 || f.row+n*f.step < int(f.b.rows)
}

// store makes a chunk and stores it in the stage that begins at chunk base.
func store[T dsl.Number](f *filler, to []T, base, row int, words []uint32, at int, make func(words []uint32, at int, chunk []T)) {
	chunk := dsl.LocalSlice[T](f.b.chunk)
	make(words, at, chunk)
	i := base + row*panel + (f.right ^ f.b.swizzle(row))
	switch f.b.chunk {
	case 2:
		storeChunk[[2]T](to, i, chunk)
	case 4:
		storeChunk[[4]T](to, i, chunk)
	case 8:
		storeChunk[[8]T](to, i, chunk)
	default:
		storeChunk[[16]T](to, i, chunk)
	}
}

// storeChunk stores the elements of a chunk as vector i.
func storeChunk[V dsl.Vec[T], T dsl.Number](to []T, i int, chunk []T) {
	var v V
	for e := range len(v) {
		v[e] = chunk[e]
	}
	dsl.StoreVec(to, i, v)
}

// fillAhead is of how many rows a thread has the words in registers while it makes chunks of those
// before them.
const fillAhead = 4

// fillRing fills the stages of a product, each as soon as it is free. Behind each chunk that is made
// what a later one is made of is loaded, of the next stage behind the last ones.
func fillRing[T dsl.Number](t dsl.Thread, f *filler, r *ring[T], a *Factor[T], row, from, k int, c *Config, load func(row, k int, words []uint32, at int), make func(words []uint32, at int, chunk []T)) {
	ahead := min(fillAhead, f.rows)
	words := dsl.LocalSlice[uint32](ahead * f.words)
	from += f.right * int(c.Chunk)
	f.eachRow(func(n, i int) {
		if i < int(ahead) {
			load(row+n, from, words, i*int(f.words))
		}
	})
	steps := c.steps(k)
	for j := range steps {
		now := from + j*int(c.K)
		next := from + min(j+1, steps-1)*int(c.K)
		r.free[r.at].Wait(t, r.parity^1)
		if t.ThreadX() == int(c.Threads(t)) {
			r.full[r.at].ArriveExpect(int(c.M) * panel * chunkBytes)
			copyBox(t, r.xs, r.at*int(c.M*c.K), a, c.M, c.A, j*int(c.K), &r.full[r.at], c, 0)
		}
		base := r.at * int(c.N*c.K/c.Chunk)
		f.eachRow(func(n, i int) {
			at := i % int(ahead) * int(f.words)
			store(f, r.ys, base, n, words, at, make)
			if i+int(ahead) < int(f.rows) {
				if f.has(i + int(ahead)) {
					load(row+n+int(ahead)*f.step, now, words, at)
				}
			} else {
				load(row+f.row+(i+int(ahead)-int(f.rows))*f.step, next, words, at)
			}
		})
		dsl.AsyncFence()
		t.SyncWarp()
		if t.Lane() == 0 {
			r.full[r.at].Arrive()
		}
		r.next(c)
	}
}

// multiplyFilled is [Multiply] by threads that fill stages themselves. For the stage that is filled
// while another one is multiplied, they load words before that, and make chunks behind it.
func multiplyFilled[T, C dsl.Number](t dsl.Thread, f *filler, sums []C, a Factor[T], row, from, k int, c *Config, mad func(a, b, c C) C, load func(row, k int, words []uint32, at int), make func(words []uint32, at int, chunk []T)) {
	xs := dsl.SharedSlice[T](t, c.Stages*c.M*c.K)
	ys := dsl.SharedSlice[T](t, c.Stages*c.N*c.K)
	words := dsl.LocalSlice[uint32](f.rows * f.words)
	inA := c.layoutOf(c.M, c.A)
	m := newLoader(t, a, inA, c.AVec, c)
	steps := c.steps(k)
	from += f.right * int(c.Chunk)
	begin := func(step int) {
		if step < steps {
			m.load(xs, step%int(c.Stages)*int(c.M*c.K/c.Chunk), step*int(c.K), k)
			f.eachRow(func(n, i int) { load(row+n, from+step*int(c.K), words, i*int(f.words)) })
		}
		dsl.CopyCommit()
	}
	end := func(step int) {
		if step < steps {
			base := step % int(c.Stages) * int(c.N*c.K/c.Chunk)
			f.eachRow(func(n, i int) { store(f, ys, base, n, words, i*int(f.words), make) })
		}
	}
	for s := range int(c.Stages) - 1 {
		begin(s)
		end(s)
	}
	for step := range steps {
		dsl.CopyWaitGroups(c.Stages - 2)
		t.Sync() // the stage is there, and all warps are done with the one that is overwritten next
		begin(step + int(c.Stages) - 1)
		s := step % int(c.Stages)
		as, bs := xs[s*int(c.M*c.K):], ys[s*int(c.N*c.K):]
		if dsl.MatrixShape[T, C](t, dsl.MatrixM) > 0 {
			multiplyFragments(t, sums, as, bs, inA, f.b, c)
		} else {
			multiplyLanes(t, sums, as, bs, inA, f.b, c, mad)
		}
		end(step + int(c.Stages) - 1)
	}
	dsl.CopyWait()
	t.Sync()
}
