package kernels

import "github.com/gokiln/kiln/quantized/format"

// words, halves and bytes are formats of blocks that are aligned to four bytes, to two, and not at
// all: with these kiln check and the tests of every kernel compile the kernels of this package.
// Programs take the types of package format.
type (
	words  struct{ format.BlockQ4_K }
	halves struct{ format.BlockIQ3_S }
	bytes  struct{ format.BlockMXFP4 }
)

var _, _, _ format.Block = words{}, halves{}, bytes{}
