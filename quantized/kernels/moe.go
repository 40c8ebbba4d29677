package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

const outOfRange = "indexed moe: expert %d at position %d is out of range"

// IndexedMatVec stores the product of each of len(ids) vectors of k elements with the matrix that
// its id names, one of so many experts of n rows of blocks: out has n elements for each id. Vector
// i is that of number i/each in x. Each block of threads takes a row of a matrix for one vector.
// Sums are in float32 and have one order on all devices: a thread adds up every run of its number
// modulo the threads, and then threads are added as a tree. An id that is none is an error of the
// kernel.
//
//kiln:kernel
func IndexedMatVec[F format.Block, T dsl.Float, I dsl.Int | dsl.Uint](
	t dsl.Thread, out, x []T, ids []I, b []uint8, h []uint16, w []uint32,
	experts, n, k, each int, f F,
) {
	d := format.Data{B: b, H: h, W: w}
	runs, size, line := f.Elems()/format.RunLen, f.Bytes(), k/format.RunLen
	for i := t.BlockX(); i < len(ids)*n; i += t.GridDimX() {
		at := i / n
		id := int(ids[at])
		dsl.Assert(t, id >= 0 && id < experts, outOfRange, id, at)
		row := (id*n + i%n) * (line / runs)
		first := at / each * line
		var sum float32
		for j := t.ThreadX(); j < line; j += t.BlockDimX() {
			r := f.Run(d, (row+j/runs)*size, j%runs)
			sum += dotRun(&r, x, first+j)
		}
		sum = dsl.BlockSum(t, sum)
		if t.ThreadX() == 0 {
			out[i] = dsl.To[T](sum)
		}
	}
}

// dotRun is the dot product of a run with run i of x.
func dotRun[T dsl.Float](r *format.Run, x []T, i int) (sum float32) {
	for half := range 2 {
		v := dsl.LoadVec[[4]T](x, 2*i+half)
		for j := range 4 {
			sum = dsl.FMA(r.At(4*half+j), dsl.F32(v[j]), sum)
		}
	}
	return sum
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
