// Package block has collectives of a block: what its threads do together, for kernels and for
// libraries of them.
//
//	sum := block.Reduce(t, 256, v, func(a, b float32) float32 { return a + b }) // all threads have it
//	below, all := block.Scan(t, 256, n, 0, func(a, b uint32) uint32 { return a + b })
//
// Package dsl has the common ones, such as [dsl.BlockSum]. Those of this package take any operator, and
// the number of threads of the block, a multiple of the warp's: where it is a constant, no loop is left.
//
// A grid of more blocks than the device holds at the same time can hand results from block to block
// in one launch: blocks take their work in the order in which they begin ([Ticket]), publish what
// they found in status words, and wait for those of earlier tickets only ([Status]). This is the
// decoupled look-back of Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled
// Look-back", 2016. It needs a device on which blocks that have begun go on: see
// runtime.Info.Cooperative.
package block

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
