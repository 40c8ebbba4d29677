package ptx

import (
	"fmt"
	"math/bits"

	"github.com/gokiln/kiln/compiler/ir"
)

// value writes the instructions of v.
func (e *emitter) value(v *ir.Value) error {
	switch v.Op {
	case ir.OpConst, ir.OpWarpSize:
		return nil
	case ir.OpLocal, ir.OpShared, ir.OpTable, ir.OpIndex, ir.OpOffset, ir.OpField:
		e.vals[v.ID].addr = e.form(v)
		return nil
	case ir.OpCopyVec:
		e.copyVec(v)
		return nil
	case ir.OpMMA, ir.OpLoadMatrix, ir.OpWarpgroupMMA, ir.OpWarpgroupWait, ir.OpWarpgroupRegs:
		return e.matrix(v)
	case ir.OpCopyTensor, ir.OpCopyPixels:
		return e.copyTensor(v)
	case ir.OpStoreTensor, ir.OpStoreWait:
		return e.storeTensor(v)
	case ir.OpMBarRemote:
		return e.arriveRemote(v)
	case ir.OpMul:
		if e.mulWide(v) {
			return nil
		}
	case ir.OpConvert:
		if e.lowHalf(v) {
			return nil
		}
	}
	if len(e.isFragment) > 0 {
		if ok, err := e.accessFragment(v); ok {
			return err
		}
	}
	if v.Op == ir.OpZero {
		e.zero(v.Args[0])
		return nil
	}
	var b uint64
	var isConst bool
	if len(v.Args) > 1 {
		b, isConst = e.constant(v.Args[1])
	}
	c, err := choose(v, e.t.CC, b, isConst)
	if err != nil {
		return err
	}
	if c.row.asm == alias {
		e.alias(v)
		return nil
	}
	e.expand(v, c, b)
	e.note(v)
	e.noteNarrow(v)
	return nil
}

// alias makes v another name of its operand.
func (e *emitter) alias(v *ir.Value) {
	if c, ok := e.constant(v.Args[0]); ok {
		e.vals[v.ID] = value{isConst: true, bits: ir.Normalize(v.Type, c)}
		return
	}
	x := e.vals[e.resolve(v.Args[0]).ID]
	if v.Type.IsFloat() {
		x.narrow = 0
	}
	e.vals[v.ID] = x
}

// expand writes v by the row c; b is the value of a constant second operand.
func (e *emitter) expand(v *ir.Value, c *choice, b uint64) {
	x := expansion{e: e, v: v, b: b}
	if v.Type != ir.Void {
		x.result = e.newReg(classOf(kindOf(v.Type)))
	}
	e.version = max(e.version, c.row.ptx)
	patterns := c.patterns()
	if v.Op.IsAtomic() && v.Imm != 0 {
		patterns = ordered(v, patterns)
	}
	for i := range patterns {
		x.instruction(&patterns[i])
	}
	r := x.result
	if c.narrow != ir.KVoid {
		r = e.newReg(b32)
		ext := expansion{e: e, operand: x.result, result: r}
		for i := range extendPatterns()[c.narrow] {
			ext.instruction(&extendPatterns()[c.narrow][i])
		}
	}
	if v.Type != ir.Void {
		e.define(v, r)
	}
	if v.Op.Info().Rule == ir.RuleGeom || v.Op == ir.OpLane || v.Op == ir.OpWarp {
		val := &e.vals[v.ID]
		val.narrow, val.signed, val.zeroed = x.known(b32, 0), true, true
	}
}

// expansion fills the placeholders of a template for one value.
type expansion struct {
	e       *emitter
	v       *ir.Value
	b       uint64
	result  reg
	operand reg // in place of v's operands, if v is nil
	temps   []temp
	label   string // "" before its first use
}

// temp is a register of a template.
type temp struct {
	c   class
	n   int
	reg reg
}

// known returns the register of a temporary, 0 before its first use.
func (x *expansion) known(c class, n int) reg {
	for _, t := range x.temps {
		if t.c == c && t.n == n {
			return t.reg
		}
	}
	return 0
}

func (x *expansion) temp(q *piece) reg {
	r := x.known(q.c, q.n)
	if r == 0 {
		r = x.e.newReg(q.c)
		x.temps = append(x.temps, temp{q.c, q.n, r})
	}
	return r
}

func (x *expansion) instruction(p *pattern) {
	if p.label {
		x.e.place(x.target())
		return
	}
	in := inst{frags: x.e.fragments(len(p.pieces) + 2), defs: p.defs, effect: p.effect}
	for i := range p.pieces {
		in.frags = x.piece(in.frags, p, &p.pieces[i])
		if p.pieces[i].kind == pieceLabel {
			in.target = x.target()
		}
	}
	in.pos = x.e.pos
	x.e.insts = append(x.e.insts, in)
}

// target returns the template's label.
func (x *expansion) target() string {
	if x.label == "" {
		x.label = x.e.newLabel()
	}
	return x.label
}

func (x *expansion) piece(out []frag, p *pattern, q *piece) []frag {
	switch q.kind {
	case pieceText:
		return append(out, text(q.text))
	case pieceResult:
		return append(out, use(x.result))
	case pieceTemp:
		return append(out, use(x.temp(q)))
	case pieceOperand:
		return append(out, x.e.operand(x.v.Args[q.n], p.float))
	case pieceReg:
		if x.v == nil {
			return append(out, use(x.operand))
		}
		return append(out, use(x.e.register(x.v.Args[q.n])))
	case pieceLabel:
		return append(out, text(x.target()))
	case pieceAddr:
		return append(out, x.e.addressOf(x.v.Args[q.n]).frags(0)...)
	}
	log := bits.TrailingZeros64(x.b)
	switch q.kind {
	case pieceLog:
		return append(out, number(int64(log)))
	case pieceRest:
		return append(out, number(int64(max(32, x.v.Type.Bits())-log)))
	case pieceMask:
		return append(out, number(int64(x.b-1)))
	default:
		return append(out, number(-int64(x.b)))
	}
}

// noteNarrow records that v extends a 32-bit register.
func (e *emitter) noteNarrow(v *ir.Value) {
	if v.Op != ir.OpConvert || classOf(v.Type.Kind) != b64 || !v.Type.IsInt() {
		return
	}
	if from := v.Args[0].Type; from.IsInt() && classOf(from.Kind) == b32 {
		val := &e.vals[v.ID]
		val.narrow = e.register(v.Args[0])
		val.signed = from.IsSigned()
		val.zeroed = !from.IsSigned()
		if from.Size() < 4 { // an unsigned value that has room for a sign
			val.signed = true
		}
	}
}

// half returns the 32-bit value that v extends: by sign, by zeros, or either.
func (e *emitter) half(v *ir.Value) (x frag, signed, zeroed bool) {
	if c, ok := e.constant(v); ok {
		n := int64(c)
		signed, zeroed = n == int64(int32(n)), c == uint64(uint32(c))
		return number(n), signed, zeroed
	}
	val := &e.vals[e.resolve(v).ID]
	if val.narrow == 0 {
		return frag{}, false, false
	}
	return use(val.narrow), val.signed, val.zeroed
}

// lowHalf makes the low half of an extended 32-bit value that value again.
func (e *emitter) lowHalf(v *ir.Value) bool {
	from := v.Args[0].Type
	if !v.Type.IsInt() || v.Type.Bits() != 32 || !from.IsInt() || from.Bits() != 64 {
		return false
	}
	x, _, _ := e.half(v.Args[0])
	if x.reg == 0 {
		return false
	}
	e.define(v, x.reg)
	return true
}

// mulWide writes a 64-bit product of extended 32-bit values as one instruction.
func (e *emitter) mulWide(v *ir.Value) bool {
	if !v.Type.IsInt() || classOf(v.Type.Kind) != b64 {
		return false
	}
	x, xs, xz := e.half(v.Args[0])
	y, ys, yz := e.half(v.Args[1])
	if x.reg == 0 && y.reg == 0 {
		return false
	}
	if x.reg == 0 {
		x, y = y, x // the immediate comes second
	}
	switch {
	case xz && yz:
		e.define(v, e.compute(b64, "mul.wide.u32", x, y))
	case xs && ys:
		e.define(v, e.compute(b64, "mul.wide.s32", x, y))
	default:
		return false
	}
	return true
}

// dropDead removes instructions whose results nothing reads.
func (e *emitter) dropDead() {
	uses := make([]int, len(e.class))
	writers := make([][]int, len(e.class))
	count := func(i, by int) (dead []reg) {
		n := 0
		for _, f := range e.insts[i].frags {
			if f.reg == 0 {
				continue
			}
			if n++; n > e.insts[i].defs {
				if uses[f.reg] += by; uses[f.reg] == 0 {
					dead = append(dead, f.reg)
				}
			}
		}
		return dead
	}
	for i := range e.insts {
		n := 0
		for _, f := range e.insts[i].frags {
			if f.reg != 0 && n < e.insts[i].defs {
				writers[f.reg] = append(writers[f.reg], i)
				n++
			}
		}
		count(i, 1)
	}
	gone := make([]bool, len(e.insts))
	var work []reg
	for r := range e.class {
		if uses[r] == 0 {
			work = append(work, reg(r))
		}
	}
	for len(work) > 0 {
		r := work[len(work)-1]
		work = work[:len(work)-1]
		for _, i := range writers[r] {
			if !gone[i] && !e.insts[i].effect && e.unread(i, uses) {
				gone[i] = true
				work = append(work, count(i, -1)...)
			}
		}
	}
	kept := e.insts[:0]
	for i := range e.insts {
		if !gone[i] {
			kept = append(kept, e.insts[i])
		}
	}
	e.insts = kept
}

// unread reports whether nothing reads the results of instruction i.
func (e *emitter) unread(i int, uses []int) bool {
	n := 0
	for _, f := range e.insts[i].frags {
		if f.reg == 0 {
			continue
		}
		if n++; n > e.insts[i].defs {
			break
		}
		if uses[f.reg] != 0 {
			return false
		}
	}
	return true
}

// addr is the address base + offset; base is a register or the name of an object.
type addr struct {
	base  frag
	off   int64
	align int // a power of two that the base is known to be a multiple of, 0 if not

	fragment *fragment // whose register it stands for, nil of memory
}

// multiple reports whether the address is known to be a multiple of n, a power of two.
func (a addr) multiple(n int) bool {
	return a.align != 0 && a.align%n == 0 && a.off%int64(n) == 0
}

// frags writes the address n bytes further on as an operand.
func (a addr) frags(n int64) []frag {
	out := append(make([]frag, 0, 3), text("["), a.base)
	if off := a.off + n; off != 0 {
		return append(out, text(fmt.Sprintf("+%d]", off))) // +-8, as PTX has it
	}
	return append(out, text("]"))
}
