package interp

import "github.com/gokiln/kiln/compiler/ir"

// flights are the copies to shared memory that a checked build takes to be in flight: from the
// operation that begins one until its thread waits for it. (The interpreter makes them at once.)
// At the wait a copy is a write of its thread, so that a barrier which comes before does not
// order it.
type flights struct {
	copied map[uint64]access      // what began a copy, by each byte that it writes
	of     map[int]*threadFlights // by thread
}

// threadFlights are the copies of a thread.
type threadFlights struct {
	list   []flight // in the order of their groups
	groups int      // that the thread has made
}

type flight struct {
	addr  uint64
	size  int
	group int
	begun access
}

func (f *flights) beginBlock() {
	clear(f.copied)
	clear(f.of)
}

func (f *flights) thread(t int) *threadFlights {
	if f.of == nil {
		f.copied, f.of = map[uint64]access{}, map[int]*threadFlights{}
	}
	x := f.of[t]
	if x == nil {
		x = &threadFlights{}
		f.of[t] = x
	}
	return x
}

// begin notes a copy.
func (f *flights) begin(addr uint64, size int, a access) {
	t := f.thread(a.thread())
	t.list = append(t.list, flight{addr, size, t.groups, a})
	for i := range uint64(size) {
		f.copied[addr+i] = a
	}
}

// underWay returns what began a copy to one of the bytes, 0 if there is none.
func (f *flights) underWay(addr uint64, size int) access {
	for i := range uint64(size) {
		if a := f.copied[addr+i]; a != 0 {
			return a
		}
	}
	return 0
}

// land ends the copies of a thread but for those of its latest groups, and of no group yet.
func (c *checker) land(thread, groups int) {
	t := c.flights.thread(thread)
	n := 0
	for ; n < len(t.list) && t.list[n].group < t.groups-groups; n++ {
		f := &t.list[n]
		for i := range uint64(f.size) {
			delete(c.copied, f.addr+i)
		}
		c.touch(plainWrite, f.addr, f.size, newAccess(c.now, f.begun.site(), thread))
	}
	t.list = t.list[n:]
}

// watchCopy lowers the operations that track copies in flight, in checked builds.
func (l *lowerer) watchCopy(v *ir.Value) {
	if !l.m.Checked {
		return
	}
	in := ins{how: special, pos: int32(v.Pos)}
	switch v.Op {
	case ir.OpCopyBegun:
		p := v.Args[0]
		in.f, in.d = noticeCopy, int32(len(l.sites))
		in.setA(l.ref(p))
		in.imm = v.Imm * uint64(p.Type.Elem.Size())
		l.sites = append(l.sites, site{kind: plainWrite, typ: p.Type.Elem, shared: true, pos: in.pos})
	case ir.OpCopyCommit:
		in.f = noticeCommit
	case ir.OpCopyWait:
		in.f = noticeWait
	case ir.OpCopyGroups:
		in.f, in.imm = noticeGroups, v.Args[0].Imm
	}
	l.emit(in)
}

func noticeCopy(w *worker, in *ins) {
	s := &w.p.sites[in.d]
	each(w, func(i int) {
		w.check.begin(w.address(in, s, i), int(in.imm), newAccess(w.check.now, in.d, w.first+i))
	})
}

func noticeCommit(w *worker, _ *ins) {
	each(w, func(i int) { w.check.flights.thread(w.first+i).groups++ })
}

func noticeWait(w *worker, in *ins) {
	noticeCommit(w, in)
	noticeGroups(w, in)
}

// noticeGroups lands all groups but the latest in.imm, none for a wait for all.
func noticeGroups(w *worker, in *ins) {
	w.check.shared = true
	each(w, func(i int) { w.check.land(w.first+i, int(in.imm)) })
}
