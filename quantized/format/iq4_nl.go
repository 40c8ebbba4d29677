package format

// BlockIQ4_NL is [IQ4_NL]: 32 elements of 4 bits with a scale, whose values are not equally far
// apart.
//
//	0  d   half
//	2  qs  16 bytes, as those of [BlockQ4_0]
//
// An element is d times value q of a table.
type BlockIQ4_NL struct{ noTable }

// Elems is 32.
func (BlockIQ4_NL) Elems() int { return 32 }

// Bytes is how many bytes the fields have.
func (BlockIQ4_NL) Bytes() int { return 18 }

// Run is as [Block] says.
func (BlockIQ4_NL) Run(d Data, at, r int) Run {
	lo, hi := nibbles16(&d, at+2, r)
	return scaled(valuesIQ4(lo), valuesIQ4(hi), d.F16(at))
}

// Scales is 1.
func (BlockIQ4_NL) Scales() int { return 1 }

// HasMin is false.
func (BlockIQ4_NL) HasMin() bool { return false }

// Part is as [Block] says.
func (BlockIQ4_NL) Part(d Data, at, p int) Part {
	return plain(valuesOfIQ4(d.quad2(at+2)), d.F16(at))
}

// valuesIQ4 looks up the values of four elements.
func valuesIQ4(w uint32) uint32 {
	return lookup(w, wordIQ4_0, wordIQ4_1, wordIQ4_2, wordIQ4_3)
}

// valuesOfIQ4 looks up the values of the nibbles of 16 bytes.
func valuesOfIQ4(w [4]uint32) [8]uint32 {
	return lookupNibbles(w, wordIQ4_0, wordIQ4_1, wordIQ4_2, wordIQ4_3)
}

// QuantizeFast takes the element of the largest magnitude to the first value, and then the scale
// with the smallest error for the values that elements have so.
func (BlockIQ4_NL) QuantizeFast(out []uint8, x []float32) {
	var q [32]uint8
	putF16(out, 0, searchIQ4(x, x[:0], 0, -1, q[:]))
	packNibbles(out, 2, q[:])
}

// Quantize searches for the scale with the smallest error weighted by squares, out of 15 around
// that which takes the extreme to the first value.
func (BlockIQ4_NL) Quantize(out []uint8, x []float32) { quantizeIQ4NL(out, x, x[:0]) }

// QuantizeWeighted does so with importance.
func (BlockIQ4_NL) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	quantizeIQ4NL(out, x, importance)
}

func quantizeIQ4NL(out []uint8, x, importance []float32) {
	var q [32]uint8
	d := searchIQ4(x, importance, float32(squares(x)*(2.0/32)), 7, q[:])
	putF16(out, 0, d)
	roundIQ4(q[:], x, inverse(d))
	packNibbles(out, 2, q[:])
}

// valueIQ4 are the values of IQ4_NL.
var valueIQ4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// nearestIQ4 is the number of the value nearest to x, the higher of two.
func nearestIQ4(x float32) uint8 {
	if x <= valueIQ4[0] {
		return 0
	}
	if x >= valueIQ4[15] {
		return 15
	}
	lo, hi := 0, 15
	for range 4 {
		if hi-lo > 1 {
			if mid := (lo + hi) / 2; x < valueIQ4[mid] {
				hi = mid
			} else {
				lo = mid
			}
		}
	}
	if x-valueIQ4[lo] < valueIQ4[hi]-x {
		return uint8(lo)
	}
	return uint8(hi)
}

func roundIQ4(q []uint8, x []float32, inv float32) {
	for j := range x {
		q[j] = nearestIQ4(float32(inv * x[j]))
	}
}

// searchIQ4 returns the scale of 32 elements with the smallest error among candidates, none of them
// a search if tries is negative, and stores the numbers of the values of the first one. Without
// importance the weights are squares, and where all of it is 0.
func searchIQ4(x, importance []float32, square float32, tries int, q []uint8) float32 {
	var w [32]float32
	for j := range 32 {
		w[j] = float32(x[j] * x[j])
	}
	if len(importance) > 0 {
		importantWeights(w[:], x, importance, square)
	}
	most := extreme(x)
	if abs(most) < tiny {
		clear8(q, 32)
		return 0
	}
	d := most / valueIQ4[0]
	if tries > 0 {
		d = -d
	}
	inv := 1 / d
	roundIQ4(q, x, inv)
	qx, q2 := fitIQ4(x, w[:], inv)
	if q2 == 0 { // nothing matters; the reference divides by it
		for j := range 32 {
			w[j] = float32(x[j] * x[j])
		}
		qx, q2 = fitIQ4(x, w[:], inv)
	}
	d = qx / q2
	best := d * qx
	for i := -tries; i <= tries; i++ {
		qx, q2 = fitIQ4(x, w[:], (float32(i)+valueIQ4[0])/most)
		if q2 > 0 && qx*qx > best*q2 {
			d = qx / q2
			best = d * qx
		}
	}
	return d
}

// fitIQ4 returns the sums of w·value·x and w·value² for the values nearest to x·inv.
func fitIQ4(x, w []float32, inv float32) (qx, q2 float32) {
	for j := range x {
		v := valueIQ4[nearestIQ4(float32(inv*x[j]))]
		wv := float32(w[j] * v)
		qx += float32(wv * x[j])
		q2 += float32(wv * v)
	}
	return qx, q2
}
