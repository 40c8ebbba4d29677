package format

import "github.com/gokiln/kiln/dsl"

// PartLen is how many neighbouring elements a [Part] has. All formats have blocks of whole parts.
const PartLen = 32

// Part is 32 neighbouring elements of a block, for dot products: element j is D·q + M, where q is
// signed byte j of Q, lowest byte first, and D and M are those of its half, or the first ones of a
// format that has one scale for all (see Block.Scales).
//
// It is [Run] for kernels that need every element of a block, and need not decode what elements have
// in common as often: bytes are loaded in words and scales read once. Its values are those of Run as
// numbers, but not bit for bit: a constant that a format takes from integers is in M.
type Part struct {
	Q    [8]uint32
	D, M [2]float32
}

// At returns element j, of 0 to 31, of a format with so many scales.
func (p *Part) At(j, scales int) float32 {
	s := j * scales / PartLen
	return float32(p.D[s]*float32(int8(p.Q[j>>2]>>(j&3*8)))) + p.M[s]
}

// joined is a part of four runs, none of which has a minimum.
func joined(a, b, c, d Run) (p Part) {
	p.Q = [8]uint32{a.Q[0], a.Q[1], b.Q[0], b.Q[1], c.Q[0], c.Q[1], d.Q[0], d.Q[1]}
	p.D = [2]float32{a.D, c.D}
	return p
}

// less is a part with one scale, whose elements are d·(q-c).
func less(q [8]uint32, d, c float32) Part {
	return Part{q, [2]float32{d, d}, [2]float32{-c * d, -c * d}}
}

// plain is a part with one scale and no minimum.
func plain(q [8]uint32, d float32) (p Part) {
	p.Q, p.D = q, [2]float32{d, d}
	return p
}

// half is a number of half precision by its bits, the lower ones of a word.
func half(bits uint32) float32 { return dsl.F32(dsl.F16(uint16(bits))) }

// quad4 returns the 16 bytes at i, a multiple of 4, as words.
func (d *Data) quad4(i int) [4]uint32 {
	i >>= 2
	return [4]uint32{d.W[i], d.W[i+1], d.W[i+2], d.W[i+3]}
}

// quad16 returns the 16 bytes at i, a multiple of 16.
func (d *Data) quad16(i int) [4]uint32 { return dsl.LoadVec[[4]uint32](d.W, i>>4) }

// quad2 returns the 16 bytes at an even i: of words where they begin in the middle of one, and of the
// last two bytes, behind which there may be none.
func (d *Data) quad2(i int) [4]uint32 {
	w := d.quad4(i)
	if d.Words {
		return d.quadFrom(i, w)
	}
	return [4]uint32{
		d.from(i, w[0], w[1]), d.from(i, w[1], w[2]), d.from(i, w[2], w[3]), d.from(i, w[3], d.U16(i+14)),
	}
}

// quad1 returns the 16 bytes at i.
func (d *Data) quad1(i int) [4]uint32 {
	w := d.quad4(i)
	if d.Words {
		return d.quadFrom(i, w)
	}
	// The last three bytes, of which those behind the words of w are moved to the front.
	last := d.U8(i+13)<<8 | d.U8(i+14)<<16 | d.U8(i+15)<<24
	last >>= 32 - uint32(i)&3*8
	return [4]uint32{
		d.from(i, w[0], w[1]), d.from(i, w[1], w[2]), d.from(i, w[2], w[3]), d.from(i, w[3], last),
	}
}

// quadFrom returns the 16 bytes at i, of which w has the first, where there is a word behind them.
func (d *Data) quadFrom(i int, w [4]uint32) [4]uint32 {
	return [4]uint32{
		d.from(i, w[0], w[1]), d.from(i, w[1], w[2]), d.from(i, w[2], w[3]), d.from(i, w[3], d.W[i>>2+4]),
	}
}

// from returns the four bytes at i, which begin in word a and end there or in the next one, b.
func (d *Data) from(i int, a, b uint32) uint32 {
	n := uint32(i) & 3
	if d.Shifts {
		return a>>(8*n) | b<<(32-8*n)
	}
	return dsl.Permute(a, b, 0x3210+n*0x1111)
}

// octet4 returns the 32 bytes at i, a multiple of 4, as words.
func (d *Data) octet4(i int) (q [8]uint32) {
	i >>= 2
	for j := range 8 {
		q[j] = d.W[i+j]
	}
	return q
}

// octet16 returns the 32 bytes at i, a multiple of 16.
func (d *Data) octet16(i int) [8]uint32 {
	i >>= 4
	return both(dsl.LoadVec[[4]uint32](d.W, i), dsl.LoadVec[[4]uint32](d.W, i+1))
}

// octet2 returns the 32 bytes at an even i.
func (d *Data) octet2(i int) (q [8]uint32) {
	w := d.octet4(i)
	for j := range 7 {
		q[j] = d.from(i, w[j], w[j+1])
	}
	if d.Words {
		q[7] = d.from(i, w[7], d.W[i>>2+8])
		return q
	}
	q[7] = d.from(i, w[7], d.U16(i+30))
	return q
}

func both(a, b [4]uint32) [8]uint32 {
	return [8]uint32{a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]}
}

// nibbles returns the low nibbles of 16 bytes, and then the high ones.
func nibbles(w [4]uint32) (q [8]uint32) {
	for j := range 4 {
		q[j], q[4+j] = w[j]&lowNibbles, w[j]>>4&lowNibbles
	}
	return q
}

// oneNibble returns the low or the high nibbles of 32 bytes: a shift by 0 or 4.
func oneNibble(w [8]uint32, shift uint32) (q [8]uint32) {
	for j := range 8 {
		q[j] = w[j] >> shift & lowNibbles
	}
	return q
}

// onePair returns the pairs of bits of 32 bytes that a shift names.
func onePair(w [8]uint32, shift uint32) (q [8]uint32) {
	for j := range 8 {
		q[j] = w[j] >> shift & (3 * ones)
	}
	return q
}

// addBits sets bits of each byte of q, those of a mask with the lowest one moved to bit to, to the bits
// of w from bit from on. A multiplication is what GPUs have an own unit for beside that of shifts.
func addBits(q, w [8]uint32, mask uint32, from, to int) [8]uint32 {
	up, down := uint32(1)<<uint32(max(to-from, 0)), uint32(max(from-to, 0))
	for j := range 8 {
		q[j] |= w[j] * up >> down & (mask << to)
	}
	return q
}

// addTops sets bit 4 of each of 32 bytes to those of a word.
func addTops(q [8]uint32, w uint32) [8]uint32 {
	for j := range 8 {
		q[j] |= (w >> (4 * j) & 15) * (1<<4 + 1<<11 + 1<<18 + 1<<25) & (ones << 4)
	}
	return q
}

// lookupNibbles looks up the values of the nibbles of 16 bytes, first of the low ones.
func lookupNibbles(w [4]uint32, t0, t1, t2, t3 uint32) (q [8]uint32) {
	for j := range 4 {
		q[j], q[4+j] = lookupWord(w[j], t0, t1, t2, t3)
	}
	return q
}

// lookupWord returns for the low nibbles of a word, and for its high ones, the bytes of these numbers
// of a table. Nibbles are what dsl.Permute takes to pick bytes, from either half of the table.
func lookupWord(w, t0, t1, t2, t3 uint32) (lo, hi uint32) {
	which := w & 0x77777777
	upper := w&0x88888888>>1 | 0x32103210 // picks from one half or from the other
	a := dsl.Permute(dsl.Permute(t0, t1, which), dsl.Permute(t2, t3, which), upper)
	which, upper = which>>16, upper>>16
	b := dsl.Permute(dsl.Permute(t0, t1, which), dsl.Permute(t2, t3, which), upper)
	return dsl.Permute(a, b, 0x6420), dsl.Permute(a, b, 0x7531)
}
