package interp

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// scalarRun executes a kernel thread by thread, as simply as possible. It knows the
// operations that randomKernel uses.
type scalarRun struct {
	f      *ir.Func
	params []uint64
	grid   [3]int
	block  [3]int
	id     [3]int // block
	thread [3]int
	vals   []uint64
	local  [][]byte
}

func (r *scalarRun) all() {
	for b := range r.grid[0] {
		r.id = [3]int{b}
		for z := range r.block[2] {
			for y := range r.block[1] {
				for x := range r.block[0] {
					r.thread = [3]int{x, y, z}
					r.one()
				}
			}
		}
	}
}

func (r *scalarRun) one() {
	r.vals = make([]uint64, r.f.NumValues())
	r.local = nil
	for i, p := range r.f.Params {
		r.vals[p.ID] = r.params[i]
	}
	for b := r.f.Blocks[0]; ; {
		for _, v := range b.Instrs {
			r.instr(v)
		}
		e := 0
		switch b.Term.Kind {
		case ir.TermReturn:
			return
		case ir.TermBranch:
			e = 1 - int(r.vals[b.Term.Args[0].ID])
		}
		edge := b.Term.Succs[e]
		next := make([]uint64, len(edge.Args))
		for i, a := range edge.Args {
			next[i] = r.vals[a.ID]
		}
		for i, p := range edge.To.Params {
			r.vals[p.ID] = next[i]
		}
		b = edge.To
	}
}

func (r *scalarRun) instr(v *ir.Value) {
	args := make([]uint64, len(v.Args))
	types := make([]*ir.Type, len(v.Args))
	for i, a := range v.Args {
		args[i], types[i] = r.vals[a.ID], a.Type
	}
	mem := func(t *ir.Type) []byte { return unsafe.Slice(*(**byte)(unsafe.Pointer(&args[0])), t.Size()) }
	linear := r.thread[0] + r.block[0]*(r.thread[1]+r.block[1]*r.thread[2])
	var x uint64
	switch v.Op {
	case ir.OpThread:
		x = uint64(r.thread[v.Imm])
	case ir.OpBlock:
		x = uint64(r.id[v.Imm])
	case ir.OpBlockDim:
		x = uint64(r.block[v.Imm])
	case ir.OpGridDim:
		x = uint64(r.grid[v.Imm])
	case ir.OpLane:
		x = uint64(linear % WarpSize)
	case ir.OpLocal:
		r.local = append(r.local, make([]byte, v.Type.Elem.Size()+8))
		x = uint64(uintptr(unsafe.Pointer(&r.local[len(r.local)-1][0])))
	case ir.OpZero:
		clear(mem(v.Args[0].Type.Elem))
	case ir.OpIndex, ir.OpOffset:
		x = args[0] + args[1]*uint64(v.Type.Elem.Size())
	case ir.OpLoad:
		x = get(mem(v.Type), v.Type, 0)
	case ir.OpStore:
		put(mem(types[1]), types[1], args[1])
	default:
		x, _ = ir.Eval(v.Op, v.Type, v.Imm, args, types)
	}
	r.vals[v.ID] = x
}

// gen makes random kernels: nested branches and loops with breaks and continues
// over a few variables, with conditions that are uniform or not.
type gen struct {
	rng   *rand.Rand
	f     *ir.Func
	b     *ir.Block
	vars  []*ir.Value // current value of each variable; nil-free
	extra []*ir.Value // other values that dominate the current block
	loops []loopCtx
	in    *ir.Value // input slice
	local *ir.Value
	slots *ir.Value // output of this thread
	left  int
}

type loopCtx struct {
	next, exit *ir.Block // targets of continue and break, with all variables as parameters
}

const (
	genVars  = 5
	genSlots = 4
	genIn    = 64
)

// randomKernel returns a kernel whose parameters are an output of genSlots words
// for each thread, genIn words of input and one scalar.
func randomKernel(seed uint64) *ir.Module {
	m := &ir.Module{Name: "random"}
	f := m.NewFunc("Random")
	f.Kernel = true
	g := &gen{rng: rand.New(rand.NewPCG(seed, 2)), f: f, left: 3 + int(seed%40)}
	f.Args = []ir.Arg{
		{Name: "out", Kind: ir.ArgSlice, Elem: ir.I64, Go: "[]int"},
		{Name: "in", Kind: ir.ArgSlice, Elem: ir.I64, Go: "[]int"},
		{Name: "a", Kind: ir.ArgScalar, Elem: ir.I64, Go: "int"},
	}
	out := f.NewParam(ir.PtrTo(ir.Global, ir.I64))
	f.NewParam(ir.I64)
	g.in = f.NewParam(ir.PtrTo(ir.Global, ir.I64))
	f.NewParam(ir.I64)
	a := f.NewParam(ir.I64)
	g.b = f.NewBlock()
	var tid *ir.Value
	for axis := 2; axis >= 0; axis-- {
		x := g.geom(ir.OpThread, axis)
		if tid == nil {
			tid = x
		} else {
			tid = g.bin(ir.OpAdd, g.bin(ir.OpMul, tid, g.geom(ir.OpBlockDim, axis)), x)
		}
	}
	size := g.bin(ir.OpMul, g.bin(ir.OpMul, g.geom(ir.OpBlockDim, 0), g.geom(ir.OpBlockDim, 1)), g.geom(ir.OpBlockDim, 2))
	i := g.bin(ir.OpAdd, g.bin(ir.OpMul, g.geom(ir.OpBlock, 0), size), tid)
	g.slots = g.b.Emit(f, ir.OpOffset, out.Type, out, g.bin(ir.OpMul, i, g.konst(genSlots)))
	arr := ir.ArrayOf(8, ir.I64)
	g.local = g.b.Emit(f, ir.OpLocal, ir.PtrTo(ir.Local, arr))
	g.b.Emit(f, ir.OpZero, ir.Void, g.local)
	g.extra = append(g.extra, a, i, g.geom(ir.OpThread, 0), g.geom(ir.OpBlock, 0), g.b.Emit(f, ir.OpLane, ir.I64))
	for k := range genVars {
		g.vars = append(g.vars, []*ir.Value{a, i, g.konst(uint64(k)), g.geom(ir.OpBlock, 0), g.geom(ir.OpThread, 0)}[k])
	}
	g.stmts(6)
	g.finish()
	return m
}

func (g *gen) finish() {
	for k := range genSlots {
		g.b.Emit(g.f, ir.OpStore, ir.Void, g.b.Emit(g.f, ir.OpOffset, g.slots.Type, g.slots, g.konst(uint64(k))), g.vars[k])
	}
	g.b.Return()
}

func (g *gen) konst(x uint64) *ir.Value { return g.b.EmitConst(g.f, ir.I64, x) }

func (g *gen) geom(op ir.Op, axis int) *ir.Value {
	v := g.b.Emit(g.f, op, ir.I64)
	v.Imm = uint64(axis)
	return v
}

func (g *gen) bin(op ir.Op, x, y *ir.Value) *ir.Value { return g.b.Emit(g.f, op, x.Type, x, y) }

// operand is a value that may be used here.
func (g *gen) operand() *ir.Value {
	switch k := g.rng.IntN(11); {
	case k == 0:
		return g.konst(g.rng.Uint64N(20))
	case k < 6:
		return g.vars[g.rng.IntN(len(g.vars))]
	case k < 9:
		return g.extra[g.rng.IntN(len(g.extra))]
	}
	return g.konst(g.rng.Uint64() >> (g.rng.IntN(5) * 15))
}

func (g *gen) conv(v *ir.Value, t *ir.Type) *ir.Value { return g.b.Emit(g.f, ir.OpConvert, t, v) }

func (g *gen) masked(v *ir.Value, n uint64) *ir.Value { return g.bin(ir.OpAnd, v, g.konst(n-1)) }

func (g *gen) expr() *ir.Value {
	ops := []ir.Op{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpXor, ir.OpAnd, ir.OpMin, ir.OpMax, ir.OpDiv, ir.OpRem}
	switch g.rng.IntN(12) {
	case 0:
		return g.b.Emit(g.f, ir.OpSelect, ir.I64, g.cond(), g.operand(), g.operand())
	case 1:
		return g.bin(ir.OpShl, g.operand(), g.conv(g.masked(g.operand(), 128), ir.U8))
	case 2:
		x := g.bin(ir.OpAdd, g.conv(g.operand(), ir.I32), g.conv(g.operand(), ir.I32))
		return g.conv(x, ir.I64)
	case 3:
		x := g.bin(ir.OpMul, g.conv(g.conv(g.operand(), ir.I16), ir.F32), g.conv(g.operand(), ir.F32))
		return g.conv(x, ir.I64)
	case 4:
		return g.b.Emit(g.f, ir.OpLoad, ir.I64, g.b.Emit(g.f, ir.OpOffset, g.in.Type, g.in, g.masked(g.operand(), genIn)))
	case 5:
		return g.b.Emit(g.f, ir.OpLoad, ir.I64, g.cell())
	case 6:
		return g.conv(g.bin(ir.OpXor, g.conv(g.operand(), ir.U8), g.conv(g.operand(), ir.U8)), ir.I64)
	}
	return g.bin(ops[g.rng.IntN(len(ops))], g.operand(), g.operand())
}

// cell is the address of an element of the local array.
func (g *gen) cell() *ir.Value {
	return g.b.Emit(g.f, ir.OpIndex, ir.PtrTo(ir.Local, ir.I64), g.local, g.masked(g.operand(), 8))
}

func (g *gen) cond() *ir.Value {
	ops := []ir.Op{ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe}
	x, y := g.operand(), g.operand()
	if g.rng.IntN(2) == 0 {
		x, y = g.masked(x, 8), g.masked(y, 4)
	}
	return g.b.Emit(g.f, ops[g.rng.IntN(len(ops))], ir.Bool, x, y)
}

func (g *gen) stmts(depth int) {
	for range 1 + g.rng.IntN(4) {
		if g.left--; g.left < 0 || g.b == nil {
			return
		}
		g.stmt(depth)
	}
}

func (g *gen) stmt(depth int) {
	k := g.rng.IntN(10)
	switch {
	case k < 4 || depth == 0:
		g.vars[g.rng.IntN(len(g.vars))] = g.expr()
	case k == 4:
		g.b.Emit(g.f, ir.OpStore, ir.Void, g.cell(), g.operand())
	case k == 5 && len(g.loops) > 0:
		g.leave()
	case k < 8:
		g.branch(depth)
	default:
		g.loop(depth)
	}
}

// scope runs fn and forgets the values that it defines.
func (g *gen) scope(fn func()) {
	n := len(g.extra)
	fn()
	g.extra = g.extra[:n]
}

// meet is a block with the variables as parameters.
func (g *gen) meet() *ir.Block {
	b := g.f.NewBlock()
	for range g.vars {
		b.NewParam(g.f, ir.I64)
	}
	return b
}

// enter makes b the current block.
func (g *gen) enter(b *ir.Block) {
	g.b = b
	copy(g.vars, b.Params)
}

func (g *gen) jump(to *ir.Block) {
	if g.b != nil {
		g.b.Jump(to, append([]*ir.Value{}, g.vars...)...)
	}
}

func (g *gen) branch(depth int) {
	cond := g.cond()
	then, els, after := g.f.NewBlock(), g.f.NewBlock(), g.meet()
	before := append([]*ir.Value{}, g.vars...)
	g.b.Branch(cond, then, els)
	for _, b := range []*ir.Block{then, els} {
		g.b = b
		copy(g.vars, before)
		g.scope(func() { g.stmts(depth - 1) })
		g.jump(after)
	}
	g.enter(after)
}

// leave is a conditional return, break or continue.
func (g *gen) leave() {
	l := g.loops[len(g.loops)-1]
	go1, stay := g.f.NewBlock(), g.f.NewBlock()
	g.b.Branch(g.cond(), go1, stay)
	before := append([]*ir.Value{}, g.vars...)
	g.b = go1
	switch k := g.rng.IntN(5); {
	case k == 0:
		g.finish()
	case k < 3:
		g.jump(l.next)
	default:
		g.jump(l.exit)
	}
	g.b = stay
	copy(g.vars, before)
}

// loop runs while a hidden counter is below a random bound. Its header computes
// values that are used after the loop too, where the exit is from the header only.
func (g *gen) loop(depth int) {
	bound := g.masked(g.operand(), 4)
	head := g.meet()
	counter := head.NewParam(g.f, ir.I64)
	body, exit, next := g.f.NewBlock(), g.meet(), g.meet()
	direct := g.rng.IntN(2) == 0 // leave straight from the header
	nextCount := next.NewParam(g.f, ir.I64)
	g.b.Jump(head, append(append([]*ir.Value{}, g.vars...), g.konst(0))...)
	g.enter(head)
	x := g.expr()
	c := g.b.Emit(g.f, ir.OpLt, ir.Bool, counter, bound)
	out := g.f.NewBlock()
	g.b.Branch(c, body, out)
	atHead := append([]*ir.Value{}, g.vars...)
	g.b = body
	g.scope(func() {
		g.extra = append(g.extra, counter, x)
		if !direct {
			g.loops = append(g.loops, loopCtx{g.counted(next, counter), exit})
		}
		saved := g.loops
		if direct {
			g.loops = nil // nothing inside may leave
		}
		g.stmts(depth - 1)
		g.loops = saved
	})
	if !direct {
		g.loops = g.loops[:len(g.loops)-1]
	}
	g.b.Jump(next, append(append([]*ir.Value{}, g.vars...), counter)...)
	g.b = next
	copy(g.vars, next.Params)
	g.b.Jump(head, append(append([]*ir.Value{}, g.vars...), g.bin(ir.OpAdd, nextCount, g.konst(1)))...)
	g.b = out
	copy(g.vars, atHead)
	if direct {
		g.extra = append(g.extra, x, counter)
		return
	}
	g.jump(exit)
	g.enter(exit)
}

// counted returns a block that goes on to next with the counter; with luck the
// back edge itself is taken instead, so that the loop has several.
func (g *gen) counted(next *ir.Block, counter *ir.Value) *ir.Block {
	b := g.meet()
	was := g.b
	g.b = b
	args := append([]*ir.Value{}, b.Params...)
	if head := counter.Block; g.rng.IntN(2) == 0 {
		g.b.Jump(head, append(args, g.bin(ir.OpAdd, counter, g.konst(1)))...)
	} else {
		g.b.Jump(next, append(args, counter)...)
	}
	g.b = was
	return b
}

func checkRandom(t *testing.T, seed uint64) {
	m := randomKernel(seed)
	ir.RemoveUnreachable(m.Kernel())
	require.NoError(t, ir.Verify(m), "seed %d\n%s", seed, m)
	p, err := New(m)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 3))
	in := make([]int64, genIn)
	for i := range in {
		in[i] = rng.Int64() >> rng.IntN(63)
	}
	for _, block := range [][3]int{{1, 1, 1}, {70, 1, 1}, {32, 3, 1}, {5, 4, 3}, {600, 1, 1}} {
		n := 2 * block[0] * block[1] * block[2]
		got, want := make([]int64, n*genSlots), make([]int64, n*genSlots)
		a := rng.IntN(10)
		require.NoError(t, p.Run(Launch{Grid: [3]int{2}, Block: block, Args: pack(got, in, a)}))
		ref := scalarRun{f: m.Kernel(), grid: [3]int{2, 1, 1}, block: block, params: []uint64{
			uint64(uintptr(unsafe.Pointer(&want[0]))), uint64(len(want)), uint64(uintptr(unsafe.Pointer(&in[0]))), genIn, uint64(a)}}
		ref.all()
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %d, block %v: slot %d of thread %d is %d, want %d\n%s", seed, block, i%genSlots, i/genSlots, got[i], want[i], m)
			}
		}
	}
}

func TestRandomKernels(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		checkRandom(t, seed)
	}
}
