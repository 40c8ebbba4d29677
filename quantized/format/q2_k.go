package format

import "github.com/gokiln/kiln/dsl"

// BlockQ2_K is [Q2_K]: 256 elements of 2 bits in groups of 16, with scales and minima of 4 bits.
//
//	0   scales   16 bytes: the scale of a group in the low, its minimum in the high nibble
//	16  qs       64 bytes: element 128·h + 32·s + l in bits 2s of byte 32·h + l
//	80  d, dmin  halves
//
// An element is (d·scale)·q - dmin·minimum.
type BlockQ2_K struct{ noTable }

// Elems is 256.
func (BlockQ2_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ2_K) Bytes() int { return 84 }

// Run is as [Block] says.
func (BlockQ2_K) Run(d Data, at, r int) Run {
	lo, hi := pairs(d.U32(at+16+pairsAt(r)), d.U32(at+20+pairsAt(r)), r)
	s := d.U8(at + r>>1)
	m := d.F16(at+82) * float32(s>>4)
	return Run{[2]uint32{lo, hi}, d.F16(at+80) * float32(s&15), -m}
}

// Scales is 2.
func (BlockQ2_K) Scales() int { return 2 }

// HasMin is true.
func (BlockQ2_K) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ2_K) Part(d Data, at, p int) Part {
	s := d.U16(at + 2*p)
	scale, low := d.F16(at+80), d.F16(at+82)
	return Part{
		onePair(d.octet4(at+16+p>>2*32), uint32(p)&3*2),
		[2]float32{scale * float32(s&15), scale * float32(s>>8&15)},
		[2]float32{-low * float32(s>>4&15), -low * float32(s>>12)},
	}
}

// pairsAt is the first of the eight bytes that hold run r of 256 elements of 2 bits.
func pairsAt(r int) int { return r>>4*32 + r&3*8 }

// pairs is run r out of the eight bytes.
func pairs(lo, hi uint32, r int) (uint32, uint32) {
	shift := r >> 2 & 3 * 2
	return lo >> shift & (3 * ones), hi >> shift & (3 * ones)
}

// Quantize searches for the scale and the minimum of each group with the smallest error weighted by
// magnitudes.
func (BlockQ2_K) Quantize(out []uint8, x []float32) {
	var w, scales, lows [16]float32
	var q [256]uint8
	var aux [16]uint8
	for g := range 16 {
		group := x[16*g : 16*g+16]
		for j := range 16 {
			w[j] = abs(group[j])
		}
		s := search{first: -0.5, each: 0.1, steps: 15, abs: true}
		scales[g], lows[g] = searchAffine(3, group, w[:], q[16*g:16*g+16], aux[:], s)
	}
	for g := range 16 {
		out[g] = 0
	}
	putF16(out, 80, scaleNibbles(out, scales[:], 0))
	putF16(out, 82, scaleNibbles(out, lows[:], 4))
	finishQ2K(out, x, q[:])
}

// scaleNibbles stores 16 numbers in nibbles at a shift, and returns their scale.
func scaleNibbles(out []uint8, x []float32, shift int) float32 {
	var most float32
	for g := range 16 {
		if x[g] > most {
			most = x[g]
		}
	}
	if !(most > 0) {
		return 0
	}
	inv := 15 / most
	for g := range 16 {
		out[g] |= uint8(nearest(inv*x[g])) << shift
	}
	return most / 15
}

// finishQ2K rounds elements with the scales as they are stored, but those whose scale is 0, and
// stores them.
func finishQ2K(out []uint8, x []float32, q []uint8) {
	d, low := halfAt(out, 80), halfAt(out, 82)
	for g := range 16 {
		scale := d * float32(out[g]&15)
		if scale == 0 {
			continue
		}
		m := low * float32(out[g]>>4)
		for j := 16 * g; j < 16*g+16; j++ {
			q[j] = uint8(nearestIn((x[j]+m)/scale, 0, 3))
		}
	}
	packPairs(out, 16, q)
}

// halfAt returns the half-precision number at i.
func halfAt(b []uint8, i int) float32 {
	return dsl.F32(dsl.F16(uint16(b[i]) | uint16(b[i+1])<<8))
}

// packPairs stores 256 numbers of 2 bits at i.
func packPairs(out []uint8, i int, q []uint8) {
	for j := range 64 {
		at := j>>5*128 + j&31
		out[i+j] = q[at] | q[at+32]<<2 | q[at+64]<<4 | q[at+96]<<6
	}
}

// QuantizeWeighted does so with importance, and for the scales and minima of groups too.
func (BlockQ2_K) QuantizeWeighted(out []uint8, x, importance []float32, _ float32) {
	var w, scales, lows, sums [16]float32
	var q [256]uint8
	var aux, ls, lm [16]uint8
	mean := squares(x) / 256
	for g := range 16 {
		i, j := 16*g, 16*g+16
		sums[g] = importantWeights(w[:], x[i:j], importance[i:j], mean)
		s := search{first: -0.9, each: 0.05, steps: 36}
		scales[g], lows[g] = searchAffine(3, x[i:j], w[:], q[i:j], aux[:], s)
	}
	putF16(out, 80, searchPositive(15, scales[:], ls[:], sums[:]))
	putF16(out, 82, searchPositive(15, lows[:], lm[:], sums[:]))
	for g := range 16 {
		out[g] = ls[g] | lm[g]<<4
	}
	finishQ2K(out, x, q[:])
}
