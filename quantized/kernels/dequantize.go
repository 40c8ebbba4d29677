package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Dequantize stores the values of blocks, each rounded once from float32. The bytes of the blocks
// are b, the same memory as halves h and as words w; the first block is the one of number first. Each
// thread has runs of eight elements.
//
//kiln:kernel
func Dequantize[F format.Block, T dsl.Float](t dsl.Thread, out []T, b []uint8, h []uint16, w []uint32, first int, f F) {
	d := format.Data{B: b, H: h, W: w}
	runs, size := f.Elems()/format.RunLen, f.Bytes()
	for i := t.Global(); i < len(out)/format.RunLen; i += t.GlobalSize() {
		r := f.Run(d, (first+i/runs)*size, i%runs)
		storeRun(out, i, &r)
	}
}

// storeRun stores a run as run i of a slice.
func storeRun[T dsl.Float](out []T, i int, r *format.Run) {
	for half := range 2 {
		var v [4]T
		for j := range 4 {
			v[j] = dsl.To[T](r.At(4*half + j))
		}
		dsl.StoreVec(out, 2*i+half, v)
	}
}

// Rows stores the rows of a matrix of blocks that ids name, as Dequantize does. Cols are the
// elements of a row, rows how many there are. An id that is none is an error of the kernel.
//
//kiln:kernel
func Rows[F format.Block, T dsl.Float, I dsl.Int | dsl.Uint](
	t dsl.Thread, out []T, ids []I, b []uint8, h []uint16, w []uint32, rows, cols int, f F,
) {
	d := format.Data{B: b, H: h, W: w}
	runs, size := f.Elems()/format.RunLen, f.Bytes()
	line := cols / format.RunLen
	for i := t.Global(); i < len(out)/format.RunLen; i += t.GlobalSize() {
		at := i / line
		id := int(ids[at])
		dsl.Assert(t, id >= 0 && id < rows, "quantized embedding: index %d at position %d is out of range", id, at)
		col := i % line
		r := f.Run(d, (id*(line/runs)+col/runs)*size, col%runs)
		storeRun(out, i, &r)
	}
}
