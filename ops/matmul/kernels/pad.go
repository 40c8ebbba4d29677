package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Padding says how [Pad] copies matrices.
type Padding struct {
	Rows, Cols  int           // size of a matrix
	Down, Right int           // its strides
	Width       int           // elements of a row of out that are written
	Pitch       int           // distance of rows of out
	Batch       int           // how many matrices there are
	Each        dsl.ConstInt  // rows of a thread, all of which it loads before it stores one
	Contiguous  dsl.ConstBool // Right is 1
}

// Pad copies matrices, by value, to rows of another pitch, in which zeros come behind the columns. Neighbouring
// threads have neighbouring columns. Blocks in x go over parts of rows, in y over bands of Each rows,
// in z over matrices.
//
//kiln:kernel
//kiln:const p.Each=8
func Pad[O, T dsl.Number](t dsl.Thread, out []O, x []T, w core.Walk, p Padding) {
	each := int(p.Each)
	col := t.BlockX()*t.BlockDimX() + t.ThreadX()
	if col >= p.Width {
		return
	}
	values := dsl.LocalSlice[O](p.Each)
	for z := t.BlockZ(); z < p.Batch; z += t.GridDimZ() {
		from := w.At(z)[0] + TimesStride(min(col, p.Cols-1), p.Right, p.Contiguous)
		for row := t.BlockY() * each; row < p.Rows; row += t.GridDimY() * each {
			for e := range each {
				values[e] = dsl.Convert[O](x[from+min(row+e, p.Rows-1)*p.Down]) // of the matrix, so that nothing branches
			}
			for e := range each {
				if col >= p.Cols {
					values[e] = dsl.Convert[O](0)
				}
			}
			for e := range each {
				if row+e < p.Rows {
					out[(z*p.Rows+row+e)*p.Pitch+col] = values[e]
				}
			}
		}
	}
}
