package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/block"
)

// CollectiveParts is how many results of each thread Collectives writes.
const CollectiveParts = 4

// Collectives combines the values of a block of so many threads by operators, row by row.
//
//kiln:kernel
//kiln:const threads=256
func Collectives[T int32 | uint64 | float32](t dsl.Thread, out, x []T, threads dsl.ConstInt) {
	n := int(threads)
	for row := t.BlockX(); row < len(x)/n; row += t.GridDimX() {
		v, o := x[row*n+t.ThreadX()], out[row*n*CollectiveParts+t.ThreadX():]
		o[0] = block.Reduce(t, threads, v, func(a, b T) T { return a + b })
		o[n] = block.Reduce(t, threads, v, func(a, b T) T { return max(a, b) })
		o[2*n], o[3*n] = block.Scan(t, n, v, 0, latest[T])
	}
}

// latest is the last one that is not zero: an operator whose operands may not be exchanged.
func latest[T int32 | uint64 | float32](a, b T) T {
	if b != 0 {
		return b
	}
	return a
}

// Handover writes the sums of x up to each element in one launch: blocks of one element for each thread take
// tiles by tickets, publish the sums of tiles, and await those of earlier ones.
//
//kiln:kernel
//kiln:const threads=64 each=2
func Handover(t dsl.Thread, out, x []uint64, words []uint32, threads, each dsl.ConstInt) {
	status := block.Status{Words: words[2:], Each: each}
	add := func(a, b uint64) uint64 { return a + b }
	for {
		tile := block.Ticket(t, &words[0])
		after := block.Ticket(t, &words[1])
		dsl.Assert(t, after <= len(x)/int(threads)+t.GridDimX(), "each block takes one ticket too many")
		if tile*int(threads) >= len(x) {
			return
		}
		i := tile*int(threads) + t.ThreadX()
		below, all := block.Scan(t, int(threads), x[i], 0, add)
		if t.ThreadX() == 0 {
			status.Publish(tile, all)
		}
		var earlier uint64
		for k := t.ThreadX(); k < tile; k += int(threads) {
			earlier += status.Await(k)
		}
		out[i] = block.Reduce(t, threads, earlier, add) + below + x[i]
	}
}
