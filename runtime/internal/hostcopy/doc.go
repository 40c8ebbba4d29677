// Package hostcopy copies between Go memory and a GPU for the drivers whose
// asynchronous copies want page-locked memory: the device never sees a Go
// pointer.
//
// The model:
//
//   - A [Staging] owns two bounded sets of page-locked chunks, small and large.
//   - An upload fills a chunk and submits the copy of it; it returns when the
//     source has been read. A download submits copies into two chunks in turn and
//     empties one while the device fills the other.
//   - A chunk carries the event of its last use, and is used again after that.
//   - A driver gives it a [Device] to make chunks and events with, and a
//     [Stream] for each copy.
//
// Example:
//
//	staging := hostcopy.New(dev)
//	err := staging.Upload(stream, addr, host)
//	staging.Close()
package hostcopy
