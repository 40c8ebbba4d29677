package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// MatVec stores the products of rows vectors of k elements, x, with all rows of a matrix of blocks:
// out has rows times n of them. Each block of threads takes a row of the matrix for all vectors,
// whose sums are in float32 and have one order on all devices: a thread adds up every run of its
// number modulo the threads, and then threads are added as a tree.
//
//kiln:kernel
//kiln:const rows=1,3
func MatVec[F format.Block, T dsl.Float](
	t dsl.Thread, out, x []T, b []uint8, h []uint16, w []uint32, n, k int, rows dsl.ConstInt, f F,
) {
	d := format.Data{B: b, H: h, W: w}
	runs, size, line := f.Elems()/format.RunLen, f.Bytes(), k/format.RunLen
	for row := t.BlockX(); row < n; row += t.GridDimX() {
		sums := dsl.LocalSlice[float32](rows)
		for m := range int(rows) {
			sums[m] = 0
		}
		for i := t.ThreadX(); i < line; i += t.BlockDimX() {
			r := f.Run(d, (row*(line/runs)+i/runs)*size, i%runs)
			for m := range int(rows) {
				sums[m] += dotRun(&r, x, m*line+i)
			}
		}
		for m := range int(rows) {
			sum := dsl.BlockSum(t, sums[m])
			if t.ThreadX() == 0 {
				out[m*n+row] = dsl.To[T](sum)
			}
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
