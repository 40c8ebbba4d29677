package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// extension returns the instruction of this block that extends 16-bit words to x, if
// what it takes is still there: then another can take that instead.
func (c *code) extension(x asm.Reg) (in asm.Inst, ok bool) {
	return c.maker(x, asm.VPMOVZXWD)
}

// maker returns the instruction of this block that makes x, if it is op and would
// give the same here.
func (c *code) maker(x asm.Reg, op asm.Op) (in asm.Inst, ok bool) {
	list := c.cur.Insts
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Args[0].Kind != asm.RegArg || list[i].Args[0].Reg != x {
			continue
		}
		if list[i].Op != op {
			return in, false
		}
		for k := i + 1; k < len(list); k++ {
			if disturbs(&list[k], &list[i].Args[1]) || list[i].Mask != 0 && writes(&list[k], list[i].Mask) {
				return in, false
			}
		}
		return list[i], true
	}
	return in, false
}

// disturbs reports whether an instruction changes an operand of another, or might if
// that is in memory.
func disturbs(in *asm.Inst, x *asm.Arg) bool {
	if x.Kind == asm.RegArg {
		return writes(in, x.Reg)
	}
	switch in.Op {
	case asm.BARRIER, asm.CALL:
		return true
	}
	return in.Args[0].Kind == asm.MemArg || writes(in, x.Reg) || x.Index != 0 && writes(in, x.Index)
}

func writes(in *asm.Inst, r asm.Reg) bool {
	for i := range in.Args {
		if a := &in.Args[i]; a.Kind == asm.RegArg && a.Reg == r && in.RoleOf(i)&asm.Write != 0 {
			return true
		}
	}
	return false
}

// storeHalf stores what has just been rounded to f16 as it is rounded, if so.
func (c *code) storeHalf(x asm.Reg, mem asm.Arg, m asm.Reg) bool {
	in, ok := c.extension(x)
	if !ok || in.Args[1].Kind != asm.RegArg || in.Mask != 0 {
		return false
	}
	if in, ok = c.maker(in.Args[1].Reg, asm.VCVTPS2PH); !ok {
		return false
	}
	c.masked(asm.VCVTPS2PH, c.width(), m, false, mem, in.Args[1], in.Args[2])
	return true
}

// mul64 is the low half of a product on x86-64-v3: of three products of 32 bits.
func (c *code) mul64(x, y asm.Reg) asm.Reg {
	xh := c.vop(asm.VPSRLQ, asm.R(x), asm.I(32))
	yh := c.vop(asm.VPSRLQ, asm.R(y), asm.I(32))
	cross := c.vxx(asm.VPADDQ, c.vxx(asm.VPMULUDQ, xh, y), c.vxx(asm.VPMULUDQ, x, yh))
	return c.vxx(asm.VPADDQ, c.vxx(asm.VPMULUDQ, x, y), c.vop(asm.VPSLLQ, asm.R(cross), asm.I(32)))
}

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

// masked emits an instruction for the lanes of a mask only; the others become zero
// if the destination is a register, and stay as they are in memory.
func (e *code) masked(op asm.Op, width int, m asm.Reg, zero bool, args ...asm.Arg) {
	in := e.op(op, width, args...)
	in.Mask, in.Zero = m, zero && m != 0
}

// loadGeneral loads an integer, pointer or bool into a general register, extended.
func (e *code) loadGeneral(r asm.Reg, t *ir.Type, mem asm.Arg) {
	size := t.Size()
	switch {
	case size == 8:
		e.op(asm.MOV, 64, asm.R(r), mem)
	case size == 4 && t.IsSigned():
		e.op(asm.MOVSXD, 64, asm.R(r), mem)
	case size == 4:
		e.op(asm.MOV, 32, asm.R(r), mem)
	case size == 2 && t.IsSigned():
		e.op(asm.MOVSXW, 64, asm.R(r), mem)
	case size == 2:
		e.op(asm.MOVZXW, 32, asm.R(r), mem)
	case t.IsSigned():
		e.op(asm.MOVSXB, 64, asm.R(r), mem)
	default:
		e.op(asm.MOVZXB, 32, asm.R(r), mem)
	}
}

// lanesOf returns new registers for a value of type t that varies.
func (c *code) lanesOf(t *ir.Type) val {
	switch {
	case t.Kind == ir.KBool:
		return one(c.mask())
	case t.Size() == 8:
		return val{reg: [2]asm.Reg{c.vec(), c.vec()}, n: 2}
	}
	return one(c.vec())
}

// inVectors reports whether an operation on uniform values is done in vectors:
// floats take part.
func (e *code) inVectors(v *ir.Value) bool {
	if inVector(v.Type) {
		return true
	}
	for _, x := range v.Args {
		if inVector(x.Type) {
			return true
		}
	}
	return false
}
