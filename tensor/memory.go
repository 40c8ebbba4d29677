package tensor

// PeakBytes is the most memory that tensors and what operations need besides had on the
// device at one time, since it was opened or [Device.ResetPeak] was called.
func (d *Device) PeakBytes() int64 { return d.rt.PeakBytes() }

// ResetPeak has [Device.PeakBytes] begin again with what tensors have now.
func (d *Device) ResetPeak() { d.rt.ResetPeak() }

// SetMemoryLimit bounds the memory of the device that the program has, in bytes; 0 takes
// the bound away. When it is reached, tensors that the program has dropped are collected;
// if that is not enough, the operation fails with [ErrOutOfMemory], and its error has the
// shape and the sizes. The same happens when the device itself has no memory left.
func (d *Device) SetMemoryLimit(bytes int64) { d.rt.SetMemoryLimit(bytes) }
