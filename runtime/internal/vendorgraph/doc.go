// Package vendorgraph makes graphs with the libraries of CUDA and HIP, whose functions
// for them are the same up to their names. Their drivers share it; what differs, how
// an operation becomes a node, they say themselves.
//
// The model:
//
//   - A [Vendor] is a device with a library: how to call it, and what a [Node] is.
//   - [Set.New] creates a vendor's graph, adds a node for every operation, behind
//     the nodes that it comes after, and makes of it what can be launched.
//   - A [Set] knows the graphs of a device that are not closed, and closes them with
//     the device.
//
// A library without the functions is [errors.ErrUnsupported], and the operations are
// submitted one by one: see [driver.NewGraph].
//
//	type device struct {
//		graphs vendorgraph.Set
//		…
//	}
//
//	func (d *device) NewGraph(ops []driver.Op) (driver.Graph, error) { return d.graphs.New(d, ops) }
package vendorgraph
