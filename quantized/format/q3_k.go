package format

// BlockQ3_K is [Q3_K]: 256 elements of 3 bits in groups of 16, with scales of 6 bits.
//
//	0    hmask   32 bytes: bit 2 of element 32·b + l, inverted, is bit b of byte l
//	32   qs      64 bytes: the lower bits, as those of [BlockQ2_K]
//	96   scales  12 bytes: low bits of scale j in a nibble of the first eight, low ones first; its
//	             two high bits in byte 8 + j%4, those of j < 4 lowest
//	108  d       half
//
// An element is (d·(scale-32))·(q-4).
type BlockQ3_K struct{ noTable }

// Elems is 256.
func (BlockQ3_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ3_K) Bytes() int { return 110 }

// Run is as [Block] says.
func (BlockQ3_K) Run(d Data, at, r int) Run {
	i := at + 32 + pairsAt(r)
	lo, hi := pairs(d.U32Of16(i), d.U32Of16(i+4), r)
	h, bit := at+r&3*8, r>>2
	lo |= d.U32Of16(h) >> bit & ones << 2
	hi |= d.U32Of16(h+4) >> bit & ones << 2
	scale := d.F16(at+108) * float32(int32(scaleQ3K(&d, at+96, r>>1))-32)
	return scaled(lessBytes(lo, 4), lessBytes(hi, 4), scale)
}

// Scales is 2.
func (BlockQ3_K) Scales() int { return 2 }

// HasMin is true.
func (BlockQ3_K) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ3_K) Part(d Data, at, p int) Part {
	q := onePair(d.octet2(at+32+p>>2*32), uint32(p)&3*2)
	q = addBits(q, d.octet2(at), ones, p, 2)
	scale := d.F16(at + 108)
	s := d.U16(at+96+p&3*2)>>(p>>2*4)&0x0F0F | d.U16(at+104+p&1*2)>>(p>>1*2)&0x0303<<4
	a, b := scale*float32(int32(s&255)-32), scale*float32(int32(s>>8)-32)
	return Part{q, [2]float32{a, b}, [2]float32{-4 * a, -4 * b}}
}

// scaleQ3K is scale j of the 12 bytes at i.
func scaleQ3K(d *Data, i, j int) uint32 {
	return d.U8(i+j&7)>>(j>>3*4)&15 | d.U8(i+8+j&3)>>(j>>2*2)&3<<4
}

// Quantize searches for the scale of each group with the smallest error weighted by squares.
func (BlockQ3_K) Quantize(out []uint8, x []float32) {
	var scales [16]float32
	var q [256]uint8
	for g := range 16 {
		scales[g] = searchCoordinates(4, x[16*g:16*g+16], q[16*g:16*g+16])
	}
	most := extreme(scales[:])
	var levels [16]uint8
	var d float32
	if most != 0 {
		inv := -32 / most
		for g := range 16 {
			levels[g] = uint8(nearestIn(inv*scales[g], -32, 31) + 32)
		}
		d = 1 / inv
		packScalesQ3K(out, levels[:])
	} else {
		for i := range 12 {
			out[96+i] = 0
		}
	}
	finishQ3K(out, x, q[:], d, levels[:])
}

// searchCoordinates chooses integers q of -n to n-1, stored as q+n, and returns the scale with the
// smallest error weighted by squares, after up to five rounds of coordinate descent.
func searchCoordinates(n int32, x []float32, q []uint8) float32 {
	most := extreme(x)
	if abs(most) < tiny {
		clear8(q, len(x))
		return 0
	}
	inv := -float32(n) / most
	lx, l2 := fitSymmetric(n, x, x[:0], inv)
	roundSymmetric(n, x, q, inv)
	for range 5 {
		var changed bool
		if lx, l2, changed = improveCoordinates(n, x, q, lx, l2); !changed {
			break
		}
	}
	if l2 > 0 {
		return lx / l2
	}
	return 0
}

func improveCoordinates(n int32, x []float32, q []uint8, lx, l2 float32) (float32, float32, bool) {
	changed := false
	for i := range x {
		w := float32(x[i] * x[i])
		wx, l := float32(w*x[i]), float32(int32(q[i])-n)
		sx := lx - float32(wx*l)
		if !(sx > 0) {
			continue
		}
		s2 := l2 - float32(float32(w*l)*l)
		to := nearestIn(float32(x[i]*s2)/sx, -n, n-1)
		if to == int32(q[i])-n {
			continue
		}
		l = float32(to)
		sx += float32(wx * l)
		s2 += float32(float32(w*l) * l)
		if s2 > 0 && float32(float32(sx*sx)*l2) > float32(float32(lx*lx)*s2) {
			q[i] = uint8(to + n)
			lx, l2, changed = sx, s2, true
		}
	}
	return lx, l2, changed
}

// packScalesQ3K stores 16 scales of 6 bits.
func packScalesQ3K(out []uint8, levels []uint8) {
	for j := range 8 {
		out[96+j] = levels[j]&15 | levels[j+8]&15<<4
	}
	for j := range 4 {
		out[104+j] = levels[j]>>4 | levels[j+4]>>4<<2 | levels[j+8]>>4<<4 | levels[j+12]>>4<<6
	}
}

// finishQ3K stores d, rounds elements with the scales as they are stored, but those whose scale is
// 0, and stores them.
func finishQ3K(out []uint8, x []float32, q []uint8, d float32, levels []uint8) {
	d = putF16(out, 108, d)
	for g := range 16 {
		scale := d * float32(int32(levels[g])-32)
		if scale == 0 {
			continue
		}
		for j := 16 * g; j < 16*g+16; j++ {
			q[j] = uint8(nearestIn(x[j]/scale, -4, 3) + 4)
		}
	}
	for j := range 32 {
		var top uint8
		for b := range 8 {
			top |= q[32*b+j] >> 2 << b
			q[32*b+j] &= 3
		}
		out[j] = top
	}
	packPairs(out, 32, q)
}

// QuantizeWeighted searches with importance, and for the scales of groups too.
func (BlockQ3_K) QuantizeWeighted(out []uint8, x, importance []float32, _ float32) {
	var w, scales, sums [16]float32
	var q [256]uint8
	var levels [16]uint8
	mean := float32(2*squares(x)) / 256
	for g := range 16 {
		i, j := 16*g, 16*g+16
		sums[g] = importantWeights(w[:], x[i:j], importance[i:j], mean)
		scales[g] = searchSymmetric(4, x[i:j], q[i:j], w[:])
	}
	d := searchSymmetric(32, scales[:], levels[:], sums[:])
	packScalesQ3K(out, levels[:])
	finishQ3K(out, x, q[:], d, levels[:])
}
