package pass

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
)

// vectorGen writes random kernels of what the passes of [Vector] look for: tests of indices,
// loops over them, divisions by the length of a row, clamped indices and runs of equal bytes.
type vectorGen struct {
	*rand.Rand
	f       *ir.Func
	b       *ir.Block
	indices []*ir.Value // that dominate b
	bounds  []*ir.Value // the same in all lanes
}

// vectorModule returns a module with the kernel @k(out []int64, in []uint8, a int64, b float32, halves []uint16).
func vectorModule(seed uint64) *ir.Module {
	m := &ir.Module{Name: "t"}
	f := m.NewFunc("k")
	f.Kernel = true
	f.Args = []ir.Arg{
		{Name: "out", Kind: ir.ArgSlice, Elem: ir.I64, Go: "[]int64"}, {Name: "in", Kind: ir.ArgSlice, Elem: ir.U8, Go: "[]uint8"},
		{Name: "a", Elem: ir.I64, Go: "int64"}, {Name: "b", Elem: ir.F32, Go: "float32"},
		{Name: "halves", Kind: ir.ArgSlice, Elem: ir.U16, Go: "[]uint16"},
	}
	for _, t := range []*ir.Type{ir.PtrTo(ir.Global, ir.I64), ir.I64, ir.PtrTo(ir.Global, ir.U8), ir.I64, ir.I64, ir.F32, ir.PtrTo(ir.Global, ir.U16), ir.I64} {
		f.NewParam(t)
	}
	g := &vectorGen{Rand: rand.New(rand.NewPCG(seed, 4)), f: f, b: f.NewBlock()}
	i := g.emit(ir.OpThread)
	g.indices = []*ir.Value{i, g.emit(ir.OpAdd, i, f.Params[4]), g.emit(ir.OpSub, i, g.constant(3))}
	g.bounds = []*ir.Value{f.Params[1], f.Params[3], f.Params[4], g.constant(5), g.constant(6)}
	for range 2 + g.IntN(4) {
		g.statement(2)
	}
	g.b.Return()
	return m
}

func (g *vectorGen) emit(op ir.Op, args ...*ir.Value) *ir.Value {
	return g.b.Emit(g.f, op, ir.I64, args...)
}

func (g *vectorGen) constant(x int64) *ir.Value { return g.b.EmitConst(g.f, ir.I64, uint64(x)) }

func (g *vectorGen) index() *ir.Value {
	i := g.indices[g.IntN(len(g.indices))]
	if g.IntN(2) == 0 {
		i = g.emit(ir.OpAdd, i, g.constant(int64(g.IntN(9)-4)))
	}
	return i
}

func (g *vectorGen) bound() *ir.Value { return g.bounds[g.IntN(len(g.bounds))] }

// mix adds x to an element of out.
func (g *vectorGen) mix(i, x *ir.Value) {
	out := g.f.Params[0]
	p := g.b.Emit(g.f, ir.OpOffset, out.Type, out, g.emit(ir.OpAnd, i, g.constant(15)))
	old := g.emit(ir.OpLoad, p)
	sum := g.emit(ir.OpAdd, g.emit(ir.OpMul, old, g.constant(31)), x)
	g.b.Emit(g.f, ir.OpStore, ir.Void, p, sum)
}

// byteAt loads a byte of in.
func (g *vectorGen) byteAt(i *ir.Value) *ir.Value {
	in := g.f.Params[2]
	return g.b.Emit(g.f, ir.OpLoad, ir.U8, g.b.Emit(g.f, ir.OpOffset, in.Type, in, i))
}

// below is i < n, as it may be written.
func (g *vectorGen) below(i, n *ir.Value) *ir.Value {
	if g.IntN(2) == 0 {
		return g.b.Emit(g.f, ir.OpGt, ir.Bool, n, i)
	}
	return g.b.Emit(g.f, ir.OpLt, ir.Bool, i, n)
}

func (g *vectorGen) statement(depth int) {
	kind := g.IntN(7)
	if depth == 0 {
		kind = 2 + g.IntN(4)
	}
	switch kind {
	case 0, 6:
		g.branch(depth - 1)
	case 1:
		g.loop(depth - 1)
	case 2:
		x, w := g.index(), g.emit(ir.OpOr, g.bound(), g.constant(1))
		g.mix(g.emit(ir.OpRem, x, w), g.emit(ir.OpDiv, x, w))
	case 3:
		n := g.f.Params[3] // of in, which has elements
		x := g.emit(ir.OpMin, g.index(), g.emit(ir.OpSub, n, g.constant(1)))
		x = g.emit(ir.OpMax, x, g.constant(0))
		g.mix(x, g.emit(ir.OpConvert, g.byteAt(x)))
	case 4:
		g.run()
	case 5:
		g.halves()
	}
}

// halves puts a word together of two halves, which are neighbours or not.
func (g *vectorGen) halves() {
	in := g.f.Params[6]
	half := func(i *ir.Value) *ir.Value {
		load := g.b.Emit(g.f, ir.OpLoad, ir.U16, g.b.Emit(g.f, ir.OpOffset, in.Type, in, i))
		if g.IntN(4) == 0 {
			g.mix(i, i)
		}
		return g.b.Emit(g.f, ir.OpConvert, ir.U32, load)
	}
	i := g.emit(ir.OpAnd, g.index(), g.constant(3))
	low := half(g.emit(ir.OpAdd, g.constant(1), i))
	high := half(g.emit(ir.OpAdd, i, g.constant(int64(1+g.IntN(3)))))
	word := g.b.Emit(g.f, ir.OpOr, ir.U32, low, g.b.Emit(g.f, ir.OpShl, ir.U32, high, g.b.EmitConst(g.f, ir.U32, 16)))
	g.mix(i, g.emit(ir.OpConvert, word))
}

func (g *vectorGen) branch(depth int) {
	i, n := g.index(), g.bound()
	op := []ir.Op{ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe}[g.IntN(4)]
	yes, no, join := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	g.b.Branch(g.b.Emit(g.f, op, ir.Bool, i, n), yes, no)
	for _, side := range []*ir.Block{yes, no} {
		g.b = side
		for range g.IntN(3) {
			g.statement(depth)
		}
		g.b.Jump(join)
	}
	g.b = join
}

func (g *vectorGen) loop(depth int) {
	step, n := g.emit(ir.OpOr, g.bound(), g.constant(2)), g.bound()
	head, body, done := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	g.b.Jump(head, g.index())
	i := head.NewParam(g.f, ir.I64)
	g.b = head
	head.Branch(g.below(i, n), body, done)
	g.b = body
	g.indices = append(g.indices, i)
	for range 1 + g.IntN(2) {
		g.statement(depth)
	}
	g.indices = g.indices[:len(g.indices)-1]
	g.b.Jump(head, g.emit(ir.OpAdd, i, step))
	g.b = done
	g.mix(g.index(), i)
}

// run counts equal bytes at two addresses.
func (g *vectorGen) run() {
	text := g.f.Params[3]
	i, j := g.emit(ir.OpAnd, g.index(), g.constant(31)), g.emit(ir.OpAnd, g.bound(), g.constant(31))
	head, more, last, done := g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock(), g.f.NewBlock()
	zero, one := g.constant(0), g.constant(1)
	g.b.Jump(head, zero)
	n, count := head.NewParam(g.f, ir.I64), done.NewParam(g.f, ir.I64)
	exit := ir.Edge{To: done, Args: []*ir.Value{n}}
	test := func(c *ir.Value, next *ir.Block) {
		g.b.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{c}, Succs: []ir.Edge{{To: next}, exit}}
		g.b = next
	}
	g.b = head
	x, y := g.emit(ir.OpAdd, n, i), g.emit(ir.OpAdd, j, n)
	test(g.b.Emit(g.f, ir.OpLt, ir.Bool, x, text), more)
	g.b.Emit(g.f, ir.OpBounds, ir.Void, y, text)
	test(g.b.Emit(g.f, ir.OpEq, ir.Bool, g.byteAt(x), g.byteAt(y)), last)
	g.b.Jump(head, g.emit(ir.OpAdd, n, one))
	g.b = done
	g.mix(i, count)
}

// TestVectorMeaning compares random programs before and after each pass of [Vector] and wants each pass to have had something to do.
func TestVectorMeaning(t *testing.T) {
	changed := map[string]int{}
	for seed := range uint64(200) {
		program := vectorModule(seed)
		before := program.String()
		require.NoError(t, ir.Verify(program), "program %d\n%s", seed, before)
		after, last := reparse(t, program), before
		opt := Options{WarpSize: vectorLanes, Check: ir.Verify, After: func(name string, m *ir.Module) {
			if text := m.String(); text != last {
				changed[name]++
				last = text
				checkSame(t, program, m, before)
			}
		}}
		require.NoError(t, RunVector(after, opt), "program %d", seed)
		require.NoError(t, RunRows(after, opt), "program %d", seed)
		again, err := ir.Parse(after.String())
		require.NoError(t, err)
		require.Equal(t, after.String(), again.String())
	}
	for _, p := range Vector {
		require.Greater(t, changed[p.Name], 10, p.Name)
	}
}
