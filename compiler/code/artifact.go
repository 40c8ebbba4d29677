package code

import (
	"bytes"
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// Artifact is a kernel compiled for a target.
type Artifact struct {
	Meta
	Code []byte
}

// Meta describes an artifact; it is what a launch needs to know besides the
// code.
type Meta struct {
	Kernel string `json:"kernel"` // package path, function and types, for people
	Entry  string `json:"entry"`  // name of the function in the code
	Target string `json:"target"`
	Format string `json:"format"` // "ptx", "kir", after linking "cubin"
	Args   []Arg  `json:"args"`
	Shared int    `json:"shared"` // bytes of shared memory of a block
	// Dynamic is how many bytes of shared memory a launch must ask for, because the code
	// declares no length: all that there is, or 0.
	Dynamic int `json:"dynamic,omitempty"`
	// Length says where in the argument block the number of elements is that the array of
	// dsl.DynamicShared has, nil for a kernel without one. A launch asks for their memory besides.
	Length *ir.Length `json:"length,omitempty"`
	// Overlaps says that the code begins by waiting for the kernel before it in the stream, so that
	// the device may start it earlier.
	Overlaps bool `json:"overlaps,omitempty"`
	Warp     bool `json:"warp"` // uses warp operations: a block must be whole warps

	// Threads is how many threads a block must have, 0 for any number: the kernel's
	// dsl.LaunchBounds.
	Threads int `json:"threads,omitempty"`
	// Cluster is how many blocks along x are a cluster, which divides those of a launch; 0 for none.
	Cluster int `json:"cluster,omitempty"`
	// Row is the size of a warp if the size of blocks along x must be a multiple of it, because
	// threads come to warp operations by conditions on their index along x or y; otherwise 0.
	Row int `json:"row,omitempty"`

	// Interpreted is the fault of the compiler for which a kernel that should be native
	// code is IR for the interpreter, "" if there was none.
	Interpreted string `json:"interpreted,omitempty"`

	// Grid says where a kernel with barriers of the grid takes the words that its blocks arrive at,
	// nil for all others. They are none of Args, and come before the log. All blocks have to be
	// resident.
	Grid *Grid `json:"grid,omitempty"`

	// Log is what the kernel writes to the device log, nil if nothing. The log takes
	// the last part of the argument block, and is none of Args.
	Log *devlog.Log `json:"log,omitempty"`
}

// Arg is a parameter of the kernel after the Thread.
type Arg struct {
	Name    string `json:"name"`
	Go      string `json:"go"` // Go type without spaces, as in []float32
	Slice   bool   `json:"slice,omitempty"`
	Const   bool   `json:"const,omitempty"`   // fixed at compile time, not in the argument block
	Size    int    `json:"size"`              // bytes of the scalar or struct, or of one element
	Written bool   `json:"written,omitempty"` // a slice that the kernel writes to
	Offset  int    `json:"offset"`            // in the argument block; a slice is an address and a length of 8 bytes each
}

// ArgBytes returns the size of the argument block, padding included, without the
// device log.
func (m *Meta) ArgBytes() int {
	if len(m.Args) == 0 {
		return 0
	}
	last := m.Args[len(m.Args)-1]
	n := last.Offset
	switch {
	case last.Slice:
		n += 16
	case !last.Const:
		n += last.Size
	}
	return (n + ir.BlockAlign - 1) / ir.BlockAlign * ir.BlockAlign
}

// WithPositions returns the code of a "kir" artifact with positions from a
// table added, so that errors of the running kernel name source lines. Artifacts
// are stored without: a table changes whenever a line moves, the code does not. Code of other
// formats is as it was, and does not have the table asked for.
func (a *Artifact) WithPositions(table func() []ir.Pos) []byte {
	if a.Format != FormatIR {
		return a.Code
	}
	b := bytes.NewBuffer(bytes.Clone(a.Code))
	for i, p := range table() {
		if p != (ir.Pos{}) {
			fmt.Fprintf(b, "pos !%d %q %d %d\n", i+1, p.File, p.Line, p.Col)
		}
	}
	return b.Bytes()
}

// Grid is where a launch passes the words of barriers of the grid in the argument block: their
// address and how many there are. They are of 32 bits and zero before a launch.
type Grid struct {
	Offset int `json:"offset"`
	// Params is where each parameter of the function lies in the argument block, for vendors that
	// take them one by one in such a launch: a slice is two, and what fills up the block one more.
	Params []int `json:"params"`
}

// GridBytes is the room that they take in the argument block, GridWords how many there are.
const (
	GridBytes = 16
	GridWords = 2
)
