package ptx

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// memop is a load or store of a scalar, as it takes part in vectors. An asynchronous
// copy is a store to shared memory of what it reads in global memory.
type memop struct {
	store bool
	copy  bool
	space ir.Space
	fixed bool   // what is read is memory that the kernel does not change
	near  bool   // such a load, of which others want the neighbours
	kind  string // type in memory, as in b32
	size  int    // bytes
	value frag   // loaded to, or stored
	at    addr
	from  addr // of a copy
	with  int  // instructions before that belong to it
}

// changes reports whether m may write what o reads or writes.
func (m *memop) changes(o *memop) bool {
	switch {
	case !m.store:
		return false
	case m.space == o.space:
		return o.store || !o.fixed
	}
	return o.copy && m.space == ir.Global && !o.fixed
}

// meets reports whether the order of the two may matter. That of copies does not: what
// one writes no other reads or writes until both are waited for.
func (m *memop) meets(o *memop) bool {
	return (m.changes(o) || o.changes(m)) && !(m.copy && o.copy)
}

// maxVector is the widest access of a thread in bytes.
const maxVector = 16

// vectorClass is what the elements of a vector have in common.
type vectorClass struct {
	order    order
	kind     string
	at, from frag // bases of the addresses
}

// order is what decides whether an access may change its place with others.
type order struct {
	store, copy, fixed bool
	space              ir.Space
}

func (m *memop) class() vectorClass {
	return vectorClass{order{m.store, m.copy, m.fixed, m.space}, m.kind, m.at.base, m.from.base}
}

// vectorise makes one instruction of loads, or stores, of neighbouring
// addresses with known alignment, within stretches of straight code. Loads move
// up to the first of them, and stores and asynchronous copies down to the last, so
// that a stretch of loads ends with a store to their space, and one of stores with
// any other access to it.
func (e *emitter) vectorise() {
	v := vectoriser{e: e, gone: make([]bool, len(e.insts)), vec: map[int][]inst{}}
	v.run()
}

func (v *vectoriser) run() {
	e := v.e
	v.reset()
	for i := range e.insts {
		in := &e.insts[i]
		switch m := in.mem; {
		case m == nil && in.effect, in.target != "":
			v.flush(v.all)
			v.reset()
		case m != nil:
			v.add(i, m)
		}
	}
	v.flush(v.all)
	if len(v.vec) == 0 {
		return
	}
	kept := make([]inst, 0, len(e.insts))
	for i := range e.insts {
		if list, ok := v.vec[i]; ok {
			kept = append(kept, list...)
		} else if !v.gone[i] {
			kept = append(kept, e.insts[i])
		}
	}
	e.insts = kept
}

// vectoriser keeps the accesses that may still become part of a vector by class, and classes
// by order, so that what an access costs does not grow with their number.
type vectoriser struct {
	e      *emitter
	all    []*stretch // in the order of their first accesses; some are flushed
	open   map[vectorClass]*stretch
	orders map[order][]*stretch // the open ones
	stored map[storedByte]int   // how many open stores write a byte
	gone   []bool
	vec    map[int][]inst // in place of an instruction
	looked int            // at how many stretches and bytes; tests bound it
}

// stretch is the open accesses of a class.
type stretch struct {
	class   vectorClass
	first   *memop
	list    []int // instructions
	flushed bool
}

type storedByte struct {
	base frag
	off  int64
}

func (v *vectoriser) reset() {
	v.all, v.open, v.orders, v.stored = nil, map[vectorClass]*stretch{}, map[order][]*stretch{}, map[storedByte]int{}
}

func (v *vectoriser) mem(i int) *memop { return v.e.insts[i].mem }

// add opens access i, and flushes those that must stay before it.
func (v *vectoriser) add(i int, m *memop) {
	c := m.class()
	over := v.overlaps(m)
	var end []*stretch
	for o, list := range v.orders {
		v.looked++
		if !list[0].first.meets(m) {
			continue
		}
		delete(v.orders, o)
		for _, s := range list {
			v.looked++
			if s.class == c && !over {
				v.orders[o] = []*stretch{s}
			} else {
				end = append(end, s)
			}
		}
	}
	slices.SortFunc(end, func(a, b *stretch) int { return a.list[0] - b.list[0] })
	v.flush(end)
	s := v.open[c]
	if s == nil {
		s = &stretch{class: c, first: m}
		v.open[c] = s
		v.all = append(v.all, s)
		v.orders[c.order] = append(v.orders[c.order], s)
	}
	s.list = append(s.list, i)
	v.count(m, 1)
}

// count counts the bytes that a store writes.
func (v *vectoriser) count(m *memop, by int) {
	if !m.store {
		return
	}
	for k := range int64(m.size) {
		v.looked++
		v.stored[storedByte{m.at.base, m.at.off + k}] += by
	}
}

// overlaps reports whether an access is of bytes that an open store writes.
func (v *vectoriser) overlaps(m *memop) bool {
	for k := range int64(m.size) {
		if v.stored[storedByte{m.at.base, m.at.off + k}] > 0 {
			return true
		}
	}
	return false
}

// flush makes vectors of the accesses of stretches.
func (v *vectoriser) flush(list []*stretch) {
	for _, s := range list {
		if s.flushed {
			continue
		}
		s.flushed = true
		delete(v.open, s.class)
		for _, i := range s.list {
			v.count(v.mem(i), -1)
		}
		group := s.list
		slices.SortStableFunc(group, func(a, b int) int { return cmp.Compare(v.mem(a).at.off, v.mem(b).at.off) })
		for len(group) > 1 {
			n := v.lanes(group)
			if n > 1 {
				v.join(group[:n])
			}
			group = group[n:]
		}
	}
}

// half is the type in memory of registers of 16 bits, two of which make one of 32 bits.
const half = "b16"

// most returns of how many elements a vector of such accesses can be: four, or
// eight halves. Copies have no elements, but bytes.
func (m *memop) most() int {
	switch {
	case m.copy:
		return maxVector / m.size
	case m.kind == half:
		return 8
	}
	return 4
}

// fits reports whether a vector of so many bytes may begin with m.
func (m *memop) fits(bytes int) bool {
	if m.copy && (bytes < minCopy || !m.from.multiple(bytes)) {
		return false
	}
	return bytes <= maxVector && m.at.multiple(bytes)
}

// lanes returns how many of the first accesses of the group make one vector.
func (v *vectoriser) lanes(group []int) int {
	first := v.mem(group[0])
	for n := first.most(); n > 1; n /= 2 {
		if n <= len(group) && first.fits(n*first.size) && v.adjacent(group[:n]) {
			return n
		}
	}
	return 1
}

// adjacent reports whether the accesses are neighbours, and can be written as a vector.
func (v *vectoriser) adjacent(group []int) bool {
	first := v.mem(group[0])
	for k, i := range group {
		m, far := v.mem(i), int64(k*first.size)
		if m.at.off != first.at.off+far || m.copy && m.from.off != first.from.off+far {
			return false
		}
		if len(group) > 4 && !m.copy && m.value.reg == 0 { // pairs are of registers
			return false
		}
	}
	return true
}

// join replaces the accesses, in order of address, by one.
func (v *vectoriser) join(group []int) {
	m := v.mem(group[0])
	if m.copy {
		v.joinCopies(group)
		return
	}
	var values []frag
	for _, i := range group {
		values = append(values, v.mem(i).value)
		v.gone[i] = true
	}
	at := slices.Min(group)
	if m.store {
		at = slices.Max(group)
	}
	pos, kind := v.e.insts[at].pos, m.kind
	var pairs []inst
	if len(values) > 4 {
		kind = "b32"
		values, pairs = v.pairs(values, m.store, pos)
	}
	in := inst{pos: pos}
	width := fmt.Sprintf(".v%d.%s ", len(values), kind)
	n := len(values)
	values = braced(values)
	if m.store {
		in.effect = true
		in.frags = append([]frag{text("st." + m.space.String() + width)}, m.at.frags(0)...)
		in.frags = append(append(in.frags, text(", ")), values...)
		v.vec[at] = append(pairs, in)
	} else {
		in.defs = n
		op := loadOpcode(m.space, m.fixed)
		if m.near && len(group)*m.size == maxVector {
			op += wholeLines
		}
		in.frags = append([]frag{text(op + width)}, values...)
		in.frags = append(append(in.frags, text(", ")), m.at.frags(0)...)
		v.vec[at] = append([]inst{in}, pairs...)
	}
}

// minCopy is the smallest asynchronous copy in bytes.
const minCopy = 4

// joinCopies is join for copies. Those of 16 bytes, and no others, can leave the first-level
// cache to what is read more than once.
func (v *vectoriser) joinCopies(group []int) {
	m := v.mem(group[0])
	for _, i := range group {
		for k := range m.with + 1 {
			v.gone[i-k] = true
		}
	}
	at, bytes, cache := slices.Max(group), len(group)*m.size, "ca"
	if bytes == maxVector {
		cache = "cg"
	}
	in := inst{effect: true, pos: v.e.insts[at].pos}
	in.frags = append([]frag{text("cp.async." + cache + ".shared.global ")}, m.at.frags(0)...)
	in.frags = append(append(in.frags, text(", ")), m.from.frags(0)...)
	in.frags = append(in.frags, text(", "), number(int64(bytes)))
	v.vec[at] = []inst{in}
}

// pairs returns registers for two halves each, and the moves that make them of halves to
// store or halves of what was loaded. Wider vectors than of four registers PTX does not have.
func (v *vectoriser) pairs(halves []frag, store bool, pos int) (words []frag, moves []inst) {
	for k := 0; k < len(halves); k += 2 {
		word, two := use(v.e.newReg(b32)), braced(halves[k:k+2])
		in := inst{pos: pos, frags: []frag{text("mov.b32 ")}}
		if store {
			in.defs = 1
			in.frags = append(append(in.frags, word, text(", ")), two...)
		} else {
			in.defs = 2
			in.frags = append(append(in.frags, two...), text(", "), word)
		}
		words, moves = append(words, word), append(moves, in)
	}
	return words, moves
}

// braced is a list of registers as PTX writes a vector.
func braced(list []frag) []frag {
	out := []frag{text("{")}
	for k, f := range list {
		if k > 0 {
			out = append(out, text(", "))
		}
		out = append(out, f)
	}
	return append(out, text("}"))
}

func loadOpcode(s ir.Space, fixed bool) string {
	if fixed {
		return "ld.global.nc"
	}
	return "ld." + s.String()
}

// note describes the load, store or copy v, whose instruction was just written, for
// vectorise, and says so if memory that is loaded does not change.
func (e *emitter) note(v *ir.Value) {
	switch v.Op {
	case ir.OpLoad, ir.OpStore:
		e.noteAccess(v)
	case ir.OpCopyAsync:
		e.noteCopy(v)
	}
}

func (e *emitter) noteCopy(v *ir.Value) {
	to, from := v.Args[0], v.Args[1]
	m := &memop{store: true, copy: true, space: ir.Shared, at: e.addressOf(to), from: e.addressOf(from), fixed: e.isFixed(from)}
	k := kindOf(to.Type.Elem)
	last := len(e.insts) - 1
	if m.kind, m.size = memType(k), to.Type.Elem.Size(); m.size < minCopy {
		m.with = 1 // a load before the store
		e.insts[last-1].loads(m.fixed)
	}
	e.insts[last].mem = m
}

func (e *emitter) noteAccess(v *ir.Value) {
	p, t := v.Args[0], v.Type
	m := &memop{store: v.Op == ir.OpStore, space: p.Type.Space, at: e.addressOf(p)}
	if m.store {
		t = v.Args[1].Type
	}
	at := len(e.insts) - 1
	if t.Kind == ir.KBool && !m.store {
		at-- // a comparison with zero follows
	}
	in := &e.insts[at]
	m.fixed = !m.store && e.isFixed(p)
	m.near = m.fixed && e.found != nil && !e.found[p.ID]
	in.loads(m.fixed)
	m.kind, m.size = memType(kindOf(t)), t.Size()
	if m.store {
		m.value = in.frags[len(in.frags)-1]
	} else {
		m.value = in.frags[1]
	}
	in.mem = m
}

// loads makes in, if it is so, a load of memory that does not change.
func (in *inst) loads(fixed bool) {
	if fixed {
		in.frags[0].text = "ld.global.nc" + strings.TrimPrefix(in.frags[0].text, "ld.global")
	}
}

// isFixed reports whether p points into a table, or into a slice that the kernel only reads and
// that overlaps no slice that it writes.
func (e *emitter) isFixed(p *ir.Value) bool {
	if p.Type.Space == ir.Constant {
		return true
	}
	if !e.opt.Disjoint || p.Type.Space != ir.Global {
		return false
	}
	for p.Op == ir.OpIndex || p.Op == ir.OpOffset || p.Op == ir.OpField {
		p = p.Args[0]
	}
	return p.Op == ir.OpParam && !e.written[p.Imm]
}

// factors returns, by value ID, how many of the low bits of an integer are
// known to be zero. It starts from the hope that all are and takes back what
// the operations do not bear out, so that counters of loops are covered.
func factors(f *ir.Func, order []*ir.Block) []uint8 {
	z := make([]uint8, f.NumValues())
	for i := range z {
		z[i] = 64
	}
	for _, p := range f.Params {
		z[p.ID] = 0
	}
	for again := true; again; {
		again = false
		lower := func(v *ir.Value, n uint8) {
			if n < z[v.ID] {
				z[v.ID], again = n, true
			}
		}
		for _, b := range order {
			for _, v := range b.Instrs {
				if v.Type.IsInt() {
					lower(v, factor(v, z))
				}
			}
			for _, e := range b.Term.Succs {
				for i, p := range e.To.Params {
					lower(p, z[e.Args[i].ID])
				}
			}
		}
	}
	return z
}

func factor(v *ir.Value, z []uint8) uint8 {
	arg := func(i int) uint8 { return z[v.Args[i].ID] }
	switch v.Op {
	case ir.OpConst:
		return uint8(bits.TrailingZeros64(v.Imm))
	case ir.OpAdd, ir.OpSub, ir.OpOr, ir.OpXor, ir.OpMin, ir.OpMax:
		return min(arg(0), arg(1))
	case ir.OpMul:
		return min(arg(0)+arg(1), 64)
	case ir.OpAnd:
		return max(arg(0), arg(1))
	case ir.OpShl:
		if c := v.Args[1]; c.IsConst() {
			return uint8(min(uint64(arg(0))+min(c.Imm, 64), 64))
		}
		return arg(0)
	case ir.OpShr:
		if c := v.Args[1]; c.IsConst() {
			return uint8(max(int64(arg(0))-int64(min(c.Imm, 64)), 0))
		}
	case ir.OpSelect:
		return min(arg(1), arg(2))
	case ir.OpNeg, ir.OpConvert:
		if v.Args[0].Type.IsInt() {
			return arg(0)
		}
	}
	return 0
}
