package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

const outOfRange = "indexed moe: expert %d at position %d is out of range"

// IndexedDots stores the product of each of len(ids) vectors of k elements with the matrix that its
// id names, one of so many experts of n rows of blocks: out has n elements for each id. Vector i is
// that of number i/each in x, as [Activations] stores it. A team of warps multiplies a vector with
// some rows of a matrix, as [Dots] does one row of activations, so that sums are the same. An id
// that is none is an error of the kernel.
//
//kiln:kernel
//kiln:const c.Rows=1 c.Each=2 c.Warps=1,2 c.Teams=2 c.Lanes=1,8
func IndexedDots[F format.Block, T dsl.Float, I dsl.Int | dsl.Uint](
	t dsl.Thread, out []T, x []uint32, ids []I, b []uint8, h []uint16, w []uint32,
	experts, n, k, each int, c Few, f F,
) {
	d := format.Data{B: b, H: h, W: w, Shifts: c.Lanes > 1}
	line, parts, lanes := k/format.PartLen, f.Elems()/format.PartLen, int(c.Lanes)
	padded := (line + lanes - 1) / lanes * lanes
	size, threads := f.Bytes(), int(c.Warps)*t.WarpSize()
	team, step := t.ThreadX()/threads, int(c.Teams*c.Each)
	groups, all := (n+step-1)/step, len(ids)/each*padded
	// A team has whole blocks, so that a thread has parts of one number.
	part, begin := t.ThreadX()%parts, t.ThreadX()%threads/parts
	for i := t.BlockX(); i < len(ids)*groups; i += t.GridDimX() {
		of, first := i/groups, i%groups*step+team*int(c.Each)
		id := int(ids[of])
		dsl.Assert(t, id >= 0 && id < experts, outOfRange, id, of)
		sums := dsl.LocalSlice[float32](c.Each)
		for e := range int(c.Each) {
			sums[e] = 0
		}
		at, from := begin, of/each*padded
		for j := t.ThreadX() % threads; j < line; j += threads {
			ps := dsl.LocalSlice[format.Part](c.Each) // all loads come first
			for e := range int(c.Each) {
				row := id*n + min(first+e, n-1)
				ps[e] = f.Part(d, (row*(line/parts)+at)*size, part)
			}
			at += threads / parts
			for e := range int(c.Each) {
				sums[e] = dotPart(t, f, &ps[e], x, all, from+j, sums[e], c.Lanes)
			}
		}
		for e := range int(c.Each) {
			sums[e] = dsl.WarpSum(t, sums[e])
		}
		storeSums(t, out[of*n:of*n+n], sums, first, n, &c)
	}
}

// Experts copies ids of experts. One that is none is an error of the kernel.
//
//kiln:kernel
func Experts[I dsl.Int | dsl.Uint](t dsl.Thread, out []uint32, ids []I, experts int) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		id := int(ids[i])
		dsl.Assert(t, id >= 0 && id < experts, outOfRange, id, i)
		out[i] = uint32(id)
	}
}
