package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// DotsStaged is [Dots] with a warp for each team, which copies the bytes of its rows through shared
// memory, some steps ahead, in chunks of 16 bytes: lanes that read parts of blocks themselves read few
// bytes each, at distances that are no power of two, and a load has a transaction for every few lanes.
// A step is a part for each lane. Rows of the weight are multiples of 16 bytes.
//
//kiln:kernel
//kiln:const c.Rows=1,3 c.Each=2 c.Warps=1 c.Teams=2 c.Lanes=1 c.Stages=3
func DotsStaged[F format.Block, T dsl.Float](
	t dsl.Thread, out []T, x []uint32, b []uint8, h []uint16, w []uint32, n, k int, c Few, f F,
) {
	rows, each, stages := int(c.Rows), int(c.Each), int(c.Stages)
	line, parts := k/format.PartLen, f.Elems()/format.PartLen
	bytes := line / parts * f.Bytes()         // of a row
	step := t.WarpSize() / parts * f.Bytes()  // of a step
	words := dsl.ConstInt((step+15)/16*4 + 4) // of a step in shared memory
	steps := (line + t.WarpSize() - 1) / t.WarpSize()
	all := dsl.SharedSlice[uint32](t, c.Teams*c.Stages*c.Each*words)
	first := (t.BlockX()*int(c.Teams) + t.Warp()) * each
	place := func(i, e int) int { return ((t.Warp()*stages+i%stages)*each + e) * int(words) }
	load := func(i int) {
		if i < steps {
			for e := range each {
				row := min(first+e, n-1) * bytes
				from, end := (row+i*step)/16, (row+min((i+1)*step, bytes)+15)/16
				for v := t.Lane(); v < int(words)/4; v += t.WarpSize() {
					if v < end-from {
						dsl.CopyVecAsync[[4]uint32](all, place(i, e)/4+v, w, from+v)
					}
				}
			}
		}
		dsl.CopyCommit()
	}
	for i := range stages - 1 {
		load(i)
	}
	sums := dsl.LocalSlice[float32](c.Rows * c.Each)
	for i := range steps {
		dsl.CopyWaitGroups(c.Stages - 2)
		t.SyncWarp() // the step is there, and all lanes are done with the one that is overwritten next
		load(i + stages - 1)
		if at := i*t.WarpSize() + t.Lane(); at < line {
			for e := range each {
				d := format.Data{W: all[place(i, e):], Words: true}
				p := f.Part(d, (min(first+e, n-1)*bytes+i*step)%16+t.Lane()/parts*f.Bytes(), t.Lane()%parts)
				for m := range rows {
					sums[e*rows+m] = dotPart(t, f, &p, x, rows*line, m*line+at, sums[e*rows+m], 1)
				}
			}
		}
	}
	for i := range rows * each {
		sums[i] = dsl.WarpSum(t, sums[i])
	}
	storeSums(t, out, sums, first, n, &c)
}
