package format

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// BlockIQ1_S is [IQ1_S]: 256 elements in groups of 32, each run of 8 out of a code book of 2048.
//
//	0   d   half
//	2   qs  32 bytes: the lower 8 bits of an index for each run
//	34  qh  8 of 2 bytes: 4 times the higher 3 bits of indices, a scale of 3 bits, and the sign of δ
//
// An element is (d·(2·scale+1))·(value+δ), where δ is ⅛ or -⅛, and values are -1, 0 and 1.
type BlockIQ1_S struct{}

// Elems is 256.
func (BlockIQ1_S) Elems() int { return 256 }

// Bytes is how many bytes the fields have.
func (BlockIQ1_S) Bytes() int { return 50 }

// Run is as [Block] says.
func (BlockIQ1_S) Run(d Data, at, r int) Run {
	h := d.U16(at + 34 + r>>2*2)
	i := d.U8(at+2+r) | h>>(r&3*3)&7<<8
	return shifted(uint32(gridIQ1_S[i]), h>>15, d.F16(at)*float32(h>>12&7*2+1))
}

// Scales is 1.
func (BlockIQ1_S) Scales() int { return 1 }

// HasMin is false.
func (BlockIQ1_S) HasMin() bool { return false }

// Part is as [Block] says.
func (f BlockIQ1_S) Part(d Data, at, p int) Part {
	if d.Words {
		return f.tablePart(&d, at, p)
	}
	return joined(f.Run(d, at, 4*p), f.Run(d, at, 4*p+1), f.Run(d, at, 4*p+2), f.Run(d, at, 4*p+3))
}

// TableLen is how many codes there are.
func (BlockIQ1_S) TableLen() int { return 2048 }

// TableWord is a code in nibbles.
func (BlockIQ1_S) TableWord(i int) uint32 { return spreadCode(gridIQ1_S[i]) }

// tablePart is Part by the table.
func (BlockIQ1_S) tablePart(d *Data, at, p int) Part {
	low, h := d.word(at+2+4*p), d.U16(at+34+2*p)
	var q [8]uint32
	for l := range 4 {
		q[2*l], q[2*l+1] = shiftedRun(d, low>>(8*l)&255|h>>(3*l)&7<<8, h>>15)
	}
	return plain(q, d.F16(at)*float32(h>>12&7*2+1)*0.125)
}

// shiftedRun are the values that the code at i of the table stands for, as shifted has them.
func shiftedRun(d *Data, i, negative uint32) (lo, hi uint32) {
	// -7, 1 and 9, or -9, -1 and 7.
	code, values := d.Table[i], uint32(0x0901F9)
	if negative == 1 {
		values = 0x07FFF7
	}
	return dsl.Permute(values, 0, code), dsl.Permute(values, 0, code>>16)
}

// shifted is a run of the values that a code of 8 times 2 bits stands for, plus ⅛, or less ⅛ where
// negative is 1. All are multiples of ⅛, of which a run holds how many.
func shifted(code, negative uint32, d float32) Run {
	less := 7 + 2*negative // 8, less 1 or more 1
	lo, hi := spreadPairs(code)<<3, spreadPairs(code>>8)<<3
	return scaled(lessBytes(lo, less), lessBytes(hi, less), d*0.125)
}

// QuantizeHost divides each group into three levels in the best way there is, and searches the code
// book for them, with importance.
func (BlockIQ1_S) QuantizeHost(out []uint8, x, importance []float32) {
	w := bookWeights(x, importance, 2, 0)
	var groups [8]ternaryGroup
	var most float32
	clear(out)
	for i := range groups {
		groups[i] = searchIQ1S(x[32*i:32*i+32], w[32*i:32*i+32])
		most = max(most, groups[i].scale)
	}
	if most == 0 {
		return
	}
	d := most / 15
	inv := 1 / d
	putF16(out, 0, d*1.125)
	for i, g := range groups {
		h := uint32(nearestIn(0.5*(float32(inv*g.scale)-1), 0, 7)) | uint32(g.shift)<<3
		h <<= 12
		for k, n := range g.numbers {
			out[2+4*i+k] = uint8(n)
			h |= uint32(n) >> 8 << (3 * k)
		}
		put16(out, 34+2*i, h)
	}
}

func searchIQ1S(x, w []float32) (g ternaryGroup) {
	most := abs(extreme(x))
	if most < 1e-12 {
		return g
	}
	sorted := order(x)
	var sumX, sumW [33]float32
	for j, i := range sorted {
		sumX[j+1] = sumX[j] + float32(w[i]*x[i])
		sumW[j+1] = sumW[j] + w[i]
	}
	s, best := split3{scale: most}, float32(-math.MaxFloat32)
	for i := range 33 {
		for j := i; j < 33; j++ {
			for shift := range 2 {
				qx, q2 := sumsIQ1S(&sumX, &sumW, i, j, &shiftedValues[shift])
				s.take(qx, q2, &best, i, j, shift)
			}
		}
	}
	q := s.levels(sorted, 2)
	g.scale, g.shift = s.scale, s.shift
	g.vectors(x, w, q[:], func(int) *[3]float32 { return &shiftedValues[s.shift] })
	return g
}

// sumsIQ1S returns the sums of w·v·x and w·v² for a division, of sums of sorted elements.
func sumsIQ1S(sumX, sumW *[33]float32, i, j int, v *[3]float32) (qx, q2 float32) {
	qx = float32((sumX[i]-sumX[0])*v[0]) + float32((sumX[j]-sumX[i])*v[1]) + float32((sumX[32]-sumX[j])*v[2])
	q2 = float32(float32((sumW[i]-sumW[0])*v[0])*v[0]) + float32(float32((sumW[j]-sumW[i])*v[1])*v[1]) +
		float32(float32((sumW[32]-sumW[j])*v[2])*v[2])
	return qx, q2
}
