package interp

import "github.com/gokiln/kiln/compiler/ir"

// how says to the executor what an instruction is.
type how uint8

const (
	perLane  how = iota // k over the spans of active lanes
	onScalar            // k on one element
	special             // f

	// Arithmetic on affine values; a uniform one has step 0.
	pairCopy
	pairAdd
	pairSub
	pairMul   // one step is 0
	pairIndex // a + b*imm
	pairField // a + imm
)

// ins is an instruction. An operand is an offset into the worker's memory: of an
// array whose elements have the given width, or, where the width is 0, of a
// scalar. Every scalar has 16 bytes: value (or base) and step.
type ins struct {
	how            how
	dw, aw, bw, cw uint8
	wide           bool // reads lanes other than the one it writes
	d, a, b, c     int32
	pos            int32 // source position
	imm            uint64
	k              kern
	f              func(w *worker, in *ins)
}

// term is how a block ends.
type term uint8

const (
	termReturn term = iota
	termJump
	termUniform // branch on a scalar bool
	termVarying // branch on an array of bools
	termAffine  // branch on a comparison of affine values
)

// block is a basic block of code; edge 0 is taken when the condition is true.
type block struct {
	code  []ins
	pos   int32 // source position of its first operation that has one
	end   int32 // and of its last
	term  term
	cond  int32
	cmp   comparison
	edges [2]edge

	polls bool  // tests a barrier that counts arrivals
	meets meets // which lanes its first operation wants
}

// edge is a jump with its assignments to the target's parameters, which are
// made for the lanes that take it.
type edge struct {
	to    int32
	moves []ins
}

// comparison is one of affine values: a op b, negated if not is set.
type comparison struct {
	op       ir.Op // OpLt, OpLe or OpEq
	unsigned bool
	not      bool
	a, b     int32
}

// Scalars at fixed addresses at the start of a worker's memory.
const (
	zeroAt      = 0
	threadAt    = 16              // 3 axes; affine along x
	blockAt     = threadAt + 48   // 3 axes
	blockDimAt  = blockAt + 48    // 3 axes
	gridDimAt   = blockDimAt + 48 // 3 axes
	warpSizeAt  = gridDimAt + 48
	spareAt     = warpSizeAt + 16 // breaks cycles of moves
	firstScalar = spareAt + 16
)

// Arrays that hold the thread geometry where it varies.
const (
	threadReg = iota // 3 axes
	laneReg   = threadReg + 3
	warpReg   = laneReg + 1
	firstReg  = warpReg + 1
)

// initial is a scalar or array that has a value before the kernel starts.
type initial struct {
	at    int32 // scalar, or number of a vreg
	width uint8
	bits  uint64
}

// placed is a scalar that is the address of constant data.
type placed struct {
	at   int32
	data []byte
}

// lowered is the code of a kernel before arrays have addresses; operands
// with a width are numbers of vregs.
type lowered struct {
	g       *graph
	blocks  []block
	moves   [][2][]move
	regs    []vreg
	scalars int32 // bytes

	params    []int32 // scalar of each parameter
	constants []initial
	fills     []initial // vregs that hold a constant in every lane
	locals    []initial // bits is the offset in the frame
	shareds   []initial // bits is the offset in shared memory
	tables    []placed
	frame     int     // bytes of local objects of a thread
	shared    int     // bytes of shared memory
	offsets   []int   // of each shared object
	declared  []int32 // source position of each shared object
	sites     []site  // of accesses, in a checked build

	warp  int  // threads in a warp
	whole bool // lanes must be all threads of the block
	warps bool // threads of a warp communicate
	grid  bool // blocks wait for each other
	geom  bool // uses the arrays of thread geometry
}

// vreg is an array before it has an address.
type vreg struct {
	width  uint8
	keep   bool // has memory of its own
	used   bool
	start  int // positions between which it is live
	end    int
	around int // innermost loop around all its uses
	at     int32
}

// move is an assignment to a block parameter.
type move struct {
	d, a   int32
	dw, aw uint8
}
