package format

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// BlockIQ1_M is [IQ1_M]: 256 elements in groups of 16, each run of 8 out of the code book of
// [BlockIQ1_S].
//
//	0   qs      32 bytes: the lower 8 bits of an index for each run
//	32  qh      16 bytes: a nibble for each run, the higher 3 bits of the index and the sign of δ
//	48  scales  4 of 2 bytes: 4 scales of 3 bits, and a nibble of d, a half, lowest first
//
// An element is (d·(2·scale+1))·(value+δ), where δ is ⅛ or -⅛.
type BlockIQ1_M struct{}

// Elems is 256.
func (BlockIQ1_M) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ1_M) Bytes() int { return 56 }

// Run is as [Block] says.
func (BlockIQ1_M) Run(d Data, at, r int) Run {
	h := d.U8(at+32+r>>1) >> (r & 1 * 4)
	i := d.U8(at+r) | h&7<<8
	s0, s1 := d.U32(at+48), d.U32(at+52)
	half := s0>>12&0xF | s0>>24&0xF0 | s1>>4&0xF00 | s1>>16&0xF000
	scale := d.U16(at+48+r>>3*2) >> (r >> 1 & 3 * 3) & 7
	return shifted(uint32(gridIQ1_S[i]), h>>3&1, dsl.F32(dsl.F16(uint16(half)))*float32(2*scale+1))
}

// Scales is 2.
func (BlockIQ1_M) Scales() int { return 2 }

// HasMin is false.
func (BlockIQ1_M) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ1_M) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes there are.
func (BlockIQ1_M) TableLen() int { return 2048 }

// TableWord is a code in nibbles.
func (BlockIQ1_M) TableWord(i int) uint32 { return spreadCode(gridIQ1_S[i]) }

// tablePart is Part by the table.
func (BlockIQ1_M) tablePart(d *Data, at, p int) Part {
	low, h := d.U32(at+4*p), d.U16(at+32+2*p)
	var q [8]uint32
	for l := range 4 {
		q[2*l], q[2*l+1] = shiftedRun(d, low>>(8*l)&255|h>>(4*l)&7<<8, h>>(4*l+3)&1)
	}
	s0, s1 := d.U32(at+48), d.U32(at+52)
	scale := half(s0>>12&0xF|s0>>24&0xF0|s1>>4&0xF00|s1>>16&0xF000) * 0.125
	s := d.U16(at+48+p>>1*2) >> (uint32(p) & 1 * 6)
	return Part{Q: q, D: [2]float32{scale * float32(s&7*2+1), scale * float32(s>>3&7*2+1)}}
}

// QuantizeHost divides each group into three levels in the best way there is, with δ of its own for
// each eight elements, and searches the code book for them, with importance or without.
func (BlockIQ1_M) QuantizeHost(out []uint8, x, importance []float32) {
	w := bookWeights(x, importance, 2, 0)
	var groups [16]ternaryGroup
	var most float32
	clear(out)
	for i := range groups {
		groups[i] = searchIQ1M(x[16*i:16*i+16], w[16*i:16*i+16])
		most = max(most, groups[i].scale)
	}
	if most == 0 {
		return
	}
	var scales uint64
	var qx, q2 float32
	d := most / 15
	inv := 1 / d
	for i, g := range groups {
		l := nearestIn(0.5*(float32(inv*g.scale)-1), 0, 7)
		scales |= uint64(l) << (i/4*16 + i%4*3)
		for k := range 2 {
			n := g.numbers[k]
			out[2*i+k] = uint8(n)
			out[32+i] |= (uint8(n>>8) | uint8(g.negative(k))<<3) << (4 * k)
			at := 16*i + 8*k
			sumVector(&qx, &q2, gridIQ1_S[n], x[at:], w[at:], g.values(k), float32(2*l+1))
		}
	}
	if q2 > 0 {
		d = qx / q2
	}
	half := uint64(dsl.To[dsl.F16](float32(d * 1.1125)).Bits())
	for i := range 4 {
		scales |= half >> (4 * i) & 15 << (16*i + 12)
	}
	put32(out, 48, uint32(scales))
	put32(out, 52, uint32(scales>>32))
}

// negative is 1 if δ is taken away from eight elements, of which there are two: the shift has their
// signs, that of the first ones in bit 1.
func (g *ternaryGroup) negative(k int) int { return g.shift >> (1 - k) & 1 }

func (g *ternaryGroup) values(k int) *[3]float32 { return &shiftedValues[g.negative(k)] }

func searchIQ1M(x, w []float32) (g ternaryGroup) {
	most := abs(extreme(x))
	if most < 1e-7 {
		return g
	}
	sorted := order(x)
	terms := termsIQ1M(x, w, sorted)
	s, best := split3{scale: most}, float32(-math.MaxFloat32)
	var low fits // of the elements below the first boundary
	for i := range 17 {
		between := low // and of those below the second one
		for j := i; j < 17; j++ {
			f := between
			for k := j; k < 16; k++ {
				f.add(&terms[k][2])
			}
			for shift := range 4 {
				s.take(f.qx[shift], f.q2[shift], &best, i, j, shift)
			}
			if j < 16 {
				between.add(&terms[j][1])
			}
		}
		if i < 16 {
			low.add(&terms[i][0])
		}
	}
	q := s.levels(sorted, 4)
	g.scale, g.shift = s.scale, s.shift
	g.vectors(x, w, q[:], g.values)
	return g
}

// fits are sums of w·v·x and w·v² for each shift.
type fits struct{ qx, q2 [4]float32 }

func (f *fits) add(g *fits) {
	for i := range 4 {
		f.qx[i] += g.qx[i]
		f.q2[i] += g.q2[i]
	}
}

// termsIQ1M are what elements add to the sums, in ascending order of the elements, at each level: the
// sums of a division are those of its elements one after the other, so divisions that begin alike
// share sums.
func termsIQ1M(x, w []float32, sorted []int) (terms [16][3]fits) {
	for j, i := range sorted {
		for level := range 3 {
			t := &terms[j][level]
			for shift := range 4 {
				v := shiftedValues[shift>>(1-i/8)&1][level]
				wv := float32(w[i] * v)
				t.qx[shift], t.q2[shift] = float32(wv*x[i]), float32(wv*v)
			}
		}
	}
	return terms
}
