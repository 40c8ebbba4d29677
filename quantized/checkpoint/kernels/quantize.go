package kernels

import "github.com/gokiln/kiln/dsl"

// QuantizeCodebook stores codes of 4 bits, as [Codebook] has them, for the elements of x in units
// of the largest magnitude of their block, which goes to absmax. Bounds are the 15 numbers up to
// which a value gets the codes from 0 on. Each thread has whole blocks of size elements, of which
// the last one may be shorter.
//
//kiln:kernel
func QuantizeCodebook(t dsl.Thread, out []uint32, absmax, x, bounds []float32, size int) {
	for i := t.Global(); i < len(absmax); i += t.GlobalSize() {
		first, end := i*size, min(i*size+size, len(x))
		most := float32(0)
		for at := first; at < end; at++ {
			most = max(most, dsl.Abs(x[at]))
		}
		absmax[i] = most
		inverse := 1 / max(most, 1e-38)
		for at := first; at < end; at += RunLen {
			var w uint32
			for j := range RunLen {
				v := max(-1, min(1, x[at+j]*inverse))
				w |= codeOf(v, bounds) << ((j ^ 1) * 4)
			}
			out[at/RunLen] = w
		}
	}
}

// codeOf is how many bounds are below v.
func codeOf(v float32, bounds []float32) (code uint32) {
	for i := range 15 {
		if v > bounds[i] {
			code++
		}
	}
	return code
}

// QuantizeE4M3 stores the elements of a matrix of cols columns as E4M3, four to a word, in blocks
// of some rows and columns, across of which are beside each other. A block has a scale, 1/448 of
// the largest magnitude, by which its elements are divided. Each block of threads has whole blocks.
//
//kiln:kernel
func QuantizeE4M3(
	t dsl.Thread, out []uint32, scales, x []float32, cols, across, rows, columns int,
) {
	for i := t.BlockX(); i < len(scales); i += t.GridDimX() {
		top, left := i/across*rows, i%across*columns
		height, words := min(rows, len(x)/cols-top), min(columns, cols-left)/4
		most := float32(0)
		for n := t.ThreadX(); n < height*words; n += t.BlockDimX() {
			at := (top+n/words)*cols + left + n%words*4
			for j := range 4 {
				most = max(most, dsl.Abs(x[at+j]))
			}
		}
		scale := dsl.BlockMax(t, most) / 448
		if t.ThreadX() == 0 {
			scales[i] = scale
		}
		for n := t.ThreadX(); n < height*words; n += t.BlockDimX() {
			at := (top+n/words)*cols + left + n%words*4
			var w uint32
			for j := range 4 {
				v := float32(0)
				if scale > 0 {
					v = x[at+j] / scale
				}
				w |= uint32(dsl.To[dsl.F8E4M3](v).Bits()) << (j * 8)
			}
			out[at/4] = w
		}
		t.Sync()
	}
}
