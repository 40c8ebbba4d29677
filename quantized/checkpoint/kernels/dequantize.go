package kernels

import "github.com/gokiln/kiln/dsl"

// Dequantize stores the elements of rows of a weight from row first on, each rounded once from
// float32. Each thread has runs of eight elements.
//
//kiln:kernel
func Dequantize[F Scheme, S, T dsl.Float](
	t dsl.Thread, out []T, s []S, q []uint32, z []uint8, m []float32, l Layout, first int, f F,
) {
	d := Data{q, z, m}
	for i := t.Global(); i < len(out)/RunLen; i += t.GlobalSize() {
		store(out, i, s, &d, &l, first+i/l.Line, i%l.Line, f)
	}
}

// store stores run r of a row as run i of out.
func store[F Scheme, S, T dsl.Float](out []T, i int, s []S, d *Data, l *Layout, row, r int, f F) {
	block := f.Block(l, row, r)
	scale := f.Scale(d, l, dsl.F32(s[f.ScaleAt(l, block)]), block)
	v := f.Values(d, l, row, r, block)
	for half := range 2 {
		var four [4]T
		for j := range 4 {
			four[j] = dsl.To[T](float32(v[4*half+j] * scale))
		}
		dsl.StoreVec(out, 2*i+half, four)
	}
}

// Embedding stores the rows of a weight of n rows that ids name, as Dequantize does. An id that is
// none is an error of the kernel.
//
//kiln:kernel
func Embedding[F Scheme, S, T dsl.Float](
	t dsl.Thread, out []T, ids []int64, s []S, q []uint32, z []uint8, m []float32, l Layout,
	n int, f F,
) {
	d := Data{q, z, m}
	for i := t.Global(); i < len(out)/RunLen; i += t.GlobalSize() {
		at := i / l.Line
		id := ids[at]
		dsl.Assert(t, id >= 0 && id < int64(n),
			"quantized embedding: index %d at position %d is out of range", id, at)
		store(out, i, s, &d, &l, int(id), i%l.Line, f)
	}
}
