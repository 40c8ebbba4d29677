package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// What both levels have: vectors of lanes in registers.

// moveOp is the move of a whole vector.
func (e *code) moveOp() asm.Op { return asm.VMOVUPS }

func (e *emitter) undef(r val) {
	for i := range r.n {
		e.op(asm.UNDEF, e.width(), asm.R(r.reg[i]))
	}
}

// move copies a value into registers of the same kind.
func (e *emitter) move(d, s val) {
	for i := range d.n {
		if r := half(s, int(i)); r != d.reg[i] {
			e.copy(d.reg[i], r)
		}
	}
}

// saved returns a copy of a value that is about to be overwritten.
func (e *emitter) saved(s val) val {
	d := s
	for i := range s.n {
		switch s.reg[i].Class() {
		case asm.GPR:
			d.reg[i] = e.gpr()
		case asm.Mask:
			d.reg[i] = e.mask()
		default:
			d.reg[i] = e.vec()
		}
		e.copy(d.reg[i], s.reg[i])
	}
	return d
}

// loadVector loads neighbouring values for the lanes of a mask.
func (e *emitter) loadVector(r val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	if e.isa == v3 {
		e.loadVector3(r, t, mem, m)
	} else {
		e.loadVector4(r, t, mem, m)
	}
}

// loadReversed loads values of 4 or 8 bytes, of which each lane's lies before that of the
// lane below it: a contiguous vector whose order a permutation reverses takes one load, a
// gather as many as there are lanes.
func (e *emitter) loadReversed(r val, mem asm.Arg) {
	n := e.isa.lanes() / int(r.n) // values of a register
	for h := range r.n {
		// The last lane of the register has the lowest address.
		first := shifted(mem, -int32((n*int(h+1)-1)*4*int(r.n)))
		switch {
		case r.n == 1:
			e.op(asm.VPERMD, e.width(), asm.R(r.reg[h]), asm.R(e.descending(n, 1)), first)
		case e.isa == v3:
			e.op(asm.VPERMQ, 256, asm.R(r.reg[h]), first, asm.I(0x1b))
		default:
			e.op(asm.VPERMQ, 512, asm.R(r.reg[h]), asm.R(e.descending(n, 2)), first)
		}
	}
}

// descending returns the numbers n-1, n-2, … 0 of so many 32-bit words each.
func (e *code) descending(n, words int) asm.Reg {
	w := make([]uint32, n*words)
	for i := range n {
		w[i*words] = uint32(n - 1 - i)
	}
	r := e.vec()
	e.op(e.moveOp(), e.width(), asm.R(r), e.pool(w))
	return r
}

// storeVector stores neighbouring values of the lanes of a mask.
func (e *emitter) storeVector(x val, t *ir.Type, mem asm.Arg, m asm.Reg) {
	if e.isa == v3 {
		e.storeVector3(x, t, mem, m)
	} else {
		e.storeVector4(x, t, mem, m)
	}
}

// gather loads values from the lanes' own addresses.
func (e *emitter) gather(r val, t *ir.Type, a address, m asm.Reg) error {
	switch a = e.plainBase(a); {
	case t.Size() < 4:
		e.gatherNarrow(r, t, a, m)
	case e.isa == v3:
		e.gather3(r, t, a, m)
	default:
		e.gather4(r, t, a, m)
	}
	return nil
}

// gatherWide loads 64-bit values.
func (e *emitter) gatherWide(r val, a address, m asm.Reg) {
	if e.isa == v3 {
		e.gather3(r, ir.I64, a, m)
	} else {
		e.gather4(r, ir.I64, a, m)
	}
}

// scatter stores values to the lanes' own addresses.
func (e *emitter) scatter(x val, t *ir.Type, a address, m asm.Reg) error {
	if a = e.plainBase(a); e.isa == v3 || t.Size() < 4 {
		e.scatterEach(x, t, a, m)
	} else {
		e.scatter4(x, t, a, m)
	}
	return nil
}

// plainBase makes the address to which offsets are added one register: its index
// is taken by the offsets.
func (e *emitter) plainBase(a address) address {
	if a.mem.Index != 0 {
		r := e.gpr()
		e.op(asm.LEA, 64, asm.R(r), a.mem)
		a.mem = asm.M(r, 0)
	}
	return a
}

// upper returns the upper half of a vector as a vector of half the width.
func (e *code) upper(r asm.Reg) asm.Reg {
	h := e.vec()
	if e.isa == v3 {
		e.op(asm.VEXTRACTI128, 256, asm.R(h), asm.R(r), asm.I(1))
	} else {
		e.op(asm.VEXTRACTI64X4, 512, asm.R(h), asm.R(r), asm.I(1))
	}
	return h
}

// joined returns the vector of two halves.
func (e *code) joinedHalves(lo, hi asm.Reg) asm.Reg {
	r := e.vec()
	if e.isa == v3 {
		e.op(asm.VINSERTI128, 256, asm.R(r), asm.R(lo), asm.R(hi), asm.I(1))
	} else {
		e.op(asm.VINSERTI64X4, 512, asm.R(r), asm.R(lo), asm.R(hi), asm.I(1))
	}
	return r
}

// extend returns 32-bit lanes in 64 bits.
func (e *code) extend(x val, signed bool) val {
	op := asm.VPMOVZXDQ
	if signed {
		op = asm.VPMOVSXDQ
	}
	r := val{reg: [2]asm.Reg{e.vec(), e.vec()}, n: 2}
	e.op(op, e.width(), asm.R(r.reg[0]), asm.R(x.reg[0]))
	e.op(op, e.width(), asm.R(r.reg[1]), asm.R(e.upper(x.reg[0])))
	return r
}

// truncate returns 64-bit lanes in 32 bits.
func (e *code) truncate(x val) val {
	r := val{reg: [2]asm.Reg{e.vec()}, n: 1}
	if e.isa == v4 {
		lo, hi := e.vec(), e.vec()
		e.op(asm.VPMOVQD, 512, asm.R(lo), asm.R(x.reg[0]))
		e.op(asm.VPMOVQD, 512, asm.R(hi), asm.R(half(x, 1)))
		r.reg[0] = e.joinedHalves(lo, hi)
		return r
	}
	r.reg[0] = e.packMask(x.reg[0], half(x, 1))
	return r
}

// packMask returns the low words of 64-bit lanes of two vectors of x86-64-v3: of
// masks, the mask of all their lanes.
func (e *code) packMask(lo, hi asm.Reg) asm.Reg {
	t, r := e.vec(), e.vec()
	e.op(asm.VSHUFPS, 256, asm.R(t), asm.R(lo), asm.R(hi), asm.I(0x88))
	e.op(asm.VPERMQ, 256, asm.R(r), asm.R(t), asm.I(0xd8))
	return r
}

// iotaWords are the 32-bit words 0, step, 2*step, …
func iotaWords(n int, step int64) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = uint32(int64(i) * step)
	}
	return w
}

// sameWords are n equal 32-bit words.
func sameWords(n int, x uint32) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = x
	}
	return w
}

// iota32 returns the vector of lane*step.
func (e *code) iota32(step int64) val {
	r := e.vec()
	e.op(e.moveOp(), e.width(), asm.R(r), e.pool(iotaWords(e.isa.lanes(), step)))
	return val{reg: [2]asm.Reg{r}, n: 1}
}

// iotaHalf returns the constant lane*step in 64 bits, of one half of the lanes.
func (e *code) iotaHalf(step int64, h int) asm.Arg {
	n := e.isa.lanes() / 2
	w := make([]uint32, 2*n)
	for i := range n {
		x := uint64(int64(h*n+i) * step)
		w[2*i], w[2*i+1] = uint32(x), uint32(x>>32)
	}
	return e.pool(w)
}

// iota64 returns the vectors of lane*step in 64 bits.
func (e *code) iota64(step int64) val {
	r := val{reg: [2]asm.Reg{e.vec(), e.vec()}, n: 2}
	for h := range 2 {
		e.op(e.moveOp(), e.width(), asm.R(r.reg[h]), e.iotaHalf(step, h))
	}
	return r
}

func (e *code) add64(a, b val) val {
	r := val{reg: [2]asm.Reg{e.vec(), e.vec()}, n: 2}
	for h := range 2 {
		e.op(asm.VPADDQ, e.width(), asm.R(r.reg[h]), asm.R(half(a, h)), asm.R(half(b, h)))
	}
	return r
}

// times32 multiplies 32-bit lanes by a constant.
func (e *code) times32(x val, by int64) val {
	if by == 1 {
		return x
	}
	r := e.vec()
	if by&(by-1) == 0 && by > 0 {
		e.op(asm.VPSLLD, e.width(), asm.R(r), asm.R(x.reg[0]), asm.I(int64(log2(int(by)))))
	} else {
		e.op(asm.VPMULLD, e.width(), asm.R(r), asm.R(x.reg[0]), e.all32(uint32(by)))
	}
	return val{reg: [2]asm.Reg{r}, n: 1}
}

// times64 multiplies 64-bit lanes by a constant below 2^31.
func (e *code) times64(x val, by int64) val {
	if by == 1 {
		return x
	}
	r := val{reg: [2]asm.Reg{e.vec(), e.vec()}, n: 2}
	for h := range 2 {
		a := half(x, h)
		if by&(by-1) == 0 && by > 0 {
			e.op(asm.VPSLLQ, e.width(), asm.R(r.reg[h]), asm.R(a), asm.I(int64(log2(int(by)))))
			continue
		}
		// low*by + (high*by)<<32
		c := e.all64(uint64(by))
		lo, hi := e.vec(), e.vec()
		e.op(asm.VPMULUDQ, e.width(), asm.R(lo), asm.R(a), c)
		e.op(asm.VPSRLQ, e.width(), asm.R(hi), asm.R(a), asm.I(32))
		p, q := e.vec(), e.vec()
		e.op(asm.VPMULUDQ, e.width(), asm.R(p), asm.R(hi), c)
		e.op(asm.VPSLLQ, e.width(), asm.R(q), asm.R(p), asm.I(32))
		e.op(asm.VPADDQ, e.width(), asm.R(r.reg[h]), asm.R(lo), asm.R(q))
	}
	return r
}

// zeroLanes returns zero of type t in all lanes.
func (e *emitter) zeroLanes(t *ir.Type) val {
	r := e.lanesOf(t)
	for i := range r.n {
		if t.Kind == ir.KBool {
			e.clearMask(r.reg[i])
			continue
		}
		e.clear(r.reg[i])
	}
	return r
}

// bytesOf returns the lanes of a bool as numbers 0 and 1.
func (e *code) bytesOf(x val) val {
	r := e.vec()
	one := e.pool(sameWords(e.isa.lanes(), 1))
	if e.isa == v3 {
		e.op(asm.VPAND, 256, asm.R(r), asm.R(x.reg[0]), one)
	} else {
		e.masked(asm.VMOVDQU32, 512, x.reg[0], true, asm.R(r), one)
	}
	return val{reg: [2]asm.Reg{r}, n: 1}
}

// truth sets a mask to the lanes of x that are not zero.
func (e *code) truth(m, x asm.Reg) {
	if e.isa == v4 {
		e.op(asm.VPTESTMD, 512, asm.R(m), asm.R(x), asm.R(x))
		return
	}
	z := e.vec()
	e.op(asm.VPXOR, 256, asm.R(z), asm.R(z), asm.R(z))
	e.op(asm.VPCMPGTD, 256, asm.R(m), asm.R(x), asm.R(z))
}

// broadcastGeneral puts the low 32 bits of a general register into all lanes.
func (e *code) broadcastGeneral(d, s asm.Reg) {
	if e.isa == v4 {
		e.op(asm.VPBROADCASTDR, 512, asm.R(d), asm.R(s))
		return
	}
	x := e.vec()
	e.op(asm.VMOVD, 128, asm.R(x), asm.R(s))
	e.op(asm.VPBROADCASTD, 256, asm.R(d), asm.R(x))
}
