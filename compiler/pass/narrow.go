package pass

import (
	"math"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// narrow computes 64-bit integers in 32 bits where nothing is lost: because the
// value's range fits, or because only the low half of it is used. A GPU has
// registers of 32 bits; wider integers cost it two instructions or more each.
func narrow(m *ir.Module, opt *Options) error {
	if !opt.Narrow {
		return nil
	}
	for _, f := range m.Funcs {
		ir.RemoveUnreachable(f)
		if len(f.Blocks) == 0 {
			continue
		}
		if opt.Release && opt.Small {
			wrapIndices(f)
			drop(f, ir.OpBounds, ir.OpNonNil)
		}
		dce(f) // what nothing reads must not count as a use
		newNarrower(f, opt.Small).run()
	}
	return nil
}

// wrapIndices writes indices into global memory that a bounds check has proved
// to be less than 2^31 as extensions of 32-bit values, so that what leads to
// them can be computed in 32 bits. A constant distance stays outside, where it
// becomes part of the address.
func wrapIndices(f *ir.Func) {
	r := analysis.NewRanges(f, true)
	for _, b := range f.Blocks {
		w := wrapper{f: f, b: b, signed: map[*ir.Value]bool{}, checked: map[*ir.Value]*ir.Value{}}
		for _, v := range b.Instrs {
			if v.Op == ir.OpBounds && r.Of(v.Args[1]).Hi < ir.SmallLen {
				x, c := distance(v.Args[0])
				w.signed[x] = w.signed[x] || c == nil || int64(c.Imm) > 0
			}
		}
		for _, v := range b.Instrs {
			switch v.Op {
			case ir.OpBounds:
				if i := v.Args[0]; !i.IsConst() && r.Of(v.Args[1]).Hi < ir.SmallLen && w.checked[i] == nil {
					w.checked[i] = w.wrap(i)
				}
			case ir.OpOffset, ir.OpIndex:
				if i := w.checked[v.Args[1]]; i != nil && v.Type.Space == ir.Global {
					v.Args[1] = i
				}
			}
			w.out = append(w.out, v)
		}
		b.Instrs = w.out
	}
}

type wrapper struct {
	f       *ir.Func
	b       *ir.Block
	out     []*ir.Value
	signed  map[*ir.Value]bool      // x, where x + c is checked for some c >= 0: it is less than 2^31
	checked map[*ir.Value]*ir.Value // index -> the same index, wrapped
}

// distance takes i apart into x + c; c is nil for zero.
func distance(i *ir.Value) (x, c *ir.Value) {
	if i.Op == ir.OpAdd && i.Args[1].IsConst() {
		if n := int64(i.Args[1].Imm); n == int64(int32(n)) && n > math.MinInt32 {
			return i.Args[0], i.Args[1]
		}
	}
	return i, nil
}

// wrap returns i = x + c, which is at least 0 and less than 2^31, with x as the
// extension of 32 bits. Without a c that keeps x below 2^31 it is unsigned: it
// is not less than -c.
func (w *wrapper) wrap(i *ir.Value) *ir.Value {
	x, c := distance(i)
	t := ir.U32
	if w.signed[x] {
		t = ir.I32
	}
	x = w.add(ir.OpConvert, ir.I64, w.add(ir.OpConvert, t, x))
	if c != nil {
		x = w.add(ir.OpAdd, ir.I64, x, c)
	}
	return x
}

func (w *wrapper) add(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := w.f.NewValue(op, t, args...)
	v.Block, v.Pos = w.b, args[0].Pos
	w.out = append(w.out, v)
	return v
}

// narrower rewrites one function.
type narrower struct {
	f    *ir.Func
	r    *analysis.Ranges
	uses [][]wideUse // of 64-bit integers, by ID
	kind []*ir.Type  // by ID: 32-bit type in which an operation gives the same
	ext  []*ir.Type  // by ID: 32-bit type whose extension the value is
	set  []bool      // by ID: computed in 32 bits
	low  map[*ir.Value]*ir.Value
	repl *replacer
	out  []*ir.Value             // of the block being rewritten
	half map[*ir.Value]*ir.Value // low halves taken in this block
	at   *ir.Block
}

// wideUse is a use of a 64-bit integer: operand number arg of user, or the
// parameter user of a block.
type wideUse struct {
	user *ir.Value // nil: the end of the function
	arg  int
}

func isWide(t *ir.Type) bool { return t.IsInt() && t.Bits() == 64 }

func newNarrower(f *ir.Func, small bool) *narrower {
	n := &narrower{f: f, r: analysis.NewRanges(f, small), low: map[*ir.Value]*ir.Value{}, repl: newReplacer(f)}
	n.uses = make([][]wideUse, f.NumValues())
	n.kind, n.ext = make([]*ir.Type, f.NumValues()), make([]*ir.Type, f.NumValues())
	n.set = make([]bool, f.NumValues())
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			for i, a := range v.Args {
				n.use(a, wideUse{v, i})
			}
		}
		for _, a := range b.Term.Args {
			n.use(a, wideUse{})
		}
		for _, e := range b.Term.Succs {
			for i, a := range e.Args {
				n.use(a, wideUse{e.To.Params[i], -1})
			}
		}
	}
	return n
}

func (n *narrower) use(v *ir.Value, u wideUse) {
	if isWide(v.Type) {
		n.uses[v.ID] = append(n.uses[v.ID], u)
	}
}

func (n *narrower) run() {
	if !n.choose() {
		return
	}
	fresh := map[*ir.Value]bool{} // parameters that were narrowed
	for _, b := range n.r.Dom.Order {
		n.begin(b)
		for i, p := range b.Params {
			if n.set[p.ID] {
				q := n.f.NewValue(ir.OpBlockParam, ir.U32)
				q.Block, q.Pos = b, p.Pos
				b.Params[i], fresh[q] = q, true
				n.define(p, q)
			}
		}
		for _, v := range b.Instrs {
			n.rewrite(v)
		}
		b.Instrs = n.out
	}
	for _, b := range n.r.Dom.Order {
		n.begin(b)
		n.out = b.Instrs
		for _, e := range b.Term.Succs {
			for i, p := range e.To.Params {
				if fresh[p] {
					e.Args[i] = n.lowOf(e.Args[i])
				}
			}
		}
		b.Instrs = n.out
	}
	n.repl.apply(n.f)
}

func (n *narrower) begin(b *ir.Block) {
	n.at, n.out, n.half = b, make([]*ir.Value, 0, len(b.Instrs)+8), map[*ir.Value]*ir.Value{}
}

// choose finds what to compute in 32 bits: first everything that could be, then
// less until each value that does not fit is only used by its low half.
func (n *narrower) choose() bool {
	var list []*ir.Value
	any := false
	consider := func(v *ir.Value) {
		switch {
		case lowBits(v) && !n.addressOnly(v):
			n.set[v.ID], n.ext[v.ID] = true, half(n.r.Of(v))
			list = append(list, v)
		case byRange(v):
			n.kind[v.ID] = n.kindOf(v)
			if n.set[v.ID] = n.kind[v.ID] != nil && isWide(v.Type); n.set[v.ID] {
				if n.ext[v.ID] = half(n.r.Of(v)); n.ext[v.ID] == nil {
					n.ext[v.ID] = n.kind[v.ID]
				}
			}
			any = any || n.kind[v.ID] != nil
		}
	}
	for _, b := range n.r.Dom.Order {
		for _, p := range b.Params {
			consider(p)
		}
		for _, v := range b.Instrs {
			consider(v)
		}
	}
	for again := true; again; {
		again = false
		for _, v := range list {
			if n.set[v.ID] && n.ext[v.ID] == nil && n.wanted(v) {
				n.set[v.ID], again = false, true
			}
		}
	}
	for _, v := range list {
		any = any || n.set[v.ID]
	}
	return any
}

// lowBits reports whether the low half of the result of v depends on the low
// halves of its operands alone.
func lowBits(v *ir.Value) bool {
	if !isWide(v.Type) {
		return false
	}
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpNeg, ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpAndNot, ir.OpNot, ir.OpShl, ir.OpSelect, ir.OpBlockParam:
		return true
	case ir.OpConvert, ir.OpBitcast:
		return isWide(v.Args[0].Type)
	}
	return false
}

// byRange reports whether v can be computed in 32 bits if its operands fit.
func byRange(v *ir.Value) bool {
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe, ir.OpDiv, ir.OpRem, ir.OpMin, ir.OpMax, ir.OpShr:
		return isWide(v.Args[0].Type)
	case ir.OpConvert:
		return isWide(v.Args[0].Type) && v.Type.IsFloat()
	}
	return false
}

// addressOnly reports whether v adds a constant to an index, which costs
// nothing as part of an address.
func (n *narrower) addressOnly(v *ir.Value) bool {
	if v.Op != ir.OpAdd || !v.Args[1].IsConst() {
		return false
	}
	for _, u := range n.uses[v.ID] {
		if u.user == nil || u.user.Op != ir.OpIndex && u.user.Op != ir.OpOffset {
			return false
		}
	}
	return true
}

// half returns the 32-bit type whose extensions the values of x are, nil if
// there is none.
func half(x analysis.Interval) *ir.Type {
	switch {
	case x.Within(analysis.Int32): // products of signed values have an instruction to themselves
		return ir.I32
	case x.Lo >= 0 && x.Hi <= math.MaxUint32:
		return ir.U32
	}
	return nil
}

// kindOf returns the type in which v computes the same, nil if there is none.
func (n *narrower) kindOf(v *ir.Value) *ir.Type {
	args := v.Args
	if v.Op == ir.OpShr {
		args = args[:1]
	}
	all := n.r.At(args[0], v.Block)
	for _, a := range args[1:] {
		all = all.Union(n.r.At(a, v.Block))
	}
	t := half(all)
	if t != nil && all.NonNegative() {
		t = ir.U32 // divides faster
	}
	if t == ir.I32 && (v.Op == ir.OpDiv && all.Lo == math.MinInt32 || args[0].Type == ir.U64) {
		return nil // MinInt32 / -1 does not fit; negative numbers are large in u64
	}
	return t
}

// wanted reports whether the upper half of v is used.
func (n *narrower) wanted(v *ir.Value) bool {
	for _, u := range n.uses[v.ID] {
		switch {
		case u.user == nil:
			return true
		case u.user.Op == ir.OpConvert && u.user.Type.IsInt() && !isWide(u.user.Type):
		case n.kind[u.user.ID] != nil && !(u.user.Op == ir.OpShr && u.arg == 1):
		case n.set[u.user.ID] && n.kind[u.user.ID] == nil && !(u.user.Op == ir.OpShl && u.arg == 1):
		default:
			return true
		}
	}
	return false
}

func (n *narrower) add(op ir.Op, t *ir.Type, pos int, args ...*ir.Value) *ir.Value {
	v := n.f.NewValue(op, t, args...)
	v.Block, v.Pos = n.at, pos
	n.out = append(n.out, v)
	return v
}

// define makes q, of a 32-bit type, the low half of v, and extends it for the
// users that want all of v.
func (n *narrower) define(v, q *ir.Value) {
	n.low[v] = n.as(ir.U32, q)
	if t := n.ext[v.ID]; t != nil {
		n.repl.set(v, n.add(ir.OpConvert, v.Type, v.Pos, n.as(t, q)))
	}
}

// as gives a 32-bit integer another type.
func (n *narrower) as(t *ir.Type, v *ir.Value) *ir.Value {
	if v.Type == t {
		return v
	}
	return n.add(ir.OpConvert, t, v.Pos, v)
}

// lowOf returns the low half of a 64-bit integer.
func (n *narrower) lowOf(v *ir.Value) *ir.Value {
	if q := n.low[v]; q != nil {
		return q
	}
	if q := n.half[v]; q != nil {
		return q
	}
	var q *ir.Value
	switch {
	case v.IsConst():
		q = n.add(ir.OpConst, ir.U32, v.Pos)
		q.Imm = ir.Normalize(ir.U32, v.Imm)
	case v.Op == ir.OpConvert && v.Args[0].Type.IsInt() && v.Args[0].Type.Bits() <= 32:
		q = n.as(ir.U32, v.Args[0])
	default:
		q = n.add(ir.OpConvert, ir.U32, v.Pos, v)
	}
	n.half[v] = q
	return q
}

// rewrite appends what v becomes.
func (n *narrower) rewrite(v *ir.Value) {
	switch {
	case v.ID >= len(n.set):
		n.out = append(n.out, v)
	case n.kind[v.ID] != nil:
		n.inRange(v)
	case n.set[v.ID] && (v.Op == ir.OpConvert || v.Op == ir.OpBitcast):
		n.define(v, n.lowOf(v.Args[0]))
	case n.set[v.ID]:
		args := make([]*ir.Value, len(v.Args))
		for i, a := range v.Args {
			if args[i] = a; isWide(a.Type) && !(v.Op == ir.OpShl && i == 1) {
				args[i] = n.lowOf(a)
			}
		}
		n.define(v, n.add(v.Op, ir.U32, v.Pos, args...))
	case v.Op == ir.OpConvert && v.Type.IsInt() && !isWide(v.Type) && isWide(v.Args[0].Type) && n.low[v.Args[0]] != nil:
		if q := n.low[v.Args[0]]; q.Type == v.Type {
			n.repl.set(v, q)
		} else {
			v.Args[0] = q
			n.out = append(n.out, v)
		}
	default:
		n.out = append(n.out, v)
	}
}

// inRange rewrites an operation whose operands fit.
func (n *narrower) inRange(v *ir.Value) {
	t := n.kind[v.ID]
	args := make([]*ir.Value, len(v.Args))
	for i, a := range v.Args {
		if args[i] = a; !(v.Op == ir.OpShr && i == 1) {
			args[i] = n.as(t, n.lowOf(a))
		}
	}
	if isWide(v.Type) {
		n.define(v, n.add(v.Op, t, v.Pos, args...))
		return
	}
	v.Args = args
	n.out = append(n.out, v)
}
