package dsl

import "fmt"

// MBarrier is a barrier in shared memory that counts arrivals, and bytes of bulk copies, in
// phases. A phase is complete when as many threads have arrived as [MBarrier.Init] said and all
// bytes that they expect are there; then the next one begins. Threads that wait need not be
// those that arrive, which is how some warps of a block load tiles for others:
//
//	full := dsl.Shared[[stages]dsl.MBarrier](t)
//	if t.ThreadX() == 0 {
//		for s := range stages {
//			full[s].Init(32)
//		}
//	}
//	t.Sync()
//	if t.Warp() == 0 {
//		store(s)
//		full[s].Arrive() // by 32 threads
//	} else {
//		full[s].Wait(t, 0)
//		read(s)
//	}
//
// Who waits for a phase sees all that threads did before they arrived in it. Phases are identified
// by their parity: the first one is 0, the second 1, the third 0 again. A wait for parity 1 of a new
// barrier returns at once, as if a phase had come before the first.
//
// The threads of a block have to go on while others wait, which NVIDIA's GPUs promise, from
// compute capability 8.0 on with instructions for it. On the CPU the interpreter runs such a
// kernel, and like plain Go under dsltest reports a wait for what nobody completes. Other targets
// refuse it.
type MBarrier struct{ state uint64 }

// Parts of the state in plain Go, from the lowest bit on: arrivals of each phase, arrivals that
// the phase lacks, bytes that it lacks, and its parity.
const (
	mbarBits  = 20
	mbarCount = 1<<mbarBits - 1
	mbarBytes = 1<<(63-2*mbarBits) - 1
)

// Init begins the first phase of b, of count arrivals. One thread calls it, before a
// [Thread.Sync] that all others pass.
//
//kiln:intrinsic
func (b *MBarrier) Init(count int) {
	if count < 1 || count > mbarCount {
		panic(fmt.Sprintf("dsl.MBarrier of %d arrivals: want 1 to %d", count, mbarCount))
	}
	b.state = uint64(count) | uint64(count)<<mbarBits
}

// Arrive is one arrival in the phase.
//
//kiln:intrinsic
func (b *MBarrier) Arrive() { b.arrive(0) }

// ArriveExpect is one arrival in the phase, which then also waits for so many bytes of bulk
// copies. It wants compute capability 9.0.
//
//kiln:intrinsic
func (b *MBarrier) ArriveExpect(bytes int) { b.arrive(bytes) }

// ArriveRemote is one arrival at the barrier that another block of the cluster has in the place of b:
// the number of that block in the cluster is given. It says that the thread has read what is there, and
// orders nothing that the thread has written.
//
//kiln:intrinsic
func (b *MBarrier) ArriveRemote(block int) {
	panic("dsl.MBarrier.ArriveRemote: this device has no clusters of blocks")
}

func (b *MBarrier) arrive(bytes int) {
	pending := b.state >> mbarBits & mbarCount
	if pending == 0 {
		panic("more arrivals at a dsl.MBarrier than its Init said, or none said")
	}
	if bytes < 0 || bytes > mbarBytes {
		panic("a dsl.MBarrier expects less than no bytes, or more than it can count")
	}
	b.state -= 1 << mbarBits
	b.state += uint64(bytes) << (2 * mbarBits)
	b.turn()
}

// turn begins the next phase if the phase is complete.
func (b *MBarrier) turn() {
	if b.state<<1>>(mbarBits+1) == 0 {
		b.state ^= 1<<63 | b.state&mbarCount<<mbarBits
	}
}

// TestWait reports whether the phase of a parity, 0 or 1, is complete, and may wait for it a
// while.
//
//kiln:intrinsic
func (b *MBarrier) TestWait(t Thread, parity int) bool {
	done := int(b.state>>63) != parity&1
	t.h.Polled(done)
	return done
}

// Wait waits until the phase of a parity, 0 or 1, is complete.
func (b *MBarrier) Wait(t Thread, parity int) {
	for !b.TestWait(t, parity) {
	}
}
