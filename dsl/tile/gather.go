package tile

import "github.com/gokiln/kiln/dsl"

// Place is where a row of a gathered factor is, or a chunk of its rows. Chunk At of the row plus that of
// the chunk is in memory if all bits of Needs, of the chunk, are among those that the row Has: it is zeros
// otherwise.
type Place struct {
	At         int
	Has, Needs uint32
}

// MultiplyGathered is [Multiply] for a factor A of which the chunks of a row are anywhere in memory, as
// those of an implicit GEMM are. row says where a row of the tile is, and chunk where the chunk of k is.
// In order AlongK stages are a panel long. In order AcrossK, of which memory has chunks of columns, row
// says where the k-th row of columns is, and chunk where the chunk of a column of the tile is.
func MultiplyGathered[T, C dsl.Number](t dsl.Thread, sums []C, mem []T, b Factor[T], k int, c *Config, mad func(a, b, c C) C, row, chunk func(i int) Place) {
	if c.A == AcrossK {
		multiplyAcross(t, sums, mem, b, k, c, mad, row, chunk)
		return
	}
	height := int(c.Threads(t)) / panel // rows that are loaded together
	down := max(int(c.M)/height, 1)
	first, lane := t.ThreadX()/panel, t.ThreadX()%panel
	inA := c.layoutOf(c.M, AlongK)
	at, has := dsl.LocalSlice[int](dsl.ConstInt(down)), dsl.LocalSlice[uint32](dsl.ConstInt(down))
	for r := range down {
		p := row(first + r*height)
		at[r], has[r] = p.At, p.Has
	}
	run(t, sums, b, k, c, mad, func(xs []T, base, from int) {
		from += lane * int(c.Chunk)
		p := chunk(from)
		for r := range down {
			if n := first + r*height; n < int(c.M) {
				copyChunk(xs, base+n*panel+(lane^inA.swizzle(n)), mem, at[r]+p.At, from < k && has[r]&p.Needs == p.Needs, c.Chunk)
			}
		}
	}, func(_ int, sums, part []C) { Add(t, sums, part, c) })
}

// multiplyAcross is MultiplyGathered in order AcrossK: a thread has a chunk of each panel of its rows.
func multiplyAcross[T, C dsl.Number](t dsl.Thread, sums []C, mem []T, b Factor[T], k int, c *Config, mad func(a, b, c C) C, row, chunk func(i int) Place) {
	height := int(c.Threads(t)) / panel
	first, lane := t.ThreadX()/panel, t.ThreadX()%panel
	panels := int(c.M / c.Chunk / panel)
	inA := c.layoutOf(c.M, AcrossK)
	at, needs := dsl.LocalSlice[int](dsl.ConstInt(panels)), dsl.LocalSlice[uint32](dsl.ConstInt(panels))
	for p := range panels {
		of := chunk((p*panel + lane) * int(c.Chunk))
		at[p], needs[p] = of.At, of.Needs
	}
	run(t, sums, b, k, c, mad, func(xs []T, base, from int) {
		for r := 0; r < int(c.K); r += height {
			n := first + r
			if n >= int(c.K) {
				continue
			}
			of := row(from + n)
			for p := range panels {
				copyChunk(xs, base+(p*int(c.K)+n)*panel+(lane^inA.swizzle(n)), mem, of.At+at[p], from+n < k && of.Has&needs[p] == needs[p], c.Chunk)
			}
		}
	}, func(_ int, sums, part []C) { Add(t, sums, part, c) })
}

// Pixels are where a factor A of an implicit GEMM is: chunk At of a [Place] is in Mem, and Map is one of
// pixels with so many axes if the Config says Bulk. Its copies are a stage of as many pixels as the tile
// has rows, or in order AcrossK of as many as a stage has elements along k.
type Pixels[T dsl.Number] struct {
	Mem  []T
	Map  dsl.TensorMap
	Axes dsl.ConstInt
}

// EachGathered is [Each] for a gathered factor A, see [MultiplyGathered]: of product i, row says where
// row r is, and chunk where chunk n is. For bulk copies begin says where product i begins, and move
// which pixels its stage at k has from there on, of the rows from one on in order AcrossK. A step of 0
// is one product alone.
func EachGathered[T, C dsl.Number](t dsl.Thread, c *Config, a Pixels[T], first, end, step int, mad func(a, b, c C) C, product func(i int) (b Factor[T], k int), row, chunk func(i, n int) Place, begin func(i int) dsl.Pixel, move func(i int, at dsl.Pixel, k, row int) dsl.Pixel, done func(i int, sums []C)) {
	if hasBulk[T, C](t, c) {
		high := c.M // rows of a copy
		if c.A == AcrossK {
			high = panel * c.Chunk
		}
		eachBulk(t, c, 0, first, end, step, func(i int) int {
			_, k := product(i)
			return k
		}, func(r *ring[T], i int) {
			b, k := product(i)
			from := begin(i)
			r.fill(t, b, k, c, func(at, k int, bar *dsl.MBarrier) {
				for p := 0; p < int(c.M); p += int(high) {
					dsl.CopyPixelsAsync(t, r.xs, at+p*int(c.K), a.Map, a.Axes, move(i, from, k, p), bar, 0)
				}
			})
		}, func(_, _ int, sums, part []C) { Add(t, sums, part, c) }, done)
		return
	}
	for i := first; i < end; i += step {
		sums := dsl.LocalSlice[C](c.Sums(t))
		b, k := product(i)
		MultiplyGathered(t, sums, a.Mem, b, k, c, mad, func(r int) Place { return row(i, r) }, func(n int) Place { return chunk(i, n) })
		done(i, sums)
		if step == 0 {
			return
		}
	}
}
