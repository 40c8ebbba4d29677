package pass

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// shortdiv divides integers of 64 bits in 32 where both operands turn out to be
// less than 2^32: it tests their upper halves and does the division as it was only
// if one of them is not zero. Go's int has 64 bits, and what kernels divide by,
// widths and counts, hardly ever needs them. A division of 32 bits is a fifth of
// the instructions.
//
// In functions with products of warpgroups, which the vendor's compiler makes wait for each other where
// there is a call, what is left of 64 bits is divided by a loop, and float32 by multiplications: its
// divisions of 64 bits and of float32 are calls.
func shortdiv(m *ir.Module, opt *Options) error {
	if !opt.SlowDiv {
		return nil
	}
	for _, f := range m.Funcs {
		if multipliesInGroups(f) {
			divideFloats(f)
		}
		if !slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return slices.ContainsFunc(b.Instrs, longDivision) }) {
			continue
		}
		ir.RemoveUnreachable(f)
		dce(f) // no test for what nothing reads
		newShortener(f, opt.Small).run()
	}
	return nil
}

// longDivision reports whether v divides 64 bits by what is not constant.
func longDivision(v *ir.Value) bool {
	return (v.Op == ir.OpDiv || v.Op == ir.OpRem) && isWide(v.Type) && !v.Args[1].IsConst()
}

// shortener rewrites one function.
type shortener struct {
	f    *ir.Func
	r    *analysis.Ranges
	of   map[*ir.Value]*division
	repl *replacer
	loop bool // divisions of 64 bits are loops
}

// division is one or several operations that divide x by y. All of them are computed
// at the first, which dominates the others.
type division struct {
	x, y  *ir.Value
	first *ir.Value
	block *ir.Block   // of first, before blocks are split
	quos  []*ir.Value // operations that want the quotient
	rems  []*ir.Value // operations that want the remainder
	test  []*ir.Value // operands that may be 2^32 or more
	long  bool        // an operand is 2^32 or more
}

func newShortener(f *ir.Func, small bool) *shortener {
	return &shortener{f: f, r: analysis.NewRanges(f, small), of: map[*ir.Value]*division{}, repl: newReplacer(f), loop: multipliesInGroups(f)}
}

// multipliesInGroups reports whether f has products of warpgroups.
func multipliesInGroups(f *ir.Func) bool {
	return slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool {
		return slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpWarpgroupMMA })
	})
}

func (s *shortener) run() {
	s.collect()
	for _, b := range s.r.Dom.Order {
		s.rewrite(b)
	}
	s.repl.apply(s.f)
}

// collect finds the divisions while the blocks are as the ranges know them.
func (s *shortener) collect() {
	same := map[[2]*ir.Value][]*division{}
	for _, b := range s.r.Dom.Order {
		for _, v := range b.Instrs {
			if !longDivision(v) {
				continue
			}
			key := [2]*ir.Value{v.Args[0], v.Args[1]}
			i := slices.IndexFunc(same[key], func(d *division) bool { return s.r.Dom.Dominates(d.block, b) })
			var d *division
			if i >= 0 {
				d = same[key][i]
			} else if d = s.division(v, b); d != nil {
				same[key] = append(same[key], d)
			}
			s.add(v, d)
		}
	}
}

// division returns that of v alone, nil if an operand is never less than 2^32 and it stays as it is.
func (s *shortener) division(v *ir.Value, b *ir.Block) *division {
	d := &division{x: v.Args[0], y: v.Args[1], first: v, block: b}
	for _, a := range v.Args {
		switch x := s.r.At(a, b); {
		case (x.Hi < 0 || x.Lo > math.MaxUint32) && !s.loop:
			return nil
		case x.Hi < 0 || x.Lo > math.MaxUint32:
			d.long = true
		case x.Lo < 0 || x.Hi > math.MaxUint32:
			d.test = append(d.test, a)
		}
	}
	return d
}

func (s *shortener) add(v *ir.Value, d *division) {
	switch {
	case d == nil:
		return
	case v.Op == ir.OpDiv:
		d.quos = append(d.quos, v)
	default:
		d.rems = append(d.rems, v)
	}
	s.of[v] = d
}

// rewrite splits b at the divisions that begin in it.
func (s *shortener) rewrite(b *ir.Block) {
	if !slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return s.of[v] != nil }) {
		return
	}
	instrs, term := b.Instrs, b.Term
	b.Instrs = make([]*ir.Value, 0, len(instrs))
	at := b
	for _, v := range instrs {
		switch d := s.of[v]; {
		case d == nil:
			at.Append(v)
		case d.first == v: // the others have been replaced by then
			at = s.divide(at, d)
		}
	}
	at.Term = term
}

// divide computes d at the end of b. It returns the block where the code goes on.
func (s *shortener) divide(b *ir.Block, d *division) *ir.Block {
	if d.long {
		b, results := s.long(b, d)
		s.bind(d, results)
		return b
	}
	if len(d.test) == 0 {
		s.bind(d, s.short(b, d))
		return b
	}
	short, long, next := s.f.NewBlock(), s.f.NewBlock(), s.f.NewBlock()
	b.Branch(s.fits(b, d), short, long)
	b.Term.Pos = d.first.Pos
	short.Jump(next, s.short(short, d)...)
	long, quotient := s.long(long, d)
	long.Jump(next, quotient...)
	var results []*ir.Value
	for range short.Term.Succs[0].Args {
		p := next.NewParam(s.f, d.first.Type)
		p.Pos = d.first.Pos
		results = append(results, p)
	}
	s.bind(d, results)
	return next
}

// fits compares the upper halves of what is to be tested with zero.
func (s *shortener) fits(b *ir.Block, d *division) *ir.Value {
	any := d.test[0]
	if len(d.test) > 1 {
		any = s.emit(b, d, ir.OpOr, any.Type, any, d.test[1])
	}
	upper := s.emit(b, d, ir.OpShr, any.Type, any, b.EmitConst(s.f, ir.U32, 32))
	upper = s.emit(b, d, ir.OpConvert, ir.U32, upper)
	return s.emit(b, d, ir.OpEq, ir.Bool, upper, b.EmitConst(s.f, ir.U32, 0))
}

// short returns the results that d wants, divided in 32 bits.
func (s *shortener) short(b *ir.Block, d *division) []*ir.Value {
	x, y := s.emit(b, d, ir.OpConvert, ir.U32, d.x), s.emit(b, d, ir.OpConvert, ir.U32, d.y)
	results := s.results(b, d, x, y)
	for i, v := range results {
		results[i] = s.emit(b, d, ir.OpConvert, d.first.Type, v)
	}
	return results
}

// long returns the results that d wants, divided in 64 bits, and the block where they are.
func (s *shortener) long(b *ir.Block, d *division) (*ir.Block, []*ir.Value) {
	if !s.loop {
		return b, s.results(b, d, d.x, d.y)
	}
	b, quo := s.divideBits(b, d)
	if len(d.rems) == 0 {
		return b, []*ir.Value{quo}
	}
	rem := s.emit(b, d, ir.OpSub, quo.Type, d.x, s.emit(b, d, ir.OpMul, quo.Type, quo, d.y))
	if len(d.quos) == 0 {
		return b, []*ir.Value{rem}
	}
	return b, []*ir.Value{quo, rem}
}

// divideBits returns the quotient bit by bit, and the block where it is.
func (s *shortener) divideBits(b *ir.Block, d *division) (*ir.Block, *ir.Value) {
	x, negX := s.magnitude(b, d, d.x)
	y, negY := s.magnitude(b, d, d.y)
	zero, one := b.EmitConst(s.f, ir.U64, 0), b.EmitConst(s.f, ir.U64, 1)
	left, last := b.EmitConst(s.f, ir.U32, 64), b.EmitConst(s.f, ir.U32, 1)
	top := b.EmitConst(s.f, ir.U32, 63)
	loop, next := s.f.NewBlock(), s.f.NewBlock()
	b.Jump(loop, left, zero, x)
	n, rest, bits := loop.NewParam(s.f, ir.U32), loop.NewParam(s.f, ir.U64), loop.NewParam(s.f, ir.U64)
	emit := func(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value { return s.emit(loop, d, op, t, args...) }
	over := emit(ir.OpNe, ir.Bool, emit(ir.OpShr, ir.U64, rest, top), zero) // of 65 bits
	rest = emit(ir.OpOr, ir.U64, emit(ir.OpShl, ir.U64, rest, last), emit(ir.OpShr, ir.U64, bits, top))
	fits := emit(ir.OpOr, ir.Bool, over, emit(ir.OpGe, ir.Bool, rest, y))
	rest = emit(ir.OpSelect, ir.U64, fits, emit(ir.OpSub, ir.U64, rest, y), rest)
	bits = emit(ir.OpOr, ir.U64, emit(ir.OpShl, ir.U64, bits, last), emit(ir.OpSelect, ir.U64, fits, one, zero))
	loop.Branch(emit(ir.OpEq, ir.Bool, n, last), next, loop)
	loop.Term.Succs[1].Args = []*ir.Value{emit(ir.OpSub, ir.U32, n, last), rest, bits}
	quo := s.emit(next, d, ir.OpSelect, ir.U64, s.emit(next, d, ir.OpEq, ir.Bool, y, zero), zero, bits)
	if d.first.Type == ir.U64 {
		return next, quo
	}
	quo = s.emit(next, d, ir.OpConvert, ir.I64, quo)
	return next, s.emit(next, d, ir.OpSelect, ir.I64, s.emit(next, d, ir.OpNe, ir.Bool, negX, negY), s.emit(next, d, ir.OpNeg, ir.I64, quo), quo)
}

// magnitude returns the magnitude of v, and whether v is negative, nil of unsigned numbers.
func (s *shortener) magnitude(b *ir.Block, d *division, v *ir.Value) (of, negative *ir.Value) {
	if v.Type == ir.U64 {
		return v, nil
	}
	negative = s.emit(b, d, ir.OpLt, ir.Bool, v, b.EmitConst(s.f, ir.I64, 0))
	return s.emit(b, d, ir.OpConvert, ir.U64, s.emit(b, d, ir.OpSelect, ir.I64, negative, s.emit(b, d, ir.OpNeg, ir.I64, v), v)), negative
}

// results returns x / y and x % y, or the one of them that d wants. The remainder is
// what the quotient leaves, for divisors of zero too, and where the quotient wraps.
func (s *shortener) results(b *ir.Block, d *division, x, y *ir.Value) []*ir.Value {
	if len(d.quos) == 0 {
		return []*ir.Value{s.emit(b, d, ir.OpRem, x.Type, x, y)}
	}
	quo := s.emit(b, d, ir.OpDiv, x.Type, x, y)
	if len(d.rems) == 0 {
		return []*ir.Value{quo}
	}
	product := s.emit(b, d, ir.OpMul, x.Type, quo, y)
	return []*ir.Value{quo, s.emit(b, d, ir.OpSub, x.Type, x, product)}
}

// bind puts the results, in the order of [shortener.results], in the place of the
// operations of d.
func (s *shortener) bind(d *division, results []*ir.Value) {
	for _, v := range d.quos {
		s.repl.set(v, results[0])
	}
	for _, v := range d.rems {
		s.repl.set(v, results[len(results)-1])
	}
}

func (s *shortener) emit(b *ir.Block, d *division, op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := b.Emit(s.f, op, t, args...)
	v.Pos = d.first.Pos
	return v
}
