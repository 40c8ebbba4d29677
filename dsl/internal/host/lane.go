package host

import (
	"fmt"
	"runtime"
)

// Dim is a size or position in up to three dimensions.
type Dim struct{ X, Y, Z int }

// Count is the number of points of a Dim.
func (d Dim) Count() int { return d.X * d.Y * d.Z }

// Op is the reason why a thread stopped.
type Op uint8

// The points at which threads of a warp or a block meet.
const (
	OpNone Op = iota
	OpReturn
	OpSync
	OpSyncGrid
	OpSyncWarp
	OpShuffle
	OpShuffleUp
	OpShuffleDown
	OpShuffleXor
	OpBallot
	OpAny
	OpAll
	OpPoll // not a meeting point: the thread asked for something that was not there
)

var opNames = [...]string{
	OpNone: "nothing", OpReturn: "return", OpSync: "Sync", OpSyncGrid: "SyncGrid", OpSyncWarp: "SyncWarp",
	OpShuffle: "Shuffle", OpShuffleUp: "ShuffleUp", OpShuffleDown: "ShuffleDown", OpShuffleXor: "ShuffleXor",
	OpBallot: "Ballot", OpAny: "Any", OpAll: "All", OpPoll: "MBarrier.Wait",
}

func (o Op) String() string { return opNames[o] }

// Lane is one thread of a running block.
type Lane struct {
	Thread, Block     Dim
	BlockDim, GridDim Dim
	WarpSize          int

	run    *run
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	stop   func()
	index  int
	op     Op
	site   site
	arg    int
	word   uint64
	result uint64
	err    error
	ended  bool
	met    bool // the thread is where others are to come, too
}

// Must returns l, or panics with a helpful message when there is no running
// block: kernels are ordinary functions, so nothing else stops a caller.
func (l *Lane) Must() *Lane {
	if l == nil {
		panic("dsl: this Thread belongs to no block; run the kernel with dsltest.Run or launch it on a device")
	}
	return l
}

// Index is the linear number of the thread in its block, x fastest.
func (l *Lane) Index() int { return l.Must().index }

// Bounds panics unless the block has so many threads.
func (l *Lane) Bounds(threads, blocks int) {
	l.Must()
	if n := l.BlockDim.X * l.BlockDim.Y * l.BlockDim.Z; n != threads || blocks < 0 {
		panic(fmt.Sprintf("LaunchBounds of %d threads, %d blocks at once, in a block of %d", threads, blocks, n))
	}
}

// Meet stops the thread until the scheduler has let it pass a barrier.
//
//go:noinline
func (l *Lane) Meet(op Op) {
	l.Must()
	l.site = here(2)
	l.wait(op)
}

// Exchange hands word to the other lanes of the warp and returns what the
// operation gives this lane.
//
//go:noinline
func (l *Lane) Exchange(op Op, word uint64, arg int) uint64 {
	l.Must()
	l.site = here(2)
	l.word, l.arg = word, arg
	l.wait(op)
	return l.result
}

// Polled lets other threads run if what the thread has asked for was not there.
//
//go:noinline
func (l *Lane) Polled(there bool) {
	l.Must()
	if there {
		l.run.events++
		return
	}
	l.site = here(2)
	l.wait(OpPoll)
}

func (l *Lane) wait(op Op) {
	l.op = op
	if !l.yield(struct{}{}) {
		panic(aborted{})
	}
	l.op = OpNone
}

// aborted unwinds the kernel of a thread whose run has failed elsewhere.
type aborted struct{}

// loop is the body of the coroutine: one kernel call for each block.
func (l *Lane) loop(yield func(struct{}) bool, kernel func(*Lane)) {
	l.yield = yield
	for {
		l.call(kernel)
		if l.ended {
			return
		}
		l.op = OpReturn
		if !yield(struct{}{}) {
			return
		}
	}
}

func (l *Lane) call(kernel func(*Lane)) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case aborted:
			l.ended = true
		case assertion:
			l.err = l.assertError(r)
		default:
			l.err = l.panicError(r)
		}
	}()
	kernel(l)
}

// siteDepth is the number of frames that tell two meeting points apart. It
// covers a barrier inside helpers inside the kernel.
const siteDepth = 12

// site is the call stack of a meeting point, innermost first.
type site [siteDepth]uintptr

func here(skip int) (s site) {
	n := runtime.Callers(skip+1, s[:])
	clear(s[n:])
	return s
}
