package runtime

import "github.com/gokiln/kiln/runtime/internal/driver"

// SetMemoryLimit bounds the memory of the device that the buffers of this program may
// have, in bytes; 0 takes the bound away. An allocation beyond it does what one does when
// the device has no memory left: see [Stream.Alloc].
func (d *Device) SetMemoryLimit(bytes int64) { d.limit.Store(max(bytes, 0)) }

// MemoryLimit is the bound that was set, 0 without one.
func (d *Device) MemoryLimit() int64 { return d.limit.Load() }

// PeakBytes is the most memory that the buffers of this program had at one time, since
// the device was opened or [Device.ResetPeak] was called.
func (d *Device) PeakBytes() int64 { return d.peak.Load() }

// ResetPeak has [Device.PeakBytes] begin again with what buffers have now.
func (d *Device) ResetPeak() { d.peak.Store(d.bytes.Load()) }

// take allocates memory and counts it.
func (d *Device) take(s driver.Stream, size int64) (driver.Addr, error) {
	now := d.bytes.Add(size) // first, so that goroutines cannot pass the limit together
	if limit := d.limit.Load(); limit > 0 && now > limit {
		d.bytes.Add(-size)
		return 0, &driver.Error{Kind: ErrOutOfMemory}
	}
	addr, err := d.give(s, size)
	if err != nil {
		d.bytes.Add(-size)
		return 0, err
	}
	d.held(now)
	return addr, nil
}

// held notes how much memory the program has.
func (d *Device) held(now int64) {
	for peak := d.peak.Load(); now > peak && !d.peak.CompareAndSwap(peak, now); peak = d.peak.Load() {
		continue // another goroutine has set it
	}
}
