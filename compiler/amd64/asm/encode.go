package asm

import (
	"encoding/binary"
	"fmt"
)

// Func adds a function: its blocks, which jumps know by their number in it. What
// block does to the assembler, such as [Assembler.Align], comes before the block.
func (a *Assembler) Func(n int, block func(i int) []Inst) error {
	if err := a.complete(); err != nil {
		return err
	}
	a.pos = 0
	for i := range n {
		list := block(i)
		a.Block(i)
		for k := range list {
			if err := a.Inst(&list[k]); err != nil {
				return err
			}
		}
	}
	return a.complete()
}

// Inst adds an instruction. BARRIER has no code.
func (a *Assembler) Inst(in *Inst) error {
	from := a.here()
	if in.Pos != a.pos {
		a.pos = in.Pos
		a.spots = append(a.spots, spot{from, in.Pos})
	}
	if in.Op == BARRIER {
		return nil
	}
	f, vexed, err := in.form()
	if err != nil {
		return err
	}
	if f.args[0] == toLabel {
		a.jump(in, f)
	} else {
		a.encode(in, f, vexed)
	}
	if a.Keep {
		a.kept = append(a.kept, keptInst{*in, from, a.here()})
	}
	return nil
}

func (in *Inst) errorf(format string, args ...any) error {
	return fmt.Errorf("instruction %q cannot be encoded: %s", in.String(), fmt.Sprintf(format, args...))
}

// form returns the row to write an instruction by, and whether the prefix is VEX
// where the row has both.
func (in *Inst) form() (*form, bool, error) {
	if in.Op >= numOps || len(ops[in.Op].forms) == 0 {
		return nil, false, in.errorf("it is no machine operation")
	}
	five, err := in.checkRegisters()
	if err != nil {
		return nil, false, err
	}
	if in.Lock && !in.lockable() {
		return nil, false, in.errorf("only operations that change memory can be locked")
	}
	k := in.kinds()
	rows := ops[in.Op].forms
	why := "there is no form with such operands"
	for i := range rows {
		f := &rows[i]
		if !f.takes(in, &k) {
			continue
		}
		if !f.fitsWidth(in.Width) {
			why = "there is no form of that width"
			continue
		}
		vexed, no := f.prefix(in, five)
		if no == "" {
			return f, vexed, nil
		}
		why = no
	}
	return nil, false, in.errorf("%s", why)
}

// prefix decides between VEX and EVEX, and says why the form has no encoding for the
// instruction if so. Registers with five bits want EVEX.
func (f *form) prefix(in *Inst, five bool) (vexed bool, why string) {
	masked := in.masked()
	wants := five || masked || in.Bcast || in.Width == 512 && f.sizes&v512 != 0
	switch {
	case f.enc <= locked && (wants || in.Zero):
		return false, "it has no form with a mask or these registers"
	case f.flags&(sibmem|distinct) != 0 && in.tileProblem(f) != "":
		return false, in.tileProblem(f)
	case f.enc <= vex:
		if wants || in.Zero {
			return false, "it has no form with a mask, a broadcast, 512 bits or these registers"
		}
		return true, ""
	case f.enc == both && !wants && !in.Zero:
		if in.Width == 512 && f.sizes&anyWidth == 0 {
			return false, "VEX has 256 bits at most"
		}
		return true, ""
	}
	return false, f.evexProblem(in, masked)
}

// tileProblem says what an instruction with tile registers cannot have.
func (in *Inst) tileProblem(f *form) string {
	a := &in.Args
	if f.flags&distinct != 0 && (a[0].Imm == a[1].Imm || a[0].Imm == a[2].Imm || a[1].Imm == a[2].Imm) {
		return "its tile registers must be different ones"
	}
	for i := range a {
		if f.flags&sibmem != 0 && (a[i].Kind == PoolArg || a[i].Kind == MemArg && (a[i].Reg == 0 || a[i].Index == 0)) {
			return "its memory must have a base and an index"
		}
	}
	return ""
}

// evexProblem says what of an instruction EVEX cannot do in this form.
func (f *form) evexProblem(in *Inst, masked bool) string {
	switch {
	case masked && f.flags&nomask != 0:
		return "it takes no mask"
	case f.flags&gather != 0 && !masked:
		return "it needs a mask that is not k0"
	case in.Zero && !masked:
		return "only with a mask can lanes become zero"
	case in.Zero && (f.args[0]&vec == 0 || in.Args[0].Kind != RegArg || f.flags&gather != 0):
		return "only lanes of a vector register can become zero"
	case in.Bcast && f.flags&(f4|f8) == 0:
		return "it has no form with a broadcast"
	case in.Bcast && !in.hasMemory():
		return "there is no memory operand to broadcast"
	}
	return ""
}

// lockable reports whether the instruction may have the prefix LOCK.
func (in *Inst) lockable() bool {
	switch in.Op {
	case ADD, OR, AND, SUB, XOR, NEG, NOT:
		return in.Args[0].Kind == MemArg
	}
	return false
}

func (in *Inst) hasMemory() bool {
	for i := range in.Args {
		if k := in.Args[i].Kind; k == MemArg || k == PoolArg {
			return true
		}
	}
	return false
}

// checkRegisters reports whether a vector register needs five bits.
func (in *Inst) checkRegisters() (five bool, err error) {
	for i := range in.Args {
		a := &in.Args[i]
		switch a.Kind {
		case RegArg:
			if !a.Reg.isMachine() {
				return false, in.errorf("%s is not a machine register", a.Reg.Name(0))
			}
			five = five || a.Reg.Class() == Vec && a.Reg.Num() > 15
		case MemArg:
			if why := a.addressProblem(); why != "" {
				return false, in.errorf("%s", why)
			}
			five = five || a.Index.Class() == Vec && a.Index.Num() > 15
		case NoArg, PoolArg, ImmArg, LabelArg:
		default:
			return false, in.errorf("operand %d has the unknown kind %d", i+1, a.Kind)
		}
	}
	if in.Mask != 0 && (in.Mask.Class() != Mask || !in.Mask.isMachine()) {
		return false, in.errorf("%s is no mask register", in.Mask.Name(0))
	}
	if in.Op >= VPGATHERDD && in.Op <= VPGATHERQQK && in.sameRegisters() {
		return false, in.errorf("result, index and mask of a gather must be different registers")
	}
	return five, nil
}

// sameRegisters reports whether registers of a gather are the same.
func (in *Inst) sameRegisters() bool {
	dst, index, m := in.Args[0].Reg, in.Args[1].Index, in.Args[2].Reg
	return dst == index || in.Args[2].Kind == RegArg && (m == dst || m == index)
}

// isMachine reports whether r is a register of the machine.
func (r Reg) isMachine() bool {
	n := r & (1<<classShift - 1)
	switch r.Class() {
	case GPR:
		return n < 16
	case Vec:
		return n < 32
	case Mask:
		return n < 8
	}
	return false
}

// addressProblem says what is wrong with a memory operand.
func (a *Arg) addressProblem() string {
	switch {
	case a.Reg != 0 && (a.Reg.Class() != GPR || !a.Reg.isMachine()):
		return a.Reg.Name(64) + " cannot be the base of an address"
	case a.Index != 0 && (a.Index.Class() == Mask || !a.Index.isMachine() || a.Index == RSP):
		return a.Index.Name(64) + " cannot be the index of an address"
	}
	switch a.Scale {
	case 0, 1, 2, 4, 8:
		return ""
	}
	return fmt.Sprintf("an index cannot be scaled by %d", a.Scale)
}

// fields are the parts of an instruction's code.
type fields struct {
	reg, vvvv, low int
	rm             *Arg
	rmSize         size // of memory
	imm            *Arg
	immSize        int // in bytes
	is4            bool
	rex            byte // 0x40 if a register of 8 bits needs it
}

// fields puts the operands into their fields.
func (f *form) fields(in *Inst, x *fields) {
	for i, p := range f.args {
		a := &in.Args[i]
		switch p & places {
		case inReg:
			x.reg = a.number()
		case inRM:
			x.rm, x.rmSize = a, p.memSize()
		case inV:
			x.vvvv = a.number()
		case inOpcode:
			x.low = number(a.Reg)
		case inImm:
			x.imm, x.immSize = a, p.immBytes(in.Width)
		case inIs4:
			x.imm, x.immSize, x.is4 = a, 1, true
		}
		if p&gpr != 0 && a.Kind == RegArg && p.regSize().bits(int(in.Width)) == 8 {
			if n := number(a.Reg); n >= 4 && n < 8 {
				x.rex = 0x40 // else the number means ah to bh
			}
		}
	}
	if f.ext != slashR {
		x.reg = int(f.ext - slash0)
	}
}

func number(r Reg) int { return int(r & 31) }

// number is that of a register, which of a tile register is all there is.
func (a *Arg) number() int {
	if a.Kind == ImmArg {
		return int(a.Imm)
	}
	return number(a.Reg)
}

// immBytes is how many bytes an immediate has.
func (p param) immBytes(width uint16) int {
	switch p & checks {
	case isByte, isInt8:
		return 1
	case isInt64:
		return 8
	case isInt, isBits:
		switch width {
		case 8:
			return 1
		case 16:
			return 2
		}
	}
	return 4
}

// encode adds the code of an instruction.
func (a *Assembler) encode(in *Inst, f *form, vexed bool) {
	var x fields
	f.fields(in, &x)
	if f.enc <= locked {
		a.legacy(in, f, &x)
		return
	}
	if !vexed {
		a.evex(in, f, &x)
		return
	}
	if x.rm != nil && x.rm.Kind == RegArg && number(x.rm.Reg) > 7 {
		f = f.shorter(in, &x)
	}
	a.vex(in, f, &x)
}

// shorter makes the register in ModRM.rm one of the lower eight, if the instruction
// can be written so: then VEX of two bytes will do.
func (f *form) shorter(in *Inst, x *fields) *form {
	if f.opmap != m0F || f.w == w1 {
		return f
	}
	switch {
	case f.flags&reversible != 0 && x.reg < 8:
		f = &ops[f.op].forms[f.index()+1]
		*x = fields{}
		f.fields(in, x)
	case f.flags&commutes != 0 && x.vvvv < 8:
		x.rm, x.vvvv = &in.Args[1], number(in.Args[2].Reg)
	}
	return f
}

// index returns the number of a row among those of its operation.
func (f *form) index() int {
	for i := range ops[f.op].forms {
		if f == &ops[f.op].forms[i] {
			return i
		}
	}
	return 0
}

// rxb returns the upper bits of ModRM.reg, the index and ModRM.rm as REX has them.
func (x *fields) rxb() (b byte) {
	if x.reg&8 != 0 {
		b = 4
	}
	if x.rm == nil {
		if x.low&8 != 0 {
			b |= 1
		}
		return b
	}
	switch x.rm.Kind {
	case RegArg:
		if x.rm.Reg&8 != 0 {
			b |= 1
		}
	case MemArg:
		if x.rm.Reg&8 != 0 {
			b |= 1
		}
		if x.rm.Index&8 != 0 {
			b |= 2
		}
	}
	return b
}

// legacy adds an instruction without VEX.
func (a *Assembler) legacy(in *Inst, f *form, x *fields) {
	if f.enc == locked || in.Lock {
		a.put(0xf0)
	}
	if f.w == wG && in.Width == 16 {
		a.put(0x66)
	}
	if f.pp != np {
		a.put([...]byte{0, 0x66, 0xf3, 0xf2}[f.pp])
	}
	rex := x.rxb()
	if f.w == w1 || f.w == wG && in.Width == 64 {
		rex |= 8
	}
	if rex |= x.rex; rex != 0 {
		a.put(0x40 | rex)
	}
	if f.opmap == m0F {
		a.put(0x0f)
	}
	code := f.code | byte(x.low&7)
	if in.Op == SETCC || in.Op == CMOVCC {
		code |= byte(in.Cond & 15)
	}
	a.put(code)
	if x.rm == nil && f.ext != slashR {
		a.put(0xc0 | byte(x.reg)<<3) // a digit without an operand
	}
	a.operand(in, x, 1)
}

// wBit is the bit W of a VEX or EVEX prefix.
func (f *form) wBit(in *Inst, evex bool) byte {
	if f.w == w1 || f.w == w01 && evex || f.w == wG && in.Width == 64 {
		return 1
	}
	return 0
}

// length is L of a VEX prefix, or L'L.
func (f *form) length(width uint16) byte {
	switch {
	case f.sizes&l1 != 0:
		return 1
	case f.sizes&vl == 0:
		return 0
	}
	return byte(width >> 8) // 128, 256 and 512 become 0, 1 and 2
}

func (a *Assembler) vex(in *Inst, f *form, x *fields) {
	b := ^x.rxb() & 7
	w := f.wBit(in, false)
	last := byte(^x.vvvv&15)<<3 | f.length(in.Width)<<2 | f.pp
	if b&3 == 3 && w == 0 && f.opmap == m0F {
		a.put(0xc5, b>>2<<7|last, f.code)
	} else {
		a.put(0xc4, b<<5|f.opmap, w<<7|last, f.code)
	}
	if x.rm == nil && (f.ext != slashR || f.args[0] != 0) {
		a.put(0xc0 | byte(x.reg)<<3) // a digit or a register without an operand
	}
	a.operand(in, x, 1)
}

func (a *Assembler) evex(in *Inst, f *form, x *fields) {
	b := ^x.rxb() & 7
	high := byte(^x.reg & 16)
	v := byte(^x.vvvv & 16)
	if x.rm != nil && x.rm.Kind == RegArg && number(x.rm.Reg) > 15 {
		b &^= 2
	}
	if x.rm != nil && x.rm.Kind == MemArg && x.rm.Index.Class() == Vec {
		v = byte(^number(x.rm.Index) & 16)
	}
	last := f.length(in.Width)<<5 | v>>1 | byte(number(in.Mask))
	if in.Zero {
		last |= 0x80
	}
	n := int32(x.rmSize.bits(int(in.Width)) / 8)
	switch {
	case in.Bcast:
		last |= 0x10
		n = int32(f.element())
	case f.flags&e4 != 0:
		n = 4
	case f.flags&e8 != 0:
		n = 8
	}
	a.put(0x62, b<<5|high|f.opmap, f.wBit(in, true)<<7|byte(^x.vvvv&15)<<3|4|f.pp, last, f.code)
	a.operand(in, x, n)
}

// operand adds ModRM, SIB, displacement and immediate. A displacement of 8 bits
// counts in n bytes.
func (a *Assembler) operand(in *Inst, x *fields, n int32) {
	if x.rm != nil {
		a.modrm(byte(x.reg&7)<<3, x.rm, n, x.immSize)
	}
	if x.imm == nil {
		return
	}
	v := x.imm.Imm
	if x.is4 {
		v = int64(number(x.imm.Reg)) << 4
	}
	switch x.immSize {
	case 1:
		a.put(byte(v))
	case 2:
		a.buf = binary.LittleEndian.AppendUint16(a.buf, uint16(v))
	case 4:
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v))
	case 8:
		a.buf = binary.LittleEndian.AppendUint64(a.buf, uint64(v))
	}
}

// modrm adds ModRM, SIB and displacement; after bytes follow them.
func (a *Assembler) modrm(reg byte, m *Arg, n int32, after int) {
	switch m.Kind {
	case RegArg, ImmArg:
		a.put(0xc0 | reg | byte(m.number()&7))
		return
	case PoolArg, LabelArg:
		a.relative(reg, m, after)
		return
	}
	base, index, scale := m.Reg, m.Index, m.Scale
	if base == 0 && index.Class() == GPR && scale <= 1 {
		base, index = index, 0
	}
	if base == 0 { // a displacement of 32 bits
		a.put(reg|4, sib(index, scale, 5))
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(m.Disp))
		return
	}
	low := byte(number(base) & 7)
	mod, disp := byte(0x80), m.Disp
	switch {
	case disp == 0 && low != 5:
		mod = 0
	case n > 0 && disp%n == 0 && disp/n >= -128 && disp/n <= 127:
		mod, disp = 0x40, disp/n
	}
	if index != 0 || low == 4 {
		a.put(mod|reg|4, sib(index, scale, low))
	} else {
		a.put(mod | reg | low)
	}
	switch mod {
	case 0x40:
		a.put(byte(disp))
	case 0x80:
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(disp))
	}
}

// sib returns the byte of scale, index and base; no index is number 4.
func sib(index Reg, scale uint8, base byte) byte {
	if index == 0 {
		return 4<<3 | base
	}
	s := byte(0)
	switch scale {
	case 2:
		s = 1
	case 4:
		s = 2
	case 8:
		s = 3
	}
	return s<<6 | byte(number(index)&7)<<3 | base
}
