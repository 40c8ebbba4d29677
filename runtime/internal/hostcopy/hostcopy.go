package hostcopy

import (
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Device is what the copies need of a device.
type Device interface {
	AllocHost(size int) ([]byte, error)
	FreeHost(mem []byte) error
	// NewMark makes an event that need not take the time.
	NewMark() (driver.Event, error)
}

// Stream is what the copies need of a stream: both directions between the device and
// memory of AllocHost, without waiting.
type Stream interface {
	FromHost(dst driver.Addr, src uintptr, size int) error
	ToHost(dst uintptr, src driver.Addr, size int) error
	Record(driver.Event) error
	Sync() error
}

// Sizes of the page-locked chunks that copies of Go memory pass through. Many
// small ones let small uploads run ahead. Of the large ones as many as there are
// goroutines are being filled while the bus is busy with the others.
const (
	SmallChunk  = 64 << 10
	SmallChunks = 16
	LargeChunk  = 4 << 20
	LargeChunks = goroutines + 4

	goroutines = 8 // that share a copy: one core fills a fifth of a bus of 16 lanes
)

// Staging copies between Go memory and the device. Go memory is copied by the
// processor from or to a chunk of page-locked memory, and the device copies the
// chunk in stream order. An event says when a chunk is free again. What is read
// from a file is read into the chunk.
type Staging struct {
	small, large *chunkPool
}

// New returns the staging of a device. Chunks are made when they are needed.
func New(d Device) *Staging {
	return &Staging{
		small: &chunkPool{dev: d, size: SmallChunk, max: SmallChunks, idle: make(chan *chunk, SmallChunks)},
		large: &chunkPool{dev: d, size: LargeChunk, max: LargeChunks, idle: make(chan *chunk, LargeChunks)},
	}
}

func (s *Staging) poolFor(size int64) *chunkPool {
	if size <= SmallChunk {
		return s.small
	}
	return s.large
}

// Close frees the chunks; no copy is in flight any more.
func (s *Staging) Close() {
	s.small.close()
	s.large.close()
}

// Chunks counts the chunks that were made and those that are not in use.
func (s *Staging) Chunks() (made, idle int) {
	for _, p := range []*chunkPool{s.small, s.large} {
		p.mu.Lock()
		made, idle = made+p.made, idle+len(p.idle)
		p.mu.Unlock()
	}
	return made, idle
}

// chunk is page-locked memory and the event of its last use.
type chunk struct {
	mem     []byte
	used    driver.Event
	pending bool // used has been recorded and not been waited for
}

func (c *chunk) addr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(c.mem))) }

// wait returns when the device is done with the chunk.
func (c *chunk) wait() error {
	if !c.pending {
		return nil
	}
	c.pending = false
	return c.used.Sync()
}

// chunkPool holds chunks of one size. They are made as they are needed.
type chunkPool struct {
	dev  Device
	size int
	max  int
	idle chan *chunk // with room for all: putting one back never blocks
	mu   sync.Mutex
	made int
}

// take returns a chunk that the device is done with: an idle one, a new one,
// or else the one that has been in use longest.
func (p *chunkPool) take() (*chunk, error) {
	c, err := p.tryTake()
	if c == nil && err == nil {
		c = <-p.idle
	}
	if err != nil {
		return nil, err
	}
	if err := c.wait(); err != nil {
		p.idle <- c
		return nil, err
	}
	return c, nil
}

// tryTake returns an idle or a new chunk, or nil if all are taken. Waiting for
// the chunk is left to the caller.
func (p *chunkPool) tryTake() (*chunk, error) {
	var c *chunk
	select {
	case c = <-p.idle:
		if !c.pending {
			return c, nil
		}
		done, err := c.used.Done()
		if err != nil {
			p.idle <- c
			return nil, err
		}
		if done {
			c.pending = false
			return c, nil
		}
	default:
	}
	fresh, err := p.make()
	if fresh == nil && c != nil {
		// Without memory for another chunk, one that is in use will do.
		return c, nil
	}
	if c != nil {
		p.idle <- c
	}
	return fresh, err
}

// make makes another chunk, or returns nil if there are as many as may be.
func (p *chunkPool) make() (*chunk, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == p.max {
		return nil, nil
	}
	mem, err := p.dev.AllocHost(p.size)
	if err != nil {
		if p.made > 0 {
			return nil, nil
		}
		return nil, err
	}
	used, err := p.dev.NewMark()
	if err != nil {
		// The first error is the one to report.
		_ = p.dev.FreeHost(mem)
		return nil, err
	}
	p.made++
	return &chunk{mem: mem, used: used}, nil
}

// put gives back a chunk whose last use is behind the stream's last operation.
func (p *chunkPool) put(c *chunk, s Stream) error {
	err := s.Record(c.used)
	if err != nil {
		// Then only waiting for the stream can tell that the chunk is free.
		_ = s.Sync()
	}
	c.pending = err == nil
	p.idle <- c
	return err
}

func (p *chunkPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.made > 0; p.made-- {
		c := <-p.idle
		// A context that was lost has freed them already.
		_ = c.used.Close()
		_ = p.dev.FreeHost(c.mem)
	}
}

// Upload copies src to the device. It returns when src has been read.
func (s *Staging) Upload(st Stream, dst driver.Addr, src []byte) error {
	if n := len(src); n > 0 && n <= SmallChunk { // without a closure, which is memory of the heap
		return s.small.send(st, dst, n, 0, nil, src)
	}
	return s.UploadFrom(st, dst, int64(len(src)), func(p []byte, at int64) error {
		copy(p, src[at:])
		return nil
	})
}

// UploadFrom copies size bytes to the device that read stores, from several goroutines, in the chunks
// themselves: so many bytes p, which begin at one of them. It returns when all are read, or after an
// error, when what the device has is not all of them.
func (s *Staging) UploadFrom(st Stream, dst driver.Addr, size int64, read func(p []byte, at int64) error) error {
	pool := s.poolFor(size)
	return Parts(size, pool.size, func(at int64, n int) error {
		return pool.send(st, dst+driver.Addr(at), n, at, read, nil)
	})
}

// send fills a chunk, by read or else with src, and submits the copy of it.
func (p *chunkPool) send(st Stream, dst driver.Addr, n int, at int64, read func(p []byte, at int64) error, src []byte) error {
	c, err := p.take()
	if err != nil {
		return err
	}
	if read == nil {
		copy(c.mem[:n], src)
	} else if err := read(c.mem[:n], at); err != nil {
		p.idle <- c // no copy of it was submitted
		return err
	}
	err = st.FromHost(dst, c.addr(), n)
	if putErr := p.put(c, st); err == nil {
		err = putErr
	}
	return err
}

// piece is a part of a download that is in flight.
type piece struct {
	c   *chunk
	dst []byte
}

// Download copies from the device into dst and returns when it is there. The
// device fills one chunk while the processor empties another.
func (s *Staging) Download(st Stream, dst []byte, src driver.Addr) error {
	pool := s.poolFor(int64(len(dst)))
	var flying []piece
	var err error
	for err == nil && (len(dst) > 0 || len(flying) > 0) {
		if len(dst) > 0 && len(flying) < 2 {
			var p piece
			p, err = pool.fetch(st, dst, src, len(flying) == 0)
			if err == nil && p.c != nil {
				flying = append(flying, p)
				dst, src = dst[len(p.dst):], src+driver.Addr(len(p.dst))
				continue
			}
		}
		if err == nil {
			p := flying[0]
			flying = flying[1:]
			if err = p.c.wait(); err == nil {
				parallelCopy(p.dst, p.c.mem[:len(p.dst)])
			}
			pool.idle <- p.c
		}
	}
	for _, p := range flying {
		pool.idle <- p.c // still pending: its next user waits
	}
	return err
}

// fetch starts the copy of the next piece. Whoever holds a chunk already must
// not wait for another: all chunks could be held by goroutines that do.
func (p *chunkPool) fetch(st Stream, dst []byte, src driver.Addr, mayWait bool) (piece, error) {
	take := p.tryTake
	if mayWait {
		take = p.take
	}
	c, err := take()
	if c == nil || err != nil {
		return piece{}, err
	}
	if err := c.wait(); err != nil {
		p.idle <- c
		return piece{}, err
	}
	n := min(len(dst), p.size)
	err = st.ToHost(c.addr(), src, n)
	if err == nil {
		err = st.Record(c.used)
	}
	if err != nil {
		// The copy may be in flight.
		_ = st.Sync()
		p.idle <- c
		return piece{}, err
	}
	c.pending = true
	return piece{c, dst[:n]}, nil
}
