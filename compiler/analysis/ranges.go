package analysis

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/ir"
)

// Interval is a range of integers, both ends included. For u64 it speaks of the
// value as int64, so that only ranges below 2^63 say anything.
type Interval struct{ Lo, Hi int64 }

func Point(x int64) Interval { return Interval{x, x} }

func (r Interval) Union(s Interval) Interval { return Interval{min(r.Lo, s.Lo), max(r.Hi, s.Hi)} }

// Meet intersects; contradicting facts, which dead code has, leave r alone.
func (r Interval) Meet(s Interval) Interval {
	if m := (Interval{max(r.Lo, s.Lo), min(r.Hi, s.Hi)}); m.Lo <= m.Hi {
		return m
	}
	return r
}

func (r Interval) Within(s Interval) bool { return s.Lo <= r.Lo && r.Hi <= s.Hi }

func (r Interval) NonNegative() bool { return r.Lo >= 0 }

// typeRange returns the values of an integer type.
func typeRange(t *ir.Type) Interval {
	switch {
	case t.Bits() == 64:
		return Interval{math.MinInt64, math.MaxInt64}
	case t.IsSigned():
		hi := int64(1)<<(t.Bits()-1) - 1
		return Interval{-hi - 1, hi}
	}
	return Interval{0, int64(1)<<t.Bits() - 1}
}

// Limits that hold on every target; they only have to be small enough for
// products of them not to wrap.
const (
	maxThreads = 1 << 16 // threads in a block
	maxGrid    = 1 << 31 // blocks along an axis
	MaxLen     = 1 << 56 // elements of a slice: addresses have 57 bits at most
)

// mostSteps bounds the additions to a counter that are followed in one iteration of an unrolled
// loop.
const mostSteps = 8

var Int32 = Interval{math.MinInt32, math.MaxInt32}

// Ranges computes intervals of integer values, on demand.
type Ranges struct {
	Func    *ir.Func
	In      [][]Edge
	Dom     *ir.DomTree
	Loops   []*Loop
	memo    []Interval // by value ID
	state   []uint8    // by value ID: 0 unknown, 1 in progress, 2 known
	len     []bool     // by parameter index: the length of a slice
	whole   []bool     // by parameter index: an int
	small   bool
	slicing *slicing
	done    []int // IDs of known values in the order in which they became known
	tries   int   // suppositions left
}

// NewRanges prepares the analysis of f; small says that launches keep to the
// limits of small variants.
func NewRanges(f *ir.Func, small bool) *Ranges {
	r := &Ranges{Func: f, In: InEdges(f), small: small, tries: maxTries, slicing: newSlicing(f)}
	r.Dom = ir.Dominators(f)
	r.Loops = Loops(f, r.In)
	r.memo, r.state = make([]Interval, f.NumValues()), make([]uint8, f.NumValues())
	r.len, r.whole = make([]bool, len(f.Params)), make([]bool, len(f.Params))
	i := 0
	for _, a := range f.Args {
		if a.Kind == ir.ArgSlice && i+1 < len(r.len) {
			r.len[i+1] = true
		}
		if a.Kind == ir.ArgScalar && a.Go == "int" && i < len(r.whole) {
			r.whole[i] = true
		}
		i += a.NumParams()
	}
	return r
}

// Of returns the range of integer v wherever it is used.
func (r *Ranges) Of(v *ir.Value) Interval {
	switch {
	case v.IsConst():
		return Point(int64(v.Imm))
	case v.ID >= len(r.state):
		return typeRange(v.Type)
	}
	switch r.state[v.ID] {
	case 1: // a cycle: nothing is known yet
		return typeRange(v.Type)
	case 2:
		return r.memo[v.ID]
	}
	r.state[v.ID] = 1
	x := r.compute(v)
	r.know(v, x)
	return x
}

func (r *Ranges) know(v *ir.Value, x Interval) {
	r.memo[v.ID], r.state[v.ID] = x, 2
	r.done = append(r.done, v.ID)
}

// forget drops what became known after mark.
func (r *Ranges) forget(mark int) {
	for _, id := range r.done[mark:] {
		r.state[id] = 0
	}
	r.done = r.done[:mark]
}

func (r *Ranges) compute(v *ir.Value) Interval {
	all := typeRange(v.Type)
	switch v.Op {
	case ir.OpParam:
		switch {
		case r.len[v.Imm] && r.small:
			return Interval{0, ir.SmallLen - 1}
		case r.len[v.Imm]:
			return Interval{0, MaxLen}
		case r.whole[v.Imm] && r.small:
			return Interval{1 - ir.SmallLen, ir.SmallLen - 1}
		}
	case ir.OpThread, ir.OpLane, ir.OpWarp:
		return Interval{0, maxThreads - 1}
	case ir.OpBlockDim, ir.OpWarpSize:
		return Interval{1, maxThreads}
	case ir.OpBlock:
		return Interval{0, r.maxBlocks() - 1}
	case ir.OpGridDim:
		return Interval{1, r.maxBlocks()}
	case ir.OpSelect:
		return r.Of(v.Args[1]).Union(r.Of(v.Args[2]))
	case ir.OpConvert:
		if from := v.Args[0].Type; from.IsInt() {
			x := r.Of(v.Args[0])
			if from.Bits() == 64 && !from.IsSigned() && !x.NonNegative() {
				return all // perhaps above MaxInt64
			}
			if v.Type == ir.U64 && !x.NonNegative() {
				return all
			}
			if x.Within(all) {
				return x
			}
		}
	case ir.OpPopcount, ir.OpClz, ir.OpCtz:
		return Interval{0, int64(v.Type.Bits())}
	case ir.OpBlockParam:
		return r.param(v)
	default:
		if x, ok := r.resliced(v); ok {
			return x
		}
		if len(v.Args) == 2 && v.Op.Pure() && v.Type.IsInt() {
			if v.Op == ir.OpAdd && v.Block != nil { // what a guard says of a counter holds for the next
				x := r.spanned(v.Args[0], v, r.At(v.Args[0], v.Block))
				return r.binary(v, x, r.At(v.Args[1], v.Block))
			}
			return r.binary(v, r.Of(v.Args[0]), r.Of(v.Args[1]))
		}
	}
	return all
}

func (r *Ranges) maxBlocks() int64 {
	if r.small {
		return ir.SmallBlocks
	}
	return maxGrid
}

// threads returns the range of a product that counts threads: those of a block
// over its axes, and in a small grid those along an axis.
func (r *Ranges) threads(v *ir.Value) (Interval, bool) {
	var list [maxFactors + 2]*ir.Value
	factors := factorsOf(v, list[:0])
	x, axes := Interval{1, 1}, [3]int{}
	used := 0
	for i, d := range factors {
		if d.Op != ir.OpBlockDim {
			continue
		}
		if j := r.blocksAlong(d.Imm, factors); r.small && j >= 0 && used == 0 {
			x = Interval{0, ir.SmallThreads - 1}
			if factors[j].Op == ir.OpGridDim {
				x = Interval{1, ir.SmallThreads}
			}
			factors[i], factors[j] = nil, nil
			return r.times(x, factors)
		}
		if axes[d.Imm]++; axes[d.Imm] == 1 {
			x, factors[i] = Interval{1, maxThreads}, nil
			used++
		}
	}
	if used < 2 {
		return x, false
	}
	return r.times(x, factors)
}

// blocksAlong returns the position of a factor that counts blocks along an
// axis, -1 if there is none.
func (r *Ranges) blocksAlong(axis uint64, factors []*ir.Value) int {
	for j, b := range factors {
		if b != nil && (b.Op == ir.OpBlock || b.Op == ir.OpGridDim) && b.Imm == axis {
			return j
		}
	}
	return -1
}

// times multiplies x by the factors that are not nil.
func (r *Ranges) times(x Interval, factors []*ir.Value) (Interval, bool) {
	for _, f := range factors {
		if f == nil {
			continue
		}
		var ok bool
		if x, ok = MulRange(x, r.Of(f)); !ok {
			return x, false
		}
	}
	return x, true
}

// threadIndex reports whether v is the number of a thread in its block, x
// fastest: (z·Y + y)·X + x.
func threadIndex(v *ir.Value) bool {
	row, ok := plus(v, ir.OpThread, 0)
	if !ok {
		return false
	}
	plane, ok := timesDim(row, 0)
	if !ok {
		return false
	}
	if plane, ok = plus(plane, ir.OpThread, 1); !ok {
		return false
	}
	z, ok := timesDim(plane, 1)
	return ok && z.Op == ir.OpThread && z.Imm == 2
}

// plus takes v = w + op axis apart.
func plus(v *ir.Value, op ir.Op, axis uint64) (w *ir.Value, ok bool) {
	return other(v, ir.OpAdd, op, axis)
}

// timesDim takes v = w · block dimension apart.
func timesDim(v *ir.Value, axis uint64) (w *ir.Value, ok bool) {
	return other(v, ir.OpMul, ir.OpBlockDim, axis)
}

func other(v *ir.Value, op, leaf ir.Op, axis uint64) (*ir.Value, bool) {
	if v.Op != op {
		return nil, false
	}
	for i, a := range v.Args {
		if a.Op == leaf && a.Imm == axis {
			return v.Args[1-i], true
		}
	}
	return nil, false
}

const maxFactors = 6

func factorsOf(v *ir.Value, list []*ir.Value) []*ir.Value {
	if v.Op == ir.OpMul && len(list) < maxFactors {
		return factorsOf(v.Args[1], factorsOf(v.Args[0], list))
	}
	return append(list, v)
}

func (r *Ranges) binary(v *ir.Value, x, y Interval) Interval {
	all := typeRange(v.Type)
	unsigned64 := v.Type == ir.U64
	if unsigned64 && !(x.NonNegative() && y.NonNegative()) {
		return largeRange(v, x, y)
	}
	z, ok := all, true
	switch v.Op {
	case ir.OpAdd:
		if threadIndex(v) {
			return Interval{0, maxThreads - 1}
		}
		z, ok = AddRange(x, y)
	case ir.OpSub:
		if y.Lo == math.MinInt64 {
			return all
		}
		z, ok = AddRange(x, Interval{-y.Hi, -y.Lo})
		ok = ok && !(unsigned64 && z.Lo < 0)
	case ir.OpMul:
		if v.Type == ir.I64 {
			if z, ok := r.threads(v); ok {
				return z
			}
		}
		z, ok = MulRange(x, y)
	case ir.OpDiv:
		if x.NonNegative() && y.NonNegative() { // x/0 = 0
			z = Interval{x.Lo / max(y.Hi, 1), x.Hi / max(y.Lo, 1)}
			if y.Lo == 0 {
				z.Lo = 0
			}
		}
	case ir.OpRem:
		z = remRange(x, y, all)
	case ir.OpMin:
		z = Interval{min(x.Lo, y.Lo), min(x.Hi, y.Hi)}
	case ir.OpMax:
		z = Interval{max(x.Lo, y.Lo), max(x.Hi, y.Hi)}
	default:
		z = bitRange(v.Op, x, y, all)
	}
	if !ok || !z.Within(all) {
		return all
	}
	return z
}

// largeRange handles u64 operands that may be 2^63 or more.
func largeRange(v *ir.Value, x, y Interval) Interval {
	all := typeRange(v.Type)
	switch {
	case (v.Op == ir.OpAnd || v.Op == ir.OpMin) && x.NonNegative():
		return Interval{0, x.Hi}
	case (v.Op == ir.OpAnd || v.Op == ir.OpMin) && y.NonNegative():
		return Interval{0, y.Hi}
	case v.Op == ir.OpRem && y.Lo > 0:
		return Interval{0, y.Hi - 1}
	case v.Op == ir.OpShr && y.Lo > 0 && y.Lo < 64:
		return Interval{0, math.MaxInt64 >> (y.Lo - 1)}
	}
	return all
}

func AddRange(x, y Interval) (Interval, bool) {
	z := Interval{x.Lo + y.Lo, x.Hi + y.Hi}
	ok := (z.Lo < x.Lo) == (y.Lo < 0) && (z.Hi < x.Hi) == (y.Hi < 0)
	return z, ok
}

func MulRange(x, y Interval) (Interval, bool) {
	if !x.NonNegative() || !y.NonNegative() {
		return x, false
	}
	hi, lo := bits.Mul64(uint64(x.Hi), uint64(y.Hi))
	return Interval{x.Lo * y.Lo, int64(lo)}, hi == 0 && int64(lo) >= 0
}

func remRange(x, y, all Interval) Interval {
	switch {
	case !x.NonNegative():
		return all
	case y.Lo > 0: // the result is less than y and not more than x
		return Interval{0, min(x.Hi, y.Hi-1)}
	}
	return Interval{0, x.Hi}
}

func bitRange(op ir.Op, x, y, all Interval) Interval {
	mask := func(r Interval) int64 { return int64(1)<<bits.Len64(uint64(r.Hi)) - 1 }
	switch op {
	case ir.OpAnd:
		switch {
		case x.NonNegative() && y.NonNegative():
			return Interval{0, min(x.Hi, y.Hi)}
		case x.NonNegative():
			return Interval{0, x.Hi}
		case y.NonNegative():
			return Interval{0, y.Hi}
		}
	case ir.OpOr, ir.OpXor:
		if x.NonNegative() && y.NonNegative() {
			return Interval{0, mask(x) | mask(y)}
		}
	case ir.OpAndNot:
		if x.NonNegative() {
			return Interval{0, x.Hi}
		}
	case ir.OpShr:
		if x.NonNegative() && y.NonNegative() {
			return Interval{x.Lo >> min(y.Hi, 63), x.Hi >> min(y.Lo, 63)}
		}
	case ir.OpShl:
		if y.NonNegative() && y.Hi < 62 {
			if z, ok := MulRange(x, Interval{1 << y.Lo, 1 << y.Hi}); ok {
				return z
			}
		}
	}
	return all
}

// param returns the range of a block parameter: what its edges bring, and for
// the counter of a loop what its start, step and guard allow.
func (r *Ranges) param(v *ir.Value) Interval {
	all := typeRange(v.Type)
	if !v.Type.IsInt() {
		return all
	}
	i := ParamIndex(v)
	if l := r.LoopAt(v.Block); l != nil {
		mark := len(r.done)
		x := r.counter(v, i, l)
		if v.Type == ir.I64 && !x.Within(Int32) {
			r.forget(mark) // it was found without knowing v
			if y, ok := r.suppose(v, i, l); ok {
				return y
			}
		}
		return x
	}
	return r.incoming(i, r.In[v.Block.ID], all)
}

func ParamIndex(v *ir.Value) int {
	for i, p := range v.Block.Params {
		if p == v {
			return i
		}
	}
	return -1
}

func (r *Ranges) incoming(i int, in []Edge, all Interval) Interval {
	if len(in) == 0 {
		return all
	}
	x := r.At(in[0].Args()[i], in[0].From)
	for _, e := range in[1:] {
		x = x.Union(r.At(e.Args()[i], e.From))
	}
	return x
}

func (r *Ranges) LoopAt(b *ir.Block) *Loop {
	for _, l := range r.Loops {
		if l.Header == b {
			return l
		}
	}
	return nil
}

// counter returns the range of header parameter i of l when every path around
// the loop adds to it something of one sign, under a guard that keeps the sum
// from wrapping.
func (r *Ranges) counter(p *ir.Value, i int, l *Loop) Interval {
	all := typeRange(p.Type)
	x := r.incoming(i, l.Entries, all)
	var tested []Interval // steps that a test behind them keeps from wrapping
	for _, e := range l.Latches {
		a := e.Args()[i]
		if a == p {
			continue
		}
		step, ok := r.step(a, p)
		if !ok {
			return all
		}
		g := r.guard(p, a.Block) // p where the step is taken
		next, ok := AddRange(g, step)
		if top := r.onEdge(a, e, all).Hi; step.Lo >= 0 && top < all.Hi && p.Type != ir.U64 && !(ok && next.Hi <= top) {
			x.Hi = max(x.Hi, top)
			tested = append(tested, step)
			continue
		}
		if !ok || !next.Within(all) || p.Type == ir.U64 && (!x.NonNegative() || step.Lo < 0) {
			return all
		}
		if step.Lo < 0 { // the counter can fall, but not below this
			x.Lo = min(x.Lo, next.Lo)
		}
		if step.Hi > 0 {
			x.Hi = max(x.Hi, next.Hi)
		}
	}
	for _, step := range tested {
		if next, ok := AddRange(x, step); !ok || !next.Within(all) {
			return all
		}
	}
	return x
}

// onEdge intersects x with what is known of v where the edge e is taken: that it
// passed the test at its start.
func (r *Ranges) onEdge(v *ir.Value, e Edge, x Interval) Interval {
	if t := &e.From.Term; t.Kind == ir.TermBranch && t.Succs[0].To != t.Succs[1].To {
		Conjuncts(t.Args[0], e.Succ == 0, func(cond *ir.Value, truth bool) { x = r.apply(v, cond, truth, e.From, x) })
	}
	return r.narrow(v, e.From, x)
}

// maxTries bounds how often a function's loops are looked at again.
const maxTries = 48

// suppose looks for a range of 32 bits that header parameter i of l enters with
// and that no iteration of the loop leaves, given that it began in it.
func (r *Ranges) suppose(p *ir.Value, i int, l *Loop) (Interval, bool) {
	x := r.incoming(i, l.Entries, typeRange(p.Type))
	for _, y := range []Interval{{0, math.MaxInt32}, {0, math.MaxUint32}, Int32} {
		if !x.Within(y) {
			continue
		}
		if r.tries--; r.tries < 0 {
			return x, false
		}
		mark := len(r.done)
		r.memo[p.ID], r.state[p.ID] = y, 2
		kept := true
		for _, e := range l.Latches {
			a := e.Args()[i]
			kept = kept && r.onEdge(a, e, r.Of(a)).Within(y)
		}
		if kept {
			return y, true
		}
		r.forget(mark)
		r.state[p.ID] = 1
	}
	return x, false
}

// step returns the range of s if a = p + s. Copies of a loop's body add to p one
// after the other.
func (r *Ranges) step(a, p *ir.Value) (Interval, bool) {
	sum := Interval{}
	for k := range mostSteps {
		if a.Op != ir.OpAdd || a.ID >= len(r.state) {
			break
		}
		from, by := a.Args[0], a.Args[1]
		if by == p {
			from, by = by, from
		}
		s := r.Of(by)
		var ok bool
		if sum, ok = AddRange(sum, s); !ok || s.Lo < 0 && (k > 0 || from != p) {
			break // a part might wrap where the sum does not
		}
		if from == p {
			return sum, true
		}
		a = from
	}
	return Interval{}, false
}

// guard returns what the branches above block b say of p alone.
func (r *Ranges) guard(p *ir.Value, b *ir.Block) Interval {
	return r.narrow(p, b, typeRange(p.Type))
}

// At returns the range of v in block b.
func (r *Ranges) At(v *ir.Value, b *ir.Block) Interval { return r.narrow(v, b, r.Of(v)) }

const factLevels = 24 // how far up the dominator tree facts are looked for

// narrow intersects x with what dominating branches and bounds checks say of v.
func (r *Ranges) narrow(v *ir.Value, b *ir.Block, x Interval) Interval {
	if v.IsConst() {
		return x
	}
	r.Facts(b, func(cond *ir.Value, truth bool) {
		x = r.apply(v, cond, truth, b, x)
	})
	return r.spannedIn(v, b, x)
}

// Facts calls yield with the conditions known at the start of b.
func (r *Ranges) Facts(b *ir.Block, yield func(cond *ir.Value, truth bool)) {
	for range factLevels {
		if b == nil {
			return
		}
		if in := r.In[b.ID]; len(in) == 1 && in[0].From.Term.Kind == ir.TermBranch {
			Conjuncts(in[0].From.Term.Args[0], in[0].Succ == 0, yield)
		}
		b = r.Dom.Idom(b)
	}
}

// Conjuncts takes conjunctions apart.
func Conjuncts(cond *ir.Value, truth bool, yield func(*ir.Value, bool)) {
	switch {
	case cond.Op == ir.OpNot:
		Conjuncts(cond.Args[0], !truth, yield)
	case cond.Op == ir.OpAnd && truth, cond.Op == ir.OpOr && !truth:
		Conjuncts(cond.Args[0], truth, yield)
		Conjuncts(cond.Args[1], truth, yield)
	default:
		yield(cond, truth)
	}
}

// ComparisonOf returns the comparison that holds, with v on its left.
func ComparisonOf(v, cond *ir.Value, truth bool) (ir.Op, *ir.Value) {
	op := cond.Op
	if _, ok := Inverse[op]; !ok || !cond.Args[0].Type.IsInt() {
		return ir.OpInvalid, nil
	}
	if !truth {
		op = Inverse[op]
	}
	switch v {
	case cond.Args[0]:
		return op, cond.Args[1]
	case cond.Args[1]:
		if m, ok := Mirrored[op]; ok {
			op = m
		}
		return op, cond.Args[0]
	}
	return ir.OpInvalid, nil
}

// apply intersects x with what a condition that holds in block b says of v.
func (r *Ranges) apply(v, cond *ir.Value, truth bool, b *ir.Block, x Interval) Interval {
	op, w := ComparisonOf(v, cond, truth)
	if w == nil {
		return r.applySum(v, cond, truth, x)
	}
	y := r.spannedIn(w, b, r.Of(w))
	if v.Type == ir.U64 && !(x.NonNegative() && y.NonNegative()) {
		return x
	}
	switch op {
	case ir.OpEq:
		return x.Meet(y)
	case ir.OpLt:
		if y.Hi > math.MinInt64 {
			return x.Meet(Interval{math.MinInt64, y.Hi - 1})
		}
	case ir.OpLe:
		return x.Meet(Interval{math.MinInt64, y.Hi})
	case ir.OpGt:
		if y.Lo < math.MaxInt64 {
			return x.Meet(Interval{y.Lo + 1, math.MaxInt64})
		}
	case ir.OpGe:
		return x.Meet(Interval{y.Lo, math.MaxInt64})
	}
	return x
}

// applySum is apply for a condition on v + s, where that does not wrap.
func (r *Ranges) applySum(v, cond *ir.Value, truth bool, x Interval) Interval {
	if v.Type != ir.I64 || len(cond.Args) != 2 {
		return x
	}
	for _, sum := range cond.Args {
		if sum.Op != ir.OpAdd || sum.Args[0] != v && sum.Args[1] != v || sum.Args[0] == sum.Args[1] {
			continue
		}
		s := sum.Args[0]
		if s == v {
			s = sum.Args[1]
		}
		op, w := ComparisonOf(sum, cond, truth)
		by := r.Of(s)
		if _, ok := AddRange(x, by); !ok || w == nil {
			continue
		}
		less, ok := AddRange(r.Of(w), Interval{-by.Hi, -by.Lo})
		if by.Lo == math.MinInt64 || !ok {
			continue
		}
		switch op {
		case ir.OpLt, ir.OpLe:
			return x.Meet(Interval{math.MinInt64, less.Hi})
		case ir.OpGt, ir.OpGe:
			return x.Meet(Interval{less.Lo, math.MaxInt64})
		}
	}
	return x
}

// RangesOf returns a function that gives the range of an integer in a block of f, both
// ends included, for the threads that get there.
func RangesOf(f *ir.Func) func(v *ir.Value, b *ir.Block) (lo, hi int64) {
	r := NewRanges(f, false)
	return func(v *ir.Value, b *ir.Block) (int64, int64) {
		x := r.At(v, b)
		return x.Lo, x.Hi
	}
}
