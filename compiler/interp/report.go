package interp

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// reportAccess fails the kernel for what lane i was about to do, or has done.
func (w *worker) reportAccess(in *ins, s *site, i int, v verdict) {
	r := report{w: w, c: w.check, in: in, s: s, lane: i, addr: w.address(in, s, i)}
	if v.copy != 0 {
		w.fail(in, i, "%s", r.early(v.copy))
		return
	}
	if v.unset {
		w.fail(in, i, "%s reads %s, which no thread of the block has written: the content of shared memory is undefined when a block starts",
			lineOf(s), r.place())
		return
	}
	w.fail(in, i, "%s", r.race(v.other))
}

func lineOf(s *site) string {
	if s.kind.atomic() {
		return "an atomic operation"
	}
	return "this thread"
}

// report describes an access that is wrong.
type report struct {
	w    *worker
	c    *checker
	in   *ins
	s    *site
	lane int
	addr uint64
}

// race describes the access and the other one, and says what is missing.
func (r *report) race(a access) string {
	o := &r.w.p.sites[a.site()]
	here, there := r.value(), r.otherValue(a, o)
	if here != " it" && here == there && r.s.kind.writes() && o.kind.writes() {
		there += " (the same value, still a race)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "data race on %s: this thread %s%s here, %s %s%s", r.place(), present[r.s.kind], here, r.who(a), past[o.kind], there)
	if p := r.w.j.prog.module.PosOf(int(o.pos)); p.File != "" {
		fmt.Fprintf(&b, " at %s:%d", p.File, p.Line)
	}
	fmt.Fprintf(&b, ", and %s", r.missing(a, o))
	return b.String()
}

// early describes the access to what is being copied to.
func (r *report) early(a access) string {
	at := ""
	if p := r.w.j.prog.module.PosOf(int(r.w.p.sites[a.site()].pos)); p.File != "" {
		at = fmt.Sprintf(" at %s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("data race on %s: this thread %s it here, while a copy to it is under way that %s has begun%s: that thread has to call dsl.CopyWait, or dsl.CopyWaitGroups for fewer groups, first; put t.Sync() between that and accesses of other threads",
		r.place(), present[r.s.kind], r.who(a), at)
}

var present = [...]string{plainRead: "reads", plainWrite: "writes", atomicRead: "atomically reads", atomicWrite: "atomically writes",
	atomicUpdate: "atomically updates", zeroing: "clears"}

var past = [...]string{plainRead: "read", plainWrite: "wrote", atomicRead: "atomically read", atomicWrite: "atomically wrote",
	atomicUpdate: "atomically updated", zeroing: "cleared"}

// who names the thread of the other access.
func (r *report) who(a access) string {
	x := r.w.threadOf(a.thread())
	text := fmt.Sprintf("thread (%d,%d,%d)", x[0], x[1], x[2])
	if a.time() < r.c.start {
		b := r.w.j.blockAt(r.c.blockOf(a) % r.w.j.blocks)
		text = fmt.Sprintf("block (%d,%d,%d), %s", b[0], b[1], b[2], text)
	}
	return text
}

// missing says what would order the accesses.
func (r *report) missing(a access, o *site) string {
	way, mixed := "", ""
	if r.s.kind.atomic() != o.kind.atomic() {
		mixed = "make both accesses atomic, or "
	}
	switch t := r.w.first + r.lane; {
	case a.time() < r.c.start:
		way = "nothing orders the blocks of a launch: " + mixed + "use a launch for each step"
	case r.c.warp(a) == r.c.warpOf(t):
		way = "no barrier is between the two: " + mixed + "put t.Sync() there (or t.SyncWarp(), if only lanes of one warp share it)"
	default:
		way = "no barrier is between the two: " + mixed + "put t.Sync() there"
	}
	if r.c.unfenced {
		way += "; to hand memory over by an atomic operation, put dsl.Fence() before it"
	}
	return way
}

// value returns the value of the access, with a space in front, or a word for it.
func (r *report) value() string {
	switch r.s.kind {
	case plainRead, atomicRead:
		return r.inMemory(r.s.typ)
	case plainWrite, atomicWrite:
		return r.operand(r.lane)
	}
	return " it"
}

// otherValue returns the value of the other access if it is still known: what it read
// or wrote is in memory, or about to be written by the same instruction.
func (r *report) otherValue(a access, o *site) string {
	if o.typ != r.s.typ || r.s.kind.atomic() || o.kind == atomicUpdate || o.kind == zeroing {
		return " it"
	}
	if i := a.thread() - r.w.first; o == r.s && o.kind == plainWrite && a.time() == r.c.now &&
		i < r.lane && r.isActive(i) && r.w.address(r.in, r.s, i) == r.addr {
		return r.operand(i)
	}
	return r.inMemory(o.typ)
}

func (r *report) isActive(i int) bool {
	return r.w.set.has(i)
}

func (r *report) inMemory(t *ir.Type) string {
	if !t.IsValue() || t.IsPtr() {
		return " it"
	}
	return valueText(t, *(*unsafe.Pointer)(unsafe.Pointer(&r.addr)))
}

func (r *report) operand(lane int) string {
	v, dist := r.w.value(r.in.c, r.in.cw)
	return valueText(r.s.typ, unsafe.Add(v, lane*dist))
}

func valueText(t *ir.Type, p unsafe.Pointer) string {
	return fmt.Sprintf(" %v", t.Value(ir.Normalize(t, bitsAt(p, t.Size()))))
}

// place names the object at the address of the access.
func (r *report) place() string {
	if r.s.shared {
		return r.sharedElement()
	}
	var names []string
	f := r.w.p.g.f
	at, _ := ir.Layout(f.Args)
	for i, a := range f.Args {
		if a.Kind != ir.ArgSlice || a.Elem.Size() == 0 {
			continue
		}
		block := r.w.j.launch.Args[at[i]:]
		off := r.addr - binary.LittleEndian.Uint64(block)
		if n := binary.LittleEndian.Uint64(block[8:]); off/uint64(a.Elem.Size()) < n {
			names = append(names, fmt.Sprintf("%s[%d]%s", a.Name, off/uint64(a.Elem.Size()), pathTo(a.Elem, int(off)%a.Elem.Size())))
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("address %#x", r.addr)
	}
	return strings.Join(names, ", that is ")
}

// sharedElement names the element of a shared object, by the line of its declaration if
// it has no name of its own.
func (r *report) sharedElement() string {
	off := int(r.addr - addressOf(r.w.shared))
	m := r.w.j.prog.module
	for i, o := range m.Shared {
		at := off - r.w.p.offsets[i]
		if at < 0 || at >= o.Type.Size() {
			continue
		}
		if p := m.PosOf(int(r.w.p.declared[i])); p.File != "" {
			return fmt.Sprintf("%s of the shared memory declared at %s:%d", strings.TrimSpace("element "+pathTo(o.Type, at)), p.File, p.Line)
		}
		return o.Name + pathTo(o.Type, at)
	}
	return fmt.Sprintf("shared memory at offset %d", off)
}

// pathTo names what lies at an offset in a value of type t.
func pathTo(t *ir.Type, off int) string {
	switch t.Kind {
	case ir.KArray:
		if n := t.Elem.Size(); n > 0 {
			return fmt.Sprintf("[%d]", off/n) + pathTo(t.Elem, off%n)
		}
	case ir.KStruct:
		for i, f := range t.Elems {
			if at := off - t.Offset(i); at >= 0 && at < f.Size() {
				return fmt.Sprintf(" field %d", i+1) + pathTo(f, at)
			}
		}
	}
	return ""
}
