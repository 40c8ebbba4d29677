package runtime

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// logSize is how many launches of a stream are remembered.
const logSize = 16

// launchLog remembers the latest launches of a stream. A GPU reports a failure
// at some later call and does not say which kernel it was; the log can.
type launchLog struct {
	next    atomic.Uint64 // launches so far
	done    atomic.Uint64 // those known to have finished
	ring    [logSize]atomic.Pointer[launched]
	retired atomic.Bool // the stream is gone
}

// launched is what was launched: a kernel, or those of a graph.
type launched struct{ names []string }

// add notes a launch, before it is made, and returns its slot.
func (l *launchLog) add(k *launched) *atomic.Pointer[launched] {
	slot := &l.ring[(l.next.Add(1)-1)%logSize]
	if slot.Load() != k { // loops launch the same kernel; a store costs more than a look
		slot.Store(k)
	}
	return slot
}

// finished notes that the first n launches have run.
func (l *launchLog) finished(n uint64) {
	for {
		have := l.done.Load()
		if have >= n || l.done.CompareAndSwap(have, n) {
			return
		}
	}
}

// unfinished appends the names of the kernels that may not have finished, the
// latest first, and counts those that are no longer remembered.
func (l *launchLog) unfinished(names []string) ([]string, uint64) {
	next, done := l.next.Load(), l.done.Load()
	first := done
	if next > logSize && first < next-logSize {
		first = next - logSize
	}
	for i := next; i > first; i-- {
		k := l.ring[(i-1)%logSize].Load()
		if k == nil {
			continue
		}
		for _, name := range k.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, first - done
}

func (d *Device) addLog() *launchLog {
	l := new(launchLog)
	d.logsMu.Lock()
	defer d.logsMu.Unlock()
	d.logs = append(d.logs, l)
	return l
}

func (d *Device) allLogs() []*launchLog {
	d.logsMu.Lock()
	defer d.logsMu.Unlock()
	return slices.Clone(d.logs)
}

// maxRetired is how many logs are kept of streams that are gone and of which it is not
// known whether their launches have run.
const maxRetired = 64

// retireLog notes that the stream of a log is gone. A log whose launches have all run is
// forgotten at once; of the others the latest stay, for what may still fail.
func (d *Device) retireLog(l *launchLog) {
	d.logsMu.Lock()
	defer d.logsMu.Unlock()
	l.retired.Store(true)
	if l.done.Load() >= l.next.Load() {
		d.logs = slices.DeleteFunc(d.logs, func(o *launchLog) bool { return o == l })
		return
	}
	if d.retired++; d.retired > maxRetired {
		oldest := slices.IndexFunc(d.logs, func(o *launchLog) bool { return o.retired.Load() })
		d.logs = slices.Delete(d.logs, oldest, oldest+1)
		d.retired--
	}
}

// pruneLogs forgets the logs of streams that are gone and have finished.
func (d *Device) pruneLogs() {
	d.logsMu.Lock()
	defer d.logsMu.Unlock()
	d.logs = slices.DeleteFunc(d.logs, func(l *launchLog) bool {
		gone := l.retired.Load() && l.done.Load() >= l.next.Load()
		if gone {
			d.retired--
		}
		return gone
	})
}

// forgetLaunches lets go of the modules that the logs hold. They wait for their
// cleanup, which holds the device and so the logs: Go would collect neither.
func (d *Device) forgetLaunches() {
	for _, l := range d.allLogs() {
		for i := range l.ring {
			l.ring[i].Store(nil)
		}
	}
}

// suspects names the kernels that a failure of the device may come from.
func (d *Device) suspects() []string {
	var names []string
	var forgotten uint64
	for _, l := range d.allLogs() {
		var n uint64
		names, n = l.unfinished(names)
		forgotten += n
	}
	if forgotten > 0 {
		names = append(names, fmt.Sprintf("%d launches before", forgotten))
	}
	return names
}
