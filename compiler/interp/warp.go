package interp

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// barrier needs no work: all lanes have done what comes before. It fails if some
// thread of the block is not here.
func barrier(w *worker, in *ins) {
	if !w.sparse && w.lo == 0 && w.hi == w.threads {
		return
	}
	missing := w.firstIdle(0, w.threads)
	w.fail(in, w.lo, "barrier reached by %d of %d threads: %s", w.count(), w.threads, w.whereIs(missing))
}

func (w *worker) count() int { return w.set.count() }

// firstIdle returns the first lane from lo to hi that is not active, -1 for none.
func (w *worker) firstIdle(lo, hi int) int {
	next := lo
	each(w, func(i int) {
		if i == next {
			next++
		}
	})
	if next >= hi {
		return -1
	}
	return next
}

// eachWarp calls fn with the first lane of each warp that has active lanes; it
// fails if one of these warps is not complete.
func (w *worker) eachWarp(in *ins, fn func(first int)) {
	n := w.p.warp
	if !w.sparse && w.lo&(n-1) == 0 && w.hi&(n-1) == 0 {
		for first := w.lo; first < w.hi; first += n {
			fn(first)
		}
		return
	}
	last := -1
	each(w, func(i int) {
		first := i &^ (n - 1)
		if first == last || w.err != nil {
			return
		}
		last = first
		if idle := w.firstIdle(first, first+n); idle >= 0 {
			w.fail(in, i, "warp operation without all threads of the warp: %s", w.whereIs(idle))
			return
		}
		fn(first)
	})
}

func warpBarrier(w *worker, in *ins) { w.eachWarp(in, func(int) {}) }

func shuffle[T unsigned](w *worker, in *ins) {
	D, A := lanes[T](w.at(in.d), w.n), lanes[T](w.at(in.a), w.n)
	y, dist := w.value(in.b, in.bw)
	op, n := ir.Op(in.imm), w.p.warp
	w.eachWarp(in, func(first int) {
		d, a := D[first:first+n], A[first:first+n]
		a = a[:len(d)]
		for i := range d {
			x := a[i]
			if from := source(op, uint64(i), *(*uint64)(unsafe.Add(y, (first+i)*dist)), n); from < uint64(len(a)) {
				x = a[from]
			}
			d[i] = x
		}
	})
}

// source returns the lane that a shuffle reads in a warp of n; one that does not
// exist is at least n.
func source(op ir.Op, lane, y uint64, n int) uint64 {
	switch op {
	case ir.OpShflUp:
		return lane - y
	case ir.OpShflDown:
		return lane + y
	case ir.OpShflXor:
		return lane ^ y
	}
	return y & uint64(n-1)
}

func vote(w *worker, in *ins) {
	A, n := lanes[byte](w.at(in.a), w.n), w.p.warp
	w.eachWarp(in, func(first int) {
		var m uint64
		for i, x := range A[first : first+n] {
			m |= uint64(x&1) << i
		}
		switch ir.Op(in.imm) {
		case ir.OpBallot:
			splat[uint64](unsafe.Add(w.base, int(in.d)+8*first), unsafe.Pointer(&m), nil, nil, n)
			return
		case ir.OpAll:
			m = b2u(bits.OnesCount64(m) == n)
		default:
			m = b2u(m != 0)
		}
		fill(lanes[byte](unsafe.Add(w.base, int(in.d)+first), n), byte(m))
	})
}

// whereIs says, for a message, what a lane that is not active does.
func (w *worker) whereIs(lane int) string {
	t := w.thread(lane)
	name := fmt.Sprintf("thread (%d,%d,%d)", t[0], t[1], t[2])
	if at, waits := w.waitsAt(lane); waits {
		b := w.p.next(at)
		if len(b.code) == 0 && b.term == termReturn {
			return name + " returns" + w.placeOf(" at", b.pos)
		}
		return name + " took another way" + w.placeOf(" and is at", b.pos)
	}
	if w.check != nil && w.check.left[w.first+lane] > 0 {
		return name + " has returned" + w.placeOf(", last at", w.p.blocks[w.check.left[w.first+lane]-1].end)
	}
	return name + " has returned"
}

// waitsAt returns the block in front of which a lane waits.
func (w *worker) waitsAt(lane int) (at int, waits bool) {
	for at := range w.waiting {
		if w.pending[at/64]>>(at%64)&1 != 0 && w.waiting[at].has(lane) {
			return at, true
		}
	}
	return 0, false
}

// next returns the first block with something to do that follows a block.
func (p *plan) next(at int) *block {
	b := &p.blocks[at]
	for len(b.code) == 0 && b.term == termJump && int(b.edges[0].to) > at {
		at = int(b.edges[0].to)
		b = &p.blocks[at]
	}
	return b
}

func (w *worker) placeOf(text string, pos int32) string {
	p := w.j.prog.module.PosOf(int(pos))
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s %s:%d", text, p.File, p.Line)
}
