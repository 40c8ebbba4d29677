package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// lowerer translates a kernel to instructions.
type lowerer struct {
	*lowered
	m     *ir.Module
	c     *classes
	nuses []int32 // by value ID
	naddr []int32 // by value ID: uses as the address of a load or store
	at    int     // position of the current block

	scalar  []int32 // by value ID: address of a uniform or affine value
	reg     []int32 // by value ID: vreg with one element for each lane, -1 for none
	after   []int32 // by value ID: number of instructions of its block up to its definition
	consts  map[constKey]int32
	inserts []insert
}

type constKey struct {
	size int
	bits uint64
}

// insert is an instruction to be put into a block that is already translated.
type insert struct {
	at    int
	index int32
	in    ins
}

// operand is a reference to a scalar (width 0) or a vreg.
type operand struct {
	ref   int32
	width uint8
}

func lower(m *ir.Module, g *graph, rows bool) (*lowered, error) {
	l := &lowerer{m: m, c: classify(g, rows), consts: map[constKey]int32{}}
	l.lowered = &lowered{g: g, scalars: firstScalar, regs: make([]vreg, firstReg)}
	for i := range l.regs {
		l.regs[i] = vreg{width: 8, keep: true}
	}
	n := g.f.NumValues()
	l.nuses, l.scalar, l.reg, l.after = make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	l.countUses()
	l.layout()
	l.places()
	if l.frame > maxObjects || l.shared > maxObjects {
		return nil, fmt.Errorf("kernel %s: local variables of %d bytes and shared memory of %d, the limit is %d each",
			g.f.Name, l.frame, l.shared, maxObjects)
	}
	l.blocks = make([]block, len(g.blocks))
	l.moves = make([][2][]move, len(g.blocks))
	for at, b := range g.blocks {
		l.at = at
		l.blocks[at].meets, l.blocks[at].polls = meetsFirst(b), pollsIn(b)
		for _, v := range b.Instrs {
			if err := l.value(v); err != nil {
				return nil, err
			}
		}
		l.terminate(b)
	}
	if err := l.checkSites(); err != nil {
		return nil, err
	}
	l.insertAll()
	return l.lowered, nil
}

func (l *lowerer) countUses() {
	l.g.f.EachUse(func(v **ir.Value) { l.nuses[(*v).ID]++ })
	l.naddr = make([]int32, len(l.nuses))
	for _, b := range l.g.blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpLoad || v.Op == ir.OpStore {
				l.naddr[v.Args[0].ID]++
			}
		}
	}
}

// maxObjects limits the local variables of a thread and the shared memory of a block.
const maxObjects = 1 << 20

// layout assigns addresses to shared objects.
func (l *lowerer) layout() {
	for _, o := range l.m.Shared {
		l.shared = (l.shared + 15) &^ 15
		l.offsets = append(l.offsets, l.shared)
		l.shared = min(l.shared+o.Type.Size(), maxObjects+1)
	}
	l.declared = make([]int32, len(l.offsets))
}

// places assigns an address to every value that is not computed by an instruction.
func (l *lowerer) places() {
	for i := range l.reg {
		l.reg[i] = -1
	}
	for _, p := range l.g.f.Params {
		l.scalar[p.ID] = l.newScalar()
		l.params = append(l.params, l.scalar[p.ID])
	}
	for _, b := range l.g.blocks {
		for _, p := range b.Params {
			l.give(p)
		}
		for _, v := range b.Instrs {
			if v.Type != ir.Void {
				l.place(v)
			}
		}
	}
}

// give allocates memory for v.
func (l *lowerer) give(v *ir.Value) {
	if l.class(v) == varying {
		l.reg[v.ID] = l.newReg(v.Type.Size())
	} else {
		l.scalar[v.ID] = l.newScalar()
	}
}

func (l *lowerer) place(v *ir.Value) {
	axis := int32(v.Imm)
	switch v.Op {
	case ir.OpConst:
		l.scalar[v.ID] = l.constant(v.Type.Size(), v.Imm)
	case ir.OpThread:
		l.scalar[v.ID] = threadAt + 16*axis
		if !l.c.rows {
			l.reg[v.ID], l.geom = threadReg+axis, true
		}
	case ir.OpBlock:
		l.scalar[v.ID] = blockAt + 16*axis
	case ir.OpBlockDim:
		l.scalar[v.ID] = blockDimAt + 16*axis
	case ir.OpGridDim:
		l.scalar[v.ID] = gridDimAt + 16*axis
	case ir.OpWarpSize:
		l.scalar[v.ID] = warpSizeAt
	case ir.OpLane:
		l.reg[v.ID], l.geom = laneReg, true
	case ir.OpWarp:
		l.reg[v.ID], l.geom = warpReg, true
	case ir.OpLocal:
		l.frame = (l.frame + 15) &^ 15
		l.scalar[v.ID] = l.newScalar()
		l.locals = append(l.locals, initial{at: l.scalar[v.ID], bits: uint64(l.frame)})
		l.frame = min(l.frame+v.Type.Elem.Size(), maxObjects+1)
	case ir.OpShared:
		l.whole = true
		l.scalar[v.ID] = l.newScalar()
		l.declared[v.Imm] = int32(v.Pos)
		l.shareds = append(l.shareds, initial{at: l.scalar[v.ID], bits: uint64(l.offsets[v.Imm])})
	case ir.OpTable:
		l.scalar[v.ID] = l.newScalar()
		l.tables = append(l.tables, placed{l.scalar[v.ID], l.m.Tables[v.Imm].Data})
	default:
		l.give(v)
	}
}

func (l *lowerer) class(v *ir.Value) class { return l.c.of[v.ID] }

func (l *lowerer) newScalar() int32 {
	l.scalars += 16
	return l.scalars - 16
}

func (l *lowerer) newReg(size int) int32 {
	l.regs = append(l.regs, vreg{width: uint8(size)})
	return int32(len(l.regs) - 1)
}

func (l *lowerer) constant(size int, bits uint64) int32 {
	key := constKey{size, bits}
	at, ok := l.consts[key]
	if !ok {
		at = l.newScalar()
		l.consts[key] = at
		l.constants = append(l.constants, initial{at: at, width: uint8(size), bits: bits})
	}
	return at
}

// ref returns v as it is kept.
func (l *lowerer) ref(v *ir.Value) operand {
	if l.class(v) == varying {
		return l.array(v)
	}
	return operand{ref: l.scalar[v.ID]}
}

// elem returns v as a scalar if it is uniform and as an array otherwise.
func (l *lowerer) elem(v *ir.Value) operand {
	if l.class(v) == uniform {
		return operand{ref: l.scalar[v.ID]}
	}
	return l.array(v)
}

// array returns v as an array. A scalar is spread out right after its definition,
// so that one copy serves all uses.
func (l *lowerer) array(v *ir.Value) operand {
	size := v.Type.Size()
	o := operand{l.reg[v.ID], uint8(size)}
	if o.ref >= 0 {
		return o
	}
	o.ref = l.newReg(size)
	l.reg[v.ID] = o.ref
	if v.Op == ir.OpConst {
		l.regs[o.ref].keep = true
		l.fills = append(l.fills, initial{at: o.ref, width: o.width, bits: v.Imm})
		return o
	}
	in := ins{how: perLane, k: splatKern(size), d: o.ref, dw: o.width, a: l.scalar[v.ID]}
	if l.class(v) == affine {
		in = ins{how: special, f: spread, d: o.ref, dw: 8, a: l.scalar[v.ID]}
	}
	at := max(l.g.defAt(v), 0)
	if invariant(v) {
		at = 0
	}
	l.inserts = append(l.inserts, insert{at, l.after[v.ID], in})
	return o
}

func (l *lowerer) emit(in ins) { l.blocks[l.at].code = append(l.blocks[l.at].code, in) }

func (in *ins) setD(o operand) { in.d, in.dw = o.ref, o.width }
func (in *ins) setA(o operand) { in.a, in.aw = o.ref, o.width }
func (in *ins) setB(o operand) { in.b, in.bw = o.ref, o.width }
func (in *ins) setC(o operand) { in.c, in.cw = o.ref, o.width }

// unsupported lists the operations that no program has, and what replaces them.
var unsupported = map[ir.Op]string{
	ir.OpPrint:           "prints: turn that into writes to the device log first (pass.LowerLog)",
	ir.OpCall:            "calls a function: run the inline pass on the module first",
	ir.OpProj:            "calls a function: run the inline pass on the module first",
	ir.OpLocalSized:      "has arrays without a length: run the size pass on the module first",
	ir.OpSharedSized:     "has arrays without a length: run the size pass on the module first",
	ir.OpLaunch:          "has launch bounds in its code: run the size pass on the module first",
	ir.OpCopyAsync:       "copies while it goes on: run the copies pass on the module first",
	ir.OpLoadBytes:       "is vector code: leave out the passes for vectors (pass.Vector)",
	ir.OpWhole:           "is vector code: leave out the passes for vectors (pass.Vector)",
	ir.OpCopyVec:         "copies while it goes on: run the copies pass on the module first",
	ir.OpMatrixFact:      "asks for a matrix instruction: run the target pass on the module first",
	ir.OpMatrixRow:       "asks for a matrix instruction: run the target pass on the module first",
	ir.OpMatrixCol:       "asks for a matrix instruction: run the target pass on the module first",
	ir.OpMMA:             "has a matrix instruction, which the CPU has not",
	ir.OpLoadMatrix:      "has a matrix instruction, which the CPU has not",
	ir.OpPackedMMA:       "has a matrix instruction, which the interpreter has not",
	ir.OpWarpgroupMMA:    "has a matrix instruction, which the CPU has not",
	ir.OpWarpgroupFence:  "has a matrix instruction, which the CPU has not",
	ir.OpWarpgroupCommit: "has a matrix instruction, which the CPU has not",
	ir.OpWarpgroupWait:   "has a matrix instruction, which the CPU has not",
	ir.OpAsyncFence:      "has a matrix instruction, which the CPU has not",
	ir.OpWarpgroupRegs:   "has a matrix instruction, which the CPU has not",
	ir.OpCopyTensor:      "has a copy by a tensor map, which the CPU has not",
	ir.OpCopyPixels:      "has a copy by a tensor map, which the CPU has not",
	ir.OpStoreTensor:     "has a copy by a tensor map, which the CPU has not",
	ir.OpStoreWait:       "has a copy by a tensor map, which the CPU has not",
	ir.OpMBarRemote:      "has a cluster of blocks, which the CPU has not",
	ir.OpClusterSync:     "has a cluster of blocks, which the CPU has not",
	ir.OpCluster:         "has launch bounds in its code: run the size pass on the module first",
}

// Unsupported says what has to become of an operation before a program can be
// made, "" for an operation that programs have.
func Unsupported(op ir.Op) string { return unsupported[op] }

// value translates one instruction.
func (l *lowerer) value(v *ir.Value) error {
	switch {
	case unsupported[v.Op] != "":
		return fmt.Errorf("kernel %s %s", l.g.f.Name, unsupported[v.Op])
	case v.Op.Info().NoValue || v.Op.Has(ir.Convergent|ir.Writes):
		l.effect(v)
	case invariant(v) || l.nuses[v.ID] == 0 && v.Op.Pure() || l.fusedIntoBranch(v) || l.fusedIntoAccess(v):
		return nil
	case v.Op == ir.OpLoad:
		l.load(v)
	case l.class(v) != varying:
		l.scalarOp(v)
	default:
		l.arrayOp(v)
	}
	l.after[v.ID] = int32(len(l.blocks[l.at].code))
	return nil
}

// scalarOp translates an operation whose result is uniform or affine.
func (l *lowerer) scalarOp(v *ir.Value) {
	in := ins{how: onScalar, d: l.scalar[v.ID], a: l.scalar[v.Args[0].ID]}
	if len(v.Args) > 1 {
		in.b = l.scalar[v.Args[1].ID]
	}
	switch v.Op {
	case ir.OpIndex, ir.OpOffset:
		in.how, in.imm = pairIndex, uint64(v.Type.Elem.Size())
	case ir.OpField:
		in.how, in.imm = pairField, uint64(v.Args[0].Type.Elem.Offset(int(v.Imm)))
	case ir.OpShl, ir.OpShr:
		in.b = l.count(v.Args[1]).ref
	}
	if how, ok := pairOps[v.Op]; ok && isWide(v.Type) && isWide(v.Args[0].Type) {
		in.how = how
	}
	switch {
	case in.how != onScalar:
	case l.class(v) == affine: // neg and shl are left
		in.how, in.f = special, pairNeg
		if v.Op == ir.OpShl {
			in.f = pairShl
		}
	default:
		var swap bool
		in.k, swap = findKern(v, arrays)
		if len(v.Args) > 2 {
			in.c = l.scalar[v.Args[2].ID]
		}
		if swap {
			in.a, in.b = in.b, in.a
		}
	}
	l.emit(in)
}

var pairOps = map[ir.Op]how{
	ir.OpAdd: pairAdd, ir.OpSub: pairSub, ir.OpMul: pairMul, ir.OpConvert: pairCopy, ir.OpBitcast: pairCopy,
}

// count returns a shift count as uint64.
func (l *lowerer) count(v *ir.Value) operand {
	o := l.elem(v)
	if v.Type.Size() == 8 {
		return o
	}
	in := ins{how: onScalar, k: convKern(ir.U64, v.Type)}
	in.setA(o)
	if o.width == 0 {
		in.d = l.newScalar()
	} else {
		in.how = perLane
		in.setD(operand{l.newReg(8), 8})
	}
	l.emit(in)
	return operand{in.d, in.dw}
}

// dest returns the array for the result of v and what to call after writing it.
// A result that is used after lanes left its loop must keep the idle lanes as they
// are: it is computed aside and copied for the active lanes.
func (l *lowerer) dest(v *ir.Value) (d operand, done func()) {
	own := operand{l.reg[v.ID], uint8(v.Type.Size())}
	if !l.c.outlives[v.ID] {
		return own, func() {}
	}
	aside := operand{l.newReg(v.Type.Size()), own.width}
	return aside, func() { l.emit(moveIns(move{own.ref, aside.ref, own.width, own.width})) }
}

// arrayOp translates a pure operation with a varying result.
func (l *lowerer) arrayOp(v *ir.Value) {
	d, done := l.dest(v)
	defer done()
	if v.Op == ir.OpDiv || v.Op == ir.OpRem {
		if l.divide(v, d) {
			return
		}
	}
	if cmp, ok := l.comparison(v); ok {
		in := ins{how: special, f: compareAffine, a: cmp.a, b: cmp.b, imm: packComparison(cmp)}
		in.setD(d)
		l.emit(in)
		return
	}
	if v.Op == ir.OpField {
		in := ins{how: perLane, k: addVS[uint64], b: l.constant(8, uint64(v.Args[0].Type.Elem.Offset(int(v.Imm))))}
		in.setD(d)
		in.setA(l.array(v.Args[0]))
		l.emit(in)
		return
	}
	var args [3]operand
	all := arrays
	for i, a := range v.Args {
		if l.class(a) == uniform {
			all |= 1 << i
		}
	}
	in := ins{how: perLane}
	var chosen shape
	var swap bool
	for s := all; ; s = (s - 1) & all { // from all scalars to all arrays
		if in.k, swap = findKern(v, s); in.k != nil || s == 0 {
			chosen = s
			break
		}
	}
	for i, a := range v.Args {
		switch {
		case i == 1 && (v.Op == ir.OpShl || v.Op == ir.OpShr):
			args[i] = l.shiftCount(a, chosen&2 != 0)
		case chosen>>i&1 != 0:
			args[i] = operand{ref: l.scalar[a.ID]}
		default:
			args[i] = l.array(a)
		}
	}
	if v.Op == ir.OpIndex || v.Op == ir.OpOffset {
		args[2] = operand{ref: l.constant(8, uint64(v.Type.Elem.Size()))}
	}
	if swap {
		args[0], args[1] = args[1], args[0]
	}
	in.setD(d)
	in.setA(args[0])
	in.setB(args[1])
	in.setC(args[2])
	l.emit(in)
}

// shiftCount returns a shift count as uint64 in the wanted form.
func (l *lowerer) shiftCount(v *ir.Value, scalar bool) operand {
	if scalar || v.Type.Size() == 8 && l.class(v) != uniform {
		return l.count(v)
	}
	in := ins{how: perLane, k: convKern(ir.U64, v.Type)}
	in.setD(operand{l.newReg(8), 8})
	in.setA(l.array(v))
	l.emit(in)
	return operand{in.d, 8}
}

// comparison returns v as a comparison of affine values if it is one.
func (l *lowerer) comparison(v *ir.Value) (comparison, bool) {
	cmp := comparison{op: v.Op}
	swap := false
	switch v.Op {
	case ir.OpLt, ir.OpLe, ir.OpEq:
	case ir.OpNe:
		cmp.op, cmp.not = ir.OpEq, true
	case ir.OpGt:
		cmp.op, swap = ir.OpLt, true
	case ir.OpGe:
		cmp.op, swap = ir.OpLe, true
	default:
		return cmp, false
	}
	x, y := v.Args[0], v.Args[1]
	if !isWide(x.Type) || max(l.class(x), l.class(y)) != affine {
		return cmp, false
	}
	cmp.unsigned = x.Type.Kind != ir.KI64
	cmp.a, cmp.b = l.scalar[x.ID], l.scalar[y.ID]
	if swap {
		cmp.a, cmp.b = cmp.b, cmp.a
	}
	return cmp, true
}

// divide translates a 64-bit division by a uniform divisor, which pays for finding
// its reciprocal first. It reports whether v is one.
func (l *lowerer) divide(v *ir.Value, d operand) bool {
	x, y := v.Args[0], v.Args[1]
	if v.Type != ir.I64 || l.class(y) != uniform {
		return false
	}
	in := ins{how: special, f: divideArray, imm: b2u(v.Op == ir.OpRem)}
	in.setD(d)
	in.setA(l.ref(x))
	in.setB(l.ref(y))
	if in.aw == 0 {
		in.f = divideAffine
	}
	l.emit(in)
	return true
}

// fusedIntoAccess reports whether v is an address that loads and stores, its only
// uses, compute themselves: of a varying index from one base, or of one distance
// from varying bases.
func (l *lowerer) fusedIntoAccess(v *ir.Value) bool {
	if v.Op != ir.OpIndex && v.Op != ir.OpOffset || l.class(v) != varying || l.c.outlives[v.ID] || l.naddr[v.ID] != l.nuses[v.ID] {
		return false
	}
	base, index := l.class(v.Args[0]), l.class(v.Args[1])
	return base != varying && index == varying || base == varying && index == uniform
}

// fusedIntoBranch reports whether v is an affine comparison whose only use is the
// branch at the end of its block.
func (l *lowerer) fusedIntoBranch(v *ir.Value) bool {
	t := &v.Block.Term
	if t.Kind != ir.TermBranch || t.Args[0] != v || l.nuses[v.ID] != 1 {
		return false
	}
	_, ok := l.comparison(v)
	return ok
}

// terminate translates the end of b.
func (l *lowerer) terminate(b *ir.Block) {
	out := &l.blocks[l.at]
	out.pos, out.end = positions(b)
	switch t := &b.Term; t.Kind {
	case ir.TermJump:
		out.term = termJump
	case ir.TermBranch:
		l.condition(out, b, t.Args[0])
	}
	for i, e := range b.Term.Succs {
		out.edges[i].to = int32(l.g.at[e.To.ID])
		l.moves[l.at][i] = l.edgeMoves(e)
	}
}

// positions returns the source positions of the first and the last operation of b
// that have one, 0 for none.
func positions(b *ir.Block) (first, last int32) {
	note := func(pos int) {
		if pos != 0 {
			last = int32(pos)
		}
		if first == 0 {
			first = last
		}
	}
	for _, v := range b.Instrs {
		note(v.Pos)
	}
	note(b.Term.Pos)
	return first, last
}

// condition translates the condition of a branch at the end of b.
func (l *lowerer) condition(out *block, b *ir.Block, cond *ir.Value) {
	switch {
	case l.class(cond) == uniform:
		out.term, out.cond = termUniform, l.scalar[cond.ID]
	case cond.Block == b && l.fusedIntoBranch(cond):
		out.term = termAffine
		out.cmp, _ = l.comparison(cond)
	default:
		out.term, out.cond = termVarying, l.array(cond).ref
	}
}

func (l *lowerer) edgeMoves(e ir.Edge) []move {
	var ms []move
	for i, v := range e.Args {
		p := e.To.Params[i]
		if l.nuses[p.ID] == 0 {
			continue
		}
		m := move{d: l.scalar[p.ID]}
		if l.class(p) == varying {
			m.d, m.dw = l.reg[p.ID], uint8(p.Type.Size())
		}
		o := l.ref(v)
		m.a, m.aw = o.ref, o.width
		ms = append(ms, m)
	}
	return ms
}

// insertAll inserts the pending instructions at their positions.
func (l *lowerer) insertAll() {
	slices.SortStableFunc(l.inserts, func(x, y insert) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.index, y.index))
	})
	for todo := l.inserts; len(todo) > 0; {
		b := &l.blocks[todo[0].at]
		code := make([]ins, 0, len(b.code)+len(todo))
		from := int32(0)
		for at := todo[0].at; len(todo) > 0 && todo[0].at == at; todo = todo[1:] {
			code = append(append(code, b.code[from:todo[0].index]...), todo[0].in)
			from = todo[0].index
		}
		b.code = append(code, b.code[from:]...)
	}
}
