package ptx

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// objectAlign is the alignment of shared and local objects, so that they can be
// accessed in the widest units.
const objectAlign = 16

// sum is an address: base + index*scale.
type sum struct {
	base  frag
	index *ir.Value
	scale int
}

func (e *emitter) addressOf(p *ir.Value) addr {
	return e.vals[e.resolve(p).ID].addr
}

// addrClass is the class of registers that hold addresses of the space.
func addrClass(p *ir.Value) class { return classOf(kindOf(p.Type)) }

// form returns the address that a pointer operation makes. Constant distances
// go to the offset; only a variable index costs instructions.
func (e *emitter) form(v *ir.Value) addr {
	switch v.Op {
	case ir.OpLocal:
		if e.isFragment[v] {
			return e.newFragment(v)
		}
		name := fmt.Sprintf("local%d", len(e.locals))
		e.locals = append(e.locals, object{"local", name, v.Type.Elem.Size(), objectAlign})
		return addr{base: text(name), align: objectAlign}
	case ir.OpShared:
		if e.parts != nil && e.parts[v.Imm] >= 0 {
			return addr{base: text(sharedAll), off: int64(e.parts[v.Imm]), align: objectAlign}
		}
		e.shared[v.Imm] = true
		return addr{base: text(sharedName(int(v.Imm))), align: objectAlign}
	case ir.OpTable:
		return addr{base: text(e.tableName(int(v.Imm))), align: objectAlign}
	case ir.OpField:
		a := e.addressOf(v.Args[0])
		return e.advance(v, a, int64(v.Args[0].Type.Elem.Offset(int(v.Imm))))
	}
	return e.index(v, e.addressOf(v.Args[0]), v.Args[1], v.Type.Elem.Size())
}

const (
	sharedPrefix = "shared"
	// sharedAll is all shared memory of a block that launches ask for. No kernel's entry is called
	// so.
	sharedAll = sharedPrefix + "$"
)

// tablePrefix is what names of tables begin with. No kernel's entry is called so.
const tablePrefix = "table$"

// tableName has the name of the kernel in it: a file may have several kernels.
func (e *emitter) tableName(i int) string {
	return fmt.Sprintf("%s%d$%s", tablePrefix, i, ir.Symbol(e.f.Name))
}

func sharedName(i int) string { return fmt.Sprintf("%s%d", sharedPrefix, i) }

// advance adds a constant number of bytes. Offsets of instructions have 32 bits;
// what does not fit goes to a register.
func (e *emitter) advance(v *ir.Value, a addr, n int64) addr {
	off := a.off + n
	if off == int64(int32(off)) {
		a.off = off
		return a
	}
	a.off = 0
	base := use(e.pointerReg(addrClass(v), a))
	align := gcd(a.align, off)
	if addrClass(v) == b32 {
		return addr{base: use(e.compute(b32, "add.s32", base, number(int64(int32(off))))), align: align}
	}
	return addr{base: use(e.compute(b64, "add.s64", base, number(off))), align: align}
}

// index adds i elements of size bytes.
func (e *emitter) index(v *ir.Value, a addr, i *ir.Value, size int) addr {
	// i may be x + constant: the constant goes to the offset too. All of it wraps
	// at the width of an address, as the IR's addresses do.
	for {
		i = e.lowPart(v, e.resolve(i))
		if n, ok := e.constant(i); ok {
			return e.advance(v, a, distance(i, n)*int64(size))
		}
		rest, n, ok := e.split(i)
		if !ok || n > math.MaxInt32 || n < math.MinInt32 {
			break
		}
		off := a.off + n*int64(size)
		if off != int64(int32(off)) {
			break
		}
		a.off, i = off, rest
	}
	if size == 0 {
		return a
	}
	at := sum{a.base, i, size}
	r, ok := e.sums[at]
	if !ok {
		if addrClass(v) == b64 {
			r = e.index64(a.base, i, size)
		} else {
			r = e.index32(a.base, i, size)
		}
		e.sums[at] = r
	}
	return addr{base: use(r), off: a.off, align: gcd(a.align, int64(size)<<min(e.zeros[i.ID], 8))}
}

// lowPart returns an integer of 32 bits that gives the same address as the index
// i, if i extends one and the address v has 32 bits itself.
func (e *emitter) lowPart(v, i *ir.Value) *ir.Value {
	for addrClass(v) == b32 && i.Op == ir.OpConvert && i.Args[0].Type.IsInt() && i.Args[0].Type.Bits() >= 32 {
		i = e.resolve(i.Args[0])
	}
	return i
}

// distance returns the constant c of the type of i as a distance: where an address
// has 32 bits, 2^32 - 1 is one step back.
func distance(i *ir.Value, c uint64) int64 {
	if i.Type.Bits() == 32 {
		return int64(int32(c))
	}
	return int64(c)
}

// gcd returns the largest power of two up to objectAlign that divides the power
// of two a and n.
func gcd(a int, n int64) int {
	if a == 0 {
		return 0
	}
	return int(min(int64(a), 1<<min(bits.TrailingZeros64(uint64(n)), 4)))
}

// split returns x and n if i is x + n for a constant n.
func (e *emitter) split(i *ir.Value) (x *ir.Value, n int64, ok bool) {
	if i.Op != ir.OpAdd && i.Op != ir.OpSub {
		return nil, 0, false
	}
	if c, ok := e.constant(i.Args[1]); ok {
		if i.Op == ir.OpSub {
			return i.Args[0], -distance(i, c), true
		}
		return i.Args[0], distance(i, c), true
	}
	if c, ok := e.constant(i.Args[0]); ok && i.Op == ir.OpAdd {
		return i.Args[1], distance(i, c), true
	}
	return nil, 0, false
}

// index64 adds a scaled index to a base. The product is an instruction of its
// own, shared by all bases that the index is used with: assemblers fuse it with
// each sum again, which they do not with parts of a multiply-add.
func (e *emitter) index64(base frag, i *ir.Value, size int) reg {
	if base.reg == 0 {
		base = use(e.objectReg(base))
	}
	return e.compute(b64, "add.s64", base, use(e.scaled(i, size)))
}

func (e *emitter) scaled(i *ir.Value, size int) reg {
	at := sum{index: i, scale: size}
	if r, ok := e.sums[at]; ok {
		return r
	}
	r := e.scale(i, size)
	e.sums[at] = r
	return r
}

func (e *emitter) scale(i *ir.Value, size int) reg {
	if x, signed, zeroed := e.half(i); x.reg != 0 && size <= math.MaxInt32 {
		if signed {
			return e.compute(b64, "mul.wide.s32", x, number(int64(size)))
		}
		if zeroed {
			return e.compute(b64, "mul.wide.u32", x, number(int64(size)))
		}
	}
	x := e.register(i)
	switch {
	case size == 1:
		return x
	case bits.OnesCount(uint(size)) != 1:
		return e.compute(b64, "mul.lo.s64", use(x), number(int64(size)))
	}
	return e.compute(b64, "shl.b64", use(x), number(int64(bits.TrailingZeros(uint(size)))))
}

func (e *emitter) index32(base frag, i *ir.Value, size int) reg {
	x, _, _ := e.half(i)
	switch {
	case x.reg != 0:
	case i.Type.Bits() == 32:
		x = use(e.register(i))
	default:
		x = use(e.compute(b32, "cvt.u32.u64", use(e.register(i))))
	}
	if base.reg == 0 {
		base = use(e.pointerReg(b32, addr{base: base}))
	}
	return e.compute(b32, "mad.lo.s32", x, number(int64(size)), base)
}

// pointer returns a register that holds the address.
func (e *emitter) pointer(a addr) reg {
	c := b32
	switch {
	case a.base.reg != 0:
		c = e.class[a.base.reg]
	case strings.HasPrefix(a.base.text, tablePrefix):
		c = b64
	}
	return e.pointerReg(c, a)
}

func (e *emitter) pointerReg(c class, a addr) reg {
	r := a.base.reg
	if r == 0 {
		r = e.objectReg(a.base)
	}
	if a.off == 0 {
		return r
	}
	return e.compute(c, "add.s"+classNames[c].bits[1:], use(r), number(a.off))
}

// objectReg returns a register that holds the address of an object. That of a
// shared one is taken at the start of the kernel: it comes from a special
// register, which is slow to read, and assemblers leave it in the loop where it
// is asked for.
func (e *emitter) objectReg(name frag) reg {
	at := sum{base: name}
	if r := e.bases[at]; r != 0 {
		return r
	}
	if r := e.sums[at]; r != 0 {
		return r
	}
	e.misused = e.misused || name.text == fragmentName
	switch {
	case strings.HasPrefix(name.text, tablePrefix):
		r := e.compute(b64, "mov.u64", name)
		e.sums[at] = r
		return r
	case !strings.HasPrefix(name.text, sharedPrefix):
		r := e.compute(b32, "mov.u32", name)
		e.sums[at] = r
		return r
	}
	here := e.insts
	e.insts = e.prologue
	r := e.compute(b32, "mov.u32", name)
	e.prologue, e.insts = e.insts, here
	e.bases[at] = r
	return r
}

// unrolledStores is how many stores an object is zeroed with before a loop is
// written instead.
const unrolledStores = 32

// zero writes zeros over the object that p points to.
func (e *emitter) zero(p *ir.Value) {
	a := e.addressOf(p)
	t := p.Type.Elem
	unit := min(max(t.Align(), 1), 8)
	if a.align == objectAlign && a.off%objectAlign == 0 {
		unit = objectAlign
	}
	size := int64(t.Size())
	done := int64(0)
	if n := size / int64(unit); n > unrolledStores {
		done = n * int64(unit)
		e.zeroLoop(p, a, unit, done)
	}
	for done < size {
		for int64(unit) > size-done {
			unit /= 2
		}
		e.zeroStore(p.Type.Space, unit, a.frags(done))
		done += int64(unit)
	}
}

func (e *emitter) zeroStore(s ir.Space, unit int, at []frag) {
	opcode, zero := fmt.Sprintf("st.%s.b%d ", s, unit*8), text(", 0")
	if unit == 16 {
		z := e.compute(b64, "mov.b64", number(0))
		in := inst{effect: true, pos: e.pos, frags: append([]frag{text(fmt.Sprintf("st.%s.v2.b64 ", s))}, at...)}
		in.frags = append(in.frags, text(", {"), use(z), text(", "), use(z), text("}"))
		e.insts = append(e.insts, in)
		return
	}
	in := inst{effect: true, pos: e.pos, frags: append([]frag{text(opcode)}, at...)}
	in.frags = append(in.frags, zero)
	e.insts = append(e.insts, in)
}

// zeroLoop zeroes size bytes at a in a loop of stores of unit bytes.
func (e *emitter) zeroLoop(p *ir.Value, a addr, unit int, size int64) {
	c := addrClass(p)
	bits := classNames[c].bits
	at, end := e.newReg(c), e.newReg(c)
	start := e.pointerReg(c, a)
	loop := e.newLabel()
	e.add("mov."+bits, 1, use(at), use(start))
	e.add("add.s"+bits[1:], 1, use(end), use(start), number(size))
	e.place(loop)
	e.zeroStore(p.Type.Space, unit, addr{base: use(at)}.frags(0))
	e.add("add.s"+bits[1:], 1, use(at), use(at), number(int64(unit)))
	more := e.compute(pred, "setp.ne."+bits, use(at), use(end))
	e.branch(frag{reg: more}, false, loop)
}
