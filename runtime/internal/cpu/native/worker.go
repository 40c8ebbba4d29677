package native

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/interp"
)

// worker has the memory in which one processor runs blocks. It is outside the Go
// heap, so nothing moves it or scans it: a context, the table of thread indices,
// the argument block, the shared memory of a block and the frames of its warps.
type worker struct {
	mem []byte
	ctx *[image.ContextSize / 8]uint64
	// indexed are the dimensions of the block that the table is for.
	indexed [3]int
}

const (
	tableAt  = image.ContextSize
	afterAll = tableAt + 3*4*image.MaxBlock
	// kept is the size up to which the memory of a worker is kept for good. It
	// grows for kernels with large local arrays.
	kept = 16 << 20
)

func align(n int) int { return (n + image.ContextAlign - 1) &^ (image.ContextAlign - 1) }

// begin sets the worker up for a job.
func (w *worker) begin(j *job) error {
	args := afterAll
	shared := align(args + len(j.args))
	dynamic := align(j.shared) // whole vectors of every width
	frames := shared + align(j.prog.img.Shared) + dynamic
	if err := w.reserve(frames + j.shape.frames); err != nil {
		return fmt.Errorf("launch %s: %w", j.prog.img.Kernel, err)
	}
	copy(w.mem[args:], j.args)
	c, base := w.ctx, uint64(uintptr(unsafe.Pointer(w.ctx)))
	c[image.CtxArgs/8] = base + uint64(args)
	c[image.CtxShared/8] = base + uint64(shared)
	c[image.CtxFrames/8] = base + uint64(frames)
	c[image.CtxDynamic/8] = uint64(dynamic / (4 * j.prog.img.Warp))
	for i := range 3 {
		c[image.CtxGridDim/8+i] = uint64(j.grid[i])
		c[image.CtxBlockDim/8+i] = uint64(j.block[i])
	}
	c[image.CtxVectors/8] = uint64(j.shape.vectors)
	c[image.CtxThreads/8] = 0
	if j.shape.general {
		w.index(j.block, j.prog.img.Warp)
		c[image.CtxThreads/8] = base + tableAt
	}
	return nil
}

// reserve makes the memory at least n bytes. What it held is lost.
func (w *worker) reserve(n int) error {
	if n <= len(w.mem) {
		return nil
	}
	w.free()
	const step = 1 << 16
	mem, err := mapWritable((n + step - 1) &^ (step - 1))
	if err != nil {
		return fmt.Errorf("%d bytes for the frames of a block: %w", n, err)
	}
	w.mem, w.indexed = mem, [3]int{}
	w.ctx = (*[image.ContextSize / 8]uint64)(unsafe.Pointer(unsafe.SliceData(mem)))
	return nil
}

func (w *worker) free() {
	if w.mem != nil {
		unmap(w.mem)
		w.mem, w.ctx = nil, nil
	}
}

// index fills the table of thread indices: x, y and z of all threads of a block,
// rounded up to whole vectors by threads that do not exist.
func (w *worker) index(block [3]int, warp int) {
	if w.indexed == block {
		return
	}
	w.indexed = block
	n := image.Vectors(block, warp, true) * warp
	table := unsafe.Slice((*int32)(unsafe.Pointer(&w.mem[tableAt])), 3*n)
	for i := range n {
		table[i] = int32(i % block[0])
		table[n+i] = int32(i / block[0] % block[1])
		table[2*n+i] = int32(i / (block[0] * block[1]))
	}
}

// run executes blocks from to to. It returns the first failure.
func (w *worker) run(j *job, from, to int) *interp.KernelError {
	c := w.ctx
	b := j.blockAt(from)
	for i := range 3 {
		c[image.CtxBlock/8+i] = uint64(b[i])
	}
	c[image.CtxBlocks/8] = uint64(to - from)
	c[image.CtxFault/8] = 0
	if trapping {
		if err := trapped(j.shape.entry, uintptr(unsafe.Pointer(c))); err != nil {
			return &interp.KernelError{Kernel: j.prog.img.Kernel, Block: w.triple(image.CtxBlock), Msg: err.Error()}
		}
	} else {
		call(j.shape.entry, uintptr(unsafe.Pointer(c)))
	}
	if c[image.CtxFault/8] == 0 {
		return nil
	}
	return j.prog.fault(w, j.block)
}

// triple reads three words of the context.
func (w *worker) triple(at int) [3]int {
	at /= 8
	return [3]int{int(w.ctx[at]), int(w.ctx[at+1]), int(w.ctx[at+2])}
}

// Pool keeps workers, and for a moment helpers, for the next launch. The zero Pool is ready for
// use.
type Pool struct {
	mu   sync.Mutex
	idle []*worker

	looking atomic.Int32        // helpers that look for a job
	offer   atomic.Pointer[job] // the last job that had tickets for them
}

func (p *Pool) get() *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.idle) - 1; n >= 0 {
		w := p.idle[n]
		p.idle = p.idle[:n]
		return w
	}
	return new(worker)
}

// maxIdle bounds how many workers are kept, for programs that change GOMAXPROCS or
// launch from many goroutines.
const maxIdle = 256

func (p *Pool) put(w *worker) {
	if len(w.mem) > kept {
		w.free()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < maxIdle {
		p.idle = append(p.idle, w)
		return
	}
	w.free()
}

// Trim unmaps the memory that is kept.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.idle {
		w.free()
	}
	p.idle = nil
}
