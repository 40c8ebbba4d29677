package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Splitting says how [Split] stores the parts of a matrix: Padding is that of one of them.
type Splitting struct {
	Padding
	Zeros  int // rows of zeros behind those of a part
	Matrix int // distance of matrices in out
	Step   int // distance of parts
	Terms  dsl.ConstInt
	Second dsl.ConstBool // the matrix is the second factor
}

// Which part of a number, 0 for the largest, is where along k in the first and in the second factor
// of a product of six terms, two bits for each. Fewer terms are the last ones. Small products come
// first, so that few additions are to large sums.
const (
	firstParts  = 0 | 1<<2 | 2<<4 | 0<<6 | 1<<8 | 0<<10
	secondParts = 2 | 1<<2 | 0<<4 | 1<<6 | 0<<8 | 0<<10
)

// Split stores float32 numbers as sums of numbers of type BF16, each the rest of those before. A
// product of six terms leaves out what is below 2⁻²⁵ of it, one of three what is below 2⁻¹⁶, and one
// of one term rounds the factors. Blocks are as those of [Pad].
//
//kiln:kernel
//kiln:const p.Padding.Each=4 p.Terms=3,6
func Split(t dsl.Thread, out []dsl.BF16, x []float32, w core.Walk, p Splitting) {
	each := int(p.Each)
	col := t.BlockX()*t.BlockDimX() + t.ThreadX()
	if col >= p.Width {
		return
	}
	values := dsl.LocalSlice[float32](p.Each)
	for z := t.BlockZ(); z < p.Batch; z += t.GridDimZ() {
		from := w.At(z)[0] + TimesStride(min(col, p.Cols-1), p.Right, p.Contiguous)
		for row := t.BlockY() * each; row < p.Rows+p.Zeros; row += t.GridDimY() * each {
			for e := range each {
				values[e] = x[from+min(row+e, p.Rows-1)*p.Down] // of the matrix, so that nothing branches
			}
			for e := range each {
				if row+e >= p.Rows || col >= p.Cols {
					values[e] = 0
				}
			}
			for e := range each {
				if row+e < p.Rows+p.Zeros {
					p.store(out, z*p.Matrix+(row+e)*p.Pitch+col, values[e])
				}
			}
		}
	}
}

// store stores the parts of a number, from index at on.
func (p *Splitting) store(out []dsl.BF16, at int, v float32) {
	var parts [3]dsl.BF16
	for i := range parts {
		parts[i] = dsl.To[dsl.BF16](v)
		v -= dsl.F32(parts[i])
	}
	for i := range int(p.Terms) {
		out[at+i*p.Step] = parts[p.part(6-int(p.Terms)+i)]
	}
}

// part is which part of a number comes at a place of the six terms.
func (p *Splitting) part(i int) int {
	if p.Second {
		return secondParts >> (2 * i) & 3
	}
	return firstParts >> (2 * i) & 3
}
