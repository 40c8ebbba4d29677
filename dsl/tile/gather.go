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
// The Config has order AlongK for A, and stages are a panel long.
func MultiplyGathered[T, C dsl.Number](t dsl.Thread, sums []C, mem []T, b Factor[T], k int, c *Config, mad func(a, b, c C) C, row, chunk func(i int) Place) {
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
