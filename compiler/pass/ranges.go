package pass

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/ir"
)

// interval is a range of integers, both ends included. For u64 it speaks of the
// value as int64, so that only ranges below 2^63 say anything.
type interval struct{ lo, hi int64 }

func point(x int64) interval { return interval{x, x} }

func (r interval) union(s interval) interval { return interval{min(r.lo, s.lo), max(r.hi, s.hi)} }

// meet intersects; contradicting facts, which dead code has, leave r alone.
func (r interval) meet(s interval) interval {
	if m := (interval{max(r.lo, s.lo), min(r.hi, s.hi)}); m.lo <= m.hi {
		return m
	}
	return r
}

func (r interval) within(s interval) bool { return s.lo <= r.lo && r.hi <= s.hi }

func (r interval) nonNegative() bool { return r.lo >= 0 }

// typeRange returns the values of an integer type.
func typeRange(t *ir.Type) interval {
	switch {
	case t.Bits() == 64:
		return interval{math.MinInt64, math.MaxInt64}
	case t.IsSigned():
		hi := int64(1)<<(t.Bits()-1) - 1
		return interval{-hi - 1, hi}
	}
	return interval{0, int64(1)<<t.Bits() - 1}
}

// Limits that hold on every target; they only have to be small enough for
// products of them not to wrap.
const (
	maxThreads = 1 << 16 // threads in a block
	maxGrid    = 1 << 31 // blocks along an axis
	maxLen     = 1 << 56 // elements of a slice: addresses have 57 bits at most
)

var word = interval{math.MinInt32, math.MaxInt32}

// ranges computes intervals of integer values, on demand.
type ranges struct {
	f       *ir.Func
	in      [][]edge
	dom     *ir.DomTree
	loops   []*loop
	memo    []interval // by value ID
	state   []uint8    // by value ID: 0 unknown, 1 in progress, 2 known
	len     []bool     // by parameter index: the length of a slice
	whole   []bool     // by parameter index: an int
	small   bool
	slicing *slicing
	done    []int // IDs of known values in the order in which they became known
	tries   int   // suppositions left
}

// newRanges prepares the analysis of f; small says that launches keep to the
// limits of small variants.
func newRanges(f *ir.Func, small bool) *ranges {
	r := &ranges{f: f, in: inEdges(f), small: small, tries: maxTries, slicing: newSlicing(f)}
	r.dom = ir.Dominators(f)
	r.loops = findLoops(f, r.in)
	r.memo, r.state = make([]interval, f.NumValues()), make([]uint8, f.NumValues())
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

// of returns the range of integer v wherever it is used.
func (r *ranges) of(v *ir.Value) interval {
	switch {
	case v.IsConst():
		return point(int64(v.Imm))
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

func (r *ranges) know(v *ir.Value, x interval) {
	r.memo[v.ID], r.state[v.ID] = x, 2
	r.done = append(r.done, v.ID)
}

// forget drops what became known after mark.
func (r *ranges) forget(mark int) {
	for _, id := range r.done[mark:] {
		r.state[id] = 0
	}
	r.done = r.done[:mark]
}

func (r *ranges) compute(v *ir.Value) interval {
	all := typeRange(v.Type)
	switch v.Op {
	case ir.OpParam:
		switch {
		case r.len[v.Imm] && r.small:
			return interval{0, ir.SmallLen - 1}
		case r.len[v.Imm]:
			return interval{0, maxLen}
		case r.whole[v.Imm] && r.small:
			return interval{1 - ir.SmallLen, ir.SmallLen - 1}
		}
	case ir.OpThread, ir.OpLane, ir.OpWarp:
		return interval{0, maxThreads - 1}
	case ir.OpBlockDim, ir.OpWarpSize:
		return interval{1, maxThreads}
	case ir.OpBlock:
		return interval{0, r.maxBlocks() - 1}
	case ir.OpGridDim:
		return interval{1, r.maxBlocks()}
	case ir.OpSelect:
		return r.of(v.Args[1]).union(r.of(v.Args[2]))
	case ir.OpConvert:
		if from := v.Args[0].Type; from.IsInt() {
			x := r.of(v.Args[0])
			if from.Bits() == 64 && !from.IsSigned() && !x.nonNegative() {
				return all // perhaps above MaxInt64
			}
			if v.Type == ir.U64 && !x.nonNegative() {
				return all
			}
			if x.within(all) {
				return x
			}
		}
	case ir.OpPopcount, ir.OpClz, ir.OpCtz:
		return interval{0, int64(v.Type.Bits())}
	case ir.OpBlockParam:
		return r.param(v)
	default:
		if x, ok := r.resliced(v); ok {
			return x
		}
		if len(v.Args) == 2 && v.Op.Pure() && v.Type.IsInt() {
			if v.Op == ir.OpAdd && v.Block != nil { // what a guard says of a counter holds for the next
				x := r.spanned(v.Args[0], v, r.at(v.Args[0], v.Block))
				return r.binary(v, x, r.at(v.Args[1], v.Block))
			}
			return r.binary(v, r.of(v.Args[0]), r.of(v.Args[1]))
		}
	}
	return all
}

func (r *ranges) maxBlocks() int64 {
	if r.small {
		return ir.SmallBlocks
	}
	return maxGrid
}

// threads returns the range of a product that counts threads: those of a block
// over its axes, and in a small grid those along an axis.
func (r *ranges) threads(v *ir.Value) (interval, bool) {
	var list [maxFactors + 2]*ir.Value
	factors := factorsOf(v, list[:0])
	x, axes := interval{1, 1}, [3]int{}
	used := 0
	for i, d := range factors {
		if d.Op != ir.OpBlockDim {
			continue
		}
		if j := r.blocksAlong(d.Imm, factors); r.small && j >= 0 && used == 0 {
			x = interval{0, ir.SmallThreads - 1}
			if factors[j].Op == ir.OpGridDim {
				x = interval{1, ir.SmallThreads}
			}
			factors[i], factors[j] = nil, nil
			return r.times(x, factors)
		}
		if axes[d.Imm]++; axes[d.Imm] == 1 {
			x, factors[i] = interval{1, maxThreads}, nil
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
func (r *ranges) blocksAlong(axis uint64, factors []*ir.Value) int {
	for j, b := range factors {
		if b != nil && (b.Op == ir.OpBlock || b.Op == ir.OpGridDim) && b.Imm == axis {
			return j
		}
	}
	return -1
}

// times multiplies x by the factors that are not nil.
func (r *ranges) times(x interval, factors []*ir.Value) (interval, bool) {
	for _, f := range factors {
		if f == nil {
			continue
		}
		var ok bool
		if x, ok = mulRange(x, r.of(f)); !ok {
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

func (r *ranges) binary(v *ir.Value, x, y interval) interval {
	all := typeRange(v.Type)
	unsigned64 := v.Type == ir.U64
	if unsigned64 && !(x.nonNegative() && y.nonNegative()) {
		return largeRange(v, x, y)
	}
	z, ok := all, true
	switch v.Op {
	case ir.OpAdd:
		if threadIndex(v) {
			return interval{0, maxThreads - 1}
		}
		z, ok = addRange(x, y)
	case ir.OpSub:
		if y.lo == math.MinInt64 {
			return all
		}
		z, ok = addRange(x, interval{-y.hi, -y.lo})
		ok = ok && !(unsigned64 && z.lo < 0)
	case ir.OpMul:
		if v.Type == ir.I64 {
			if z, ok := r.threads(v); ok {
				return z
			}
		}
		z, ok = mulRange(x, y)
	case ir.OpDiv:
		if x.nonNegative() && y.nonNegative() { // x/0 = 0
			z = interval{x.lo / max(y.hi, 1), x.hi / max(y.lo, 1)}
			if y.lo == 0 {
				z.lo = 0
			}
		}
	case ir.OpRem:
		z = remRange(x, y, all)
	case ir.OpMin:
		z = interval{min(x.lo, y.lo), min(x.hi, y.hi)}
	case ir.OpMax:
		z = interval{max(x.lo, y.lo), max(x.hi, y.hi)}
	default:
		z = bitRange(v.Op, x, y, all)
	}
	if !ok || !z.within(all) {
		return all
	}
	return z
}

// largeRange handles u64 operands that may be 2^63 or more.
func largeRange(v *ir.Value, x, y interval) interval {
	all := typeRange(v.Type)
	switch {
	case (v.Op == ir.OpAnd || v.Op == ir.OpMin) && x.nonNegative():
		return interval{0, x.hi}
	case (v.Op == ir.OpAnd || v.Op == ir.OpMin) && y.nonNegative():
		return interval{0, y.hi}
	case v.Op == ir.OpRem && y.lo > 0:
		return interval{0, y.hi - 1}
	case v.Op == ir.OpShr && y.lo > 0 && y.lo < 64:
		return interval{0, math.MaxInt64 >> (y.lo - 1)}
	}
	return all
}

func addRange(x, y interval) (interval, bool) {
	z := interval{x.lo + y.lo, x.hi + y.hi}
	ok := (z.lo < x.lo) == (y.lo < 0) && (z.hi < x.hi) == (y.hi < 0)
	return z, ok
}

func mulRange(x, y interval) (interval, bool) {
	if !x.nonNegative() || !y.nonNegative() {
		return x, false
	}
	hi, lo := bits.Mul64(uint64(x.hi), uint64(y.hi))
	return interval{x.lo * y.lo, int64(lo)}, hi == 0 && int64(lo) >= 0
}

func remRange(x, y, all interval) interval {
	switch {
	case !x.nonNegative():
		return all
	case y.lo > 0: // the result is less than y and not more than x
		return interval{0, min(x.hi, y.hi-1)}
	}
	return interval{0, x.hi}
}

func bitRange(op ir.Op, x, y, all interval) interval {
	mask := func(r interval) int64 { return int64(1)<<bits.Len64(uint64(r.hi)) - 1 }
	switch op {
	case ir.OpAnd:
		switch {
		case x.nonNegative() && y.nonNegative():
			return interval{0, min(x.hi, y.hi)}
		case x.nonNegative():
			return interval{0, x.hi}
		case y.nonNegative():
			return interval{0, y.hi}
		}
	case ir.OpOr, ir.OpXor:
		if x.nonNegative() && y.nonNegative() {
			return interval{0, mask(x) | mask(y)}
		}
	case ir.OpAndNot:
		if x.nonNegative() {
			return interval{0, x.hi}
		}
	case ir.OpShr:
		if x.nonNegative() && y.nonNegative() {
			return interval{x.lo >> min(y.hi, 63), x.hi >> min(y.lo, 63)}
		}
	case ir.OpShl:
		if y.nonNegative() && y.hi < 62 {
			if z, ok := mulRange(x, interval{1 << y.lo, 1 << y.hi}); ok {
				return z
			}
		}
	}
	return all
}

// param returns the range of a block parameter: what its edges bring, and for
// the counter of a loop what its start, step and guard allow.
func (r *ranges) param(v *ir.Value) interval {
	all := typeRange(v.Type)
	if !v.Type.IsInt() {
		return all
	}
	i := paramIndex(v)
	if l := r.headed(v.Block); l != nil {
		mark := len(r.done)
		x := r.counter(v, i, l)
		if v.Type == ir.I64 && !x.within(word) {
			r.forget(mark) // it was found without knowing v
			if y, ok := r.suppose(v, i, l); ok {
				return y
			}
		}
		return x
	}
	return r.incoming(i, r.in[v.Block.ID], all)
}

func paramIndex(v *ir.Value) int {
	for i, p := range v.Block.Params {
		if p == v {
			return i
		}
	}
	return -1
}

func (r *ranges) incoming(i int, in []edge, all interval) interval {
	if len(in) == 0 {
		return all
	}
	x := r.at(in[0].args()[i], in[0].from)
	for _, e := range in[1:] {
		x = x.union(r.at(e.args()[i], e.from))
	}
	return x
}

func (r *ranges) headed(b *ir.Block) *loop {
	for _, l := range r.loops {
		if l.header == b {
			return l
		}
	}
	return nil
}

// counter returns the range of header parameter i of l when every way around
// the loop adds to it something of one sign, under a guard that keeps the sum
// from wrapping.
func (r *ranges) counter(p *ir.Value, i int, l *loop) interval {
	all := typeRange(p.Type)
	x := r.incoming(i, l.entries, all)
	var tested []interval // steps that a test behind them keeps from wrapping
	for _, e := range l.latches {
		a := e.args()[i]
		if a == p {
			continue
		}
		step, ok := r.step(a, p)
		if !ok {
			return all
		}
		g := r.guard(p, a.Block) // p where the step is taken
		next, ok := addRange(g, step)
		if top := r.onEdge(a, e, all).hi; step.lo >= 0 && top < all.hi && p.Type != ir.U64 && !(ok && next.hi <= top) {
			x.hi = max(x.hi, top)
			tested = append(tested, step)
			continue
		}
		if !ok || !next.within(all) || p.Type == ir.U64 && (!x.nonNegative() || step.lo < 0) {
			return all
		}
		if step.lo < 0 { // the counter can fall, but not below this
			x.lo = min(x.lo, next.lo)
		}
		if step.hi > 0 {
			x.hi = max(x.hi, next.hi)
		}
	}
	for _, step := range tested {
		if next, ok := addRange(x, step); !ok || !next.within(all) {
			return all
		}
	}
	return x
}

// onEdge intersects x with what is known of v where the edge e is taken: that it
// passed the test at its start.
func (r *ranges) onEdge(v *ir.Value, e edge, x interval) interval {
	if t := &e.from.Term; t.Kind == ir.TermBranch && t.Succs[0].To != t.Succs[1].To {
		known(t.Args[0], e.succ == 0, func(cond *ir.Value, truth bool) { x = r.apply(v, cond, truth, e.from, x) })
	}
	return r.narrow(v, e.from, x)
}

// maxTries bounds how often a function's loops are looked at again.
const maxTries = 48

// suppose looks for a range of 32 bits that header parameter i of l enters with
// and that no turn of the loop leaves, given that the turn began in it.
func (r *ranges) suppose(p *ir.Value, i int, l *loop) (interval, bool) {
	x := r.incoming(i, l.entries, typeRange(p.Type))
	for _, y := range []interval{{0, math.MaxInt32}, {0, math.MaxUint32}, word} {
		if !x.within(y) {
			continue
		}
		if r.tries--; r.tries < 0 {
			return x, false
		}
		mark := len(r.done)
		r.memo[p.ID], r.state[p.ID] = y, 2
		kept := true
		for _, e := range l.latches {
			a := e.args()[i]
			kept = kept && r.onEdge(a, e, r.of(a)).within(y)
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
func (r *ranges) step(a, p *ir.Value) (interval, bool) {
	sum := interval{}
	for k := range 2 * partialCopies {
		if a.Op != ir.OpAdd || a.ID >= len(r.state) {
			break
		}
		from, by := a.Args[0], a.Args[1]
		if by == p {
			from, by = by, from
		}
		s := r.of(by)
		var ok bool
		if sum, ok = addRange(sum, s); !ok || s.lo < 0 && (k > 0 || from != p) {
			break // a part might wrap where the sum does not
		}
		if from == p {
			return sum, true
		}
		a = from
	}
	return interval{}, false
}

// guard returns what the branches above block b say of p alone.
func (r *ranges) guard(p *ir.Value, b *ir.Block) interval {
	return r.narrow(p, b, typeRange(p.Type))
}

// at returns the range of v in block b.
func (r *ranges) at(v *ir.Value, b *ir.Block) interval { return r.narrow(v, b, r.of(v)) }

const factLevels = 24 // how far up the dominator tree facts are looked for

// narrow intersects x with what dominating branches and bounds checks say of v.
func (r *ranges) narrow(v *ir.Value, b *ir.Block, x interval) interval {
	if v.IsConst() {
		return x
	}
	r.facts(b, func(cond *ir.Value, truth bool) {
		x = r.apply(v, cond, truth, b, x)
	})
	return r.spannedIn(v, b, x)
}

// facts calls yield with the conditions known at the start of b.
func (r *ranges) facts(b *ir.Block, yield func(cond *ir.Value, truth bool)) {
	for range factLevels {
		if b == nil {
			return
		}
		if in := r.in[b.ID]; len(in) == 1 && in[0].from.Term.Kind == ir.TermBranch {
			known(in[0].from.Term.Args[0], in[0].succ == 0, yield)
		}
		b = r.dom.Idom(b)
	}
}

// known takes conjunctions apart.
func known(cond *ir.Value, truth bool, yield func(*ir.Value, bool)) {
	switch {
	case cond.Op == ir.OpNot:
		known(cond.Args[0], !truth, yield)
	case cond.Op == ir.OpAnd && truth, cond.Op == ir.OpOr && !truth:
		known(cond.Args[0], truth, yield)
		known(cond.Args[1], truth, yield)
	default:
		yield(cond, truth)
	}
}

// comparison returns the comparison that holds, with v on its left.
func comparison(v, cond *ir.Value, truth bool) (ir.Op, *ir.Value) {
	op := cond.Op
	if _, ok := inverse[op]; !ok || !cond.Args[0].Type.IsInt() {
		return ir.OpInvalid, nil
	}
	if !truth {
		op = inverse[op]
	}
	switch v {
	case cond.Args[0]:
		return op, cond.Args[1]
	case cond.Args[1]:
		if m, ok := mirrored[op]; ok {
			op = m
		}
		return op, cond.Args[0]
	}
	return ir.OpInvalid, nil
}

// apply intersects x with what a condition that holds in block b says of v.
func (r *ranges) apply(v, cond *ir.Value, truth bool, b *ir.Block, x interval) interval {
	op, w := comparison(v, cond, truth)
	if w == nil {
		return r.applySum(v, cond, truth, x)
	}
	y := r.spannedIn(w, b, r.of(w))
	if v.Type == ir.U64 && !(x.nonNegative() && y.nonNegative()) {
		return x
	}
	switch op {
	case ir.OpEq:
		return x.meet(y)
	case ir.OpLt:
		if y.hi > math.MinInt64 {
			return x.meet(interval{math.MinInt64, y.hi - 1})
		}
	case ir.OpLe:
		return x.meet(interval{math.MinInt64, y.hi})
	case ir.OpGt:
		if y.lo < math.MaxInt64 {
			return x.meet(interval{y.lo + 1, math.MaxInt64})
		}
	case ir.OpGe:
		return x.meet(interval{y.lo, math.MaxInt64})
	}
	return x
}

// applySum is apply for a condition on v + s, where that does not wrap.
func (r *ranges) applySum(v, cond *ir.Value, truth bool, x interval) interval {
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
		op, w := comparison(sum, cond, truth)
		by := r.of(s)
		if _, ok := addRange(x, by); !ok || w == nil {
			continue
		}
		less, ok := addRange(r.of(w), interval{-by.hi, -by.lo})
		if by.lo == math.MinInt64 || !ok {
			continue
		}
		switch op {
		case ir.OpLt, ir.OpLe:
			return x.meet(interval{math.MinInt64, less.hi})
		case ir.OpGt, ir.OpGe:
			return x.meet(interval{less.lo, math.MaxInt64})
		}
	}
	return x
}
