package host

import (
	"fmt"
	"io"
	"iter"
)

// MaxBlock is the largest number of threads of a block that every target takes.
const MaxBlock = 1024

// MaxWarp is the largest warp that a Ballot mask can describe.
const MaxWarp = 64

// Config is the geometry of a run. Every field is at least one.
type Config struct {
	Grid, Block Dim
	WarpSize    int
	Output      io.Writer // for what the kernel prints
}

// run is a block that runs, or the slot for the next one.
type run struct {
	Config
	lanes  []*Lane
	shared map[sharedKey]sharedObject
	sites  map[site]position // of all blocks
	events int               // what threads got to since the block began, see [run.block]
}

// MaxWaiting is the most threads of a grid that waits for all its blocks.
const MaxWaiting = 1 << 15

// Run calls kernel once for each thread of the grid: one block after the other, each up to its
// return or the next barrier of the grid.
func Run(cfg Config, kernel func(*Lane)) error {
	if err := cfg.check(); err != nil {
		return err
	}
	g := &grid{cfg: cfg, kernel: kernel, sites: map[site]position{}}
	defer g.stop()
	for z := range cfg.Grid.Z {
		for y := range cfg.Grid.Y {
			for x := range cfg.Grid.X {
				if err := g.start(Dim{x, y, z}); err != nil {
					return err
				}
			}
		}
	}
	for len(g.waiting) > 0 {
		if err := g.resume(); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) check() error {
	if c.Grid.X < 1 || c.Grid.Y < 1 || c.Grid.Z < 1 {
		return fmt.Errorf("%w: grid %v: each size must be at least 1", ErrLaunch, c.Grid)
	}
	if c.Block.X < 1 || c.Block.Y < 1 || c.Block.Z < 1 {
		return fmt.Errorf("%w: block %v: each size must be at least 1", ErrLaunch, c.Block)
	}
	if n := c.Block.Count(); n > MaxBlock {
		return fmt.Errorf("%w: block %v has %d threads; use at most %d and a larger grid", ErrLaunch, c.Block, n, MaxBlock)
	}
	if w := c.WarpSize; w < 1 || w > MaxWarp || w&(w-1) != 0 {
		return fmt.Errorf("%w: warp size %d: want a power of two from 1 to %d", ErrLaunch, w, MaxWarp)
	}
	return nil
}

// start makes the coroutines of a block. They serve other blocks after it,
// because making one costs more than a short kernel.
func (r *run) start(kernel func(*Lane)) {
	n := r.Block.Count()
	r.lanes = make([]*Lane, 0, n)
	for i := range n {
		l := &Lane{BlockDim: r.Block, GridDim: r.Grid, WarpSize: r.WarpSize, run: r, index: i}
		l.Thread = Dim{i % r.Block.X, i / r.Block.X % r.Block.Y, i / (r.Block.X * r.Block.Y)}
		l.next, l.stop = iter.Pull(func(yield func(struct{}) bool) { l.loop(yield, kernel) })
		r.lanes = append(r.lanes, l)
	}
}

func (r *run) stop() {
	for _, l := range r.lanes {
		l.stop()
	}
}

// begin prepares the run of a block.
func (r *run) begin(at Dim) {
	r.shared = map[sharedKey]sharedObject{}
	for _, l := range r.lanes {
		l.Block = at
	}
}

// maxPolls is how often all threads of a block may find nothing there before they hang.
const maxPolls = 1000

// block runs the block to its end, or to the next barrier of the grid. Warps with threads that
// poll get a turn again and again.
func (r *run) block() error {
	for idle := 0; ; {
		before, polling := r.events, false
		for first := 0; first < len(r.lanes); first += r.WarpSize {
			polls, err := r.warp(r.lanes[first:min(first+r.WarpSize, len(r.lanes))])
			if err != nil {
				return err
			}
			polling = polling || polls
		}
		if polling {
			if idle++; r.events != before {
				idle = 0
			}
			if idle > maxPolls {
				return r.hang()
			}
			continue
		}
		for _, l := range r.lanes {
			l.met = false
		}
		if err := r.agree(r.lanes, "block"); err != nil {
			return err
		}
		if op := r.lanes[0].op; op == OpReturn || op == OpSyncGrid {
			return nil
		}
	}
}

// warp runs the lanes of one warp to the next block barrier or to the end, or as far as they come
// while some poll.
func (r *run) warp(lanes []*Lane) (polls bool, err error) {
	for {
		moved := false
		for _, l := range lanes {
			if l.met {
				continue
			}
			moved = true
			if l.next(); l.err != nil {
				return false, l.err
			}
			l.met = l.op != OpPoll
			polls = polls || !l.met
		}
		if polls || !moved {
			return polls, nil
		}
		if err := r.agree(lanes, "warp"); err != nil {
			return false, err
		}
		r.events++
		switch op := lanes[0].op; op {
		case OpReturn, OpSync, OpSyncGrid:
			return false, nil
		case OpSyncWarp:
		default:
			if len(lanes) < r.WarpSize {
				return false, r.partialWarp(lanes)
			}
			exchange(op, lanes)
		}
		for _, l := range lanes {
			l.met = false
		}
	}
}

// agree checks that all lanes stopped at one point.
func (r *run) agree(lanes []*Lane, group string) error {
	first := lanes[0]
	for _, l := range lanes[1:] {
		if l.op != first.op || (l.op != OpReturn && l.site != first.site) {
			return r.divergence(group, first, l)
		}
	}
	return nil
}

// exchange gives every lane of a full warp its result.
func exchange(op Op, lanes []*Lane) {
	switch op {
	case OpBallot, OpAny, OpAll:
		vote(op, lanes)
		return
	}
	for i, l := range lanes {
		from := i
		switch op {
		case OpShuffle:
			from = l.arg & (len(lanes) - 1)
		case OpShuffleUp:
			from = i - l.arg
		case OpShuffleDown:
			from = i + l.arg
		case OpShuffleXor:
			from = i ^ l.arg
		}
		if from < 0 || from >= len(lanes) {
			from = i
		}
		l.result = lanes[from].word
	}
}

func vote(op Op, lanes []*Lane) {
	var mask uint64
	for i, l := range lanes {
		mask |= l.word << i
	}
	result := mask
	switch op {
	case OpAny:
		result = 0
		if mask != 0 {
			result = 1
		}
	case OpAll:
		result = 0
		if mask == ^uint64(0)>>(64-len(lanes)) {
			result = 1
		}
	}
	for _, l := range lanes {
		l.result = result
	}
}
