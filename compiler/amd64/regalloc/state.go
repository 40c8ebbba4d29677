package regalloc

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// alloc is the state of one allocation. Its slices are reused by the next.
type alloc struct {
	f     *Func
	cfg   Config
	stats Stats
	trace *Trace

	base   [5]int32 // by class: index of its first virtual register; base[4] is their number
	physOf [4][32]int8

	blocks   []bblock
	firstOf  []int32 // by block of f: its first basic block
	blockOf  []int32 // by instruction number: its basic block
	loops    []loop
	marks    []uint8 // by block, of the walk that finds loops
	path     []int32
	barriers []int32 // instruction numbers
	ops      []operand
	opsAt    []int32 // by instruction number: the first of its operands

	words             int // of a set of virtual registers
	liveIn, gen, kill []uint64
	live              []uint64

	links     []link
	rangeHead []int32
	events    []event
	useHead   []int32
	fixed     [4][32]int32 // ranges of machine registers that the code names
	copies    []copyPair
	copyTo    []int32 // by virtual register: one that it is copied to, or -1
	parent    []int32

	vals   []value
	remats []remat
	rng    []span
	uses   []use

	ivs    []ival
	heap   []int32
	active [4][32][]int32
	cover  [4][32]int32 // by register: the interval that was last found in it, or -1
	free   [32]int32
	class  asm.Class

	moves    []move
	pending  []move
	lifeLo   int32   // the first block of the life of the value in question
	lifeHi   int32   // and the last
	locStart []int16 // by block: the location of the value in question, or noReg
	locEnd   []int16
	cleanIn  []bool  // by block: the frame has its current value at the start
	effect   []uint8 // by block: on that
	tramps   []int32 // basic blocks whose jump has a block of its own for moves
	trampOf  []int32 // by basic block: index into tramps, or -1
	trampAt  []int32 // of tramps: the block at the end, or -1 if behind the jump

	frame  frame
	cursor []int32 // by value: the live interval that covers the current position
	at     int     // next of the moves
	out    []asm.Inst
}

// operand is a register that an instruction reads or writes.
type operand struct {
	reg         asm.Reg
	read, write bool
	again       bool  // written like an operand before, by an instruction that clears it
	memory      bool  // read alone, and the instruction could read it from memory
	early       bool  // written, and not to be a register that the instruction reads
	arg         int8  // index into Inst.Args
	part        uint8 // where in the instruction
	peer        int32 // of a COPY: the other virtual register, or -1
}

// bblock is a basic block: a part of a block of the code with jumps at its end
// only. Its instructions have the numbers entry+1 on.
type bblock struct {
	block, lo, hi int32    // instructions [lo, hi) of a block of the code
	entry         int32    // number of its start
	succ          [2]int32 // where a jump leads to and where the code goes on, or -1
	preds         int32    // how many edges lead to it
	loop          int32    // innermost loop, or -1
	freq          float32
}

func (b *bblock) start() int32 { return 2 * b.entry }

func (b *bblock) last() int32 { return b.entry + b.hi - b.lo }

func (b *bblock) end() int32 { return 2 * (b.last() + 1) }

// loop is a loop by the order of the code: from the target of a jump backward to
// the last such jump.
type loop struct {
	start, end int32 // positions
	parent     int32 // or -1
	freq       float32
}

// link is a live range [from, to) in a list by position.
type link struct {
	from, to, next int32
}

// event is a read or write in a list by position.
type event struct {
	pos, next int32
	peer      int32 // of a COPY: the other register, else -1
	flags     useFlags
}

type useFlags uint8

// copyPair is a COPY between virtual registers.
type copyPair struct {
	dst, src int32
	freq     float32
}

// value is a set of virtual registers that became one.
type value struct {
	rlo, rhi int32 // its ranges
	ulo, uhi int32 // its uses
	first    int32 // its first interval, or -1
	remat    int32 // instruction that makes it again, or -1
	partner  int32 // value that a COPY joins it with, or -1
	hint     int16 // register that a COPY joins it with, or noReg
	last     int16 // register that it got last, or noReg
	stored   bool  // a part of it is in the frame
	dropped  bool  // what it was first made by is not needed
	slot     int32 // offset in the frame
	defs     int32 // how many instructions write it
	defFreq  float32
}

// span is a live range [from, to).
type span struct{ from, to int32 }

// use is a read or write that an instruction makes.
type use struct {
	pos   int32
	flags useFlags
}

// ival is a live interval: a part of the live range of a value, with one location.
type ival struct {
	value    int32
	from, to int32 // ranges are cut off here
	rlo, rhi int32 // its ranges
	cur      int32 // first range that may not be over
	ulo, uhi int32 // its uses
	next     int32 // the next part of the value, or -1
	reg      int16 // index into Config.Regs, or inFrame
}

// remat is how a virtual register is made again.
type remat struct {
	inst asm.Inst
	reg  asm.Reg
}

// move copies a value from one location to another: registers by their index, or
// inFrame.
type move struct {
	key      int32 // see key
	value    int32
	from, to int16
}

// frame is the layout of the values in the frame.
type frame struct {
	size  int
	slots []slot
	order []int32
	temp  [4]int32 // by class: a temporary slot, or 0
}

// slot is a spill slot in the frame and the values that share it.
type slot struct {
	class  asm.Class
	offset int32
	values []int32
}

func trailing(w uint64) int32 { return int32(bits.TrailingZeros64(w)) }

func (a *alloc) blockAt(pos int32) *bblock { return &a.blocks[a.blockOf[pos>>1]] }

func (a *alloc) freqAt(pos int32) float32 { return a.blockAt(pos).freq }

// virtual returns the number of virtual register r.
func (a *alloc) virtual(r asm.Reg) int32 { return a.base[r.Class()] + int32(r.Num()) }

// regOf returns the virtual register of a number.
func (a *alloc) regOf(v int32) asm.Reg {
	c := a.classOf(v)
	return asm.Virtual(c, int(v-a.base[c]))
}

func (a *alloc) classOf(v int32) asm.Class {
	c := asm.Mask
	for a.base[c] > v {
		c--
	}
	return c
}

func (a *alloc) count() int { return int(a.base[4]) }

// grow returns s with n zero elements, reusing its memory.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/2)
	}
	s = s[:n]
	clear(s)
	return s
}

var infinite = float32(math.Inf(1))
