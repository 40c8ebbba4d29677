package amd64

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
)

// Indices that are clamped at the border of a picture, max(0, min(x-1, width-1)),
// are not affine in the lane, but in vectors away from the border they do.
// So code that accesses memory by such indices is there twice, too: for vectors in
// which nothing is clamped, with the minima and maxima left out, and as it was. A
// few scalar instructions tell them apart.

// clipLimit bounds how many operations are copied, clipDepth how far the operands of a
// test are looked for.
const (
	clipLimit = 600
	clipDepth = 8
)

// clipper does so in a kernel.
type clipper struct {
	*analysis.Lanes
	f     *ir.Func
	tests map[*ir.Value]wholeTest
	wraps map[*ir.Value]bool // of values that are clamped
	// loose are the values that are affine in the lane where nothing is clamped.
	loose map[*ir.Value]bool
	size  int
}

// unclip duplicates what is worth it and adds to the tests. What is slow has a copy
// already, and seldom all lanes.
func unclip(f *ir.Func, width int, tests map[*ir.Value]wholeTest, slow map[*ir.Block]bool) error {
	if !mayClip(f) {
		return nil
	}
	g, err := analysis.NewLayout(f)
	if err != nil {
		return err
	}
	c := &clipper{
		Lanes: analysis.LanesOf(g, false, width), f: f, tests: tests,
		wraps: map[*ir.Value]bool{}, loose: map[*ir.Value]bool{},
	}
	c.find()
	if len(c.loose) == 0 {
		return nil
	}
	for i := range c.Blocks {
		b := c.Blocks[i].Block
		for more := !slow[b]; more; {
			b, more = c.split(b)
		}
	}
	return nil
}

// find notes what is loose, and what might wrap while the blocks are as they are.
func (c *clipper) find() {
	ranges := analysis.RangesOf(c.f)
	for i := range c.Blocks {
		b := c.Blocks[i].Block
		for _, v := range b.Instrs {
			if !c.isLoose(v) {
				continue
			}
			c.loose[v] = true
			if x, _ := c.held(v); x != nil && !c.loose[x] {
				c.wraps[x] = mayWrap(ranges, x, b)
			}
		}
	}
}

// of returns the shape of a value; what was made since shapes were found may vary.
func (c *clipper) of(v *ir.Value) analysis.Shape {
	if v.ID >= len(c.Shapes) {
		return analysis.Vary
	}
	return c.Shapes[v.ID]
}

// mayClip reports whether anything could be clamped, which costs little to see.
func mayClip(f *ir.Func) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if (v.Op == ir.OpMin || v.Op == ir.OpMax) && v.Type == ir.I64 {
				return true
			}
		}
	}
	return false
}

// held returns the operand of v that is clamped and the bound of it, nil if v does
// no such thing.
func (c *clipper) held(v *ir.Value) (x, bound *ir.Value) {
	if v.Op != ir.OpMin && v.Op != ir.OpMax || v.Type != ir.I64 || c.of(v).Kind != analysis.VaryingLanes {
		return nil, nil
	}
	for i, x := range v.Args {
		s := c.of(x)
		if bound := v.Args[1-i]; c.of(bound).Kind == analysis.UniformLanes && (s.Kind == analysis.AffineLanes && s.Step > 0 || c.loose[x] && c.isClip(x)) {
			return x, bound
		}
	}
	return nil, nil
}

func (c *clipper) isClip(v *ir.Value) bool {
	x, _ := c.held(v)
	return x != nil
}

// isLoose reports whether v is one of the loose values, given its operands.
func (c *clipper) isLoose(v *ir.Value) bool {
	if c.of(v).Kind != analysis.VaryingLanes {
		return false
	}
	switch v.Op {
	case ir.OpMin, ir.OpMax:
		return c.isClip(v)
	case ir.OpAdd, ir.OpSub, ir.OpBitcast, ir.OpConvert:
		if !analysis.Wide(v.Type) || !analysis.Wide(v.Args[0].Type) {
			return false
		}
	case ir.OpMul, ir.OpShl:
		if !analysis.Wide(v.Type) || !v.Args[1].IsConst() {
			return false
		}
	case ir.OpIndex, ir.OpOffset, ir.OpField:
		if v.Type.Space == ir.Local {
			return false
		}
	default:
		return false
	}
	some := false
	for _, x := range v.Args {
		some = some || c.loose[x]
		if !c.loose[x] && c.of(x).Kind == analysis.VaryingLanes {
			return false
		}
	}
	return some
}

// usesLoose reports whether v is loose or works on what is.
func (c *clipper) usesLoose(v *ir.Value) bool {
	return c.loose[v] || slices.ContainsFunc(v.Args, func(x *ir.Value) bool { return c.loose[x] })
}

// part returns the instructions of b from the first that has to do with loose values
// up to the last access by them, and whether there is one.
func (c *clipper) part(b *ir.Block) (from, end int, ok bool) {
	from = -1
	for i, v := range b.Instrs {
		if v.Op == ir.OpBarrier || v.Op == ir.OpLocal || c.tests[v] != nil {
			if ok {
				break
			}
			from = -1
			continue
		}
		if !c.usesLoose(v) {
			continue
		}
		if from < 0 {
			from = i
		}
		if isAccess(v.Op) && c.loose[v.Args[0]] {
			end, ok = i+1, true
		}
	}
	return from, end, ok
}

// split duplicates the part of b that accesses memory by loose values. It returns the
// block that has what followed it, and whether there was anything to do.
func (c *clipper) split(b *ir.Block) (rest *ir.Block, ok bool) {
	from, end, ok := c.part(b)
	if !ok || c.size+end-from > clipLimit {
		return nil, false
	}
	p := &parting{clipper: c, b: b, inside: map[*ir.Value]bool{}, fast: map[*ir.Value]*ir.Value{}, remade: map[*ir.Value]*ir.Value{}}
	for _, v := range b.Instrs[from:end] {
		p.place(v)
	}
	if !p.gather() {
		return nil, false
	}
	c.size += len(p.part)
	rest = p.cut(from, end)
	p.double()
	return rest, true
}

// parting is one duplication.
type parting struct {
	*clipper
	b      *ir.Block
	ahead  []*ir.Value // instructions that the branch between the two comes behind
	part   []*ir.Value // instructions that are there twice
	inside map[*ir.Value]bool
	slow   *ir.Block               // where they are as they were
	fast   map[*ir.Value]*ir.Value // of values that are clamped: what they are if not
	remade map[*ir.Value]*ir.Value // loose values from elsewhere, as the copy has them
	extra  []*ir.Value             // the latter, in order

	test     wholeTest
	operands []*ir.Value
}

// place puts an instruction in front of the part, if it is the same in both copies,
// which most of what is tested is, or into it. What goes up from lane to lane does
// both: only the part as it was wants it as a vector.
func (p *parting) place(v *ir.Value) {
	if v.Op == ir.OpConst {
		p.ahead = append(p.ahead, v)
		return
	}
	args := make([]*ir.Value, len(v.Args))
	moves := v.Op.Pure() && v.Type.IsInt() && p.of(v).Kind < analysis.VaryingLanes
	for i, x := range v.Args {
		if args[i] = x; p.remade[x] != nil {
			args[i] = p.remade[x]
		}
		moves = moves && !p.inside[args[i]]
	}
	if moves && p.of(v).Kind == analysis.UniformLanes && slices.Equal(args, v.Args) {
		p.ahead = append(p.ahead, v)
		return
	}
	if moves {
		p.remade[v] = p.again(v, args)
		p.ahead = append(p.ahead, p.remade[v])
	}
	p.part = append(p.part, v)
	p.inside[v] = true
}

// again returns a new value that does what v does.
func (p *parting) again(v *ir.Value, args []*ir.Value) *ir.Value {
	w := p.f.NewValue(v.Op, v.Type, args...)
	w.Imm, w.Pos, w.Callee = v.Imm, v.Pos, v.Callee
	return w
}

// gather notes the bounds that the copy of a part relies on. It reports whether they
// suffice for an access.
func (p *parting) gather() (enough bool) {
	for _, v := range p.part {
		for i, x := range v.Args {
			if p.loose[x] && p.relies(x, clipDepth) && i == 0 && isAccess(v.Op) {
				enough = true
			}
		}
	}
	return enough
}

// relies adds the bounds that loose value v needs not to be clamped, and reports
// whether all of them can be looked at in front of the part.
func (p *parting) relies(v *ir.Value, depth int) bool {
	if depth == 0 {
		return false
	}
	if p.fast[v] != nil {
		return true
	}
	x, n := p.held(v)
	if x == nil {
		return !slices.ContainsFunc(v.Args, func(x *ir.Value) bool { return p.loose[x] && !p.relies(x, depth-1) })
	}
	if p.loose[x] && !p.relies(x, depth-1) {
		return false
	}
	x = p.through(x)
	wraps := p.wraps[x]
	if y := p.remade[x]; y != nil {
		x = y
	}
	if p.inside[x] || p.inside[n] {
		return false
	}
	p.fast[v] = x
	p.bounded(v.Op, x, n, wraps)
	return true
}

// through returns what x is where nothing is clamped.
func (p *parting) through(x *ir.Value) *ir.Value {
	if y := p.fast[x]; y != nil {
		return y
	}
	return x
}

// bounded adds a bound. Of a value that has an upper bound the last lane is known not
// to wrap.
func (p *parting) bounded(op ir.Op, x, n *ir.Value, wraps bool) {
	t := bound{rel: upTo, wraps: wraps}
	if op == ir.OpMax {
		t.rel = atLeast
		for k, u := range p.test {
			t.wraps = t.wraps && (p.operands[2*k] != x || u.rel == atLeast)
		}
	}
	p.test = append(p.test, t)
	p.operands = append(p.operands, x, n)
}

// cut takes the part and what follows it out of the block, as blocks of their own, and
// returns the latter. Values of the part that others use become parameters of it.
func (p *parting) cut(from, end int) (rest *ir.Block) {
	p.slow, rest = p.f.NewBlock(), p.f.NewBlock()
	rest.Term = p.b.Term
	for _, v := range p.b.Instrs[end:] {
		rest.Append(v)
	}
	p.b.Instrs = p.b.Instrs[:from:from]
	for _, v := range p.ahead {
		p.b.Append(v)
	}
	pos := p.part[0].Pos
	p.b.Term = ir.Term{Kind: ir.TermJump, Pos: pos} // for now
	var out []*ir.Value
	param := map[*ir.Value]*ir.Value{}
	p.f.EachUse(func(use **ir.Value) {
		v := *use
		if !p.inside[v] {
			return
		}
		if param[v] == nil {
			param[v] = rest.NewParam(p.f, v.Type)
			param[v].Pos = v.Pos
			out = append(out, v)
		}
		*use = param[v]
	})
	for _, v := range p.part {
		p.slow.Append(v)
	}
	p.slow.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{{To: rest, Args: out}}, Pos: pos}
	return rest
}

// double makes the copy of the part and the branch to it.
func (p *parting) double() {
	value, block := pass.Copies(p.f, []*ir.Block{p.slow})
	copied := block(p.slow)
	for _, v := range p.part {
		for i, x := range v.Args {
			value(v).Args[i] = p.inCopy(x, value, clipDepth)
		}
	}
	for i, x := range p.slow.Term.Succs[0].Args {
		copied.Term.Succs[0].Args[i] = p.inCopy(x, value, clipDepth)
	}
	made := copied.Instrs
	copied.Instrs = nil
	for _, v := range append(p.extra, made...) {
		copied.Append(v)
	}
	p.tests[decide(p.f, p.b, p.operands, ir.Edge{To: copied}, ir.Edge{To: p.slow})] = p.test
}

// inCopy returns what stands for v in the copy, where nothing is clamped that the
// test covers. Loose values that were made in front of the part are made again.
func (p *parting) inCopy(v *ir.Value, value func(*ir.Value) *ir.Value, depth int) *ir.Value {
	v = p.through(v)
	switch {
	case p.remade[v] != nil:
		return p.remade[v]
	case p.inside[v] || !p.loose[v] || depth == 0 || p.isClip(v):
		return value(v)
	}
	args := make([]*ir.Value, len(v.Args))
	for i, x := range v.Args {
		args[i] = p.inCopy(x, value, depth-1)
	}
	if slices.Equal(args, v.Args) {
		return v
	}
	w := p.again(v, args)
	p.extra = append(p.extra, w)
	p.remade[v] = w
	return w
}
