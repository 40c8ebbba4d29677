package native

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/compiler/interp"
)

// job is a launch in progress.
type job struct {
	prog        *Program
	shape       shape
	grid, block [3]int
	args        []byte
	shared      int // bytes of a block that the launch decides
	ctx         context.Context
	blocks      int
	workers     int // how many may share the work
	helpers     int // how many were started

	parts  []part       // of the blocks, one for each worker
	joined atomic.Int64 // workers so far
	handed atomic.Int64 // blocks that were handed out
	limit  atomic.Int64 // first block that need not run: the first that failed
	cost   atomic.Int64 // nanoseconds of a block as last measured in this launch, 0 before

	mu  sync.Mutex
	err error

	// Helpers that come when the work is over go away without having touched it,
	// so nobody waits for them.
	state atomic.Int64  // helpers at work; closed is added when there is no more for others
	idle  chan struct{} // the last helper at work has gone
	refs  atomic.Int64  // who may still look at state; the last returns the job to the pool
	help  func()        // helper, as a value made once: starting it allocates nothing

	tickets atomic.Int64  // references that those take who look for a job
	offered time.Duration // when there were tickets for them last; 0 if they are dealt with
}

const closed = 1 << 32

// part is a share of the blocks, those that follow each other: a worker begins with its
// own, so that what a kernel leaves in the caches of a processor is mostly what the next
// one reads there, and two processors seldom wait for the system to map the same page. Who
// is done with it goes on with those of others.
type part struct {
	next atomic.Int64 // first block not handed out
	end  int64
	_    [48]byte // a cache line each
}

// jobs saves the allocation in every launch.
var jobs = sync.Pool{New: func() any { return new(job) }}

// What the amount of work decides. A measurement takes some 50 ns and starting a
// goroutine on another processor some microseconds.
const (
	chunkTime = 5 * time.Microsecond   // chunks of less do not pay
	longChunk = 500 * time.Microsecond // chunks of more are slow to notice a failure
	helpTime  = 30 * time.Microsecond  // work for which it pays to wake a helper
	nearTime  = 6 * time.Microsecond   // work for which a helper pays that looks for it
	// lookTime is how long helpers look for the next job, as kernels often follow each
	// other within microseconds, and how long the first worker waits for them awake.
	lookTime   = 50 * time.Microsecond
	answerTime = 3 * time.Microsecond // after which a ticket that nobody took is for nobody
	// pieces is into how many chunks the rest of a part is cut: the last to finish is
	// late by a piece of what is left.
	pieces = 3
	looks  = 16 // at what may change, between two at the clock
)

// runJob executes all blocks of a launch.
func (p *Program) runJob(l *interp.Launch, blocks, shared int) error {
	j := jobs.Get().(*job)
	if j.help == nil {
		j.help, j.idle = j.helper, make(chan struct{}, 1)
	}
	j.prog, j.shape, j.grid, j.block, j.args, j.ctx, j.blocks = p, p.shape(l.Block), l.Grid, l.Block, l.Args, l.Ctx, blocks
	j.shared, j.workers = shared, 1
	if blocks > 1 {
		j.workers = min(runtime.GOMAXPROCS(0), blocks)
	}
	j.divide()
	j.limit.Store(int64(blocks))
	j.cost.Store(0)
	j.state.Store(0)
	j.refs.Store(1)
	j.helpers, j.offered, j.err = 0, 0, nil

	if cost := p.cost.Load(); cost > 0 {
		j.recruit(time.Duration(float64(cost) * float64(blocks)))
	}
	spent, done := j.work(true)
	j.finish()
	if done > 0 {
		p.cost.Store(max(1, int64(spent)/int64(done)))
	}
	err := j.err
	j.leave()
	return err
}

// divide gives each worker a part of the blocks, as far as workers are expected to pay.
func (j *job) divide() {
	n := j.workers
	if cost := j.prog.cost.Load(); cost > 0 {
		n = int(min(float64(n), 1+float64(cost)*float64(j.blocks)/float64(nearTime)))
	}
	if cap(j.parts) < n {
		j.parts = make([]part, n)
	}
	j.parts = j.parts[:n]
	j.joined.Store(0)
	if n == 1 { // most launches are small
		j.parts[0].next.Store(0)
		j.parts[0].end = int64(j.blocks)
		return
	}
	j.handed.Store(0)
	for i := range j.parts {
		p := &j.parts[i]
		p.next.Store(int64(share(j.blocks, i, n)))
		p.end = int64(share(j.blocks, i+1, n))
	}
}

// left is how many blocks are not handed out.
func (j *job) left() int {
	if len(j.parts) == 1 {
		return int(j.parts[0].end - j.parts[0].next.Load())
	}
	return j.blocks - int(j.handed.Load())
}

// share is where part i of n begins.
func share(blocks, i, n int) int { return blocks/n*i + min(blocks%n, i) }

// recruit finds helpers for work that is expected to take that long, besides those
// found before. Those that have just worked for another job still look for one and
// come at once; to wake others takes the system tens of microseconds.
func (j *job) recruit(work time.Duration) {
	if j.workers == 1 {
		return
	}
	p := j.prog.pool
	if j.offered > 0 && now()-j.offered > answerTime {
		j.start(int(j.tickets.Swap(0))) // who looked has given up
		j.offered = 0
	}
	most := min(j.workers-1, int(work/nearTime)) - j.helpers
	near := min(most, int(p.looking.Load()))
	far := min(j.workers-1, int(work/helpTime)) - j.helpers - max(near, 0)
	if near > 0 {
		j.helpers += near
		j.refs.Add(int64(near))
		j.tickets.Add(int64(near))
		p.offer.Store(j)
		j.offered = now()
	}
	if far > 0 {
		j.helpers += far
		j.refs.Add(int64(far))
		j.start(far)
	}
}

// start starts n helpers, whose references the job has.
func (j *job) start(n int) {
	for range n {
		go j.help()
	}
}

// helper works for a job that another goroutine has begun, and then for others that
// begin soon after.
func (j *job) helper() {
	p := j.prog.pool
	for j != nil {
		j.join()
		j = p.look()
	}
}

// join has the calling goroutine work for the job, if there is work left, and gives
// up its reference.
func (j *job) join() {
	for {
		s := j.state.Load()
		if s >= closed {
			break
		}
		if j.state.CompareAndSwap(s, s+1) {
			j.work(false)
			if j.state.Add(-1) == closed {
				j.idle <- struct{}{}
			}
			break
		}
	}
	j.leave()
}

// take takes a ticket: the reference to the job that is meant for whoever has it. The
// job may have ended and be another by now; then it is a ticket of that.
func (j *job) take() bool {
	for {
		n := j.tickets.Load()
		if n <= 0 {
			return false
		}
		if j.tickets.CompareAndSwap(n, n-1) {
			return true
		}
	}
}

// look waits a moment for the next job that wants helpers, nil if none does.
func (p *Pool) look() *job {
	if int(p.looking.Add(1)) >= runtime.GOMAXPROCS(0) {
		p.looking.Add(-1)
		return nil
	}
	defer p.looking.Add(-1)
	for end := now() + lookTime; now() < end; {
		for range looks {
			if j := p.offer.Load(); j != nil && j.take() {
				return j
			}
			pause()
		}
	}
	return nil
}

// finish waits for the helpers that are at work. The blocks are all handed out, so
// they soon are done, and looking is quicker than sleeping.
func (j *job) finish() {
	if j.helpers == 0 {
		return
	}
	j.prog.pool.offer.CompareAndSwap(j, nil)
	j.refs.Add(-j.tickets.Swap(0))
	if j.state.Add(closed) == closed {
		return
	}
	for end := now() + lookTime; now() < end; {
		for range looks {
			select {
			case <-j.idle:
				return
			default:
				pause()
			}
		}
	}
	<-j.idle
}

// leave gives up a reference to the job.
func (j *job) leave() {
	if j.refs.Add(-1) == 0 {
		j.prog, j.args, j.ctx, j.err = nil, nil, nil, nil
		jobs.Put(j)
	}
}

// work executes chunks of blocks until there are none. It returns how many blocks
// it has executed, and the time that they took.
func (j *job) work(first bool) (spent time.Duration, done int) {
	w := j.prog.pool.get()
	defer j.prog.pool.put(w)
	if err := w.begin(j); err != nil {
		j.fail(0, err)
		return 0, 0
	}
	start, at := now(), int(j.joined.Add(1)-1)%len(j.parts)
	for {
		from, to := j.chunk(&at)
		if from >= to {
			return spent, done
		}
		if j.ctx != nil && j.ctx.Err() != nil {
			j.fail(from, fmt.Errorf("launch %s: %w", j.prog.img.Kernel, context.Cause(j.ctx)))
			return spent, done
		}
		if err := w.run(j, from, to); err != nil {
			j.fail(j.index(err.Block), err)
		}
		end := now()
		cost := max(1, int64(end-start)/int64(to-from))
		spent += end - start
		done += to - from
		start = end
		left := j.left()
		if left <= 0 {
			return spent, done
		}
		j.cost.Store(cost)
		if first {
			j.recruit(time.Duration(float64(cost) * float64(left)))
		}
	}
}

// chunk hands out the next blocks of the part that a worker is at, or of the next one
// that has any.
func (j *job) chunk(at *int) (from, to int) {
	for range j.parts {
		p := &j.parts[*at]
		if left := int(p.end - p.next.Load()); left > 0 {
			n := j.size(left)
			from = int(p.next.Add(int64(n))) - n
			if to = min(from+n, int(p.end)); from < to && len(j.parts) > 1 {
				j.handed.Add(int64(to - from))
			}
			if to = min(to, int(j.limit.Load())); from < to {
				return from, to
			}
		}
		if *at++; *at == len(j.parts) {
			*at = 0
		}
	}
	return 0, 0
}

// size is how many blocks are handed out of a part that has some left. What blocks cost
// may have changed since the last launch, so the first chunk is small and a small part
// of the work; then chunks take about an equal share of what is left.
func (j *job) size(left int) int {
	if j.workers == 1 && j.ctx == nil {
		return left
	}
	n := 1
	if cost := float64(j.cost.Load()); cost > 0 {
		n = int(min(max(float64(left)*cost/pieces, float64(chunkTime)), float64(longChunk)) / cost)
	} else if last := j.prog.cost.Load(); last > 0 {
		n = min(left/2, int(chunkTime)/int(last))
	}
	return max(n, 1)
}

// fail records the failure of a block; later ones need not run.
func (j *job) fail(block int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if int64(block) < j.limit.Load() {
		j.err = err
		j.limit.Store(int64(block))
	}
}

// blockAt returns the index of a block from its number, and index the reverse.
func (j *job) blockAt(n int) [3]int {
	g := &j.grid
	return [3]int{n % g[0], n / g[0] % g[1], n / (g[0] * g[1])}
}

func (j *job) index(b [3]int) int { return b[0] + j.grid[0]*(b[1]+j.grid[1]*b[2]) }

var began = time.Now()

// now is a clock that reads no date.
func now() time.Duration { return time.Since(began) }
