package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// gridArg is the argument that [LowerGrid] adds to the kernel: two words of global memory, which
// are zero before a launch.
var gridArg = ir.Arg{Name: "grid_barrier", Kind: ir.ArgSlice, Elem: ir.U32, Go: "[]uint32"}

// The words.
const (
	gridArrived = 0 // the top bit changes when all blocks have arrived
	gridFailed  = 1 // not 0 once a thread has failed, for which a block may wait for ever
)

// LowerGrid turns barriers of the grid into barriers of the block around an arrival in global
// memory, and reports whether there are any. All blocks of the launch have to be resident. With
// own, each thread fences what it wrote by itself, see [target.Target.OwnFences].
//
// The first thread of a block adds to a word and waits until its top bit changes: the first block
// adds 2³¹ less the number of the other blocks, which add 1 each. So the word needs no reset from
// one barrier to the next. (Cooperative groups of CUDA count in the same way.)
//
// A thread that fails ends, and may be one that others wait for. It marks the launch, see
// [LowerLog], and all threads that wait, or come to a barrier later, end as well.
//
// Like LowerLog it is not in the table of passes, and comes before that.
func LowerGrid(m *ir.Module, own bool) bool {
	l := &gridLowering{f: m.Kernel(), own: own}
	for _, b := range l.f.Blocks {
		for _, v := range b.Instrs {
			l.any = l.any || v.Op == ir.OpGridBarrier
			l.fails = l.fails || v.Op == ir.OpAssert || isCheck(v.Op)
		}
	}
	if !l.any {
		return false
	}
	l.words = l.f.NewParam(ir.PtrTo(ir.Global, ir.U32))
	l.f.NewParam(ir.I64) // there are always two
	l.f.Args = append(l.f.Args, gridArg)
	for _, b := range slices.Clone(l.f.Blocks) {
		for b != nil {
			b = l.first(b)
		}
	}
	return true
}

type gridLowering struct {
	f          *ir.Func
	words      *ir.Value
	any, fails bool
	own        bool      // fences
	b          *ir.Block // where instructions go
	pos        int
}

// first lowers the first barrier of b and returns the block with the rest of b, nil if there was
// none.
func (l *gridLowering) first(b *ir.Block) *ir.Block {
	i := slices.IndexFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpGridBarrier })
	if i < 0 {
		return nil
	}
	rest := l.f.NewBlock()
	l.pos = b.Instrs[i].Pos
	for _, v := range b.Instrs[i+1:] {
		rest.Append(v)
	}
	rest.Term = b.Term
	clear(b.Instrs[i:])
	b.Instrs, b.Term = b.Instrs[:i], ir.Term{}

	arrive, all := l.f.NewBlock(), l.f.NewBlock()
	l.b = b
	if l.own {
		l.emit(ir.OpFence, ir.Void)
	}
	l.emit(ir.OpBarrier, ir.Void)
	l.b.Branch(l.zero(ir.OpThread), arrive, all)
	l.arrive(arrive, all)
	l.b = all
	l.emit(ir.OpBarrier, ir.Void)
	if !l.fails {
		all.Jump(rest)
		return rest
	}
	end := l.f.NewBlock()
	l.b.Branch(l.failed(), end, rest)
	end.Return()
	return rest
}

// arrive has the first thread of the block, which is at b, wait for those of all blocks and go on
// at done.
func (l *gridLowering) arrive(b, done *ir.Block) {
	l.b = b
	l.emit(ir.OpFence, ir.Void)
	top, one := l.konst(1<<31), l.konst(1)
	others := l.emit(ir.OpSub, ir.U32, l.blocks(), one)
	add := l.emit(ir.OpSelect, ir.U32, l.zero(ir.OpBlock), l.emit(ir.OpSub, ir.U32, top, others), one)
	old := l.emit(ir.OpAtomicAdd, ir.U32, l.at(gridArrived), add)
	spin, after := l.f.NewBlock(), l.f.NewBlock()
	l.b.Jump(spin)

	l.b = spin
	now := l.emit(ir.OpAtomicLoad, ir.U32, l.at(gridArrived))
	now.Imm = uint64(ir.Acquire)
	changed := l.emit(ir.OpAnd, ir.U32, l.emit(ir.OpXor, ir.U32, now, old), l.konst(1<<31))
	again := spin
	if l.fails {
		again = l.f.NewBlock()
	}
	l.b.Branch(l.emit(ir.OpNe, ir.Bool, changed, l.konst(0)), after, again)
	if l.fails {
		l.b = again
		l.b.Branch(l.failed(), after, spin)
	}

	l.b = after
	l.emit(ir.OpFence, ir.Void)
	after.Jump(done)
}

// failed is whether a thread of the launch has failed.
func (l *gridLowering) failed() *ir.Value {
	return l.emit(ir.OpNe, ir.Bool, l.emit(ir.OpAtomicLoad, ir.U32, l.at(gridFailed)), l.konst(0))
}

// blocks is how many blocks there are.
func (l *gridLowering) blocks() *ir.Value {
	n := l.axis(ir.OpGridDim, 0)
	for axis := range uint64(2) {
		n = l.emit(ir.OpMul, ir.I64, n, l.axis(ir.OpGridDim, axis+1))
	}
	return l.emit(ir.OpConvert, ir.U32, n)
}

// zero is whether an index is zero along all axes.
func (l *gridLowering) zero(op ir.Op) *ir.Value {
	n := l.axis(op, 0)
	for axis := range uint64(2) {
		n = l.emit(ir.OpOr, ir.I64, n, l.axis(op, axis+1))
	}
	return l.emit(ir.OpEq, ir.Bool, n, l.b.EmitConst(l.f, ir.I64, 0))
}

func (l *gridLowering) axis(op ir.Op, axis uint64) *ir.Value {
	v := l.emit(op, ir.I64)
	v.Imm = axis
	return v
}

func (l *gridLowering) at(word uint64) *ir.Value { return gridWord(l.f, l.b, l.words, word, l.pos) }

// gridWord is the address of one of the words.
func gridWord(f *ir.Func, b *ir.Block, words *ir.Value, i uint64, pos int) *ir.Value {
	v := b.Emit(f, ir.OpOffset, words.Type, words, b.EmitConst(f, ir.I64, i))
	v.Pos = pos
	return v
}

func (l *gridLowering) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := l.b.Emit(l.f, op, t, args...)
	v.Pos = l.pos
	return v
}

func (l *gridLowering) konst(bits uint64) *ir.Value { return l.b.EmitConst(l.f, ir.U32, bits) }

// gridWords is the parameter that [LowerGrid] has added to a kernel, nil if it has none.
func gridWords(f *ir.Func) *ir.Value {
	at := 0
	for _, a := range f.Args {
		if a == gridArg {
			return f.Params[at]
		}
		at += a.NumParams()
	}
	return nil
}
