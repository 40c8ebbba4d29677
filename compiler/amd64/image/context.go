package image

// The fields of the context, as offsets in bytes; each has 8. Code is called
// with the address of a context, which is a multiple of [ContextAlign], in RDI.
// It returns with every register changed but RSP, and with the upper halves of
// vector registers clear.
const (
	// What the driver fills in.
	CtxArgs     = 0  // address of the argument block
	CtxShared   = 8  // address of the shared memory of the block
	CtxFrames   = 16 // address of the frames of the warps, see Image.FrameSize
	CtxBlock    = 24 // x, y and z of the first block; the code advances them, x fastest
	CtxBlocks   = 48 // number of blocks to run; the code counts it down
	CtxGridDim  = 56 // x, y, z
	CtxBlockDim = 80 // x, y, z
	CtxVectors  = 104
	// CtxThreads is the address of the thread indices for the general mapping:
	// arrays of int32, x, y and z, of a block's threads rounded up to whole
	// vectors; zero for the mapping by rows.
	CtxThreads = 112

	// What the code fills in when a check fails; it then returns at once.
	CtxFault       = 120 // number of the site, from 1; the driver puts 0 here
	CtxFaultLane   = 128 // of the vector
	CtxFaultValues = 136 // two: index and length
	CtxFaultBlock  = 152 // x, y, z
	// CtxFaultThread is x, y and z of the vector's first thread. With the general
	// mapping x is the number of that thread in the block, and the others are 0.
	CtxFaultThread = 176

	CtxDynamic = 200 // vectors of shared memory that a launch asks for, see Image.Length

	CtxPrivate = 208 // the rest is the code's own

	ContextSize  = 768
	ContextAlign = 64
)

// MaxBlock is how many threads a block can have.
const MaxBlock = 1024

// Vectors returns how many vectors of w threads a block has: with the mapping by
// rows each row of threads begins a new one.
func Vectors(block [3]int, w int, general bool) int {
	if general {
		return (block[0]*block[1]*block[2] + w - 1) / w
	}
	return (block[0] + w - 1) / w * block[1] * block[2]
}
