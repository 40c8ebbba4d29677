package native

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/interp"
)

// Program is a kernel in machine code. It may be run by several goroutines at
// once.
type Program struct {
	img  *image.Image // without its code
	code *Code
	pool *Pool
	at   func(pos int) (file string, line, col int) // nil if nobody knows
	cost atomic.Int64                               // nanoseconds a block took lately; 0 if it is not known
}

// Load reads a container and puts its code into executable memory. At says where in the source
// the positions of the container are, for errors; it may be nil.
func Load(pool *Pool, container []byte, at func(pos int) (file string, line, col int)) (*Program, error) {
	img, err := image.Decode(container)
	if err != nil {
		return nil, err
	}
	if arch, have := Arch(); img.Warp > warpOf(arch) || !have {
		return nil, fmt.Errorf("the code of %s is for %s, which this processor has not", img.Kernel, img.ISA)
	}
	code, err := NewCode(img.Kernel, img.Code)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", img.Kernel, err)
	}
	img.Code = nil
	choose(img, hasVNNI(img.ISA), hasPairs(), hasTiles())
	return &Program{img: img, code: code, pool: pool, at: at}, nil
}

// choose takes the entries that suit the processor best.
func choose(img *image.Image, vnni, pairs, tiles bool) {
	switch {
	case tiles && img.Tiles != nil:
		img.Rows, img.General = img.Tiles.Rows, img.Tiles.General
	case pairs && img.Pairs != nil:
		img.Rows, img.General = img.Pairs.Rows, img.Pairs.General
	case vnni && img.VNNI != nil:
		img.Rows, img.General = img.VNNI.Rows, img.VNNI.General
	}
}

// Name is the name of the kernel.
func (p *Program) Name() string { return p.img.Kernel }

// WarpSize is the number of threads of a warp.
func (p *Program) WarpSize() int { return p.img.Warp }

// Shared is the static shared memory of a block.
func (p *Program) Shared() int { return p.img.Shared }

// Local is the memory that local variables of a thread take.
func (p *Program) Local() int { return p.img.Local }

// Close gives the code's memory back, when the last launch that runs is done.
func (p *Program) Close() { p.code.Close() }

// Expect returns how long the blocks of a grid are expected to take on one
// processor, by what a block took last time, and 0 if nothing is known.
func (p *Program) Expect(grid [3]int) time.Duration {
	blocks := 1.0
	for _, n := range grid {
		blocks *= float64(max(n, 1))
	}
	return time.Duration(min(blocks*float64(p.cost.Load()), math.MaxInt64/2))
}

// Run executes the kernel and returns when all blocks are done. Of several blocks
// that fail the error of the first, in order, is returned; those after it may not
// run.
func (p *Program) Run(l interp.Launch) error {
	blocks, err := l.Check(p.img.Kernel, p.img.Args)
	if err != nil || blocks == 0 {
		return err
	}
	shared := 0
	if p.img.Length != nil {
		if shared, err = interp.DynamicShared(p.img.Kernel, p.img.Length, l.Args); err != nil {
			return err
		}
	}
	if p.img.WarpOps {
		if err := interp.CheckWarps(p.img.Kernel, l.Block[0]*l.Block[1]*l.Block[2], p.img.Warp); err != nil {
			return err
		}
	}
	if err := p.code.m.acquire(); err != nil {
		return fmt.Errorf("launch %s: %w", p.img.Kernel, err)
	}
	defer p.code.m.release()
	return p.runJob(&l, blocks, shared)
}

// shape is how threads of a block lie in vectors, and what memory they need.
type shape struct {
	entry   uintptr
	general bool
	vectors int
	frames  int // bytes
}

// shape chooses the mapping. By rows is the better one: x is consecutive and y and
// z are the same in a vector. A kernel has a second entry if it matters to it which
// threads make a warp; then rows must be whole warps, or the only one.
func (p *Program) shape(block [3]int) (s shape) {
	m := p.img
	s.general = m.Rows == image.None || m.General != image.None && block[0]%m.Warp != 0 && block[1]*block[2] != 1
	entry := m.Rows
	if s.general {
		entry = m.General
	}
	s.entry = p.code.Base() + uintptr(entry)
	s.vectors = image.Vectors(block, m.Warp, s.general)
	s.frames = m.FrameSize
	if m.Barriers {
		s.frames *= s.vectors
	}
	return s
}

// fault is the error that a context describes.
func (p *Program) fault(w *worker, block [3]int) *interp.KernelError {
	e := &interp.KernelError{Kernel: p.img.Kernel, Block: w.triple(image.CtxFaultBlock), Thread: w.triple(image.CtxFaultThread)}
	e.Thread[0] += int(w.ctx[image.CtxFaultLane/8])
	if w.ctx[image.CtxThreads/8] != 0 {
		n := e.Thread[0]
		e.Thread = [3]int{n % block[0], n / block[0] % block[1], n / (block[0] * block[1])}
	}
	site := w.ctx[image.CtxFault/8] - 1
	if site >= uint64(len(p.img.Sites)) {
		e.Msg = fmt.Sprintf("a check failed that the code does not list (number %d)", site)
		return e
	}
	s := &p.img.Sites[site]
	if p.at != nil && s.Pos > 0 {
		e.Pos.File, e.Pos.Line, e.Pos.Col = p.at(s.Pos)
	}
	e.Msg = s.Message(int64(w.ctx[image.CtxFaultValues/8]), int64(w.ctx[image.CtxFaultValues/8+1]))
	return e
}
