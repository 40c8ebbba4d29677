package host

import "fmt"

// grid is the blocks of a run. Those that have not come to a barrier of the grid use one set of
// coroutines in turn.
type grid struct {
	cfg     Config
	kernel  func(*Lane)
	sites   map[site]position
	free    *run   // of a block that has returned
	waiting []*run // at a barrier of the grid, in the order of their blocks
	gone    Dim    // the last block that has returned,
	returns int    // and how many have
}

// start runs a block for the first time.
func (g *grid) start(at Dim) error {
	r := g.free
	if g.free = nil; r == nil {
		if n := (len(g.waiting) + 1) * g.cfg.Block.Count(); n > MaxWaiting {
			return fmt.Errorf("%w: grid %v of blocks %v: the kernel waits for its whole grid (SyncGrid), which can have %d threads here; launch fewer blocks and let each do more",
				ErrLaunch, g.cfg.Grid, g.cfg.Block, MaxWaiting)
		}
		r = &run{Config: g.cfg, sites: g.sites}
		r.start(g.kernel)
	}
	r.begin(at)
	return g.run(r)
}

// run runs a block up to its return or the next barrier of the grid.
func (g *grid) run(r *run) error {
	if err := r.block(); err != nil {
		r.stop()
		return err
	}
	if r.lanes[0].op == OpSyncGrid {
		g.waiting = append(g.waiting, r)
		return g.agree(r)
	}
	g.returns++
	g.gone = r.lanes[0].Block
	if g.free == nil {
		g.free = r
	} else {
		r.stop()
	}
	if len(g.waiting) > 0 {
		return g.agree(g.waiting[0])
	}
	return nil
}

// agree checks that a block which waits does so where the others do.
func (g *grid) agree(r *run) error {
	l, first := r.lanes[0], g.waiting[0].lanes[0]
	switch {
	case g.returns > 0:
		return fmt.Errorf("%w: all blocks must meet at one place, but block %v has returned and block %v is at %v, %v; move the call out of the branch or loop that not all blocks take",
			ErrDivergence, g.gone, l.Block, l.op, r.position(l.site))
	case l.site != first.site:
		return fmt.Errorf("%w: all blocks must meet at one place, but block %v is at %v, %v and block %v at %v, %v; move the call out of the branch or loop that not all blocks take",
			ErrDivergence, first.Block, first.op, r.position(first.site), l.Block, l.op, r.position(l.site))
	}
	return nil
}

// resume lets all blocks pass the barrier at which they wait.
func (g *grid) resume() error {
	blocks := g.waiting
	g.waiting, g.returns = nil, 0
	for i, r := range blocks {
		if err := g.run(r); err != nil {
			g.waiting = append(g.waiting, blocks[i+1:]...)
			return err
		}
	}
	return nil
}

// stop ends the coroutines.
func (g *grid) stop() {
	if g.free != nil {
		g.free.stop()
	}
	for _, r := range g.waiting {
		r.stop()
	}
}
