package interp

import (
	"fmt"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// site is a position in the code that accesses memory which threads share.
type site struct {
	kind   kind
	typ    *ir.Type // of what is accessed
	shared bool
	fused  bool // its address is a + b*imm
	pos    int32
}

// watch translates the look that a checked build takes at v: right before it, but
// after an atomic update, which only then has shown whether it wrote. Accesses to
// local and to constant memory need none.
func (l *lowerer) watch(v *ir.Value, k kind) {
	p := v.Args[0]
	if !l.m.Checked || p.Type.Space == ir.Local || p.Type.Space == ir.Constant {
		return
	}
	in := ins{how: special, f: watchAccess, d: int32(len(l.sites)), pos: int32(v.Pos)}
	s := site{kind: k, typ: p.Type.Elem, shared: p.Type.Space == ir.Shared, pos: in.pos}
	switch k {
	case plainRead, plainWrite:
		s.fused = l.address(p, &in)
	default:
		in.setA(l.ref(p))
	}
	switch k {
	case plainWrite, atomicWrite:
		in.setC(l.elem(v.Args[1]))
	case atomicUpdate:
		in.setC(l.array(v))
	}
	if v.Op == ir.OpAtomicCAS {
		in.f = watchCAS
		in.setB(l.elem(v.Args[1]))
	}
	l.sites = append(l.sites, s)
	l.emit(in)
}

// notice translates the look that a checked build takes after an operation which
// orders accesses.
func (l *lowerer) notice(f func(w *worker, in *ins)) {
	if l.m.Checked {
		l.emit(ins{how: special, f: f})
	}
}

func noticeBarrier(w *worker, _ *ins) { w.check.meet() }

func noticeWarps(w *worker, in *ins) {
	w.eachWarp(in, func(first int) { w.check.meetWarp(w.first + first) })
}

// noticeExchange is after shuffles and votes: they order no memory, but who gets a
// ticket that another lane has drawn may go by it.
func noticeExchange(w *worker, in *ins) {
	if !w.check.informed {
		return
	}
	w.eachWarp(in, func(first int) { w.check.share(w.first+first, w.first+first+w.p.warp) })
}

func noticeFence(w *worker, _ *ins)      { w.check.fenced, w.check.device = true, true }
func noticeFenceBlock(w *worker, _ *ins) { w.check.fenced = true }

// address returns the address that lane i accesses.
func (w *worker) address(in *ins, s *site, i int) uint64 {
	a := w.lane(in.a, in.aw, i)
	if s.fused {
		a += w.lane(in.b, in.bw, i) * in.imm
	}
	return a
}

// addresses returns what address does for all lanes from w.lo to w.hi, by lane.
func (w *worker) addresses(in *ins, s *site) []uint64 {
	out := w.check.addrs[:w.hi]
	if in.aw > 0 {
		copy(out[w.lo:], lanes[uint64](w.at(in.a), w.hi)[w.lo:])
	} else {
		p := (*[2]uint64)(w.at(in.a))
		for i := w.lo; i < w.hi; i++ {
			out[i] = p[0] + uint64(i)*p[1]
		}
	}
	switch {
	case s.fused && in.bw > 0:
		index := lanes[uint64](w.at(in.b), w.hi)
		for i := w.lo; i < w.hi; i++ {
			out[i] += index[i] * in.imm
		}
	case s.fused:
		dist := *(*uint64)(w.at(in.b)) * in.imm
		for i := w.lo; i < w.hi; i++ {
			out[i] += dist
		}
	}
	return out
}

// watchAccess looks at one access of each active lane.
func watchAccess(w *worker, in *ins) {
	c, s := w.check, &w.p.sites[in.d]
	c.attend(s)
	if s.kind == plainRead && in.aw == 0 && !s.fused && w.hi-w.lo > 1 {
		if _, step := w.pointer(in.a); step == 0 {
			// The first and the last lane stand for all that read one address: with one
			// of another warp or thread than the other, as note wants it.
			w.watchLane(in, s, s.kind, w.lo)
			w.watchLane(in, s, s.kind, w.hi-1)
			return
		}
	}
	addrs, size := w.addresses(in, s), uint64(s.typ.Size())
	if w.sparse {
		for _, i := range w.active() {
			if !c.quick(s.kind, addrs[i], size, newAccess(c.now, in.d, w.first+int(i))) {
				w.watchLane(in, s, s.kind, int(i))
			}
		}
		return
	}
	me := newAccess(c.now, in.d, w.first+w.lo)
	for i := w.lo; i < w.hi; i++ {
		if !c.quick(s.kind, addrs[i], size, me) {
			w.watchLane(in, s, s.kind, i)
		}
		me++ // the next thread
	}
}

// watchCAS looks at compare and swap, which writes if it found what it expected.
func watchCAS(w *worker, in *ins) {
	s := &w.p.sites[in.d]
	w.check.attend(s)
	old, dist := w.value(in.c, in.cw)
	want, wd := w.value(in.b, in.bw)
	each(w, func(i int) {
		k := atomicUpdate
		if bitsAt(unsafe.Add(old, i*dist), s.typ.Size()) != bitsAt(unsafe.Add(want, i*wd), s.typ.Size()) {
			k = atomicRead
		}
		w.watchLane(in, s, k, i)
	})
}

// attend says whose accesses come next.
func (c *checker) attend(s *site) { c.site, c.shared = s, s.shared }

// watchLane looks at the access of lane i.
func (w *worker) watchLane(in *ins, s *site, k kind, i int) {
	if w.err != nil {
		return
	}
	c, t, addr := w.check, w.first+i, w.address(in, s, i)
	if v := c.touch(k, addr, s.typ.Size(), newAccess(c.now, in.d, t)); v.bad() {
		w.reportAccess(in, s, i, v)
		return
	}
	if !k.atomic() {
		return
	}
	if k.reads() {
		c.acquire(addr, t)
	}
	if k.writes() {
		c.release(addr, t)
	}
}

func bitsAt(p unsafe.Pointer, size int) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

// checkSites fails for a kernel with more accesses than an access can name.
func (l *lowerer) checkSites() error {
	if len(l.sites) > maxSites {
		return fmt.Errorf("kernel %s has %d accesses to memory, a checked build can tell %d apart", l.g.f.Name, len(l.sites), maxSites)
	}
	return nil
}
