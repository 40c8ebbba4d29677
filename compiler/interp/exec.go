package interp

import (
	"errors"
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// worker executes blocks, one at a time.
type worker struct {
	p    *plan
	base unsafe.Pointer // scalars and arrays
	mem  []uint64       // what base points into

	local, shared []uint64

	// Active lanes: lo to hi, or those of set. spans covers them with few idle ones.
	lo, hi int
	sparse bool
	set    *laneSet
	idx    []int32 // what active has listed
	listed bool
	spans  []span

	cur, yes, no laneSet // of the block that runs, and of the sides of its branch

	waiting []laneSet // by block
	pending []uint64  // bit set of blocks where lanes wait
	nwait   int

	// Of kernels that poll: blocks whose lanes have polled in vain since the last arrival, the
	// block that polls last, and how often it was in vain.
	stalled []bool
	polling int32
	idle    int

	// The strip: n consecutive threads of the block, from thread first.
	n       int
	first   int
	threads int // in the block
	dim     [3]int
	blockID [3]int
	filled  int // first of the strip whose geometry the arrays hold, -1 for none

	pos int32 // source position of the last operation on memory
	err error
	j   *job

	index int64 // of the block that runs

	check *checker // of a checked build
}

func newWorker(p *plan) *worker {
	w := &worker{
		p:       p,
		mem:     make([]uint64, p.bytes/8+16),
		waiting: make([]laneSet, len(p.blocks)),
		pending: make([]uint64, len(p.blocks)/64+1),
		stalled: make([]bool, len(p.blocks)),
		idx:     make([]int32, 0, p.lanes),
		spans:   make([]span, 0, p.lanes/group+1),
		filled:  -1,
	}
	w.base = unsafe.Pointer(unsafe.SliceData(w.mem))
	if off := uintptr(w.base) & 63; off != 0 {
		w.base = unsafe.Add(w.base, 64-off)
	}
	frame := (p.frame + 15) &^ 15
	w.local = make([]uint64, frame/8*p.lanes)
	for _, x := range p.locals {
		w.setPair(x.at, addressOf(w.local)+x.bits, uint64(frame))
	}
	if len(p.shareds) > 0 {
		w.share(0)
	}
	for _, x := range p.tables {
		w.setPair(x.at, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(x.data)))), 0)
	}
	w.setPair(warpSizeAt, uint64(p.warp), 0)
	for _, c := range p.constants {
		w.setScalar(c.at, c.width, c.bits)
	}
	for i, f := range p.fills {
		splatKern(int(f.width))(w.at(p.fillAt[i]), w.at(w.constant(f)), nil, nil, p.lanes)
	}
	return w
}

// constant puts the value of f into the spare scalar.
func (w *worker) constant(f initial) int32 {
	w.setScalar(spareAt, f.width, f.bits)
	return spareAt
}

func addressOf(mem []uint64) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))) }

// share gives the worker memory for the shared objects of a block, and so many bytes behind them.
func (w *worker) share(more int) {
	n := (w.p.shared+more)/8 + 1
	if cap(w.shared) < n {
		w.shared = make([]uint64, n)
	}
	w.shared = w.shared[:n]
	for _, x := range w.p.shareds {
		w.setPair(x.at, addressOf(w.shared)+x.bits, 0)
	}
}

func (w *worker) at(off int32) unsafe.Pointer { return unsafe.Add(w.base, off) }

func (w *worker) setPair(at int32, base, step uint64) {
	*(*[2]uint64)(w.at(at)) = [2]uint64{base, step}
}

func (w *worker) setScalar(at int32, size uint8, bits uint64) {
	switch p := w.at(at); size {
	case 1:
		*(*uint8)(p) = uint8(bits)
	case 2:
		*(*uint16)(p) = uint16(bits)
	case 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
}

// lane returns lane i of the 8-byte operand at off: an array, or a pair.
func (w *worker) lane(off int32, width uint8, i int) uint64 {
	if width > 0 {
		return *(*uint64)(unsafe.Add(w.base, int(off)+8*i))
	}
	p := (*[2]uint64)(w.at(off))
	return p[0] + uint64(i)*p[1]
}

// activate makes s the set of active lanes.
func (w *worker) activate(s *laneSet) {
	w.lo, w.hi, w.sparse = int(s.lo), int(s.hi), s.sparse
	w.set, w.listed = s, false
	if s.sparse {
		w.spans = s.cover(w.spans[:0])
		return
	}
	w.spans = append(w.spans[:0], span{w.lo, w.hi - w.lo})
}

// active lists the active lanes of a sparse set.
func (w *worker) active() []int32 {
	if !w.listed {
		w.idx, w.listed = w.set.list(w.idx[:0]), true
	}
	return w.idx
}

// errNotNeeded ends a block when one before it has failed, or the launch is over: it may wait
// for what will never be. Nobody sees it, see [job.fail].
var errNotNeeded = errors.New("the block need not run")

// strip runs n threads of the block from start to return.
func (w *worker) strip(n int) {
	w.n = n
	w.cur.setRange(0, int32(n))
	w.progress()
	w.activate(&w.cur)
	for at := int32(0); ; {
		b := &w.p.blocks[at]
		if b.polls {
			w.polling = at
		}
		if w.index >= w.j.limit.Load() {
			w.err = errNotNeeded
		} else {
			w.run(b.code)
		}
		if w.err != nil {
			w.abandon()
			return
		}
		e := &b.edges[0]
		switch b.term {
		case termReturn:
			if e = nil; w.check != nil {
				w.check.leave(at)
			}
		case termUniform:
			if *(*uint8)(w.at(b.cond)) == 0 {
				e = &b.edges[1]
			}
		case termVarying, termAffine:
			w.branch(b)
			switch {
			case w.no.empty():
			case w.yes.empty():
				e = &b.edges[1]
			default:
				w.take(&b.edges[0], &w.yes)
				w.take(&b.edges[1], &w.no)
				e = nil
			}
		}
		if e != nil {
			w.run(e.moves)
			if w.nwait == 0 {
				at = e.to
				continue
			}
			w.wait(e.to, &w.cur)
		}
		if w.nwait == 0 {
			return
		}
		if w.p.g.polls {
			at = w.resumeReady()
		} else {
			at = w.resume()
		}
	}
}

// take makes the moves of an edge for the lanes of s, which then wait at its end.
func (w *worker) take(e *edge, s *laneSet) {
	if len(e.moves) > 0 {
		w.activate(s)
		w.run(e.moves)
	}
	w.wait(e.to, s)
}

func (w *worker) wait(at int32, s *laneSet) {
	if w.pending[at/64]>>(at%64)&1 == 0 {
		w.pending[at/64] |= 1 << (at % 64)
		w.nwait++
		w.waiting[at] = *s
		return
	}
	w.waiting[at].add(s)
}

// resume activates the lanes that wait at the first block in order.
func (w *worker) resume() int32 {
	for i, m := range w.pending {
		if m == 0 {
			continue
		}
		at := int32(i*64 + bits.TrailingZeros64(m))
		w.pending[i] = m & (m - 1)
		w.nwait--
		w.cur = w.waiting[at]
		w.activate(&w.cur)
		return at
	}
	return 0
}

func (w *worker) abandon() {
	clear(w.pending)
	w.nwait = 0
}

// branch divides the active lanes by the condition of b into yes and no.
func (w *worker) branch(b *block) {
	if b.term == termVarying {
		w.cur.splitBy(w.at(b.cond), &w.yes, &w.no)
		return
	}
	from, to, ok := w.trueRange(&b.cmp)
	if !ok {
		var cond [MaxBlock]byte
		w.compareEach(&b.cmp, cond[:])
		w.cur.splitBy(unsafe.Pointer(&cond), &w.yes, &w.no)
		return
	}
	yes, no := &w.yes, &w.no
	if b.cmp.not {
		yes, no = no, yes
	}
	w.cur.split(int32(from), int32(to), yes, no)
}

// run executes instructions for the active lanes.
func (w *worker) run(code []ins) {
	for i := range code {
		in := &code[i]
		switch in.how {
		case perLane:
			for _, s := range w.spans {
				in.k(unsafe.Add(w.base, int(in.d)+s.lo*int(in.dw)),
					unsafe.Add(w.base, int(in.a)+s.lo*int(in.aw)),
					unsafe.Add(w.base, int(in.b)+s.lo*int(in.bw)),
					unsafe.Add(w.base, int(in.c)+s.lo*int(in.cw)), s.n)
			}
		case onScalar:
			in.k(w.at(in.d), w.at(in.a), w.at(in.b), w.at(in.c), 1)
		case special:
			w.pos = in.pos
			if in.f(w, in); w.err != nil {
				return
			}
		default:
			w.pair(in)
		}
	}
}

// pair executes arithmetic on affine values.
func (w *worker) pair(in *ins) {
	d, a, b := (*[2]uint64)(w.at(in.d)), (*[2]uint64)(w.at(in.a)), (*[2]uint64)(w.at(in.b))
	switch in.how {
	case pairCopy:
		*d = *a
	case pairAdd:
		d[0], d[1] = a[0]+b[0], a[1]+b[1]
	case pairSub:
		d[0], d[1] = a[0]-b[0], a[1]-b[1]
	case pairMul:
		d[0], d[1] = a[0]*b[0], a[1]*b[0]+a[0]*b[1]
	case pairIndex:
		d[0], d[1] = a[0]+b[0]*in.imm, a[1]+b[1]*in.imm
	case pairField:
		d[0], d[1] = a[0]+in.imm, a[1]
	}
}

func pairNeg(w *worker, in *ins) {
	d, a := (*[2]uint64)(w.at(in.d)), (*[2]uint64)(w.at(in.a))
	d[0], d[1] = -a[0], -a[1]
}

func pairShl(w *worker, in *ins) {
	d, a, n := (*[2]uint64)(w.at(in.d)), (*[2]uint64)(w.at(in.a)), *(*uint64)(w.at(in.b))
	d[0], d[1] = a[0]<<n, a[1]<<n
}

// spread writes an affine value to an array.
func spread(w *worker, in *ins) {
	p := (*[2]uint64)(w.at(in.a))
	x, step := p[0]+uint64(w.lo)*p[1], p[1]
	D := lanes[uint64](unsafe.Add(w.base, int(in.d)+8*w.lo), w.hi-w.lo)
	for i := range D {
		D[i] = x
		x += step
	}
}

// assign writes a scalar to the active lanes of an array.
func assign[T unsigned](w *worker, in *ins) {
	x, D := *(*T)(w.at(in.a)), lanes[T](w.at(in.d), w.n)
	if !w.sparse {
		D = D[w.lo:w.hi]
		for i := range D {
			D[i] = x
		}
		return
	}
	for _, i := range w.active() {
		D[i] = x
	}
}

// assignAffine writes an affine value to the active lanes of an array.
func assignAffine(w *worker, in *ins) {
	if !w.sparse {
		spread(w, in)
		return
	}
	D := lanes[uint64](w.at(in.d), w.n)
	for _, i := range w.active() {
		D[i] = w.lane(in.a, 0, int(i))
	}
}

func copyActive[T unsigned](w *worker, in *ins) {
	D, A := lanes[T](w.at(in.d), w.n), lanes[T](w.at(in.a), w.n)
	if !w.sparse {
		copy(D[w.lo:w.hi], A[w.lo:w.hi])
		return
	}
	for _, i := range w.active() {
		D[i] = A[i]
	}
}

// fail ends the kernel because of a lane.
func (w *worker) fail(in *ins, lane int, format string, args ...any) {
	w.err = &KernelError{
		Kernel: w.p.g.f.Name, Pos: w.j.prog.module.PosOf(int(in.pos)),
		Block: w.blockID, Thread: w.thread(lane), Msg: fmt.Sprintf(format, args...),
	}
}

// thread returns the index of the thread of a lane.
func (w *worker) thread(lane int) [3]int {
	return w.threadOf(w.first + lane)
}

// threadOf returns the index of a thread of the block from its number.
func (w *worker) threadOf(t int) [3]int {
	return [3]int{t % w.dim[0], t / w.dim[0] % w.dim[1], t / (w.dim[0] * w.dim[1])}
}

// trueRange returns the lanes for which an affine comparison holds as a range; ok
// is false if values are so large that they may wrap around.
func (w *worker) trueRange(c *comparison) (from, to int, ok bool) {
	a, b := *(*[2]int64)(w.at(c.a)), *(*[2]int64)(w.at(c.b))
	if !w.tame(a, c.unsigned) || !w.tame(b, c.unsigned) {
		return 0, 0, false
	}
	from, to = solve(c.op, a[0]-b[0], a[1]-b[1])
	return from, to, true
}

// tame reports whether a pair stays far from the ends of its type for all lanes.
func (w *worker) tame(p [2]int64, unsigned bool) bool {
	const maxBase, maxStep = 1 << 60, 1 << 48
	if p[0] >= maxBase || p[0] <= -maxBase || p[1] >= maxStep || p[1] <= -maxStep {
		return false
	}
	return !unsigned || p[0] >= 0 && p[0]+p[1]*int64(w.n-1) >= 0
}

// solve returns the lanes l for which d + l*step compares with 0 by op.
func solve(op ir.Op, d, step int64) (from, to int) {
	const all = MaxBlock
	if op == ir.OpEq {
		switch {
		case step == 0 && d == 0:
			return 0, all
		case step == 0 || -d%step != 0 || -d/step < 0 || -d/step >= all:
			return 0, 0
		}
		return int(-d / step), int(-d/step) + 1
	}
	if op == ir.OpLe {
		d--
	}
	switch {
	case step == 0 && d < 0, step < 0 && d < 0:
		return 0, all
	case step == 0, step > 0 && d >= 0:
		return 0, 0
	case step > 0: // l < -d/step, rounded up
		return 0, int(min((-d+step-1)/step, all))
	}
	return int(min(d/-step+1, all)), all
}

// compareEach compares lane by lane.
func (w *worker) compareEach(c *comparison, out []byte) {
	for i := w.lo; i < w.hi; i++ {
		x, y := w.lane(c.a, 0, i), w.lane(c.b, 0, i)
		less := int64(x) < int64(y)
		if c.unsigned {
			less = x < y
		}
		var r bool
		switch c.op {
		case ir.OpEq:
			r = x == y
		case ir.OpLt:
			r = less
		default:
			r = less || x == y
		}
		out[i] = byte(b2u(r != c.not))
	}
}

func packComparison(c comparison) uint64 {
	return uint64(c.op) | b2u(c.unsigned)<<8 | b2u(c.not)<<9
}

// compareAffine writes the result of an affine comparison to an array.
func compareAffine(w *worker, in *ins) {
	c := comparison{op: ir.Op(in.imm & 255), unsigned: in.imm>>8&1 != 0, not: in.imm>>9&1 != 0, a: in.a, b: in.b}
	D := lanes[byte](w.at(in.d), w.n)
	from, to, ok := w.trueRange(&c)
	if !ok {
		w.compareEach(&c, D)
		return
	}
	from, to = min(max(from, w.lo), w.hi), min(max(to, w.lo), w.hi)
	to = max(from, to)
	no := byte(b2u(c.not))
	fill(D[w.lo:from], no)
	fill(D[from:to], no^1)
	fill(D[to:w.hi], no)
}

func fill(s []byte, x byte) {
	for i := range s {
		s[i] = x
	}
}
