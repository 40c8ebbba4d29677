package runtime

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/devlog"
	"github.com/gokiln/kiln/runtime/internal/driver"
)

// Log says what a kernel writes to the device log, for dsl.Printf and what fails,
// and how its launches pass the log.
type Log = devlog.Log

// defaultOutput is the size of a stream's device log in bytes.
const defaultOutput = 1 << 20

// output is the device log of one stream. Reading it is ordered with the launches
// that write to it: both are made with the lock held.
type output struct {
	mu      sync.Mutex
	stream  driver.Stream // of the device's default stream once the own one is gone, and for graphs
	buf     *Buffer
	words   int       // in buf, behind the counts
	launch  uint32    // number of the latest
	dirty   bool      // there may be records
	on      []*output // of a graph: the logs of the streams it was launched on since
	retired bool      // the stream or the graph is gone
}

// outputs are the device logs of all streams of a device, and where they go.
type outputs struct {
	mu      sync.Mutex
	list    []*output
	kernels []*Log
	size    int

	writing sync.Mutex // batches of one sync stay together
	w       io.Writer
}

// SetOutput sets where kernels of the device print to. It is standard error at
// first.
func (d *Device) SetOutput(w io.Writer) {
	d.out.writing.Lock()
	defer d.out.writing.Unlock()
	d.out.w = w
}

// SetOutputSize sets how many bytes each stream keeps for what kernels print until
// the next call that waits for the stream. It is 1 MiB at first; a call of
// dsl.Printf takes 40 bytes and 8 for each value. Streams on which something was
// printed already keep their size.
func (d *Device) SetOutputSize(bytes int) error {
	if least := devlog.CountBytes + 8*devlog.RecordHeader; bytes < least {
		return d.invalid("set the size of output", fmt.Sprintf("%d bytes; the least is %d", bytes, least))
	}
	if most := 8 * (devlog.Most - 1); int64(bytes) > int64(most) {
		return d.invalid("set the size of output", fmt.Sprintf("%d bytes; the most is %d", bytes, int64(most)))
	}
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	d.out.size = bytes
	return nil
}

// SetLog says what the kernel writes to the device log. It is called before the
// first launch, whose argument block then ends where the log begins.
func (f *Function) SetLog(l *Log) {
	o := &f.module.dev.out
	o.mu.Lock()
	defer o.mu.Unlock()
	f.log, f.logID = l, uint32(len(o.kernels))
	o.kernels = append(o.kernels, l)
}

// launchLogged submits a kernel that writes to the device log.
func (s *Stream) launchLogged(f *Function, l *driver.Launch) error {
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf == nil {
		if err := s.makeOutput(); err != nil {
			return err
		}
	}
	o.launch++
	for len(l.Args) < f.log.Offset {
		l.Args = append(l.Args, 0)
	}
	at := o.buf.Addr()
	for _, word := range [devlog.ArgBytes / 8]uint64{at, devlog.Counts, at + devlog.CountBytes, uint64(o.words), uint64(f.logID)<<32 | uint64(o.launch)} {
		l.Args = binary.LittleEndian.AppendUint64(l.Args, word)
	}
	if s.rec == nil {
		s.dev.setDirty(o, true)
	}
	return s.drv.Launch(f.drv, l)
}

// setDirty notes whether there may be records, with o.mu held.
func (d *Device) setDirty(o *output, dirty bool) {
	switch {
	case dirty && !o.dirty:
		d.dirty.Add(1)
	case o.dirty && !dirty:
		d.dirty.Add(-1)
	}
	o.dirty = dirty
}

// makeOutput allocates the log of the stream, with its lock held.
func (s *Stream) makeOutput() error {
	all := &s.dev.out
	all.mu.Lock()
	words := (all.size - devlog.CountBytes) / 8
	all.mu.Unlock()
	buf, err := s.Alloc(devlog.CountBytes + 8*words)
	if err != nil {
		return err
	}
	drv := s.drv
	if s.rec != nil { // a graph is launched on any stream
		drv = s.dev.def.drv
	}
	if err := drv.Fill(buf.mem.addr, 0, buf.mem.size); err != nil {
		return err
	}
	s.out.stream, s.out.buf, s.out.words = drv, buf, words
	all.mu.Lock()
	defer all.mu.Unlock()
	all.list = append(all.list, s.out)
	return nil
}

// readOutput takes the records out of a log, after the work of its stream.
func (d *Device) readOutput(o *output) (counts [devlog.Counts]uint32, words []uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.dirty {
		return counts, nil, nil
	}
	d.setDirty(o, false)
	if o.retired {
		d.dropOutput(o)
	}
	clear(o.on)
	o.on = o.on[:0]
	at := o.buf.mem.addr
	if err = o.stream.Download(bytesOf(counts[:]), at); err != nil {
		return counts, nil, err
	}
	words = make([]uint64, min(uint64(counts[devlog.Used]), uint64(o.words)))
	if len(words) > 0 {
		if err = o.stream.Download(bytesOf(words), at+devlog.CountBytes); err != nil {
			return counts, nil, err
		}
	}
	return counts, words, o.stream.Fill(at, 0, int64(devlog.CountBytes+8*len(words)))
}

func bytesOf[T uint32 | uint64](words []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), int(unsafe.Sizeof(T(0)))*len(words))
}

// drain prints what kernels wrote to the log of a stream, and to those of the graphs
// launched on it; of the default stream to the logs of all. It reports the first
// thread that failed. err is what the wait before it returned, and goes first.
func (s *Stream) drain(err error) error {
	d := s.dev
	switch {
	case d.dirty.Load() == 0 || d.lost.Load() != nil:
		return err
	case s == d.def:
		return d.drain(err)
	}
	err = d.drainOne(s.out, err)
	for _, o := range d.outputs() {
		if o.launchedOn(s.out) {
			err = d.drainOne(o, err)
		}
	}
	return err
}

// launchedOn reports whether there may be records of a graph that was launched on the
// stream with another log.
func (o *output) launchedOn(stream *output) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.on, stream)
}

func (d *Device) outputs() []*output {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	return slices.Clone(d.out.list)
}

// drain is [Stream.drain] of all streams.
func (d *Device) drain(err error) error {
	if d.dirty.Load() == 0 || d.lost.Load() != nil {
		return err
	}
	for _, o := range d.outputs() {
		err = d.drainOne(o, err)
	}
	return err
}

func (d *Device) drainOne(o *output, err error) error {
	counts, words, failed := d.readOutput(o)
	if failed != nil {
		failed = d.wrap(failed)
	} else {
		failed = d.emit(counts, words)
	}
	if err != nil {
		return err
	}
	return failed
}

// emit prints records and returns the first failure among them.
func (d *Device) emit(counts [devlog.Counts]uint32, words []uint64) (failure error) {
	d.out.mu.Lock()
	kernels := slices.Clone(d.out.kernels)
	d.out.mu.Unlock()
	records := devlog.Read(words, func(id uint32) *Log {
		if int(id) < len(kernels) {
			return kernels[id]
		}
		return nil
	})
	d.out.writing.Lock()
	defer d.out.writing.Unlock()
	failed := uint64(counts[devlog.Failed])
	var first *devlog.Failure
	for _, r := range records {
		if !r.Site.Fails {
			if _, err := io.WriteString(d.out.w, r.Text()); err != nil && failure == nil {
				failure = fmt.Errorf("%s: printing for kernel %s: %w", d.name, r.Log.Kernel, err)
			}
			continue
		}
		if failed++; first == nil {
			first = &devlog.Failure{Record: r}
		}
	}
	if lost := counts[devlog.Lost] - min(counts[devlog.Failed], counts[devlog.Lost]); lost > 0 {
		fmt.Fprintf(d.out.w, "kiln: %s: %d entries of the device log found no room and are lost; see runtime.Device.SetOutputSize\n", d.name, lost)
	}
	if failed > 0 {
		return d.failure(first, failed)
	}
	return failure
}

// failure is the error of n threads, the first of which is first unless nothing is
// known of it.
func (d *Device) failure(first *devlog.Failure, n uint64) error {
	if first == nil {
		return &driver.Error{Device: d.name, Kind: driver.ErrLaunch, Text: fmt.Sprintf("%d threads failed; the device log had no room to say where, see runtime.Device.SetOutputSize", n)}
	}
	first.More = n - 1
	return &driver.Error{Device: d.name, Kernels: []string{first.Record.Log.Kernel}, Kind: driver.ErrLaunch, Cause: first}
}

// retireOutput has the default stream read the log of a stream or a graph that is
// gone, if there is something to read.
func (d *Device) retireOutput(o *output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream, o.retired = d.def.drv, true
	if !o.dirty {
		d.dropOutput(o)
	}
}

// dropOutput takes a log off the list of the device.
func (d *Device) dropOutput(o *output) {
	d.out.mu.Lock()
	defer d.out.mu.Unlock()
	d.out.list = slices.DeleteFunc(d.out.list, func(p *output) bool { return p == o })
}

// forgetOutputs lets go of the logs' memory, which went with the device. Waiting
// for its cleanup it would hold the device.
func (d *Device) forgetOutputs() {
	d.out.mu.Lock()
	list := d.out.list
	d.out.list, d.out.kernels = nil, nil
	d.out.mu.Unlock()
	for _, o := range list {
		o.mu.Lock()
		o.buf.keep()
		o.buf = nil
		d.setDirty(o, false)
		o.mu.Unlock()
	}
}
