package pass

import (
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// picker makes the choices of the generator: intn returns 0 <= x < n.
type picker interface{ intn(n int) int }

// gen writes a random module that cannot access memory outside its objects
// without failing a bounds check first.
type gen struct {
	picker
	m       *ir.Module
	f       *ir.Func
	b       *ir.Block
	env     []*ir.Value // values that dominate b
	objs    []*ir.Value // pointers to local and shared objects
	ptrs    []*ir.Value // pointers to scalars that dominate b
	helpers []*ir.Func
	budget  int
	loops   []loopFrame
	threads bool // use the thread index a lot
}

type loopFrame struct {
	next, done *ir.Block // of one parameter each, i64
}

var (
	genTypes = []*ir.Type{ir.I64, ir.I64, ir.I64, ir.I32, ir.U32, ir.U8, ir.I16, ir.U64, ir.F32, ir.F64, ir.Bool, ir.F16, ir.BF16}
	pairType = ir.StructOf(ir.I64, ir.ArrayOf(4, ir.F32), ir.I32)
	outLen   = 16
)

func (g *gen) pick(vs ...ir.Op) ir.Op { return vs[g.intn(len(vs))] }

// module returns a random module with the kernel @k(out []int64, in []float32, a int64, b float32).
func (g *gen) module() *ir.Module {
	g.m = &ir.Module{Name: "t", Shared: []*ir.Object{{Name: "s", Type: ir.ArrayOf(8, ir.I64)}}}
	for i := range g.intn(3) {
		g.helper(string(rune('f' + i)))
	}
	g.start("k", 40+g.intn(60))
	g.f.Kernel = true
	out, n := g.param(ir.PtrTo(ir.Global, ir.I64)), g.param(ir.I64)
	in, n2 := g.param(ir.PtrTo(ir.Global, ir.F32)), g.param(ir.I64)
	g.param(ir.I64)
	g.param(ir.F32)
	g.f.Args = []ir.Arg{
		{Name: "out", Kind: ir.ArgSlice, Elem: ir.I64, Go: "[]int"}, {Name: "in", Kind: ir.ArgSlice, Elem: ir.F32, Go: "[]float32"},
		{Name: "a", Elem: ir.I64, Go: "int"}, {Name: "b", Elem: ir.F32, Go: "float32"},
	}
	g.env = append(g.env, n, n2, g.f.Params[4], g.f.Params[5])
	g.objects()
	sh := g.b.Emit(g.f, ir.OpShared, ir.PtrTo(ir.Shared, g.m.Shared[0].Type))
	g.objs = append(g.objs, sh)
	g.slice(out, n, in, n2)
	g.stmts(3)
	g.dump()
	g.b.Return()
	return g.m
}

// dump stores a checksum of all that is live into out, which makes it count.
func (g *gen) dump() {
	sum, mul := g.constant(ir.I64, 1), g.constant(ir.I64, 31)
	mix := func(v *ir.Value) {
		sum = g.emit(ir.OpAdd, ir.I64, g.emit(ir.OpMul, ir.I64, sum, mul), g.toInt(v))
	}
	for _, v := range g.env[max(len(g.env)-12, 0):] {
		mix(v)
	}
	for _, p := range g.ptrs {
		mix(g.b.Emit(g.f, ir.OpLoad, p.Type.Elem, p))
	}
	g.write(sum)
}

// write stores v somewhere in out; helpers cannot.
func (g *gen) write(v *ir.Value) {
	if len(g.f.Args) == 0 {
		return
	}
	out := g.f.Params[0]
	i := g.constant(ir.I64, uint64(g.intn(outLen)))
	g.b.Emit(g.f, ir.OpStore, ir.Void, g.b.Emit(g.f, ir.OpOffset, out.Type, out, i), v)
}

func (g *gen) start(name string, budget int) {
	g.f = g.m.NewFunc(name)
	g.b = g.f.NewBlock()
	g.env, g.objs, g.ptrs, g.loops, g.budget = nil, nil, nil, nil, budget
}

func (g *gen) param(t *ir.Type) *ir.Value { return g.f.NewParam(t) }

func (g *gen) objects() {
	for _, t := range []*ir.Type{ir.ArrayOf(4, ir.I64), pairType, ir.ArrayOf(3, ir.ArrayOf(2, ir.I32))} {
		p := g.b.Emit(g.f, ir.OpLocal, ir.PtrTo(ir.Local, t))
		g.objs = append(g.objs, p)
		// A helper's objects would show what the last call left.
		if len(g.f.Args) == 0 || g.intn(2) == 0 {
			g.b.Emit(g.f, ir.OpZero, ir.Void, p)
		}
	}
}

func (g *gen) helper(name string) {
	g.start(name, 15)
	for range 1 + g.intn(3) {
		g.env = append(g.env, g.param(genTypes[g.intn(len(genTypes))]))
	}
	if g.intn(2) == 0 {
		g.objects()
	}
	for range g.intn(3) {
		g.f.Results = append(g.f.Results, genTypes[g.intn(len(genTypes))])
	}
	if g.intn(3) == 0 { // an early return
		c, early, rest := g.value(ir.Bool), g.f.NewBlock(), g.f.NewBlock()
		g.b.Branch(c, early, rest)
		g.b = early
		g.ret()
		g.b = rest
	}
	g.stmts(2)
	g.ret()
	g.helpers = append(g.helpers, g.f)
}

func (g *gen) ret() {
	n, np := len(g.env), len(g.ptrs)
	var vs []*ir.Value
	for _, t := range g.f.Results {
		vs = append(vs, g.value(t))
	}
	g.b.Return(vs...)
	g.env, g.ptrs = g.env[:n], g.ptrs[:np]
}

func (g *gen) constant(t *ir.Type, bits uint64) *ir.Value { return g.b.EmitConst(g.f, t, bits) }

var interesting = []uint64{0, 1, 2, 3, 4, 7, 8, 31, 32, 63, 64, math.MaxUint64, 1 << 63, 1<<63 - 1, 1 << 31, 1<<31 - 1, 255, 128}

func (g *gen) newConst(t *ir.Type) *ir.Value {
	bits := interesting[g.intn(len(interesting))]
	if t.IsFloat() || t.IsHalf() {
		fs := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, 3.25, 1e10, 1e300, math.Inf(1), math.NaN(), 1.0 / 3, 65504, 4}
		x := math.Float64bits(fs[g.intn(len(fs))])
		bits, _ = ir.Eval(ir.OpConvert, t, 0, []uint64{x}, []*ir.Type{ir.F64})
	}
	return g.constant(t, bits)
}

// value returns some value of type t.
func (g *gen) value(t *ir.Type) *ir.Value {
	if g.threads && t == ir.I64 && g.intn(12) == 0 {
		return g.emit(g.pick(ir.OpThread, ir.OpThread, ir.OpLane, ir.OpWarp), t)
	}
	var have []*ir.Value
	for _, v := range g.env {
		if v.Type == t {
			have = append(have, v)
		}
	}
	if len(have) == 0 || g.intn(4) == 0 {
		return g.newConst(t)
	}
	// Prefer recent values: they make longer chains.
	return have[max(len(have)-1-g.intn(4), 0)]
}

func (g *gen) add(v *ir.Value) { g.env = append(g.env, v) }

func (g *gen) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := g.b.Emit(g.f, op, t, args...)
	if v.Type != ir.Void {
		g.add(v)
	}
	return v
}

func (g *gen) toInt(v *ir.Value) *ir.Value {
	switch {
	case v.Type == ir.Bool:
		return g.emit(ir.OpSelect, ir.I64, v, g.constant(ir.I64, 1), g.constant(ir.I64, 0))
	case v.Type.IsFloat():
		u := map[*ir.Type]*ir.Type{ir.F32: ir.U32, ir.F64: ir.U64}[v.Type]
		v = g.emit(ir.OpBitcast, u, v)
	case v.Type.IsHalf():
		v = g.emit(ir.OpBitcast, ir.U16, v)
	}
	return g.emit(ir.OpConvert, ir.I64, v)
}

func (g *gen) stmts(depth int) {
	for g.budget > 0 {
		g.budget--
		switch k := g.intn(20); {
		case k < 8:
			g.arith()
		case k < 13:
			g.memory()
		case k < 15 && depth > 0:
			g.branch(depth - 1)
		case k < 17 && depth > 0:
			g.loop(depth - 1)
		case k == 17 && len(g.helpers) > 0:
			g.call()
		case k == 18:
			g.escape()
		case g.intn(6) == 0:
			return
		}
	}
}

func (g *gen) arith() {
	t := genTypes[g.intn(len(genTypes))]
	switch {
	case g.intn(4) == 0:
		g.mixed()
	case t == ir.Bool:
		g.emit(g.pick(ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpAndNot), t, g.value(t), g.value(t))
	case t.IsHalf():
		g.emit(ir.OpSelect, t, g.value(ir.Bool), g.value(t), g.value(t))
	case t.IsFloat():
		op := g.pick(ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpMin, ir.OpMax, ir.OpCopysign, ir.OpFMA, ir.OpSqrt, ir.OpAbs, ir.OpNeg, ir.OpFloor, ir.OpRint)
		g.emit(op, t, g.values(t, op.Info().Args)...)
	default:
		op := g.pick(ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpRem, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpAndNot, ir.OpShl, ir.OpShr,
			ir.OpMin, ir.OpMax, ir.OpMulHi, ir.OpNeg, ir.OpNot, ir.OpPopcount, ir.OpClz, ir.OpCtz, ir.OpReverse, ir.OpAdd, ir.OpAnd)
		args := g.values(t, op.Info().Args)
		if op.Info().Rule == ir.RuleShift {
			args[1] = g.value([]*ir.Type{ir.U32, ir.U8, ir.U64}[g.intn(3)])
		}
		g.emit(op, t, args...)
	}
}

func (g *gen) values(t *ir.Type, n int) []*ir.Value {
	var vs []*ir.Value
	for range n {
		vs = append(vs, g.value(t))
	}
	return vs
}

// mixed emits an operation whose operands have other types than its result.
func (g *gen) mixed() {
	t := genTypes[g.intn(len(genTypes))]
	num := func() *ir.Type {
		for {
			if u := genTypes[g.intn(len(genTypes))]; u != ir.Bool {
				return u
			}
		}
	}
	switch g.intn(8) {
	case 0, 1:
		for t == ir.Bool || t.IsHalf() {
			t = genTypes[g.intn(len(genTypes))]
		}
		g.emit(g.pick(ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe), ir.Bool, g.values(t, 2)...)
	case 2, 3:
		g.emit(ir.OpConvert, num(), g.value(num()))
	case 4:
		g.emit(ir.OpSelect, t, g.value(ir.Bool), g.value(t), g.value(t))
	case 5:
		g.emit(ir.OpNot, ir.Bool, g.value(ir.Bool))
	case 6:
		g.check(t)
	default:
		v := g.emit(g.pick(ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim), ir.I64)
		v.Imm = uint64(g.intn(3))
	}
}

// check divides or shifts by what is checked first and seldom fails.
func (g *gen) check(t *ir.Type) {
	if !t.IsInt() {
		return
	}
	x, y := g.value(t), g.value(t)
	if g.intn(6) > 0 {
		y = g.emit(ir.OpOr, t, g.emit(ir.OpAnd, t, y, g.constant(t, 7)), g.constant(t, 1))
	}
	g.emit(ir.OpDivisor, ir.Void, x, y)
	g.emit(g.pick(ir.OpDiv, ir.OpRem), t, x, y)
	if t == ir.I64 {
		g.emit(ir.OpCount, ir.Void, y)
		g.emit(ir.OpShl, t, x, g.emit(ir.OpConvert, ir.U64, y))
	}
}

// index returns an index below n: a constant, a masked value, or a checked one.
func (g *gen) index(n int) *ir.Value {
	switch g.intn(5) {
	case 0, 1:
		return g.constant(ir.I64, uint64(g.intn(n)))
	case 2:
		i := g.value(ir.I64)
		if g.intn(8) > 0 {
			i = g.emit(ir.OpAnd, ir.I64, i, g.constant(ir.I64, 3))
		}
		g.emit(ir.OpBounds, ir.Void, i, g.constant(ir.I64, uint64(n)))
		return i
	case 3:
		return g.emit(ir.OpAnd, ir.I64, g.value(ir.I64), g.constant(ir.I64, 1))
	}
	i := g.emit(ir.OpRem, ir.I64, g.value(ir.I64), g.constant(ir.I64, uint64(n)))
	return g.emit(ir.OpMax, ir.I64, i, g.constant(ir.I64, 0))
}

// place returns a pointer to a scalar inside an object, often one used before,
// so that accesses meet.
func (g *gen) place() *ir.Value {
	if len(g.ptrs) > 0 && g.intn(2) == 0 {
		return g.ptrs[max(len(g.ptrs)-1-g.intn(5), 0)]
	}
	p := g.newPlace()
	g.ptrs = append(g.ptrs, p)
	return p
}

func (g *gen) newPlace() *ir.Value {
	p := g.objs[g.intn(len(g.objs))]
	for !p.Type.Elem.IsValue() {
		t := p.Type.Elem
		if t.Kind == ir.KStruct {
			k := g.intn(len(t.Elems))
			p = g.b.Emit(g.f, ir.OpField, ir.PtrTo(p.Type.Space, t.Elems[k]), p)
			p.Imm = uint64(k)
			continue
		}
		q := ir.PtrTo(p.Type.Space, t.Elem)
		if i := g.index(t.Len); g.intn(4) == 0 { // as a slice of the array does
			p = g.b.Emit(g.f, ir.OpIndex, q, p, g.constant(ir.I64, 0))
			p = g.b.Emit(g.f, ir.OpOffset, q, p, i)
		} else {
			p = g.b.Emit(g.f, ir.OpIndex, q, p, i)
		}
	}
	return p
}

func (g *gen) memory() {
	if len(g.objs) == 0 {
		return
	}
	switch g.intn(8) {
	case 0, 1, 2:
		p := g.place()
		g.emit(ir.OpLoad, p.Type.Elem, p)
	case 3, 4, 5:
		p := g.place()
		g.emit(ir.OpStore, ir.Void, p, g.value(p.Type.Elem))
	case 6:
		g.emit(ir.OpZero, ir.Void, g.objs[g.intn(len(g.objs))])
	default:
		if g.intn(3) == 0 {
			g.emit(ir.OpBarrier, ir.Void)
		} else {
			g.write(g.toInt(g.env[len(g.env)-1]))
		}
	}
}

// escape lets the addresses of two objects meet in a select.
func (g *gen) escape() {
	if len(g.objs) == 0 || g.intn(3) > 0 {
		return
	}
	p, q := g.place(), g.place()
	if p.Type != q.Type {
		return
	}
	p = g.b.Emit(g.f, ir.OpSelect, p.Type, g.value(ir.Bool), p, q)
	g.emit(ir.OpStore, ir.Void, p, g.value(p.Type.Elem))
	g.emit(ir.OpLoad, p.Type.Elem, p)
}

// slice reads and writes the kernel's arguments.
func (g *gen) slice(out, n, in, n2 *ir.Value) {
	i := g.value(ir.I64)
	g.emit(ir.OpBounds, ir.Void, g.constant(ir.I64, 3), n2)
	j := g.constant(ir.I64, 3)
	p := g.b.Emit(g.f, ir.OpOffset, in.Type, in, j)
	g.emit(ir.OpLoad, ir.F32, p)
	if g.intn(2) == 0 {
		g.emit(ir.OpBounds, ir.Void, i, n)
		q := g.b.Emit(g.f, ir.OpOffset, out.Type, out, i)
		g.emit(ir.OpAtomicAdd, ir.I64, q, g.value(ir.I64))
		g.emit(ir.OpLoad, ir.I64, q)
	}
}

func (g *gen) call() {
	h := g.helpers[g.intn(len(g.helpers))]
	var args []*ir.Value
	for _, p := range h.Params {
		args = append(args, g.value(p.Type))
	}
	t := ir.Void
	switch len(h.Results) {
	case 0:
	case 1:
		t = h.Results[0]
	default:
		t = ir.TupleOf(h.Results...)
	}
	v := g.b.Emit(g.f, ir.OpCall, t, args...)
	v.Callee = h
	if len(h.Results) == 1 {
		g.add(v)
	}
	if len(h.Results) > 1 {
		for i, t := range h.Results {
			p := g.emit(ir.OpProj, t, v)
			p.Imm = uint64(i)
		}
	}
}

// branch writes an if with values that meet behind it.
func (g *gen) branch(depth int) {
	c := g.value(ir.Bool)
	if g.intn(2) == 0 {
		c = g.emit(g.pick(ir.OpLt, ir.OpGe, ir.OpEq), ir.Bool, g.value(ir.I64), g.value(ir.I64))
	}
	then, els, done := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	var types []*ir.Type
	for range g.intn(4) {
		t := genTypes[g.intn(len(genTypes))]
		types = append(types, t)
	}
	g.b.Branch(c, then, els)
	n, np := len(g.env), len(g.ptrs)
	for _, side := range []*ir.Block{then, els} {
		g.b = side
		if g.intn(3) > 0 {
			g.stmts(depth)
		}
		var args []*ir.Value
		for _, t := range types {
			args = append(args, g.value(t))
		}
		if len(g.loops) > 0 && g.intn(6) == 0 {
			g.leave()
		} else {
			g.b.Jump(done, args...)
		}
		g.env, g.ptrs = g.env[:n], g.ptrs[:np]
	}
	g.b = done
	for _, t := range types {
		g.add(done.NewParam(g.f, t))
	}
}

// leave breaks out of a loop around it or goes on with its next iteration.
func (g *gen) leave() {
	l := g.loops[g.intn(len(g.loops))]
	to := l.next
	if g.intn(2) == 0 {
		to = l.done
	}
	g.b.Jump(to, g.value(ir.I64))
}

// loop writes a counted loop that carries one value.
func (g *gen) loop(depth int) {
	head, body, next, done := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	bound := g.constant(ir.I64, uint64(g.intn(6)))
	if g.intn(3) == 0 {
		bound = g.emit(ir.OpAnd, ir.I64, g.value(ir.I64), g.constant(ir.I64, 7))
	}
	step, zero := g.constant(ir.I64, uint64(1+g.intn(2))), g.constant(ir.I64, 0)
	g.b.Jump(head, zero, g.value(ir.I64))
	i, carry := head.NewParam(g.f, ir.I64), head.NewParam(g.f, ir.I64)
	n := len(g.env)
	g.add(i)
	g.add(carry)
	g.b = head
	if g.intn(2) == 0 {
		g.memory()
	}
	c := head.Emit(g.f, ir.OpLt, ir.Bool, i, bound)
	head.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{c}, Succs: []ir.Edge{{To: body}, {To: done, Args: []*ir.Value{carry}}}}
	visible, np := len(g.env), len(g.ptrs)

	nextParam, doneParam := next.NewParam(g.f, ir.I64), done.NewParam(g.f, ir.I64)
	g.loops = append(g.loops, loopFrame{next: next, done: done})
	g.b = body
	g.stmts(depth)
	g.b.Jump(next, g.value(ir.I64))
	g.loops = g.loops[:len(g.loops)-1]

	up := next.Emit(g.f, ir.OpAdd, ir.I64, i, step)
	next.Jump(head, up, nextParam)
	// The header dominates done: only it and the body jump there.
	g.b, g.env, g.ptrs = done, g.env[:visible], g.ptrs[:np]
	if g.intn(2) == 0 {
		g.env = g.env[:n]
	}
	g.add(doneParam)
}
