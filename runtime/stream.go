package runtime

import (
	"fmt"
	goruntime "runtime"
	"sync"

	"github.com/gokiln/kiln/internal/dim"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Stream is a queue of work on a device. It is safe for use by several
// goroutines.
type Stream struct {
	dev *Device
	drv driver.Stream
	now driver.Immediate // the driver's stream if it is one
	log *launchLog
	out *output
	rec *recording // that the stream makes, nil for one that runs work

	grid gridWords
}

func (d *Device) newStream(drv driver.Stream) *Stream {
	now, _ := drv.(driver.Immediate)
	return &Stream{dev: d, drv: drv, now: now, log: d.addLog(), out: new(output)}
}

// retiredStream is what the cleanup of a Stream needs.
type retiredStream struct {
	dev *Device
	drv driver.Stream
	log *launchLog
	out *output
}

// NewStream returns a stream whose work may overlap with that of other streams.
// It is given back when Go collects it; its work is finished first.
func (d *Device) NewStream() (*Stream, error) {
	if err := d.usable(); err != nil {
		return nil, err
	}
	if err := d.letGo(true); err != nil {
		return nil, d.wrap(err)
	}
	drv, err := d.drv.NewStream()
	if err != nil {
		return nil, d.wrap(err)
	}
	s := d.newStream(drv)
	goruntime.AddCleanup(s, func(r retiredStream) {
		r.dev.retireLog(r.log)
		r.dev.retireOutput(r.out)
		r.dev.cleanUp(r.drv.Close)
	}, retiredStream{d, drv, s.log, s.out})
	return s, nil
}

// Device is where the stream's work runs.
func (s *Stream) Device() *Device { return s.dev }

// Capturing reports whether the stream is one of [Device.Capture], which runs nothing.
func (s *Stream) Capturing() bool {
	_, ok := s.drv.(*track)
	return ok
}

// usable reports why the stream cannot be used for an operation, nil if it can.
func (s *Stream) usable(op string) error {
	d := s.dev
	if err := d.usable(); err != nil {
		return err
	}
	if s.rec != nil {
		return s.rec.usable(op)
	}
	return nil
}

// Sync waits for the work submitted to the stream so far. The error is that of the first
// kernel that failed since the last Sync. Work behind such a kernel has run, and what was
// not computed from its results is right: [Buffer.Err] reports which is which, any time.
// Sync of the default stream is for all streams.
func (s *Stream) Sync() error {
	if err := s.usable("wait for the stream"); err != nil {
		return err
	}
	if err := s.patience(); err != nil {
		return err
	}
	n, noted := s.log.next.Load(), s.dev.ring.before()
	err := s.drv.Sync()
	if s == s.dev.def {
		err = s.dev.waited(err)
	} else {
		err = s.dev.wrap(err)
	}
	goruntime.KeepAlive(s)
	s.finished(n)
	if s == s.dev.def {
		return s.dev.drain(noted, err)
	}
	return s.drain(err)
}

// finished notes that the first n launches of the stream are done, however they ended.
func (s *Stream) finished(n uint64) {
	if s.dev.lost.Load() == nil {
		s.log.finished(n)
	}
}

// looked completes a call on the default stream that waited for the first n of its launches and
// for those operations of the ring. It finds what failed and leaves it to Sync to report.
func (s *Stream) looked(n, noted uint64, err error) error {
	if err != nil {
		return s.dev.wrap(err)
	}
	s.log.finished(n)
	if err := s.dev.readOutputs(); err != nil {
		return err
	}
	s.dev.ring.done(noted)
	return nil
}

var launches = sync.Pool{New: func() any { return new(driver.Launch) }}

// Launch submits a kernel. The grid may have no blocks; then nothing happens.
// shared is the number of bytes of dynamic shared memory. args is the packed
// argument block: every argument at its natural alignment, little endian, a
// slice as address and length. It is copied; the memory that it points to must
// be reachable, through its Slices, until Launch returns.
//
// Launch returns when the work is queued, without having allocated. If the kernel fails,
// the buffers that it writes have the error, and so does what is computed from them, see
// [Buffer.Err]; [Stream.Sync] reports it, too. [Stream.LaunchUsing] is passed the
// buffers that a kernel reads and writes; Launch assumes that it reads and writes every buffer
// with an address among the aligned words of the arguments.
func (s *Stream) Launch(f *Function, g Grid, shared int, args []byte) error {
	return s.launch(f, g, shared, args, nil, false)
}

// LaunchUsing is [Stream.Launch] of a kernel that uses these buffers and no others. Entries
// without a buffer mean nothing.
func (s *Stream) LaunchUsing(f *Function, g Grid, shared int, args []byte, uses []Use) error {
	return s.launch(f, g, shared, args, uses, true)
}

func (s *Stream) launch(f *Function, g Grid, shared int, args []byte, uses []Use, known bool) error {
	if err := s.usable("launch"); err != nil {
		return err
	}
	if f == nil || f.module.dev != s.dev {
		return s.refuse(f, "the kernel was not loaded on this device")
	}
	l := launches.Get().(*driver.Launch)
	l.Grid, l.Block, l.Shared = dim.Array(g.Blocks), dim.Array(g.Threads), shared
	if text := s.check(f, l); text != "" {
		launches.Put(l)
		return s.refuse(f, text)
	}
	if l.Grid[0] == 0 {
		launches.Put(l)
		return nil
	}
	l.Shared += f.module.shared
	l.Overlaps, l.Cooperative, l.Params = f.module.overlaps, f.grid != nil, nil
	if l.Cooperative {
		l.Params = f.grid.params
	}
	l.Args, l.ArgsFrom = append(l.Args[:0], args...), 0
	t := touched{uses: uses}
	capturing := s.dev.captures.count.Load() != 0
	if s.now != nil && f.log == nil && !capturing && s.dev.ring.idle() && s.launchNow(f, l, &t, known) {
		launches.Put(l)
		goruntime.KeepAlive(f)
		return s.launched()
	}
	if !known && (s.dev.ring.own || f.log != nil || s.rec != nil || capturing || !s.dev.ring.idle()) {
		var room [16]use
		t.also = s.dev.blocks.words(room[:0], args)
	}
	var err error
	if s.rec != nil {
		err = s.record(f, l, &t)
	} else {
		err = s.submit(f, l, &t)
	}
	launches.Put(l)
	goruntime.KeepAlive(f)
	if err != nil {
		return s.dev.wrap(err)
	}
	return s.launched()
}

// launched waits for a launch where that is asked for.
func (s *Stream) launched() error {
	if s.dev.blocking && s.rec == nil {
		return s.Sync()
	}
	return nil
}

// launchNow runs a short kernel at once where the driver can, and reports whether it did. What
// the kernel uses is noted only if it has failed: there is no work before it that may fail, and
// what comes behind it is submitted after this.
func (s *Stream) launchNow(f *Function, l *driver.Launch, t *touched, known bool) bool {
	l.Seq, l.Op = driver.Unknown, 0
	ran, err := s.now.LaunchNow(f.drv, l)
	if err != nil {
		var room [16]use
		if !known {
			t.also = s.dev.blocks.words(room[:0], l.Args)
		}
		var noted *slot
		l.Seq, noted = s.dev.ring.note(t, true, nil, nil)
		noted.submit()
		s.now.Fail(driver.Failure{Seq: l.Seq, Err: err})
	}
	return ran
}

// record adds a launch to the graph that is captured.
func (s *Stream) record(f *Function, l *driver.Launch, m *touched) error {
	s.rec.use(f)
	t := s.drv.(*track)
	if f.grid != nil {
		var words gridWords
		if err := words.add(s, f, l); err != nil {
			return err
		}
		defer goruntime.KeepAlive(words.buf) // which the graph holds once it has the launch
	}
	if f.log == nil {
		return t.launch(f.drv, l, m, false)
	}
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	if err := s.addLog(f, l); err != nil {
		return err
	}
	return t.launch(f.drv, l, m, true)
}

// submit notes a launch and gives it to the driver.
func (s *Stream) submit(f *Function, l *driver.Launch, t *touched) (err error) {
	d := s.dev
	if d.captures.count.Load() != 0 {
		if err := d.captures.admit("launch "+f.info.Name, t); err != nil {
			return err
		}
	}
	if err := d.makeRoom(); err != nil {
		return err
	}
	if f.grid != nil {
		s.grid.mu.Lock()
		defer s.grid.mu.Unlock()
		if err := s.grid.add(s, f, l); err != nil {
			return err
		}
	}
	name := s.log.add(&f.launched)
	var noted *slot
	if f.log == nil {
		l.Seq, noted = d.ring.note(t, d.ring.own, nil, nil)
		err = s.drv.Launch(f.drv, l)
	} else {
		noted, err = s.launchLogged(f, l, t)
	}
	noted.submit()
	if err != nil {
		name.Store(nil) // it never ran
		return err
	}
	if d.watches() {
		return s.follow(&f.launched, l.Grid, l.Block)
	}
	return nil
}

// check says what is wrong with the shape of a launch, "" if nothing is.
func (s *Stream) check(f *Function, l *driver.Launch) string {
	info := &s.dev.info
	for i, axis := range "XYZ" {
		if l.Grid[i] < 0 || l.Grid[i] > info.MaxGrid[i] {
			return fmt.Sprintf("%d blocks in %c; the device runs up to %d", l.Grid[i], axis, info.MaxGrid[i])
		}
	}
	return f.checkBlock(&l.Block, l.Shared)
}

// checkBlock returns what is wrong with blocks of so many threads and bytes of dynamic shared
// memory.
func (f *Function) checkBlock(block *[3]int, shared int) string {
	info := &f.module.dev.info
	for i, axis := range "XYZ" {
		if block[i] < 1 || block[i] > info.MaxBlock[i] {
			return fmt.Sprintf("%d threads of a block in %c; want 1 to %d", block[i], axis, info.MaxBlock[i])
		}
	}
	if n := block[0] * block[1] * block[2]; n > f.info.MaxThreads {
		return fmt.Sprintf("blocks of %d threads; the kernel runs in blocks of up to %d", n, f.info.MaxThreads)
	}
	declared := f.info.Shared
	if shared > 0 { // it begins at a multiple of 16 bytes
		declared = (declared + 15) &^ 15
	}
	if shared < 0 || shared > info.SharedPerBlock-declared {
		return fmt.Sprintf("%d bytes of dynamic shared memory and %d that the kernel has; a block can have %d", shared, f.info.Shared, info.SharedPerBlock)
	}
	return ""
}

func (s *Stream) refuse(f *Function, text string) error {
	op := "launch"
	if f != nil {
		op += " " + f.info.Name
	}
	return s.dev.invalid(op, text)
}
