package interp

import (
	"slices"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// A kernel with barriers that count arrivals has lanes which wait in a loop for what others do in
// another branch. Its lanes run in no fixed order: those that find a phase incomplete let others
// run, and try again when there was an arrival. For that every value is an array with a place of
// its own, and each operation at which lanes meet begins a block.

// maxPolls is how often lanes may find nothing there before the kernel hangs.
const maxPolls = 1000

// meets says which lanes the operation in front of a block wants.
type meets uint8

const (
	meetsNobody meets = iota
	meetsWarp
	meetsBlock
)

// polls reports whether threads of f wait for arrivals.
func polls(f *ir.Func) bool {
	return slices.ContainsFunc(f.Blocks, pollsIn)
}

func pollsIn(b *ir.Block) bool {
	return slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpMBarTest })
}

// splitAtMeetings lets operations at which lanes meet begin blocks.
func splitAtMeetings(f *ir.Func) {
	for i := 0; i < len(f.Blocks); i++ { // new blocks come last
		b := f.Blocks[i]
		at := slices.IndexFunc(b.Instrs, func(v *ir.Value) bool { return v.Op.Has(ir.Convergent) && v != b.Instrs[0] })
		if at < 0 {
			continue
		}
		next := f.NewBlock()
		next.Instrs, next.Term = slices.Clone(b.Instrs[at:]), b.Term
		for _, v := range next.Instrs {
			v.Block = next
		}
		b.Instrs = b.Instrs[:at:at]
		b.Jump(next)
	}
}

// meetsFirst says what the first operation of b wants.
func meetsFirst(b *ir.Block) meets {
	switch {
	case len(b.Instrs) == 0 || !b.Instrs[0].Op.Has(ir.Convergent):
		return meetsNobody
	case b.Instrs[0].Op == ir.OpBarrier || b.Instrs[0].Op == ir.OpGridBarrier:
		return meetsBlock
	}
	return meetsWarp
}

// resumeReady activates lanes like resume: those for whom there may be something to do, else
// those that have polled in vain, else any.
func (w *worker) resumeReady() int32 {
	for _, may := range []func(at int) bool{
		func(at int) bool { return !w.stalled[at] && w.ready(at) },
		w.ready,
		func(int) bool { return true },
	} {
		for at := range w.p.blocks {
			if w.pending[at/64]>>(at%64)&1 == 0 || !may(at) {
				continue
			}
			w.pending[at/64] &^= 1 << (at % 64)
			w.nwait--
			w.cur = w.waiting[at]
			w.activate(&w.cur)
			return int32(at)
		}
	}
	return 0
}

// ready reports whether all lanes are there that the block begins with.
func (w *worker) ready(at int) bool {
	s, unit := &w.waiting[at], 1
	switch w.p.blocks[at].meets {
	case meetsBlock:
		unit = w.threads
	case meetsWarp:
		unit = w.p.warp
	}
	for first := 0; first < w.threads && unit > 1; first += unit {
		n := 0
		for i := first; i < min(first+unit, w.threads); i++ {
			n += int(b2u(s.has(i)))
		}
		if n > 0 && n < min(unit, w.threads-first) {
			return false
		}
	}
	return true
}

// progress lets all lanes that have polled in vain try again.
func (w *worker) progress() {
	clear(w.stalled)
	w.idle = 0
}

// mbarrier translates an operation on a barrier that counts arrivals. To the checker, arrivals
// release what threads did before, and a test acquires it.
func (l *lowerer) mbarrier(v *ir.Value) {
	in := ins{how: special, pos: int32(v.Pos), d: int32(len(l.sites))}
	in.setA(l.ref(v.Args[0]))
	k := atomicUpdate
	switch v.Op {
	case ir.OpMBarInit:
		k = atomicWrite
	case ir.OpMBarTest:
		k = atomicRead
	}
	if l.m.Checked {
		l.notice(noticeFenceBlock)
		watch := in
		watch.f = watchMBarrier
		l.sites = append(l.sites, site{kind: k, typ: ir.U64, shared: true, pos: in.pos})
		l.emit(watch)
	}
	in.d = 0
	if len(v.Args) > 1 {
		in.setB(l.elem(v.Args[1]))
	}
	switch v.Op {
	case ir.OpMBarInit:
		in.f = mbarInit
	case ir.OpMBarTest:
		in.f = mbarTest
		in.setD(l.array(v))
	default:
		in.f = mbarArrive
		in.imm = b2u(v.Op == ir.OpMBarExpect)
	}
	l.emit(in)
}

func watchMBarrier(w *worker, in *ins) {
	s := &w.p.sites[in.d]
	w.check.attend(s)
	each(w, func(i int) { w.watchLane(in, s, s.kind, i) })
}

// The state of a barrier is that of dsl.MBarrier: from the lowest bit on arrivals of each phase,
// arrivals that the phase lacks, bytes that it lacks, and its parity.
const (
	mbarBits  = 20
	mbarCount = 1<<mbarBits - 1
)

func (w *worker) mbar(in *ins, i int) (state *uint64, arg uint64) {
	at := w.lane(in.a, in.aw, i)
	y, dist := w.value(in.b, in.bw)
	return *(**uint64)(unsafe.Pointer(&at)), *(*uint64)(unsafe.Add(y, i*dist))
}

func mbarInit(w *worker, in *ins) {
	w.progress()
	each(w, func(i int) {
		state, n := w.mbar(in, i)
		if n < 1 || n > mbarCount {
			w.fail(in, i, "dsl.MBarrier of %d arrivals: want 1 to %d", int64(n), mbarCount)
			return
		}
		*state = n | n<<mbarBits
	})
}

func mbarArrive(w *worker, in *ins) {
	w.progress()
	each(w, func(i int) {
		state, bytes := w.mbar(in, i)
		if *state>>mbarBits&mbarCount == 0 || *state == ^uint64(0) {
			w.fail(in, i, "more arrivals at a dsl.MBarrier than its Init said, or none said")
			return
		}
		if *state -= 1 << mbarBits; in.imm != 0 {
			*state += bytes << (2 * mbarBits)
		}
		if *state<<1>>(mbarBits+1) == 0 {
			*state ^= 1<<63 | *state&mbarCount<<mbarBits
		}
	})
}

func mbarTest(w *worker, in *ins) {
	D, some, last := lanes[uint8](w.at(in.d), w.n), false, 0
	each(w, func(i int) {
		state, parity := w.mbar(in, i)
		done := *state>>63 != parity&1
		D[i] = uint8(b2u(done))
		some, last = some || done, i
	})
	if some {
		w.progress()
		return
	}
	w.stalled[w.polling] = true
	if w.idle++; w.idle > maxPolls {
		w.fail(in, last, "this thread waits for a phase of a dsl.MBarrier that nobody completes: each needs as many arrivals as Init said, and the parity of the wait is that of the phase: 0, 1, 0 and so on")
	}
}
