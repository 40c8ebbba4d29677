package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Indices that are clamped at the border of a picture, max(0, min(x-1, width-1)),
// are not affine in the lane, but in vectors away from the border they are. So code
// that accesses memory by such indices is there twice, too: for vectors in which
// nothing is clamped, with the minima and maxima left out, and as it was. A few
// scalar instructions decide which one runs.

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
	wraps map[*ir.Value]bool // of values that are clamped: see [bound]
	// affine are the values that would be affine in the lane if nothing were clamped.
	affine map[*ir.Value]bool
	size   int
}

// unclip duplicates what is worth it. The tail of what has a copy already seldom has all
// lanes.
func unclip(f *ir.Func, lanes int) error {
	if !mayClip(f) {
		return nil
	}
	a, err := lanesOf(f, lanes)
	if err != nil {
		return err
	}
	c := &clipper{Lanes: a, f: f, wraps: map[*ir.Value]bool{}, affine: map[*ir.Value]bool{}}
	c.find()
	if len(c.affine) == 0 {
		return nil
	}
	for i := range c.Blocks {
		b := c.Blocks[i].Block
		for more := !b.Tail; more; {
			b, more = c.split(b)
		}
	}
	return nil
}

// find notes what is affine but for clamps, and what might wrap while the blocks are as they are.
func (c *clipper) find() {
	ranges := analysis.RangesOf(c.f)
	for i := range c.Blocks {
		b := c.Blocks[i].Block
		for _, v := range b.Instrs {
			if !c.isAffine(v) {
				continue
			}
			c.affine[v] = true
			if x, _ := c.clamped(v); x != nil && !c.affine[x] {
				c.wraps[x] = analysis.MayWrap(ranges, x, b)
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

// clamped returns the operand of v that is clamped and the bound of it, nil if v does
// no such thing.
func (c *clipper) clamped(v *ir.Value) (x, bound *ir.Value) {
	if v.Op != ir.OpMin && v.Op != ir.OpMax || v.Type != ir.I64 || c.of(v).Kind != analysis.VaryingLanes {
		return nil, nil
	}
	for i, x := range v.Args {
		s := c.of(x)
		if bound := v.Args[1-i]; c.of(bound).Kind == analysis.UniformLanes && (s.Kind == analysis.AffineLanes && s.Step > 0 || c.affine[x] && c.isClip(x)) {
			return x, bound
		}
	}
	return nil, nil
}

// isLoadOrStore reports whether operand 0 of op is the address of what it accesses.
func isLoadOrStore(op ir.Op) bool {
	return op == ir.OpLoad || op == ir.OpLoadBytes || op == ir.OpStore
}

func (c *clipper) isClip(v *ir.Value) bool {
	x, _ := c.clamped(v)
	return x != nil
}

// isAffine reports whether v would be affine but for clamps, given its operands.
func (c *clipper) isAffine(v *ir.Value) bool {
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
		some = some || c.affine[x]
		if !c.affine[x] && c.of(x).Kind == analysis.VaryingLanes {
			return false
		}
	}
	return some
}

// usesAffine reports whether v is affine but for clamps, or works on what is.
func (c *clipper) usesAffine(v *ir.Value) bool {
	return c.affine[v] || slices.ContainsFunc(v.Args, func(x *ir.Value) bool { return c.affine[x] })
}

// part returns the instructions of b from the first that has to do with affine values
// up to the last access by them, and whether there is one.
func (c *clipper) part(b *ir.Block) (from, end int, ok bool) {
	from = -1
	for i, v := range b.Instrs {
		if !mayBeCopied(v) || v.Op == ir.OpWhole {
			if ok {
				break
			}
			from = -1
			continue
		}
		if !c.usesAffine(v) {
			continue
		}
		if from < 0 {
			from = i
		}
		if isLoadOrStore(v.Op) && c.affine[v.Args[0]] {
			end, ok = i+1, true
		}
	}
	return from, end, ok
}

// split duplicates the part of b that accesses memory by affine values. It returns the
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
	remade map[*ir.Value]*ir.Value // affine values from elsewhere, as the copy has them
	extra  []*ir.Value             // the latter, in order

	bounds []bound
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
			if p.affine[x] && p.relies(x, clipDepth) && i == 0 && isLoadOrStore(v.Op) {
				enough = true
			}
		}
	}
	return enough
}

// relies adds the bounds that affine value v needs not to be clamped, and reports
// whether all of them can be looked at in front of the part.
func (p *parting) relies(v *ir.Value, depth int) bool {
	if depth == 0 {
		return false
	}
	if p.fast[v] != nil {
		return true
	}
	x, n := p.clamped(v)
	if x == nil {
		return !slices.ContainsFunc(v.Args, func(x *ir.Value) bool { return p.affine[x] && !p.relies(x, depth-1) })
	}
	if p.affine[x] && !p.relies(x, depth-1) {
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
	p.bounded(v.Op, bound{ir.OpLe, x, n, wraps})
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
func (p *parting) bounded(op ir.Op, t bound) {
	if op == ir.OpMax {
		t.op = ir.OpGe
		t.wraps = t.wraps && !slices.ContainsFunc(p.bounds, func(u bound) bool { return u.x == t.x && u.op == ir.OpLe })
	}
	p.bounds = append(p.bounds, t)
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
	value, block := duplicate(p.f, []*ir.Block{p.slow})
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
	decide(p.f, p.b, p.bounds, false, ir.Edge{To: copied}, ir.Edge{To: p.slow})
}

// inCopy returns what stands for v in the copy, where nothing is clamped that the
// test covers. Affine values that were made in front of the part are made again.
func (p *parting) inCopy(v *ir.Value, value func(*ir.Value) *ir.Value, depth int) *ir.Value {
	v = p.through(v)
	switch {
	case p.remade[v] != nil:
		return p.remade[v]
	case p.inside[v] || !p.affine[v] || depth == 0 || p.isClip(v):
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
