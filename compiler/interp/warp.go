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
	if !w.sparse && w.lo%WarpSize == 0 && w.hi%WarpSize == 0 {
		for first := w.lo; first < w.hi; first += WarpSize {
			fn(first)
		}
		return
	}
	last := -1
	each(w, func(i int) {
		first := i &^ (WarpSize - 1)
		if first == last || w.err != nil {
			return
		}
		last = first
		if idle := w.firstIdle(first, first+WarpSize); idle >= 0 {
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
	op := ir.Op(in.imm)
	w.eachWarp(in, func(first int) {
		d, a := (*[WarpSize]T)(D[first:]), (*[WarpSize]T)(A[first:])
		for i := range uint64(WarpSize) {
			from := source(op, i, *(*uint64)(unsafe.Add(y, (first+int(i))*dist)))
			if from >= WarpSize {
				from = i
			}
			d[i] = a[from]
		}
	})
}

// source returns the lane that a shuffle reads; one that does not exist is at
// least WarpSize.
func source(op ir.Op, lane, y uint64) uint64 {
	switch op {
	case ir.OpShflUp:
		return lane - y
	case ir.OpShflDown:
		return lane + y
	case ir.OpShflXor:
		return lane ^ y
	}
	return y % WarpSize
}

func vote(w *worker, in *ins) {
	A := lanes[byte](w.at(in.a), w.n)
	w.eachWarp(in, func(first int) {
		var m uint64
		for i, x := range A[first : first+WarpSize] {
			m |= uint64(x&1) << i
		}
		switch ir.Op(in.imm) {
		case ir.OpBallot:
			splat[uint64](unsafe.Add(w.base, int(in.d)+8*first), unsafe.Pointer(&m), nil, nil, WarpSize)
			return
		case ir.OpAll:
			m = b2u(bits.OnesCount64(m) == WarpSize)
		default:
			m = b2u(m != 0)
		}
		fill(lanes[byte](unsafe.Add(w.base, int(in.d)+first), WarpSize), byte(m))
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

// next returns the first block with something to do on the way from a block.
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
