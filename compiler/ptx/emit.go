package ptx

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Options change what the text holds besides the code.
type Options struct {
	// Lines adds a comment with the Go file and line wherever it changes.
	Lines bool
	// Aligned says that the slices of every launch begin at multiples of 16
	// bytes: their elements are then accessed in vectors where the code allows.
	Aligned bool
	// Disjoint says that no slice that the kernel writes overlaps another.
	Disjoint bool
	// Scalar leaves loads and stores as they are, each of one value.
	Scalar bool
	// Uniform, if not nil, reports whether the threads of a warp that reach the
	// end of a block together take its branch together.
	Uniform func(*ir.Block) bool
}

// Emit returns the PTX text of the kernel of m for t. The module must satisfy
// [ir.Verify] and hold no calls, which the inline pass sees to.
func Emit(m *ir.Module, t target.Target) (string, error) { return Options{}.Emit(m, t) }

// Emit is the function [Emit] under the options o.
func (o Options) Emit(m *ir.Module, t target.Target) (string, error) {
	f := m.Kernel()
	if f == nil {
		return "", fmt.Errorf("ptx: module %q has no kernel", m.Name)
	}
	if t.Kind != target.PTX {
		return "", fmt.Errorf("ptx: kernel %s: cannot compile for target %s; use one of ptx:<arch>", f.Name, t)
	}
	e := newEmitter(m, f, t)
	e.opt = o
	_, size := m.SharedLayout()
	err := t.CheckShared(size)
	e.parts = m.SharedParts(t.Dynamic(size))
	if err == nil {
		err = e.run()
	}
	if err != nil {
		return "", fmt.Errorf("ptx: kernel %s: %w", f.Name, err)
	}
	e.dropDead()
	if !o.Scalar {
		e.vectorise()
	}
	if t.CC >= 80 && e.packConversions() {
		e.dropDead()
	}
	return e.print(o), nil
}

// reg is a virtual register, counted from 1.
type reg int

// frag is a part of an instruction: a register, or text.
type frag struct {
	text string
	reg  reg
}

func text(s string) frag { return frag{text: s} }
func use(r reg) frag     { return frag{reg: r} }
func number(n int64) frag {
	return frag{text: strconv.FormatInt(n, 10)}
}

// inst is an instruction or a label.
type inst struct {
	frags  []frag
	defs   int    // how many of the first registers are written
	effect bool   // stays even if nothing reads what it writes
	label  string // a label, without instruction
	target string // the label that it jumps to
	pos    int
	mem    *memop // of a load or store that may become part of a vector
}

// object is a variable in shared or local memory.
type object struct {
	space string
	name  string
	size  int
	align int
}

type emitter struct {
	m      *ir.Module
	f      *ir.Func
	t      target.Target
	opt    Options
	insts  []inst
	room   []frag  // for the fragments of instructions
	class  []class // by register
	vals   []value // by value ID
	params map[*ir.Value]*ir.Value
	locals []object
	shared []bool // which shared objects are used
	parts  []int  // where they are in the memory that launches ask for, if they do
	label  []string
	labels int
	pos    int

	version int // of PTX that the instructions need, if the target's first does not do

	together bool // the threads of a warp take the branch being written together

	written []bool  // by parameter: the kernel may write through it
	zeros   []uint8 // by value ID: low bits that are zero
	found   []bool  // by value ID: depends on what is read; nil where loads cannot say what they want

	// Within one block, sums of addresses that were already computed.
	sums map[sum]reg
	// And addresses in shared memory in units of 16 bytes.
	units map[unitsKey]reg

	isFragment  map[*ir.Value]bool // local objects that live in registers
	low         lowHalf            // of a register of one
	misused     bool               // the address of one was taken
	maps        map[int]bool       // parameters whose argument is a tensor map
	sharedAlign int                // of shared memory, if that is more than of objects

	prologue []inst      // instructions at the start of the kernel, which take
	bases    map[sum]reg // the addresses of shared objects
}

// value is what is known about an IR value.
type value struct {
	reg     reg
	isConst bool
	bits    uint64 // of a constant

	// The value is the extension of a 32-bit register, zero if it is not known to
	// be: by the sign, by zeros, or either way.
	narrow         reg
	signed, zeroed bool

	addr addr // of a pointer
}

func newEmitter(m *ir.Module, f *ir.Func, t target.Target) *emitter {
	e := &emitter{m: m, f: f, t: t, vals: make([]value, f.NumValues()), shared: make([]bool, len(m.Shared)), isFragment: map[*ir.Value]bool{}, maps: map[int]bool{}}
	e.findFragments()
	e.label = make([]string, f.NumBlocks())
	e.class = make([]class, 1, f.NumValues()+64)
	e.insts = make([]inst, 0, f.NumValues()+64)
	for i, b := range f.Blocks {
		e.label[b.ID] = "$b" + strconv.Itoa(i)
	}
	return e
}

func (e *emitter) run() error {
	order := analysis.LoopOrder(e.f)
	e.params = forwarded(order)
	e.written, e.zeros = ir.WrittenParams(e.f), factors(e.f, order)
	if e.t.Version >= 74 && e.t.CC >= 75 {
		e.found = lookedUp(e.f, order)
	}
	from := e.paramRefs()
	for i, p := range e.f.Params {
		e.param(text(from[i]), p)
	}
	for _, b := range order {
		for _, p := range b.Params {
			if e.params[p] == nil {
				e.define(p, e.newReg(classOf(kindOf(p.Type))))
			}
		}
	}
	e.bases = map[sum]reg{}
	start := len(e.insts)
	for i, b := range order {
		var next *ir.Block
		if i+1 < len(order) {
			next = order[i+1]
		}
		if err := e.block(b, next); err != nil {
			return err
		}
	}
	e.insts = slices.Insert(e.insts, start, e.prologue...)
	return nil
}

func (e *emitter) block(b, next *ir.Block) error {
	e.sums, e.units = map[sum]reg{}, map[unitsKey]reg{}
	e.place(e.label[b.ID])
	if b.Unroll.Times == 1 {
		e.add(`.pragma "nounroll"`, 0)
	}
	for _, v := range b.Instrs {
		e.pos = v.Pos
		err := e.value(v)
		if err == nil && e.misused {
			err = fmt.Errorf("an index of a fragment of a matrix is not a constant; unroll the loop around it")
		}
		if err != nil {
			if p := e.m.PosOf(v.Pos); p.File != "" {
				return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
			}
			return err
		}
	}
	e.storeLow()
	e.pos = b.Term.Pos
	e.together = b.Term.Kind == ir.TermBranch && e.opt.Uniform != nil && e.opt.Uniform(b)
	return e.terminate(&b.Term, next)
}

// fragments returns a list with room for n fragments, out of a larger one.
func (e *emitter) fragments(n int) []frag {
	if n > len(e.room) {
		e.room = make([]frag, max(n, 256))
	}
	list := e.room[:0:n]
	e.room = e.room[n:]
	return list
}

func (e *emitter) newReg(c class) reg {
	e.class = append(e.class, c)
	return reg(len(e.class) - 1)
}

// add appends an instruction: opcode and operands, the first defs of which are
// written.
func (e *emitter) add(opcode string, defs int, operands ...frag) *inst {
	in := inst{frags: e.fragments(2*len(operands) + 1), defs: defs, effect: defs == 0, pos: e.pos}
	in.frags = append(in.frags, text(opcode))
	for i, o := range operands {
		sep := ", "
		if i == 0 {
			sep = " "
		}
		in.frags = append(in.frags, text(sep), o)
	}
	e.insts = append(e.insts, in)
	return &e.insts[len(e.insts)-1]
}

// compute adds an instruction that writes a new register of class c.
func (e *emitter) compute(c class, opcode string, operands ...frag) reg {
	r := e.newReg(c)
	e.add(opcode, 1, append([]frag{use(r)}, operands...)...)
	return r
}

func (e *emitter) place(label string) {
	e.insts = append(e.insts, inst{label: label, effect: true, pos: e.pos})
}

func (e *emitter) newLabel() string {
	e.labels++
	return fmt.Sprintf("$e%d", e.labels)
}

// param loads a parameter of the kernel.
func (e *emitter) param(from frag, p *ir.Value) {
	k := kindOf(p.Type)
	switch {
	case k == ir.KBool:
		r := e.compute(b32, "ld.param.u8", from)
		e.define(p, e.compute(pred, "setp.ne.u32", use(r), number(0)))
	case p.Type.IsPtr():
		r := e.compute(b64, "ld.param.u64", from)
		e.define(p, e.compute(b64, "cvta.to.global.u64", use(r)))
		if e.opt.Aligned {
			e.vals[p.ID].addr.align = objectAlign
		}
	default:
		e.define(p, e.compute(classOf(k), "ld.param."+memType(k), from))
	}
}

func paramName(f *ir.Func, i int) string { return fmt.Sprintf("%s_param_%d", ir.Symbol(f.Name), i) }

// paramRefs returns the address of each parameter. Those of a struct are parts
// of one array of bytes, named after the first.
func (e *emitter) paramRefs() []string {
	refs := make([]string, 0, len(e.f.Params))
	for _, a := range e.f.Args {
		if a.Kind == ir.ArgStruct {
			name := paramName(e.f, len(refs))
			a.Elem.EachLeaf(func(off int, _ *ir.Type) { refs = append(refs, fmt.Sprintf("[%s+%d]", name, off)) })
			continue
		}
		for range a.NumParams() {
			refs = append(refs, fmt.Sprintf("[%s]", paramName(e.f, len(refs))))
		}
	}
	return refs
}

// define records that register r holds v.
func (e *emitter) define(v *ir.Value, r reg) {
	e.vals[v.ID].reg = r
	if v.Type.IsPtr() {
		e.vals[v.ID].addr = addr{base: use(r)}
	}
}

// resolve returns the value that stands for v.
func (e *emitter) resolve(v *ir.Value) *ir.Value {
	for e.params[v] != nil {
		v = e.params[v]
	}
	return v
}

// constant returns the bits of v if it is a constant.
func (e *emitter) constant(v *ir.Value) (uint64, bool) {
	v = e.resolve(v)
	switch {
	case v.Op == ir.OpConst:
		return v.Imm, true
	case v.Op == ir.OpWarpSize:
		return uint64(e.t.WarpSize), true
	}
	return e.vals[v.ID].bits, e.vals[v.ID].isConst
}

// immediate writes a constant of type t as an operand.
func immediate(t *ir.Type, bits uint64, float bool) frag {
	switch {
	case t.Kind == ir.KF32 && float:
		return text(fmt.Sprintf("0f%08X", bits))
	case t.Kind == ir.KF64 && float:
		return text(fmt.Sprintf("0d%016X", bits))
	case t.IsSigned():
		return number(int64(bits))
	case t.IsInt(), t.Kind == ir.KBool:
		return text(fmt.Sprint(bits))
	}
	return text(fmt.Sprintf("%#x", bits))
}

// operand returns v as an immediate if it is a constant, else as a register.
func (e *emitter) operand(v *ir.Value, float bool) frag {
	if bits, ok := e.constant(v); ok && v.Type.Kind != ir.KBool {
		return immediate(v.Type, bits, float)
	}
	return use(e.register(v))
}

// register returns a register that holds v.
func (e *emitter) register(v *ir.Value) reg {
	v = e.resolve(v)
	if bits, ok := e.constant(v); ok {
		k := v.Type.Kind
		opcode, float := "mov."+classNames[classOf(k)].bits, floats.Has(k)
		if float {
			opcode = "mov." + ptxType(k)
		}
		return e.compute(classOf(k), opcode, immediate(v.Type, bits, float))
	}
	if v.Type.IsPtr() {
		return e.pointer(e.vals[v.ID].addr)
	}
	return e.vals[v.ID].reg
}
