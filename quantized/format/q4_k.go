package format

import "github.com/gokiln/kiln/dsl"

// BlockQ4_K is [Q4_K]: 256 elements of 4 bits in groups of 32, with scales and minima of 6 bits.
//
//	0   d, dmin  halves
//	4   scales   12 bytes: see scaleMin
//	16  qs       128 bytes: group 2i in the low, 2i+1 in the high nibbles of 32 bytes
//
// An element is (d·scale)·q - dmin·minimum.
type BlockQ4_K struct{ noTable }

// Elems is 256.
func (BlockQ4_K) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockQ4_K) Bytes() int { return 144 }

// Run is as [Block] says.
func (BlockQ4_K) Run(d Data, at, r int) Run {
	lo, hi := nibblesK(&d, at+16, r)
	return affineK(&d, at, r>>2, lo, hi)
}

// Scales is 1.
func (BlockQ4_K) Scales() int { return 1 }

// HasMin is true.
func (BlockQ4_K) HasMin() bool { return true }

// Part is as [Block] says.
func (BlockQ4_K) Part(d Data, at, p int) Part {
	return partK(&d, at, p, oneNibble(d.octet16(at+16+p>>1*32), uint32(p)&1*4))
}

// nibblesK is run r of 256 nibbles at i, a multiple of 4, in groups of 32 as those of Q4_K.
func nibblesK(d *Data, i, r int) (lo, hi uint32) {
	i += r>>3*32 + r&3*8
	shift := r >> 2 & 1 * 4
	return d.U32(i) >> shift & lowNibbles, d.U32(i+4) >> shift & lowNibbles
}

// affineK is a run of group j of a block at i that begins with d, dmin and the scales.
func affineK(d *Data, i, j int, lo, hi uint32) Run {
	scale, low := scaleMin(d, i+4, j)
	m := d.F16(i+2) * float32(low)
	return Run{[2]uint32{lo, hi}, d.F16(i) * float32(scale), -m}
}

// scaleMin is the scale and the minimum of group j out of the 12 bytes at i. Those of the first
// four groups are the lower 6 bits of bytes j and j+4. Those of the others have their lower 4 bits
// in the nibbles of byte j+4, and the others above those 6 bits of bytes j-4 and j.
func scaleMin(d *Data, i, j int) (scale, low uint32) {
	a, b := d.U8(i+j&3), d.U8(i+4+j&3)
	if j < 4 {
		return a & 63, b & 63
	}
	c := d.U8(i + 8 + j&3)
	return c&15 | a>>6<<4, c>>4 | b>>6<<4
}

// partK is part p of a block at i that begins with d, dmin and the scales in 16 bytes.
func partK(d *Data, i, p int, q [8]uint32) Part {
	h := d.quad16(i)
	shift := uint32(p) & 3 * 8
	a, b, c := h[1]>>shift, h[2]>>shift, h[3]>>shift
	scale, low := a&63, b&63
	if p >= 4 {
		scale, low = c&15|a>>2&0x30, c>>4&15|b>>2&0x30
	}
	return Part{q, [2]float32{half(h[0]) * float32(scale)}, [2]float32{-half(h[0]>>16) * float32(low)}}
}

// Span is as [Spanned] says. Lane 2g has the scale of group g, and the next one its minimum.
func (BlockQ4_K) Span(t dsl.Thread, d Data, at int) (s Span) {
	lane := t.Lane()
	w := d.W[at>>2:][:36]
	l, low, g := uint32(lane), uint32(lane)&1, uint32(lane)>>1&3
	head := w[lane]
	bits := dsl.Shuffle(t, head, 1+lane&1)
	shift, mask, more := g*8, uint32(63), uint32(0)
	if l >= 8 {
		shift, mask, more = g*8+4*low, 15, 0x30
	}
	rest := dsl.Shuffle(t, head, 1+lane&1+lane>>3*(2-lane&1))
	level := rest>>shift&mask | bits>>(g*8+2)&more
	scale, least := half(w[0]), half(w[0]>>16)
	if low == 1 {
		scale = least
	}
	s.D = scale * float32(int32(level))
	for h := range 2 {
		v := w[4+16*h+lane]
		s.Q[2*h], s.Q[2*h+1] = v&lowNibbles, v>>4&lowNibbles
	}
	return s
}

// Slot is as [Spanned] says.
func (BlockQ4_K) Slot(w int) int { return w>>5*32 + w>>3&1*16 + w>>4&1*8 + w&7 }

// ScaleLane is as [Spanned] says.
func (BlockQ4_K) ScaleLane(j, lane int) int { return j>>1*8 + lane>>3*4 + j&1*2 }

// Bias is 0.
func (BlockQ4_K) Bias() int { return 0 }

// SpanMins is true.
func (BlockQ4_K) SpanMins() bool { return true }

// Quantize searches for the scale and the minimum of each group with the smallest weighted error.
func (BlockQ4_K) Quantize(out []uint8, x []float32) {
	var q [256]uint8
	quantizeK(out, x, q[:], 15, search{first: -1, each: 0.1, steps: 20})
	packNibblesK(out, 16, q[:])
}

// QuantizeWeighted does so with importance, and for the scales and minima of groups too.
func (BlockQ4_K) QuantizeWeighted(out []uint8, x, importance []float32, square float32) {
	var q [256]uint8
	quantizeImportantK(out, x, importance, q[:], 15)
	packNibblesK(out, 16, q[:])
}

// quantizeK stores d, dmin and the scales, and chooses integers of 0 to n.
func quantizeK(out []uint8, x []float32, q []uint8, n int32, s search) {
	var w [32]float32
	var aux [32]uint8
	var scales, lows [8]float32
	var mostScale, mostLow float32
	for g := range 8 {
		group := x[32*g : 32*g+32]
		mean := dsl.Sqrt(squares(group) / 32)
		for j := range 32 {
			w[j] = mean + abs(group[j])
		}
		scales[g], lows[g] = searchAffine(n, group, w[:], q[32*g:32*g+32], aux[:], s)
		if scales[g] > mostScale {
			mostScale = scales[g]
		}
		if lows[g] > mostLow {
			mostLow = lows[g]
		}
	}
	var ls, lm [8]uint8
	levelsK(ls[:], scales[:], mostScale)
	levelsK(lm[:], lows[:], mostLow)
	finishK(out, x, q, n, ls[:], lm[:], mostScale/63, mostLow/63)
}

// levelsK takes 8 numbers to 0 … 63, of which the largest is most.
func levelsK(level []uint8, x []float32, most float32) {
	var inv float32
	if most > 0 {
		inv = 63 / most
	}
	for g := range 8 {
		level[g] = uint8(min(63, nearest(inv*x[g])))
	}
}

func quantizeImportantK(out []uint8, x, importance []float32, q []uint8, n int32) {
	var w [32]float32
	var aux [32]uint8
	var scales, lows, sums [8]float32
	square := float32(2*squares(x)) / 256
	for g := range 8 {
		i, j := 32*g, 32*g+32
		sums[g] = importantWeights(w[:], x[i:j], importance[i:j], square)
		s := search{first: -0.9, each: 0.05, steps: 36}
		scales[g], lows[g] = searchAffine(n, x[i:j], w[:], q[i:j], aux[:], s)
	}
	var ls, lm [8]uint8
	d := searchPositive(63, scales[:], ls[:], sums[:])
	low := searchPositive(63, lows[:], lm[:], sums[:])
	finishK(out, x, q, n, ls[:], lm[:], d, low)
}

// finishK stores d, dmin and the scales, and rounds elements with these as they are stored, but
// those whose scale is 0.
func finishK(out []uint8, x []float32, q []uint8, n int32, ls, lm []uint8, d, low float32) {
	d, low = putF16(out, 0, d), putF16(out, 2, low)
	for g := range 4 {
		out[4+g] = ls[g] | ls[g+4]>>4<<6
		out[8+g] = lm[g] | lm[g+4]>>4<<6
		out[12+g] = ls[g+4]&15 | lm[g+4]<<4
	}
	for g := range 8 {
		scale := d * float32(ls[g])
		if scale == 0 {
			continue
		}
		m := low * float32(lm[g])
		for j := 32 * g; j < 32*g+32; j++ {
			q[j] = uint8(nearestIn((x[j]+m)/scale, 0, n))
		}
	}
}

// packNibblesK stores 256 numbers of 4 bits at i.
func packNibblesK(out []uint8, i int, q []uint8) {
	for j := range 128 {
		at := j>>5*64 + j&31
		out[i+j] = q[at]&15 | q[at+32]<<4
	}
}
