// Package driver is the seam between the public runtime and the vendors: what
// a device must be able to do, and nothing about how. A new kind of device is
// one implementation of [Backend], [Device], [Stream], [Event], [Module] and
// [Function]; no other package changes.
//
// The model:
//
//   - A [Backend] finds devices of one kind and says what it looked for.
//   - A [Device] owns memory, streams, events and modules.
//   - A [Stream] is a queue: its operations run one after the other. The
//     default stream is ordered against every other stream of its device: its
//     operations start after all that was submitted before them and finish
//     before anything submitted later starts. Other streams overlap.
//   - Memory is allocated and freed in stream order: a free takes effect when
//     the work submitted before it is done.
//   - A failure of a kernel is reported by the next Sync that waits for it, unless the
//     device log has it. Work behind it runs.
//   - A [Graph] is a list of operations that is submitted at once. A device that
//     has graphs is a [Grapher]; for others [NewGraph] submits one by one.
//
// Every method may be called from any goroutine. Sizes are in bytes.
//
//	s := dev.Default()
//	a, err := s.Alloc(1 << 20)
//	err = s.Upload(a, host)
//	err = s.Launch(fn, &driver.Launch{Grid: [3]int{64, 1, 1}, Block: [3]int{256, 1, 1}, Args: args})
//	err = s.Download(host, a)
package driver
