package interp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/compiler/ir"
)

// Launch is one execution of a kernel over a grid of blocks.
type Launch struct {
	Grid  [3]int // blocks; a zero second or third axis means 1
	Block [3]int // threads of a block; likewise
	Args  []byte // argument block, see Program.ArgSize

	// Ctx, if not nil, ends the run when it is done.
	Ctx context.Context
}

// job is a launch in progress.
type job struct {
	prog   *Program
	c      *chosen
	launch Launch
	blocks int // in the grid
	shared int // bytes of a block besides those of the kernel's arrays of known length
	chunk  int

	next  atomic.Int64 // first block not handed out
	limit atomic.Int64 // first block that need not run: the first that failed
	wg    sync.WaitGroup

	mu      sync.Mutex
	err     error
	meeting *meeting // of blocks that wait for each other, else nil
}

// Run executes the kernel and returns when all blocks are done. Of several blocks
// that fail the error of the first, in order, is returned; those after it may not run.
func (p *Program) Run(l Launch) error {
	j := jobs.Get().(*job)
	defer j.release()
	j.prog, j.launch = p, l
	if err := j.check(); err != nil {
		return err
	}
	if j.blocks == 0 {
		return nil
	}
	c, err := p.choose(j.launch.Block)
	if err != nil {
		return err
	}
	j.c = c
	j.limit.Store(int64(j.blocks))
	if j.launch.Ctx == nil {
		j.run()
		return j.err
	}
	return j.runUntil(j.launch.Ctx)
}

// runUntil is run that ends when the context is over.
func (j *job) runUntil(ctx context.Context) error {
	over := func() { j.fail(0, fmt.Errorf("launch %s: %w", j.prog.name, context.Cause(ctx))) }
	if ctx.Err() != nil {
		over()
		return j.err
	}
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { over(); close(told) })
	j.run()
	if !stop() {
		<-told
	}
	return j.err
}

// jobs saves the allocation in every launch.
var jobs = sync.Pool{New: func() any { return new(job) }}

func (j *job) release() {
	j.prog, j.c, j.launch, j.err = nil, nil, Launch{}, nil
	j.next.Store(0)
	jobs.Put(j)
}

// check validates the launch and fills in missing axes.
func (j *job) check() (err error) {
	j.blocks, err = j.launch.Check(j.prog.name, j.prog.size)
	if l := j.prog.length; l != nil && err == nil {
		j.shared, err = DynamicShared(j.prog.name, l, j.launch.Args)
	}
	return err
}

// DynamicShared returns how many bytes the array of a kernel takes whose length the launch decides.
func DynamicShared(kernel string, l *ir.Length, args []byte) (int, error) {
	n, err := l.Bytes(args)
	if err == nil && n > maxObjects {
		err = fmt.Errorf("%d bytes of dynamic shared memory; a block can have %d", n, maxObjects)
	}
	if err != nil {
		return 0, fmt.Errorf("launch %s: %w", kernel, err)
	}
	return n, nil
}

// Check reports what is wrong with the launch of a kernel whose parameters take
// size bytes, fills in missing axes, and returns the number of blocks.
func (l *Launch) Check(kernel string, size int) (blocks int, err error) {
	if len(l.Args) < size || len(l.Args) > (size+7)&^7 {
		return 0, fmt.Errorf("launch %s: argument block of %d bytes, the kernel's parameters take %d", kernel, len(l.Args), size)
	}
	threads := 1
	blocks = 1
	for i := range 3 {
		if i > 0 {
			l.Grid[i], l.Block[i] = orOne(l.Grid[i]), orOne(l.Block[i])
		}
		if l.Grid[i] < 0 || l.Block[i] < 1 {
			return 0, fmt.Errorf("launch %s: grid %v of blocks %v is not possible", kernel, l.Grid, l.Block)
		}
		if l.Grid[i] > 0 && blocks > maxBlocks/l.Grid[i] || l.Block[i] > MaxBlock {
			return 0, fmt.Errorf("launch %s: grid %v of blocks %v is too large", kernel, l.Grid, l.Block)
		}
		threads *= l.Block[i]
		blocks *= l.Grid[i]
	}
	if threads > MaxBlock {
		return 0, fmt.Errorf("launch %s: block %v has %d threads, the limit is %d", kernel, l.Block, threads, MaxBlock)
	}
	return blocks, nil
}

// CheckWarps reports a block that is no whole number of warps.
func CheckWarps(kernel string, threads, warp int) error {
	if threads%warp == 0 {
		return nil
	}
	return fmt.Errorf("launch %s: the kernel uses warp operations, so a block must be a multiple of %d threads, not %d",
		kernel, warp, threads)
}

// maxBlocks keeps the count of blocks, and sums of it, inside int.
const maxBlocks = math.MaxInt >> 15

func orOne(n int) int {
	if n == 0 {
		return 1
	}
	return n
}

// inlineTime is the work below which starting goroutines does not pay.
const inlineTime = 20 * time.Microsecond

// run executes all blocks. Workers besides the caller start when the launch is
// expected to take long, by what a block took last time, or turns out to.
func (j *job) run() {
	if j.c.plan.grid {
		j.runGrid()
		return
	}
	others := min(runtime.GOMAXPROCS(0), j.blocks) - 1
	if j.prog.module.Checked {
		others = 0 // a checker sees all blocks, in order
	}
	if others == 0 {
		j.chunk = j.blocks
		j.timed(func(time.Time) int { return j.work(nil) })
		return
	}
	left := j.blocks
	if cost := j.prog.cost.Load(); cost > 0 && cost*int64(j.blocks) < int64(inlineTime) {
		j.chunk = int(max(1, int64(inlineTime)/16/cost))
		left -= j.timed(func(start time.Time) int {
			return j.work(func() bool { return time.Since(start) < inlineTime })
		})
		if left <= 0 || j.err != nil {
			return
		}
	}
	j.chunk = max(1, left/((others+1)*16))
	j.wg.Add(others)
	for range others {
		go j.help()
	}
	j.timed(func(time.Time) int { return j.work(nil) })
	j.wg.Wait()
}

// Expect returns how long the blocks of a grid are expected to take on one
// processor, by what a block took last time, and 0 if nothing is known.
func (p *Program) Expect(grid [3]int) time.Duration {
	blocks := 1.0
	for _, n := range grid {
		blocks *= float64(orOne(n))
	}
	return time.Duration(min(blocks*float64(p.cost.Load()), math.MaxInt64/2))
}

// timed notes what a block takes in the caller's share of the work.
func (j *job) timed(work func(start time.Time) int) (blocks int) {
	start := time.Now()
	if blocks = work(start); blocks > 0 {
		j.prog.cost.Store(max(1, int64(time.Since(start))/int64(blocks)))
	}
	return blocks
}

func (j *job) help() {
	defer j.wg.Done()
	j.work(nil)
}

// work executes chunks of blocks until there are none, or until more, called after
// each chunk, says to stop. It returns how many blocks it executed.
func (j *job) work(more func() bool) (done int) {
	w := j.c.plan.idle.get(j.c.plan)
	w.begin(j)
	for {
		from := int(j.next.Add(int64(j.chunk))) - j.chunk
		if int64(from) >= j.limit.Load() {
			break
		}
		if !w.chunk(from, min(from+j.chunk, j.blocks)) {
			return done // the worker is in an unknown state: leave it to the collector
		}
		done += min(from+j.chunk, j.blocks) - from
		if more != nil && !more() {
			break
		}
	}
	w.j, w.check = nil, nil
	j.c.plan.idle.put(w)
	return done
}

// fail records the failure of a block; later ones need not run.
func (j *job) fail(block int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if int64(block) < j.limit.Load() && err != errNotNeeded {
		j.err = err
		j.limit.Store(int64(block))
		if j.meeting != nil {
			j.meeting.end()
		}
	}
}

// workers keeps idle workers for the next launch.
type workers struct {
	mu   sync.Mutex
	list []*worker
}

func (s *workers) get(p *plan) *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := len(s.list) - 1; k >= 0 {
		w := s.list[k]
		s.list = s.list[:k]
		return w
	}
	return newWorker(p)
}

func (s *workers) put(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) < runtime.GOMAXPROCS(0) {
		s.list = append(s.list, w)
	}
}

// begin sets up what is the same for all blocks of a launch.
func (w *worker) begin(j *job) {
	w.j, w.err = j, nil
	switch {
	case j.meeting != nil && j.prog.module.Checked:
		w.check = j.meeting.check
		w.check.w = w
	case j.prog.module.Checked:
		w.check = newChecker(w, w.p.warp)
	}
	if w.dim != j.launch.Block {
		w.dim, w.filled = j.launch.Block, -1
	}
	if j.prog.length != nil {
		w.share(j.shared)
	}
	w.threads = w.dim[0] * w.dim[1] * w.dim[2]
	for i := range int32(3) {
		w.setPair(blockDimAt+16*i, uint64(w.dim[i]), 0)
		w.setPair(gridDimAt+16*i, uint64(j.launch.Grid[i]), 0)
	}
	for i, a := range j.prog.args {
		b, at := j.launch.Args[a.off:], w.p.params[i]
		switch a.size {
		case 1:
			w.setScalar(at, 1, uint64(b[0]))
		case 2:
			w.setScalar(at, 2, uint64(binary.LittleEndian.Uint16(b)))
		case 4:
			w.setScalar(at, 4, uint64(binary.LittleEndian.Uint32(b)))
		default:
			w.setScalar(at, 8, binary.LittleEndian.Uint64(b))
		}
	}
}

// chunk executes blocks from to to. It reports whether the worker can go on.
func (w *worker) chunk(from, to int) (ok bool) {
	block := from
	old := debug.SetPanicOnFault(true) // an access to unmapped memory is the kernel's error
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			w.j.fail(block, w.fault(r))
		}
	}()
	for ; block < to && int64(block) < w.j.limit.Load(); block++ {
		w.index = int64(block)
		if w.block(block); w.err != nil {
			w.j.fail(block, w.err)
			break
		}
	}
	return true
}

// fault describes a panic: of an access to memory, as nothing else panics here.
func (w *worker) fault(r any) error {
	msg := fmt.Sprint(r)
	if f, ok := r.(interface{ Addr() uintptr }); ok {
		msg = fmt.Sprintf("fault at address %#x", f.Addr())
	}
	return &KernelError{Kernel: w.p.g.f.Name, Pos: w.j.prog.module.PosOf(int(w.pos)), Block: w.blockID, Thread: w.thread(w.lo),
		Msg: "this thread, or one that runs with it, used a bad address: " + msg}
}

// block executes one block, strip by strip.
func (w *worker) block(index int) {
	w.blockID = w.j.blockAt(index)
	for i := range int32(3) {
		w.setPair(blockAt+16*i, uint64(w.blockID[i]), 0)
	}
	if len(w.shared) > 0 {
		fill64(w.shared, ^uint64(0))
	}
	if w.check != nil {
		w.check.beginBlock()
	}
	row := w.threads
	if w.j.c.rows {
		row = w.dim[0]
	}
	for start := 0; start < w.threads; start += row {
		for x := 0; x < row && w.err == nil; x += w.j.c.strip {
			w.place(start + x)
			w.strip(min(w.j.c.strip, row-x))
		}
	}
}

// blockAt returns the index of a block from its number.
func (j *job) blockAt(index int) [3]int {
	g := &j.launch.Grid
	return [3]int{index % g[0], index / g[0] % g[1], index / (g[0] * g[1])}
}

func fill64(s []uint64, x uint64) {
	for i := range s {
		s[i] = x
	}
}

// place sets the thread geometry of the strip that starts at thread first.
func (w *worker) place(first int) {
	w.first = first
	if w.j.c.rows {
		t := w.thread(0)
		w.setPair(threadAt, uint64(t[0]), 1)
		w.setPair(threadAt+16, uint64(t[1]), 0)
		w.setPair(threadAt+32, uint64(t[2]), 0)
	}
	if !w.p.geom || w.filled == first {
		return
	}
	w.filled = first
	for r, at := range w.p.geometry {
		if at != 0 {
			w.fillGeometry(r, lanes[int64](w.at(at), w.p.lanes))
		}
	}
}

func (w *worker) fillGeometry(reg int, out []int64) {
	for i := range out {
		switch reg {
		case laneReg:
			out[i] = int64((w.first + i) % w.p.warp)
		case warpReg:
			out[i] = int64((w.first + i) / w.p.warp)
		default:
			out[i] = int64(w.thread(i)[reg-threadReg])
		}
	}
}
