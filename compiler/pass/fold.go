package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// maxFoldRounds bounds the rounds of fold; each one feeds on what the control
// flow of the last one gave up, and ordinary kernels need two or three.
const maxFoldRounds = 16

// fold simplifies instructions and control flow until nothing changes.
func fold(f *ir.Func) {
	ir.RemoveUnreachable(f)
	for range maxFoldRounds {
		fo := &folder{rewriter: rewriter{f: f}, repl: newReplacer(f)}
		for _, b := range analysis.RPO(f) {
			fo.block(b)
		}
		fo.repl.apply(f) // operands on back edges came before their definitions
		ir.RemoveUnreachable(f)
		forwarded := forwardParams(f)
		sweep(f, mustConverge) // a block with dead instructions does not look empty
		straightened := straighten(f)
		if !fo.again && !forwarded && !straightened {
			break
		}
	}
}

// folder simplifies the instructions of a function in one sweep.
type folder struct {
	rewriter
	repl  *replacer
	again bool // another sweep may find more
}

func (fo *folder) block(b *ir.Block) {
	fo.b, fo.out = b, fo.out[:0]
	for _, v := range b.Instrs {
		fo.repl.list(v.Args)
		switch r := fo.simplify(v); {
		case r == nil: // removed
		case r != v:
			fo.repl.set(v, r)
		default:
			fo.out = append(fo.out, v)
		}
	}
	fo.repl.term(&b.Term)
	fo.branch(b)
	b.Instrs = append(b.Instrs[:0], fo.out...)
}

// simplify returns the value that v equals: v itself, perhaps rewritten in
// place, another value, or nil for an effect that never happens.
func (fo *folder) simplify(v *ir.Value) *ir.Value {
	const steps = 8 // a rewrite may open the way for another
	for range steps {
		if len(v.Args) == 0 || foldConst(v) {
			return v
		}
		if v.Op.Info().Commute && v.Args[0].IsConst() && !v.Args[1].IsConst() {
			v.Args[0], v.Args[1] = v.Args[1], v.Args[0]
		}
		r, rewritten := fo.rewrite(v)
		if !rewritten {
			return r
		}
	}
	return v
}

// foldConst turns v into a constant if all its operands are constants.
func foldConst(v *ir.Value) bool {
	if !v.Op.Pure() {
		return false
	}
	var bits [3]uint64 // no pure operation has more operands
	var types [len(bits)]*ir.Type
	n := len(v.Args)
	for i, a := range v.Args {
		if !a.IsConst() {
			return false
		}
		bits[i], types[i] = a.Imm, a.Type
	}
	r, ok := ir.Eval(v.Op, v.Type, v.Imm, bits[:n], types[:n])
	if ok {
		become(v, ir.OpConst, v.Type)
		v.Imm = r
	}
	return ok
}

// become rewrites v in place. Operand lists are not shared, so reusing the old
// one is safe.
func become(v *ir.Value, op ir.Op, t *ir.Type, args ...*ir.Value) {
	v.Op, v.Type = op, t
	v.Contract = v.Contract && v.MayContract()
	v.Args = append(v.Args[:0], args...)
	if len(args) == 0 {
		v.Args = nil
	}
}

// branch simplifies the end of b.
func (fo *folder) branch(b *ir.Block) {
	t := &b.Term
	if t.Kind != ir.TermBranch {
		return
	}
	for c := t.Args[0]; c.Op == ir.OpNot; c = t.Args[0] {
		t.Args[0] = c.Args[0]
		t.Succs[0], t.Succs[1] = t.Succs[1], t.Succs[0]
	}
	c := t.Args[0]
	switch {
	case c.IsConst():
		take := t.Succs[1]
		if c.Imm != 0 {
			take = t.Succs[0]
		}
		b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{take}, Pos: t.Pos}
		fo.again = true
	case t.Succs[0].To == t.Succs[1].To:
		fo.join(b)
	}
}

// maxSelects bounds the selects that replace a branch: each is work that both
// sides then do.
const maxSelects = 4

// join turns a branch whose sides are the same block into selects.
func (fo *folder) join(b *ir.Block) {
	t := &b.Term
	x, y := t.Succs[0].Args, t.Succs[1].Args
	n := 0
	for i := range x {
		if !analysis.SameValue(x[i], y[i]) {
			n++
		}
	}
	if n > maxSelects {
		return
	}
	args := make([]*ir.Value, len(x))
	for i := range x {
		if args[i] = x[i]; !analysis.SameValue(x[i], y[i]) {
			sel := fo.emit(ir.OpSelect, x[i].Type, t.Args[0], x[i], y[i])
			sel.Pos = t.Pos
			args[i] = sel
		}
	}
	b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: t.Succs[0].To, Args: args}}, Pos: t.Pos}
	fo.again = true
}

// forwardParams replaces block parameters that always get the same value.
func forwardParams(f *ir.Func) bool {
	if !hasParams(f) {
		return false
	}
	in := analysis.InEdges(f)
	r := newReplacer(f)
	for _, b := range f.Blocks {
		for i := 0; i < len(b.Params); i++ {
			v := onlyArg(r, b.Params[i], i, in[b.ID])
			if v == nil {
				continue
			}
			if v.IsConst() && !inEntry(f, v) {
				v = constAt(f, b, v) // the incoming ones need not dominate b
			}
			r.set(b.Params[i], v)
			dropParam(b, i, in[b.ID])
			i--
		}
	}
	r.apply(f)
	return r.any
}

// hasParams reports whether a block has parameters.
func hasParams(f *ir.Func) bool {
	return slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return len(b.Params) > 0 })
}

func inEntry(f *ir.Func, v *ir.Value) bool { return v.Block == f.Blocks[0] }

func constAt(f *ir.Func, b *ir.Block, c *ir.Value) *ir.Value {
	v := f.NewValue(ir.OpConst, c.Type)
	v.Imm, v.Block = c.Imm, b
	b.Instrs = slices.Insert(b.Instrs, 0, v)
	return v
}

// onlyArg returns the one value that parameter i gets on all edges apart from
// itself, nil if there are several.
func onlyArg(r *replacer, p *ir.Value, i int, in []analysis.Edge) *ir.Value {
	var only *ir.Value
	for _, e := range in {
		a := r.get(e.Args()[i])
		switch {
		case a == p:
		case only == nil:
			only = a
		case !analysis.SameValue(only, a):
			return nil
		}
	}
	return only
}

func dropParam(b *ir.Block, i int, in []analysis.Edge) {
	b.Params = slices.Delete(b.Params, i, i+1)
	for _, e := range in {
		s := &e.From.Term.Succs[e.Succ]
		s.Args = slices.Delete(s.Args, i, i+1)
	}
}

// straighten merges blocks with their only successor and goes around blocks
// that do nothing.
func straighten(f *ir.Func) bool {
	forwarded := skipEmpty(f)
	if forwarded {
		ir.RemoveUnreachable(f)
	}
	return mergeChains(f) || forwarded
}

// mergeChains appends to each block the block that only it jumps to.
func mergeChains(f *ir.Func) bool {
	preds := make([]int32, f.NumBlocks())
	for _, b := range f.Blocks {
		for _, e := range b.Term.Succs {
			preds[e.To.ID]++
		}
	}
	r := newReplacer(f)
	gone := make([]bool, f.NumBlocks())
	any := false
	for _, b := range f.Blocks {
		for !gone[b.ID] && b.Term.Kind == ir.TermJump {
			s := b.Term.Succs[0].To
			if preds[s.ID] != 1 || s == b {
				break
			}
			for i, p := range s.Params {
				r.set(p, b.Term.Succs[0].Args[i])
			}
			for _, v := range s.Instrs {
				v.Block = b
			}
			b.Instrs = append(b.Instrs, s.Instrs...)
			b.Term = s.Term
			gone[s.ID], any = true, true
		}
	}
	if any {
		f.Blocks = slices.DeleteFunc(f.Blocks, func(b *ir.Block) bool { return gone[b.ID] })
		r.apply(f)
	}
	return any
}

// skipEmpty redirects edges into blocks that only jump on.
func skipEmpty(f *ir.Func) bool {
	var uses []int32
	var in [][]analysis.Edge
	any := false
	for _, e := range f.Blocks[1:] {
		if len(e.Instrs) > 0 || e.Unroll.Times != 0 || e.Term.Kind != ir.TermJump || e.Term.Succs[0].To == e {
			continue
		}
		if uses == nil {
			uses, in = useCounts(f), analysis.InEdges(f)
		}
		if !usedOnlyByEnd(e, uses) {
			continue
		}
		to := e.Term.Succs[0]
		for _, p := range in[e.ID] {
			s := &p.From.Term.Succs[p.Succ]
			*s = ir.Edge{To: to.To, Args: substitute(to.Args, e.Params, s.Args)}
			in[to.To.ID] = append(in[to.To.ID], p)
			for _, a := range s.Args {
				uses[a.ID]++ // an upper bound is enough
			}
			any = true
		}
		in[e.ID] = nil
	}
	return any
}

// usedOnlyByEnd reports whether b's parameters have no use outside its jump.
func usedOnlyByEnd(b *ir.Block, uses []int32) bool {
	for _, p := range b.Params {
		n := uses[p.ID]
		for _, a := range b.Term.Succs[0].Args {
			if a == p {
				n--
			}
		}
		if n != 0 {
			return false
		}
	}
	return true
}

func substitute(args, params, by []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(args))
	for i, a := range args {
		out[i] = a
		if k := slices.Index(params, a); k >= 0 {
			out[i] = by[k]
		}
	}
	return out
}
