package lower

import (
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

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
