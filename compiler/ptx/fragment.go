package ptx

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// A local array that a matrix instruction reads or writes is a fragment: it lives in registers of
// its own, which instructions change in place. Several instructions in flight may add to the same
// sums, and nothing copies sums on the way around a loop.

// fragment is such an array. Its registers have elements of 4 or 8 bytes, or several smaller ones.
type fragment struct {
	elem *ir.Type
	regs []reg
	per  int // elements in a register
}

// fragmentName stands for the address of a fragment, which has none.
const fragmentName = "fragment"

// findFragments notes the local objects that are fragments.
func (e *emitter) findFragments() {
	for _, b := range e.f.Blocks {
		for _, v := range b.Instrs {
			if !v.Op.IsMatrix() {
				continue
			}
			for _, p := range v.Args {
				if o := analysis.BaseOf(p); analysis.IsLocalPtr(p) && o.Op == ir.OpLocal {
					e.isFragment[o] = true
				}
			}
		}
	}
}

// newFragment makes the registers of a fragment. Its address is a name that stands for them.
func (e *emitter) newFragment(o *ir.Value) addr {
	t, n := o.Type.Elem, 1
	for t.Kind == ir.KArray {
		n, t = n*t.Len, t.Elem
	}
	f := &fragment{elem: t, per: max(1, 4/max(t.Size(), 1))}
	c := b32
	if t.Size() == 8 {
		c = b64
	}
	for range (n + f.per - 1) / f.per {
		f.regs = append(f.regs, e.newReg(c))
	}
	return addr{base: text(fragmentName), align: objectAlign, fragment: f}
}

// element returns the fragment that an address is in, nil if in none, and which of its elements.
func (a addr) element() (f *fragment, at int) {
	if a.fragment == nil {
		return nil, 0
	}
	return a.fragment, int(a.off) / a.fragment.elem.Size()
}

// fragmentOf returns n registers of the fragment that p points into, from there on.
func (e *emitter) fragmentOf(p *ir.Value, elements int) ([]reg, error) {
	e.storeLow()
	f, at := e.addressOf(p).element()
	if f == nil {
		return nil, fmt.Errorf("a fragment of a matrix is not at a constant index of a local array")
	}
	n := (elements + f.per - 1) / f.per
	if at < 0 || at%f.per != 0 || at/f.per+n > len(f.regs) {
		return nil, fmt.Errorf("a fragment of %d elements at index %d is outside of its array of %d", elements, at, len(f.regs)*f.per)
	}
	return f.regs[at/f.per:][:n], nil
}

// accessFragment writes a load, store or zeroing of elements that are in registers. It reports
// whether v is one.
func (e *emitter) accessFragment(v *ir.Value) (bool, error) {
	if len(v.Args) == 0 || !analysis.IsLocalPtr(v.Args[0]) {
		return false, nil
	}
	f, at := e.addressOf(v.Args[0]).element()
	if f == nil || v.Op != ir.OpLoad && v.Op != ir.OpStore && v.Op != ir.OpZero {
		return false, nil
	}
	low := e.low
	if v.Op == ir.OpStore && f.per == 2 && at >= 0 && at/2 < len(f.regs) && at%2 == 1 && low.in == f.regs[at/2] {
		e.low = lowHalf{}
	}
	e.storeLow()
	if v.Op == ir.OpZero {
		n := v.Args[0].Type.Elem.Size() / f.elem.Size()
		if at%f.per != 0 || n%f.per != 0 && (at+n)/f.per < len(f.regs)-1 {
			return true, fmt.Errorf("a part of a fragment is set to zero")
		}
		for _, r := range f.regs[at/f.per : (at+n+f.per-1)/f.per] {
			e.add("mov."+classNames[e.class[r]].bits, 1, use(r), number(0))
		}
		return true, nil
	}
	if at < 0 || at/f.per >= len(f.regs) {
		return true, fmt.Errorf("index %d is outside of a fragment of %d", at, len(f.regs)*f.per)
	}
	r, part := f.regs[at/f.per], at%f.per
	bits := classNames[e.class[r]].bits
	switch {
	case v.Op == ir.OpLoad && f.per == 1:
		e.define(v, e.compute(e.class[r], "mov."+bits, use(r)))
	case v.Op == ir.OpLoad && f.per == 4:
		high := e.compute(b32, "shl.b32", use(r), number(int64(24-8*part)))
		e.define(v, e.compute(b32, "shr."+map[bool]string{true: "s32", false: "u32"}[v.Type.IsSigned()], use(high), number(24)))
	case v.Op == ir.OpLoad:
		e.define(v, e.halves(r)[part])
	case f.per == 4:
		const fourth = 4 // the lowest byte of the second operand
		sel := 0x3210&^(0xF<<(4*part)) | fourth<<(4*part)
		e.add("prmt.b32", 1, use(r), use(r), use(e.register(v.Args[1])), number(int64(sel)))
	case f.per == 1:
		e.add("mov."+bits, 1, use(r), e.operand(v.Args[1], f.elem.IsFloat()))
	case part == 0:
		e.low = lowHalf{in: r, value: e.register(v.Args[1])}
	case low.in == r:
		e.join(r, low.value, e.register(v.Args[1]))
	default:
		e.join(r, e.halves(r)[0], e.register(v.Args[1]))
	}
	return true, nil
}

// lowHalf is the lower half of a register of a fragment that was stored and is not in the register
// yet: a store of the upper half mostly follows, and one instruction writes both.
type lowHalf struct{ in, value reg }

// storeLow writes the lower half that waits for its neighbour, if there is one.
func (e *emitter) storeLow() {
	if low := e.low; low.in != 0 {
		e.low = lowHalf{}
		e.join(low.in, low.value, e.halves(low.in)[1])
	}
}

// join makes r of two halves.
func (e *emitter) join(r, low, high reg) {
	in := e.add("mov.b32", 1, use(r))
	in.frags = append(append(in.frags, text(", ")), braces([]reg{low, high})...)
}

// halves returns the two elements of a register.
func (e *emitter) halves(r reg) []reg {
	both := []reg{e.newReg(b16), e.newReg(b16)}
	in := e.add("mov.b32 ", 0)
	in.frags = append(append(in.frags, braces(both)...), text(", "), use(r))
	in.defs, in.effect = 2, false
	return both
}

// matrix writes a matrix instruction.
func (e *emitter) matrix(v *ir.Value) error {
	switch v.Op {
	case ir.OpLoadMatrix:
		return e.loadMatrix(v)
	case ir.OpWarpgroupMMA:
		return e.groupProduct(v)
	case ir.OpWarpgroupRegs:
		n, ok := e.constant(v.Args[0])
		if !ok || n < 24 || n > 256 || n%8 != 0 {
			return fmt.Errorf("the number of registers of a thread is no constant from 24 to 256, a multiple of 8")
		}
		e.add("setmaxnreg."+[]string{"dec", "inc"}[v.Imm]+".sync.aligned.u32", 0, number(int64(n)))
		return nil
	case ir.OpWarpgroupWait:
		n, ok := e.constant(v.Args[0])
		if !ok || n > 7 {
			return fmt.Errorf("the number of batches that may be under way is no constant from 0 to 7")
		}
		e.add("wgmma.wait_group.sync.aligned", 0, number(int64(n)))
		return nil
	}
	kind, _ := v.MatrixKind()
	u := matrix.For(e.t, kind)
	if u == nil {
		return fmt.Errorf("%s has no matrix instruction of kind %d", e.t, kind)
	}
	if kind == ir.MatrixE4M3 || kind == ir.MatrixE5M2 {
		e.version = max(e.version, 84)
	}
	var regs [3][]reg
	for i, n := range []int{u.C.Len(), u.A.Len(), u.B.Len()} {
		var err error
		if regs[i], err = e.fragmentOf(v.Args[i], n); err != nil {
			return err
		}
	}
	shape, types, _ := strings.Cut(u.Name, ".")
	in := e.add(fmt.Sprintf("mma.sync.aligned.%s.row.col.%s", shape, types), 0)
	in.frags = append(in.frags, text(" "))
	for i, group := range [][]reg{regs[0], regs[1], regs[2], regs[0]} {
		if i > 0 {
			in.frags = append(in.frags, text(", "))
		}
		in.frags = append(in.frags, braces(group)...)
	}
	in.defs = len(regs[0])
	return nil
}

// loadMatrix writes the load of four matrices of eight rows of 16 bytes.
func (e *emitter) loadMatrix(v *ir.Value) error {
	regs, err := e.fragmentOf(v.Args[0], 16/v.Args[0].Type.Elem.Size())
	if err != nil {
		return err
	}
	opcode := "ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
	if v.Imm == 1 {
		opcode = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
	}
	at := e.addressOf(v.Args[1]).frags(0)
	in := e.add(opcode, 0)
	in.frags = append(append(append(in.frags, braces(regs)...), text(", ")), at...)
	in.defs = len(regs)
	return nil
}

// braces writes registers as a list in braces.
func braces(regs []reg) []frag {
	out := []frag{text("{")}
	for i, r := range regs {
		if i > 0 {
			out = append(out, text(", "))
		}
		out = append(out, use(r))
	}
	return append(out, text("}"))
}

// groupProduct writes a product of a warpgroup.
func (e *emitter) groupProduct(v *ir.Value) error {
	kind, _ := v.MatrixKind()
	u := matrix.For(e.t, kind)
	if u == nil || u.Warpgroup == 0 {
		return fmt.Errorf("%s has no warpgroup products of kind %d", e.t, kind)
	}
	var shape [5]int // columns, rows of a panel, whether A and B are transposed, and whether sums are added to
	for i := range shape {
		n, ok := e.constant(v.Args[3+i])
		if shape[i] = int(n); !ok {
			return fmt.Errorf("the shape of a warpgroup product is no constant")
		}
	}
	n, rows := shape[0], shape[1]
	if n%8 != 0 || n < 8 || n > 256 {
		return fmt.Errorf("a warpgroup product has %d columns; it has 8 to 256, a multiple of 8", n)
	}
	sums, err := e.fragmentOf(v.Args[0], n/u.N*u.C.Len())
	if err != nil {
		return err
	}
	transposed, inRegisters := shape[2:4], analysis.IsLocalPtr(v.Args[1])
	if (!u.Transposes || inRegisters) && shape[2] != 0 || !u.Transposes && shape[3] != 0 {
		return fmt.Errorf("a factor of a warpgroup product of kind %d cannot be transposed", kind)
	}
	elem, _ := kind.Types()
	e.sharedAlign = swizzleAlign
	var a []frag
	if inRegisters {
		regs, err := e.fragmentOf(v.Args[1], u.A.Len())
		if err != nil {
			return err
		}
		a, transposed = braces(regs), transposed[1:]
	} else {
		a = []frag{use(e.descriptor(v.Args[1], shape[2] == 1, rows))}
	}
	if !u.Transposes {
		transposed = nil
	}
	b := e.descriptor(v.Args[2], shape[3] == 1, rows)
	adds := e.compute(pred, "setp.ne.b32", number(int64(shape[4])), number(0))
	_, types, _ := strings.Cut(u.Name, ".")
	types = types[:strings.LastIndex(types, ".")] // the last one is that of the sums again
	in := e.add(fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk%d.%s ", n, 32/elem.Size(), types), 0)
	in.frags = append(in.frags, braces(sums)...)
	in.frags = append(append(in.frags, text(", ")), a...)
	operands := []frag{use(b), use(adds)}
	if elem.Kind != ir.KI8 && u.Kind != ir.MatrixU8 {
		operands = append(operands, number(1), number(1)) // factors are not negated
	}
	for _, f := range operands {
		in.frags = append(in.frags, text(", "), f)
	}
	for _, n := range transposed {
		in.frags = append(in.frags, text(", "), number(int64(n)))
	}
	in.defs = len(sums)
	return nil
}

// swizzleAlign is where the pattern of the swizzle in rows of 128 bytes repeats.
const swizzleAlign = 1024

// descriptor makes the matrix descriptor of a factor in shared memory, swizzled in rows of 128 bytes
// (PTX ISA, "Matrix Descriptor Format" of wgmma).
func (e *emitter) descriptor(p *ir.Value, transposed bool, rows int) reg {
	const (
		eightRows = 8 * 128 >> 4 // stride of groups of eight rows
		swizzle   = 1 << 30      // of 128 bytes, in the upper word
	)
	lead := int64(1) // not used
	if transposed {
		lead = int64(rows) * 128 >> 4
	}
	a := e.addressOf(p)
	off := a.off &^ 15
	a.off -= off
	// Products of one tile are at constant distances, so that they share what the address is made of.
	// The shift keeps the sign, as only the whole address is known not to be negative.
	units := e.sharedUnits(a)
	low := e.compute(b32, "add.s32", use(units), number(lead<<16+off>>4))
	high := e.compute(b32, "mov.b32", number(eightRows|swizzle))
	d := e.newReg(b64)
	in := e.add("mov.b64", 1, use(d))
	in.frags = append(append(in.frags, text(", ")), braces([]reg{low, high})...)
	return d
}

// sharedUnits returns an address in shared memory in units of 16 bytes, computed once in a block.
func (e *emitter) sharedUnits(a addr) reg {
	key := unitsKey{a.base, a.off}
	r, ok := e.units[key]
	if !ok {
		r = e.compute(b32, "shr.s32", use(e.pointerReg(b32, a)), number(4))
		e.units[key] = r
	}
	return r
}

// unitsKey is an address whose units of 16 bytes a block has computed.
type unitsKey struct {
	base frag
	off  int64
}
