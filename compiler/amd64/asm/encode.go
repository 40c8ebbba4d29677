package asm

import (
	"encoding/binary"
	"fmt"
)

// Assembler turns instructions with machine registers into code.
type Assembler struct {
	buf    []byte
	blocks []int // offset of each block, -1 if not yet begun
	base   int   // number of the first block of the function
	fixes  []fix
	marks  []Mark
	pos    int32
}

// fix is a 32-bit distance that is not known yet.
type fix struct {
	at    int // where it is, relative to end
	end   int
	block int // -1: into the pool
	disp  int64
}

// Mark says where the code for a place in the source begins.
type Mark struct {
	Offset int
	Pos    int32
}

// Block begins the block of a number.
func (a *Assembler) Block(n int) {
	for len(a.blocks) <= n {
		a.blocks = append(a.blocks, -1)
	}
	a.blocks[n] = len(a.buf)
}

// Func adds a function: its blocks, which jumps know by their number in it.
func (a *Assembler) Func(n int, block func(i int) []Inst) error {
	a.base, a.pos = len(a.blocks), 0
	for i := range n {
		a.Block(a.base + i)
		list := block(i)
		for k := range list {
			if err := a.Inst(&list[k]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Len is the size of the code so far, in bytes.
func (a *Assembler) Len() int { return len(a.buf) }

// Inst adds an instruction.
func (a *Assembler) Inst(in *Inst) error {
	if in.Pos != a.pos {
		a.pos = in.Pos
		a.marks = append(a.marks, Mark{len(a.buf), in.Pos})
	}
	if in.Op == BARRIER {
		return nil
	}
	if in.Op < VMOVUPS {
		return a.general(in)
	}
	f := formOf(in)
	if f == nil {
		return a.bad(in, "there is no such form")
	}
	return a.vector(in, f)
}

func (a *Assembler) bad(in *Inst, why string) error {
	return fmt.Errorf("instruction %q cannot be encoded: %s", in.String(), why)
}

// PoolAlign is the alignment of the constants behind the code.
const PoolAlign = 64

// Finish returns the code with a pool of constants behind it, and where the code
// for places in the source begins.
func (a *Assembler) Finish(pool []byte) ([]byte, []Mark, error) {
	end := len(a.buf)
	for len(a.buf)%PoolAlign != 0 {
		a.buf = append(a.buf, 0xcc)
	}
	start := len(a.buf)
	a.buf = append(a.buf, pool...)
	for _, f := range a.fixes {
		to := start
		if f.block >= 0 {
			if f.block >= len(a.blocks) || a.blocks[f.block] < 0 {
				return nil, nil, fmt.Errorf("jump to block %d, which does not exist", f.block)
			}
			to = a.blocks[f.block]
		}
		d := int64(to) + f.disp - int64(f.end)
		if d != int64(int32(d)) {
			return nil, nil, fmt.Errorf("code of %d bytes is too long for a jump", end)
		}
		binary.LittleEndian.PutUint32(a.buf[f.at:], uint32(d))
	}
	return a.buf, a.marks, nil
}

func (a *Assembler) put(b ...byte) { a.buf = append(a.buf, b...) }

// operands of an instruction by their places.
type places struct {
	reg, vvvv int // numbers, 0 if there is none
	rm        *Arg
	imm       int64
	hasImm    bool
	rmClass   byte
}

func (f *form) place(in *Inst) (p places) {
	for i := range f.args {
		x := &in.Args[i]
		switch f.args[i].slot {
		case 'r':
			p.reg = number(x.Reg)
		case 'v':
			p.vvvv = number(x.Reg)
		case 'm':
			p.rm, p.rmClass = x, f.args[i].class
		case 'i':
			p.imm, p.hasImm = x.Imm&0xff, true
		case '4':
			p.imm, p.hasImm = int64(number(x.Reg)<<4), true
		}
	}
	if f.ext >= 0 {
		p.reg = int(f.ext)
	}
	return p
}

func number(r Reg) int { return int(r & 31) }

// vector encodes an instruction with a VEX or EVEX prefix.
func (a *Assembler) vector(in *Inst, f *form) error {
	p := f.place(in)
	for i := range in.Args {
		if x := &in.Args[i]; x.Reg.IsVirtual() || x.Index.IsVirtual() {
			return a.bad(in, "a register is not allocated")
		}
	}
	evex := !f.vex || in.Mask != 0 || in.Bcast || in.Width == 512 && f.l < 0 && !f.wide && !f.fixed() || p.high(f)
	if evex && !f.evex {
		return a.bad(in, "it has no form with a mask, 512 bits or these registers")
	}
	if in.Bcast && (f.bcast == 0 || p.rm == nil || p.rm.Kind == RegArg) {
		return a.bad(in, "nothing can be broadcast")
	}
	if evex {
		a.evex(in, f, &p)
	} else {
		a.vex(in, f, &p)
	}
	return nil
}

// fixed reports whether the form has no vector of the instruction's width: its
// operands are scalars or general registers.
func (f *form) fixed() bool { return f.opcode == 0x77 && f.opmap == 1 }

// high reports whether a register needs the prefix that has five bits for it.
func (p *places) high(f *form) bool {
	if p.reg > 15 || p.vvvv > 15 {
		return true
	}
	if p.rm == nil {
		return false
	}
	if p.rm.Kind == RegArg {
		return number(p.rm.Reg) > 15
	}
	return p.rm.Index.Class() == Vec && number(p.rm.Index) > 15
}

// bits3 returns the inverted upper bits of index and base for R, X and B.
func (p *places) bits3() (r, x, b byte) {
	r, x, b = 1, 1, 1
	if p.reg&8 != 0 {
		r = 0
	}
	if p.rm == nil {
		return
	}
	if p.rm.Kind == MemArg && p.rm.Index != 0 && number(p.rm.Index)&8 != 0 {
		x = 0
	}
	if p.rm.Kind != PoolArg && p.rm.Reg != 0 && number(p.rm.Reg)&8 != 0 {
		b = 0
	}
	return
}

func (f *form) wBit(in *Inst, evex bool) byte {
	switch {
	case f.wide && in.Width == 64:
		return 1
	case f.wide:
		return 0
	case evex:
		return f.evexW
	}
	return f.w
}

func (f *form) length(in *Inst) byte {
	switch {
	case f.l >= 0:
		return byte(f.l)
	case f.wide:
		return 0
	case in.Width == 256:
		return 1
	case in.Width == 512:
		return 2
	}
	return 0
}

func (a *Assembler) vex(in *Inst, f *form, p *places) {
	r, x, b := p.bits3()
	w, l := f.wBit(in, false), f.length(in)
	last := byte(^p.vvvv&15)<<3 | l<<2 | f.pp
	if x == 1 && b == 1 && w == 0 && f.opmap == 1 {
		a.put(0xc5, r<<7|last)
	} else {
		a.put(0xc4, r<<7|x<<6|b<<5|f.opmap, w<<7|last)
	}
	a.tail(in, f, p, 1)
}

func (a *Assembler) evex(in *Inst, f *form, p *places) {
	r, x, b := p.bits3()
	r2, v2 := byte(1), byte(1)
	if p.reg&16 != 0 {
		r2 = 0
	}
	if p.vvvv&16 != 0 {
		v2 = 0
	}
	if p.rm != nil {
		switch {
		case p.rm.Kind == RegArg && number(p.rm.Reg)&16 != 0:
			x = 0
		case p.rm.Kind == MemArg && p.rm.Index.Class() == Vec && number(p.rm.Index)&16 != 0:
			v2 = 0
		}
	}
	bc, z := byte(0), byte(0)
	if in.Bcast {
		bc = 1
	}
	if in.Zero {
		z = 1
	}
	w, l := f.wBit(in, true), f.length(in)
	a.put(0x62, r<<7|x<<6|b<<5|r2<<4|f.opmap, w<<7|byte(^p.vvvv&15)<<3|4|f.pp, z<<7|l<<5|bc<<4|v2<<3|byte(number(in.Mask)))
	n := int32(f.tuple.bytes)
	switch {
	case f.wide:
		n = int32(in.Width / 8)
	case in.Bcast:
		n = int32(f.bcast)
	case n == 0:
		n = int32(in.Width/8) >> f.tuple.shift
	}
	a.tail(in, f, p, n)
}

// tail adds opcode, ModRM, SIB, displacement and immediate; an 8-bit displacement
// counts in n bytes.
func (a *Assembler) tail(in *Inst, f *form, p *places, n int32) {
	a.put(f.opcode)
	if p.rm != nil {
		imm := 0
		if p.hasImm {
			imm = 1
		}
		a.modrm(byte(p.reg&7), p.rm, n, imm)
	}
	if p.hasImm {
		a.put(byte(p.imm))
	}
}

// modrm adds ModRM, SIB and displacement; after bytes follow them.
func (a *Assembler) modrm(reg byte, m *Arg, n int32, after int) {
	reg <<= 3
	switch m.Kind {
	case RegArg:
		a.put(0xc0 | reg | byte(number(m.Reg)&7))
		return
	case PoolArg:
		a.put(reg|5, 0, 0, 0, 0)
		a.fixes = append(a.fixes, fix{len(a.buf) - 4, len(a.buf) + after, -1, m.Imm + int64(m.Disp)})
		return
	}
	if m.Reg == 0 { // no base: a displacement of 32 bits
		index, scale := byte(4), byte(0)
		if m.Index != 0 {
			index, scale = byte(number(m.Index)&7), scaleBits(m.Scale)
		}
		a.put(reg|4, scale<<6|index<<3|5)
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(m.Disp))
		return
	}
	base := byte(number(m.Reg) & 7)
	mod, disp := byte(2), m.Disp
	switch {
	case disp == 0 && base != 5:
		mod = 0
	case disp%n == 0 && disp/n >= -128 && disp/n <= 127:
		mod, disp = 1, disp/n
	}
	switch {
	case m.Index != 0:
		a.put(mod<<6|reg|4, scaleBits(m.Scale)<<6|byte(number(m.Index)&7)<<3|base)
	case base == 4:
		a.put(mod<<6|reg|4, 0x24)
	default:
		a.put(mod<<6 | reg | base)
	}
	switch mod {
	case 1:
		a.put(byte(disp))
	case 2:
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(disp))
	}
}

func scaleBits(s uint8) byte {
	switch s {
	case 2:
		return 1
	case 4:
		return 2
	case 8:
		return 3
	}
	return 0
}
