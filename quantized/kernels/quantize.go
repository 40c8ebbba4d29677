package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/quantized/format"
)

// Quantize stores the elements of x as blocks. Each thread has whole blocks.
//
//kiln:kernel
func Quantize[F format.Quantizer](t dsl.Thread, out []uint8, x []float32, f F) {
	elems, size := f.Elems(), f.Bytes()
	for i := t.Global(); i < len(x)/elems; i += t.GlobalSize() {
		f.Quantize(out[i*size:i*size+size], x[i*elems:i*elems+elems])
	}
}

// QuantizeWeighted is Quantize with the importance of each column. Squares are the mean squares of
// rows.
//
//kiln:kernel
func QuantizeWeighted[F format.Weighted](t dsl.Thread, out []uint8, x, importance, squares []float32, f F) {
	elems, size := f.Elems(), f.Bytes()
	cols := len(importance)
	for i := t.Global(); i < len(x)/elems; i += t.GlobalSize() {
		at := i * elems
		w := importance[at%cols : at%cols+elems]
		f.QuantizeWeighted(out[i*size:i*size+size], x[at:at+elems], w, squares[at/cols])
	}
}

// MeanSquares stores the mean of the squares of each row of cols elements, added up in their order.
//
//kiln:kernel
func MeanSquares(t dsl.Thread, out, x []float32, cols int) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		var sum float32
		for j := i * cols; j < i*cols+cols; j++ {
			sum += float32(x[j] * x[j])
		}
		out[i] = sum / float32(cols)
	}
}
