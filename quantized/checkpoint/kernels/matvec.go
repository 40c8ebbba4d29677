package kernels

import "github.com/gokiln/kiln/dsl"

// MatVec stores the products of rows vectors, x, with all n rows of a weight: out has rows times n
// of them. Each block of threads takes a row of the weight for all vectors. Sums are in float32 and
// in one order on all devices: the products of a run are added up and multiplied with their scale,
// a thread adds up every run of its number modulo the threads, and then threads are added as a
// tree.
//
//kiln:kernel
//kiln:const rows=1,3
func MatVec[F Scheme, S, T dsl.Float](
	t dsl.Thread, out, x []T, s []S, q []uint32, z []uint8, m []float32, l Layout,
	n int, rows dsl.ConstInt, f F,
) {
	d := Data{q, z, m}
	for row := t.BlockX(); row < n; row += t.GridDimX() {
		sums := dsl.LocalSlice[float32](rows)
		for i := range int(rows) {
			sums[i] = 0
		}
		for r := t.ThreadX(); r < l.Line; r += t.BlockDimX() {
			block := f.Block(&l, row, r)
			scale := f.Scale(&d, &l, dsl.F32(s[f.ScaleAt(&l, block)]), block)
			v := f.Values(&d, &l, row, r, block)
			for i := range int(rows) {
				sums[i] = dsl.FMA(scale, dot(&v, x, i*l.Line+r), sums[i])
			}
		}
		for i := range int(rows) {
			sum := dsl.BlockSum(t, sums[i])
			if t.ThreadX() == 0 {
				out[i*n+row] = dsl.To[T](sum)
			}
		}
	}
}

// dot is the dot product of the elements of a run and run i of x.
func dot[T dsl.Float](v *[RunLen]float32, x []T, i int) (sum float32) {
	for half := range 2 {
		four := dsl.LoadVec[[4]T](x, 2*i+half)
		for j := range 4 {
			sum = dsl.FMA(v[4*half+j], dsl.F32(four[j]), sum)
		}
	}
	return sum
}
