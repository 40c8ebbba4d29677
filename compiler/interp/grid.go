package interp

import (
	"fmt"
	"sync"
)

// Bounds of a launch whose blocks wait for each other: all of them exist at the same time.
const (
	MaxResident   = 1024    // blocks
	residentBytes = 1 << 30 // of memory of all blocks together
)

// meeting is where the blocks of a launch wait for each other. Each block has a goroutine and
// a worker of its own. In a checked build they take turns, in the order of their numbers, so
// that the checker sees one after the other.
type meeting struct {
	mu      sync.Mutex
	wake    []sync.Cond // by block
	turns   bool
	turn    int      // whose turn it is
	phase   int      // barriers that all blocks have passed
	waiting int      // blocks at the next one
	gone    int      // blocks that have returned
	last    int      // the last of them
	over    bool     // the launch has failed
	check   *checker // of a checked build
}

// Resident returns how many blocks a launch can have if its blocks wait for each other.
func (p *Program) Resident(block [3]int) (int, error) {
	c, err := p.choose(block)
	if err != nil {
		return 0, err
	}
	return c.plan.resident(), nil
}

func (p *plan) resident() int {
	each := p.bytes + p.frame*p.lanes + p.shared
	return max(1, min(MaxResident, residentBytes/each))
}

// runGrid executes all blocks at the same time.
func (j *job) runGrid() {
	if most := j.c.plan.resident(); j.blocks > most {
		j.fail(0, fmt.Errorf("launch %s: grid of %d blocks: the kernel waits for its whole grid (t.SyncGrid), and %d blocks of %d threads can be resident: launch fewer blocks and let each do more",
			j.prog.name, j.blocks, most, j.launch.Block[0]*j.launch.Block[1]*j.launch.Block[2]))
		return
	}
	m := &meeting{wake: make([]sync.Cond, j.blocks), turns: j.prog.module.Checked}
	for i := range m.wake {
		m.wake[i].L = &m.mu
	}
	if m.turns {
		m.check = newChecker(nil, j.c.plan.warp)
	}
	j.mu.Lock()
	j.meeting = m
	failed := j.err != nil
	j.mu.Unlock()
	if failed {
		m.end()
	}
	j.wg.Add(j.blocks)
	for i := range j.blocks {
		go j.resident(i)
	}
	j.wg.Wait()
	j.mu.Lock()
	j.meeting = nil
	j.mu.Unlock()
}

// resident executes one block.
func (j *job) resident(block int) {
	defer j.wg.Done()
	m := j.meeting
	if !m.begin(block) {
		return
	}
	w := j.c.plan.idle.get(j.c.plan)
	w.begin(j)
	if w.chunk(block, block+1) {
		w.j, w.check = nil, nil
		j.c.plan.idle.put(w)
	}
	m.leave(block)
}

// begin waits for the first turn of a block. It reports whether the block is to run.
func (m *meeting) begin(block int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.await(block, m.phase)
	return !m.over
}

// await waits until all blocks have passed a number of barriers and it is the block's turn. It
// ends, too, when that cannot be any more.
func (m *meeting) await(block, phase int) {
	for !m.over && !m.stuck(phase) && (m.phase < phase || m.turns && m.turn != block) {
		m.wake[block].Wait()
	}
}

// stuck reports whether a block has returned that others wait for.
func (m *meeting) stuck(phase int) bool { return m.gone > 0 && m.phase < phase }

// gridBarrier waits for all blocks of the grid.
func gridBarrier(w *worker, in *ins) {
	if barrier(w, in); w.err != nil {
		return
	}
	m := w.j.meeting
	if m.meet(w, in); w.err == nil && w.check != nil {
		w.check.resume(w)
	}
}

// meet is the barrier of one block.
func (m *meeting) meet(w *worker, in *ins) {
	m.mu.Lock()
	defer m.mu.Unlock()
	phase, block := m.phase+1, int(w.index)
	if m.waiting++; m.waiting == len(m.wake) {
		m.phase, m.waiting = phase, 0
		if m.check != nil {
			m.check.meetGrid()
		}
		m.wakeAll()
	}
	m.pass(block + 1)
	m.await(block, phase)
	switch {
	case m.over:
		w.err = errNotNeeded
	case m.stuck(phase):
		w.fail(in, 0, "barrier of the grid reached by a part of the blocks: block %v has returned without it", w.j.blockAt(m.last))
	}
}

// leave is the return of a block.
func (m *meeting) leave(block int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone++
	m.last = block
	m.pass(block + 1)
}

// pass gives the turn to a block, after the last to the first.
func (m *meeting) pass(turn int) {
	if m.turn = turn % len(m.wake); m.turns {
		m.wake[m.turn].Signal()
	}
	if m.gone > 0 {
		m.wakeAll() // they would wait for ever
	}
}

func (m *meeting) wakeAll() {
	for i := range m.wake {
		m.wake[i].Signal()
	}
}

// end lets all blocks go, because the launch has failed.
func (m *meeting) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	m.wakeAll()
}
