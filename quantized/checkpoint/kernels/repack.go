package kernels

import "github.com/gokiln/kiln/dsl"

// Packing is how a file has the codes of a weight of n rows and k columns, in groups of columns.
type Packing interface {
	// Code returns the code of an element.
	Code(q []uint32, row, col, n, k, bits int) uint32
	// Zero returns the zero point of a row in a group.
	Zero(q []uint32, row, group, n, groups, bits int) uint32
}

// Columns packs neighbouring columns of a row into words, lowest bits first, all rows beside each
// other, and the zero points of neighbouring rows.
type Columns struct{}

// Code is as [Packing] says. A code of 3 bits may be in two words.
func (Columns) Code(q []uint32, row, col, n, _, bits int) uint32 {
	return bitsAt(q, row, n, col*bits, bits)
}

// Zero is as [Packing] says.
func (Columns) Zero(q []uint32, row, group, n, _, bits int) uint32 {
	return bitsAt(q, group*(n*bits>>5), 1, row*bits, bits)
}

// bitsAt reads so many bits at a bit of words that are step apart, the first of them at number
// first.
func bitsAt(q []uint32, first, step, bit, bits int) uint32 {
	i, shift := first+bit>>5*step, bit&31
	v := q[i] >> shift
	if shift+bits > 32 {
		v |= q[i+step] << (32 - shift)
	}
	return v & (1<<bits - 1)
}

// Interleaved packs eight neighbouring rows of a column into a word, of 4 bits: first the even
// ones, then the odd ones; and so the zero points.
type Interleaved struct{}

// Code is as [Packing] says.
func (Interleaved) Code(q []uint32, row, col, n, _, _ int) uint32 {
	place := row&7>>1 | row&1<<2
	return q[col*(n>>3)+row>>3] >> (place * 4) & 15
}

// Zero is as [Packing] says.
func (p Interleaved) Zero(q []uint32, row, group, n, groups, bits int) uint32 {
	return p.Code(q, row, group, n, groups, bits)
}

// Rows packs neighbouring columns of a row into words, row after row, and the zero points of
// neighbouring rows.
type Rows struct{}

// Code is as [Packing] says.
func (Rows) Code(q []uint32, row, col, _, k, bits int) uint32 {
	return bitsAt(q, row*(k*bits>>5), 1, col*bits, bits)
}

// Zero is as [Packing] says.
func (Rows) Zero(q []uint32, row, group, _, groups, bits int) uint32 {
	return bitsAt(q, group, groups, row*bits, bits)
}

// Repack stores the codes of a weight of n rows and k columns row after row: those of 3 bits 32 at
// a time in three words, others as many as a word has. Column i is the one of number order[i] in
// the file, or i if there is no order.
//
//kiln:kernel
//kiln:const bits=4,3
func Repack[P Packing](
	t dsl.Thread, out, q []uint32, order []int32, n, k int, bits dsl.ConstInt, p P,
) {
	words := 1
	if bits == 3 {
		words = 3
	}
	many := 32 * words / int(bits)
	for i := t.Global(); i < k/many*n; i += t.GlobalSize() {
		row, unit := i%n, i/n // neighbouring threads read neighbours
		var w [4]uint32
		for j := range many {
			col := unit*many + j
			if len(order) > 0 {
				col = int(order[col])
			}
			code := p.Code(q, row, col, n, k, int(bits))
			at, shift := j*int(bits)>>5, j*int(bits)&31
			w[at] |= code << shift
			if shift+int(bits) > 32 {
				w[at+1] |= code >> (32 - shift)
			}
		}
		for j := range words {
			out[(row*(k/many)+unit)*words+j] = w[j]
		}
	}
}

// Zeros stores the zero points of n rows in groups, for each row those of all groups: what the file
// has and more, of which the lowest bits count.
//
//kiln:kernel
//kiln:const bits=4,3
func Zeros[P Packing](
	t dsl.Thread, out []uint8, q []uint32, n, groups, more int, bits dsl.ConstInt, p P,
) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		z := p.Zero(q, i/groups, i%groups, n, groups, int(bits)) + uint32(more)
		out[i] = uint8(z & (1<<int(bits) - 1))
	}
}
