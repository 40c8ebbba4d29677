// Package vendorapi is the driver of a GPU over a library of the form that CUDA's driver API
// and HIP's runtime have in common: streams, events, pools of memory, modules, launches and
// graphs, whose functions take the same arguments and return the same numbers.
//
// The model:
//
//   - [Functions] are the addresses of the library's functions, which package cuda and package
//     rocm look for under their names. [Traits] are the other names and numbers that differ.
//   - A [Vendor] does what differs between the two: code of a device, launches that are
//     not plain, rectangles, nodes of graphs.
//   - A [Backend] opens the [Library] once. A [Device], its [Stream], [Event], [Module] and
//     [Function] are those that package driver asks for.
//   - The library keeps the current device, or its context, per OS thread, and goroutines move
//     between threads, so every entry locks its thread and sets it first ([Device.Do]). On the
//     launch path both calls are one crossing ([dl.Pair]).
//   - What is passed by address lies on the Go heap, which does not move: the directive
//     uintptrescapes of functions sees to that, and on the launch path the pooled driver.Launch.
//   - The default stream is the library's null stream, other streams are blocking ones: that
//     gives the order which package driver demands.
//   - Memory comes from the device's stream-ordered pool, where there is one. Copies of Go memory
//     go through page-locked chunks, see package hostcopy: the device never sees a Go pointer.
//   - A graph is the library's, of nodes with explicit dependencies. Where the library has none,
//     or no node for an operation, the error is [errors.ErrUnsupported], and the operations are
//     submitted one by one: see [driver.NewGraph].
//
// Example, as in package cuda:
//
//	type Backend struct{ vendorapi.Backend }
//
//	func New(names ...string) *Backend {
//		return &Backend{vendorapi.Backend{Names: names, Vendor: new(library)}}
//	}
package vendorapi
