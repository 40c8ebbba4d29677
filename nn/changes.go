package nn

import "sync/atomic"

// replaced counts what [Changes] does.
var replaced atomic.Uint64

// Changes counts how often parameters of any network were given other memory, and layers an adapter
// or an observer, by the functions of this package. As long as it is the same, a [tensor.Graph] of
// a network does what the network does.
func Changes() uint64 { return replaced.Load() }

// changed notes a change that graphs do not see.
func changed() { replaced.Add(1) }
