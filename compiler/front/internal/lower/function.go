package lower

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// funcLower lowers one function instance.
type funcLower struct {
	l      *lowerer
	fn     *ssa.Function
	out    *ir.Func
	env    map[ssa.Value]val
	blocks []*ir.Block // by index of the SSA block
	blk    *ir.Block   // being filled
	at     token.Pos   // of the current instruction, or the last that had one
	result *val
	consts map[constKey]*ir.Value // of the current block

	oneCell  map[*ssa.Phi]bool // see loopVar
	prologue func()            // makes the parameters of a kernel

	printed map[*ssa.Call][]ssa.Value // arguments of dsl.Printf
	skipped map[ssa.Instruction]bool  // what makes a slice of them

	pending map[*val]bool // parts of variables that hold a function and wait for it

	contract bool               // see contraction
	rounded  map[token.Pos]bool // products that conversions round
}

type constKey struct {
	t    *ir.Type
	bits uint64
}

func (f *funcLower) report(code diag.Code, format string, args ...any) {
	f.l.k.Report(f.start(f.at), code, "", format, args...)
}

// body lowers all blocks in an order in which definitions come before uses,
// then the jumps, whose values may be defined later.
func (f *funcLower) body() {
	order := rpo(f.fn)
	f.skipLogArgs()
	f.contraction()
	f.blocks = make([]*ir.Block, len(f.fn.Blocks))
	for _, b := range order {
		f.blocks[b.Index] = f.out.NewBlock()
	}
	if f.prologue != nil {
		f.enter(order[0])
		f.prologue()
	}
	f.at = f.fn.Pos()
	ends := make([]token.Pos, len(f.fn.Blocks))
	for _, b := range order {
		f.enter(b)
		f.phis(b)
		for _, in := range b.Instrs {
			if _, ok := in.(*ssa.Phi); !ok && !f.skipped[in] && !f.unrolls(in) {
				f.setPos(in)
				f.instr(in)
			}
		}
		ends[b.Index] = f.at
	}
	for _, b := range order {
		f.enter(b)
		f.at = ends[b.Index]
		f.jump(b)
	}
}

func (f *funcLower) enter(b *ssa.BasicBlock) {
	f.blk = f.blocks[b.Index]
	f.consts = make(map[constKey]*ir.Value, 8)
}

func (f *funcLower) setPos(in ssa.Instruction) {
	if p := in.Pos(); p.IsValid() {
		f.at = p
		f.l.k.At = p
	}
}

// rpo returns the reachable blocks in reverse postorder.
func rpo(fn *ssa.Function) []*ssa.BasicBlock {
	seen := make([]bool, len(fn.Blocks))
	out := make([]*ssa.BasicBlock, 0, len(fn.Blocks))
	type frame struct {
		b    *ssa.BasicBlock
		next int
	}
	stack := []frame{{fn.Blocks[0], len(fn.Blocks[0].Succs)}}
	seen[0] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == 0 {
			out = append(out, top.b)
			stack = stack[:len(stack)-1]
			continue
		}
		top.next--
		if s := top.b.Succs[top.next]; !seen[s.Index] {
			seen[s.Index] = true
			stack = append(stack, frame{s, len(s.Succs)})
		}
	}
	slices.Reverse(out)
	return out
}

// phis makes the block parameters of b.
func (f *funcLower) phis(b *ssa.BasicBlock) {
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			return
		}
		f.setPos(in)
		f.env[phi] = f.phi(phi)
	}
}

func (f *funcLower) phi(phi *ssa.Phi) val {
	param := func(t *ir.Type) *ir.Value {
		p := f.blk.NewParam(f.out, t)
		p.Pos = f.l.position(f.at)
		return p
	}
	if !gotype.HasPointers(phi.Type()) {
		if gotype.Leaves(phi.Type()) > gotype.MaxLeaves {
			f.report(diag.LargeValue, "value of type %s is too large to be copied", gotype.Name(phi.Type()))
			return badVal
		}
		return typed(phi.Type(), param)
	}
	if outer := f.loopVar(phi); outer != nil {
		f.oneCell[phi] = true
		return f.env[outer]
	}
	if f.outlives(phi) {
		f.report(diag.Escape, "pointer to a variable of an earlier iteration")
		return badVal
	}
	for _, e := range phi.Edges {
		if v, ok := f.env[e]; ok && !v.broken() {
			return v.rebuild(param)
		}
		switch e := e.(type) {
		case *ssa.Function, *ssa.MakeClosure:
			if v := f.val(e); !v.broken() {
				return v.rebuild(param)
			}
		}
	}
	f.report(diag.NilPointer, "value of type %s may be used before it is set", gotype.Name(phi.Type()))
	return badVal
}

// outlives reports whether a pointer to a variable that is made anew in each
// iteration flows into the next iteration.
func (f *funcLower) outlives(phi *ssa.Phi) bool {
	for _, a := range roots(phi) {
		if phi.Block().Dominates(a.Block()) {
			return true
		}
	}
	return false
}

// jump ends b. SSA passes values to phis by the position of the predecessor.
func (f *funcLower) jump(b *ssa.BasicBlock) {
	last := b.Instrs[len(b.Instrs)-1]
	switch last := last.(type) {
	case *ssa.Jump:
		if p := f.emptyLoop(b); p.IsValid() {
			f.at = p
		}
		f.blk.Jump(f.blocks[b.Succs[0].Index], f.edge(b, 0)...)
	case *ssa.If:
		if p := f.condPos(last); p.IsValid() {
			f.at = p // the branch itself has no position
		}
		cond := f.scalar(last.Cond)
		f.blk.Branch(cond, f.blocks[b.Succs[0].Index], f.blocks[b.Succs[1].Index])
		for i := range 2 {
			f.blk.Term.Succs[i].Args = f.edge(b, i)
		}
	default:
		return // a return, which is complete
	}
	f.blk.Term.Pos = f.l.position(f.at)
}

// edge returns the values that b passes to successor i.
func (f *funcLower) edge(b *ssa.BasicBlock, i int) []*ir.Value {
	to := b.Succs[i]
	n := 0 // which of the edges from b to this successor
	for _, s := range b.Succs[:i] {
		if s == to {
			n++
		}
	}
	pred := -1
	for j, p := range to.Preds {
		if p == b {
			if n == 0 {
				pred = j
				break
			}
			n--
		}
	}
	var args []*ir.Value
	for _, in := range to.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		if f.oneCell[phi] {
			continue
		}
		args = f.pass(phi, f.val(phi.Edges[pred])).flatten(args)
	}
	return args
}

// pass checks that v has the shape of the phi.
func (f *funcLower) pass(phi *ssa.Phi, v val) val {
	want := f.env[phi]
	if want.broken() || v.bad {
		return val{}
	}
	if v.broken() {
		f.at = phi.Pos()
		f.report(diag.NilPointer, "value of type %s may be used before it is set", gotype.Name(phi.Type()))
		return val{}
	}
	if gotype.HasPointers(phi.Type()) && shapeOf(want) != shapeOf(v) {
		f.at = phi.Pos()
		f.mismatched(phi.Type(), want, v)
		return val{}
	}
	return v
}

// val returns the value of an SSA operand.
func (f *funcLower) val(x ssa.Value) val {
	if v, ok := f.env[x]; ok {
		return v
	}
	switch x := x.(type) {
	case *ssa.Const:
		return f.constant(x)
	case *ssa.Function:
		return val{fn: x}
	case *ssa.Global:
		return f.table(x)
	}
	return badVal
}

// scalar returns the value of an operand that is one scalar. For a bad one it
// returns a stand-in: the module will not be used.
func (f *funcLower) scalar(x ssa.Value) *ir.Value { return f.one(f.val(x), gotype.Scalar(x.Type())) }

func (f *funcLower) one(v val, t *ir.Type) *ir.Value {
	if v.v != nil {
		return v.v
	}
	if t == nil {
		t = ir.I64
	}
	return f.konst(t, 0)
}

// emit appends an instruction at the current position.
func (f *funcLower) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	return f.emitImm(op, t, 0, args...)
}

func (f *funcLower) emitImm(op ir.Op, t *ir.Type, imm uint64, args ...*ir.Value) *ir.Value {
	v := f.out.NewValue(op, t, args...)
	v.Imm = imm
	v.Pos = f.l.position(f.at)
	return f.blk.Append(v)
}

// konst returns a constant; each block has its own, once.
func (f *funcLower) konst(t *ir.Type, bits uint64) *ir.Value {
	key := constKey{t, ir.Normalize(t, bits)}
	if v := f.consts[key]; v != nil {
		return v
	}
	v := f.blk.EmitConst(f.out, t, bits)
	f.consts[key] = v
	return v
}

func (f *funcLower) int(n int64) *ir.Value { return f.konst(ir.I64, uint64(n)) }
