package runtime

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/gokiln/kiln/internal/callsite"
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
	words   int        // in buf, behind the counts
	dirty   bool       // there may be records
	failed  error      // the first failure that no Sync has reported
	graph   *graphBody // of which it is the log, nil of a stream's
	on      []*output  // of a graph: the logs of the streams it was launched on since
	replays []uint64   // of a graph: the numbers of its launches since the latest reading
	retired bool       // the stream or the graph is gone
}

// lostRecords is how many records found no room in a log.
type lostRecords struct {
	all    uint32
	failed uint32   // those of them that reported a failure
	which  []uint32 // the counts of the log, which say of which launches those are
	// replays is how many of failed there were after each replay of the graph whose log it is.
	replays []uint32
}

// of reports whether a launch, or an operation of a replay, lost the record of a failure.
func (l *lostRecords) of(o *output, seq uint64, number uint32) bool {
	if !devlog.FailedBit(l.which, number) {
		return false
	}
	before := uint32(0)
	for i, after := range l.replays {
		if o.replays[i] == seq {
			return after > before
		}
		before = after
	}
	return l.failed > before
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
	if least := 8 * devlog.RecordHeader; bytes < least {
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
func (s *Stream) launchLogged(f *Function, l *driver.Launch, t *touched) (noted *slot, err error) {
	out := s.out
	out.mu.Lock()
	defer out.mu.Unlock()
	if err := s.addLog(f, l); err != nil {
		return nil, err
	}
	l.Seq, noted = s.dev.ring.note(t, true, out, nil)
	binary.LittleEndian.PutUint32(l.Args[len(l.Args)-8:], uint32(l.Seq+1))
	s.dev.setDirty(out, true)
	return noted, s.drv.Launch(f.drv, l)
}

// addLog adds the log to the arguments of a launch, with the log's lock held. They end with
// room for the number of the launch, of 32 bits, and the number of the kernel.
func (s *Stream) addLog(f *Function, l *driver.Launch) error {
	o := s.out
	if o.buf == nil {
		if err := s.makeOutput(); err != nil {
			return err
		}
	}
	for len(l.Args) < f.log.Offset {
		l.Args = append(l.Args, 0)
	}
	at := o.buf.Addr()
	for _, word := range [devlog.ArgBytes / 8]uint64{at, devlog.Counts, at + devlog.CountBytes, uint64(o.words), uint64(f.logID) << 32} {
		l.Args = binary.LittleEndian.AppendUint64(l.Args, word)
	}
	return nil
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
	words := all.size / 8
	all.mu.Unlock()
	drv, size := s.drv, devlog.CountBytes+8*words
	if s.rec != nil { // a graph is launched on any stream
		drv = s.dev.def.drv
		size += headBytes * ringSize
		s.out.replays = make([]uint64, 0, ringSize)
	}
	buf, err := s.Alloc(size)
	if err != nil {
		return err
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

// headBytes is the size of the counts without the bits of launches. Behind the records the
// log of a graph has space for the counts after each replay, which tell whose a record is.
const headBytes = 4 * devlog.Which

// heads is where those of a replay are.
func (o *output) heads(replay int) driver.Addr {
	return o.buf.mem.addr + driver.Addr(devlog.CountBytes+8*o.words+headBytes*replay)
}

// replayed keeps the counts behind a launch of the graph whose log it is, with the lock held.
// Between two readings there are not more launches than the ring has entries, but for those of
// goroutines that found room at the same time: theirs count as one.
func (o *output) replayed(s driver.Stream, seq uint64) error {
	n := len(o.replays)
	if n == ringSize {
		return nil
	}
	o.replays = append(o.replays, seq)
	return s.Copy(o.heads(n), o.buf.mem.addr, headBytes)
}

// readReplays returns the counts after each replay since the latest reading.
func (o *output) readReplays() (used, failed []uint32, err error) {
	heads := make([]uint32, devlog.Which*len(o.replays))
	if len(heads) == 0 {
		return nil, nil, nil
	}
	if err := o.stream.Download(bytesOf(heads), o.heads(0)); err != nil {
		return nil, nil, err
	}
	for head := range slices.Chunk(heads, devlog.Which) {
		used, failed = append(used, head[devlog.Used]), append(failed, head[devlog.Failed])
	}
	return used, failed, nil
}

// replay reports whether the launch of a graph with a number of the ring may be a replay, by
// its index among those since the latest reading.
func (o *output) replay(seq uint64, index int) bool {
	if index < len(o.replays) {
		return o.replays[index] == seq
	}
	return !slices.Contains(o.replays, seq)
}

// readOutput takes the records out of a log, after the work of its stream, and marks what
// depends on those that failed: before anybody else finds the log clean.
func (d *Device) readOutput(o *output) ([]devlog.Record, lostRecords, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.dirty {
		return nil, lostRecords{}, nil
	}
	counts := make([]uint32, devlog.Counts)
	at := o.buf.mem.addr
	if err := o.stream.Download(bytesOf(counts), at); err != nil {
		return nil, lostRecords{}, err
	}
	used, failed, err := o.readReplays()
	if err != nil {
		return nil, lostRecords{}, err
	}
	words := make([]uint64, min(uint64(counts[devlog.Used]), uint64(o.words)))
	if len(words) > 0 {
		if err := o.stream.Download(bytesOf(words), at+devlog.CountBytes); err != nil {
			return nil, lostRecords{}, err
		}
	}
	if err := o.stream.Fill(at, 0, int64(devlog.CountBytes+8*len(words))); err != nil {
		return nil, lostRecords{}, err
	}
	records := d.records(words, used)
	lost := lostRecords{all: counts[devlog.Lost], failed: counts[devlog.Failed], which: counts, replays: failed}
	d.findFailures(o, records, lost)
	clear(o.on)
	o.on, o.replays = o.on[:0], o.replays[:0]
	d.setDirty(o, false)
	if o.retired && o.failed == nil {
		d.dropOutput(o)
	}
	return records, lost, nil
}

func (d *Device) records(words []uint64, ends []uint32) []devlog.Record {
	d.out.mu.Lock()
	kernels := slices.Clone(d.out.kernels)
	d.out.mu.Unlock()
	return devlog.Read(words, ends, func(id uint32) *Log {
		if int(id) < len(kernels) {
			return kernels[id]
		}
		return nil
	})
}

// findFailures marks what depends on the launches that failed, each with the error of its
// first thread, and keeps the first error for Sync.
func (d *Device) findFailures(o *output, records []devlog.Record, lost lostRecords) {
	var list []*devlog.Failure // one of a launch, which are in order
	total := uint64(lost.failed)
	for _, r := range records {
		if !r.Site.Fails {
			continue
		}
		total++
		if n := len(list); n > 0 && list[n-1].Record.Launch == r.Launch && list[n-1].Record.Replay == r.Replay {
			list[n-1].More++
		} else {
			list = append(list, &devlog.Failure{Record: r})
		}
	}
	for i, f := range list {
		e := &driver.Error{Device: d.name, Kernels: []string{f.Record.Log.Kernel}, Kind: driver.ErrLaunch, Cause: f}
		d.blame(e, d.ring.unsettled(o, func(seq uint64, number uint32) bool {
			return number == f.Record.Launch && (o.graph == nil || o.replay(seq, f.Record.Replay))
		})...)
		if i == 0 && o.failed == nil {
			first := *f
			first.More = total - 1
			e.Cause = &first
			o.keep(d, e)
		}
	}
	if lost.failed == 0 {
		return
	}
	const text = "threads failed; the device log had no room to say which and where, see runtime.Device.SetOutputSize"
	all := &driver.Error{Device: d.name, Kind: driver.ErrLaunch, Text: fmt.Sprintf("%d %s", lost.failed, text)}
	places := d.ring.unsettled(o, func(seq uint64, number uint32) bool { return lost.of(o, seq, number) })
	for _, p := range places {
		e := &driver.Error{Device: d.name, Kind: driver.ErrLaunch, Text: text}
		d.blame(e, p)
		if all.Origin == (callsite.Stack{}) {
			all.Origin = e.Origin
		}
	}
	if len(places) == 0 {
		d.blame(all)
	}
	if o.failed == nil {
		o.keep(d, all)
	}
}

// keep keeps an error for Sync, with the lock held.
func (o *output) keep(d *Device, err error) {
	switch {
	case err != nil && o.failed == nil:
		d.dirty.Add(1)
	case err == nil && o.failed != nil:
		d.dirty.Add(-1)
	}
	o.failed = err
}

// take returns the error that was kept, and keeps none.
func (o *output) take(d *Device) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.failed
	o.keep(d, nil)
	if o.retired && !o.dirty {
		d.dropOutput(o)
	}
	return err
}

func bytesOf[T uint32 | uint64](words []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), int(unsafe.Sizeof(T(0)))*len(words))
}

// drain prints what kernels wrote to the log of a stream, and to those of the graphs
// launched on it. It reports the first thread that failed. err is what the wait before it
// returned, and goes first.
func (s *Stream) drain(err error) error {
	d := s.dev
	if d.dirty.Load() == 0 || d.lost.Load() != nil {
		return err
	}
	logs := []*output{s.out}
	for _, o := range d.outputs() {
		if o.launchedOn(s.out) {
			logs = append(logs, o)
		}
	}
	printed, failed := d.readEach(logs)
	return take(d, logs, cmp.Or(err, failed, printed))
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

// drain is [Stream.drain] of all streams, after a wait for all; of the operations before
// noted all failures are known then.
func (d *Device) drain(noted uint64, err error) error {
	if d.lost.Load() != nil {
		return err
	}
	if d.dirty.Load() == 0 {
		d.ring.done(noted)
		return err
	}
	logs := d.outputs()
	printed, failed := d.readEach(logs)
	if failed == nil {
		d.ring.done(noted)
	}
	return take(d, logs, cmp.Or(err, failed, printed))
}

// readOutputs reads the logs of all streams and leaves what failed to Sync.
func (d *Device) readOutputs() error {
	if d.dirty.Load() == 0 || d.lost.Load() != nil {
		return nil
	}
	printed, failed := d.readEach(d.outputs())
	return cmp.Or(failed, printed)
}

// readEach reads logs. It returns the first error of printing and the first of reading.
func (d *Device) readEach(logs []*output) (printed, failed error) {
	for _, o := range logs {
		records, lost, err := d.readOutput(o)
		if err != nil {
			failed = cmp.Or(failed, d.wrap(err))
			continue
		}
		printed = cmp.Or(printed, d.print(records, lost))
	}
	return printed, failed
}

// take takes the errors that were kept for logs, and returns the first behind err.
func take(d *Device, logs []*output, err error) error {
	for _, o := range logs {
		err = cmp.Or(err, o.take(d))
	}
	return err
}

// print prints what kernels have printed.
func (d *Device) print(records []devlog.Record, lost lostRecords) (failure error) {
	d.out.writing.Lock()
	defer d.out.writing.Unlock()
	for _, r := range records {
		if r.Site.Fails {
			continue
		}
		if _, err := io.WriteString(d.out.w, r.Text()); err != nil && failure == nil {
			failure = fmt.Errorf("%s: printing for kernel %s: %w", d.name, r.Log.Kernel, err)
		}
	}
	if n := lost.all - min(lost.failed, lost.all); n > 0 {
		fmt.Fprintf(d.out.w, "kiln: %s: %d entries of the device log found no room and are lost; see runtime.Device.SetOutputSize\n", d.name, n)
	}
	return failure
}

// retireOutput has the default stream read the log of a stream or a graph that is
// gone, if there is something to read.
func (d *Device) retireOutput(o *output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream, o.retired = d.def.drv, true
	if !o.dirty && o.failed == nil {
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
		o.keep(d, nil)
		o.mu.Unlock()
	}
}
