package regalloc

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// Config says which registers there are and how values are kept in the frame.
type Config struct {
	// Regs has by class the registers to allocate, the preferred ones first.
	Regs [4][]asm.Reg
	// Base is the register that points to the frame. It is aligned to VecBytes.
	Base asm.Reg
	// Offset is the first byte of the frame, counted from Base, that is free for
	// values.
	Offset int
	// VecBytes is the size of a vector register.
	VecBytes int
}

// V4 is the configuration for x86-64-v4 (AVX-512) with values from offset on in
// the frame.
func V4(offset int) Config {
	return Config{Regs: regsV4, Base: asm.R14, Offset: offset, VecBytes: 64}
}

// V3 is the configuration for x86-64-v3 (AVX2) with values from offset on in the
// frame. It has no mask registers.
func V3(offset int) Config {
	return Config{Regs: regsV3, Base: asm.R14, Offset: offset, VecBytes: 32}
}

var (
	regsV3 = [4][]asm.Reg{asm.GPR: generalRegs(), asm.Vec: numbered(asm.Vec, 0, 16)}
	regsV4 = [4][]asm.Reg{asm.GPR: generalRegs(), asm.Vec: numbered(asm.Vec, 0, 32), asm.Mask: numbered(asm.Mask, 1, 8)}
)

// generalRegs are the general registers to allocate; those that need no prefix
// come first.
func generalRegs() []asm.Reg {
	return []asm.Reg{asm.RBX, asm.RSI, asm.RDI, asm.RBP, asm.R8, asm.R9, asm.R10, asm.R11, asm.R12, asm.R13}
}

func numbered(c asm.Class, from, to int) []asm.Reg {
	var regs []asm.Reg
	for n := from; n < to; n++ {
		regs = append(regs, asm.Phys(c, n))
	}
	return regs
}

// Result says what an allocation came to.
type Result struct {
	FrameSize int // bytes of the frame that are used, Offset included
	Stats     Stats
}

// Stats counts what the allocation put in and took out.
type Stats struct {
	Spills  int     // stores to the frame
	Reloads int     // loads from the frame
	Folded  int     // operands read from the frame by the instruction itself
	Remats  int     // values made again instead of loaded
	Moves   int     // moves between registers that were put in
	Copies  int     // COPYs that were deleted
	Kept    int     // COPYs that became moves
	Cost    float64 // of all stores, loads and moves put in: the sum of how often they run
}

// Failures of an allocation. Each is a mistake in the code that was given.
var (
	// ErrUndefined is the error of code that reads a register that was not written.
	ErrUndefined = errors.New("register is read before it is written")
	// ErrShape is the error of code whose control flow is malformed.
	ErrShape = errors.New("malformed code")
	// ErrPressure is the error of an instruction with more operands than registers.
	ErrPressure = errors.New("instruction needs more registers than there are")
)

var pool = sync.Pool{New: func() any { return new(alloc) }}

// Run allocates the registers of f, in place. After it f has no virtual
// registers, no UNDEF and no COPY; BARRIER stays.
func Run(f *Func, cfg Config) (Result, error) {
	a := pool.Get().(*alloc)
	defer pool.Put(a)
	return a.run(f, cfg, nil)
}

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
	cursor []int32 // by value: the interval at hand
	at     int     // next of the moves
	out    []asm.Inst
}

func (a *alloc) run(f *Func, cfg Config, trace *Trace) (Result, error) {
	a.f, a.cfg, a.trace, a.stats = f, cfg, trace, Stats{}
	defer func() { a.f, a.trace = nil, nil }()
	if len(f.Blocks) == 0 {
		return Result{FrameSize: cfg.Offset}, nil
	}
	a.number()
	if err := a.findBlocks(); err != nil {
		return Result{}, err
	}
	a.findLoops()
	a.decode()
	a.liveness()
	if err := a.checkEntry(); err != nil {
		return Result{}, err
	}
	if err := a.buildRanges(); err != nil {
		return Result{}, err
	}
	a.coalesce()
	a.flatten()
	if err := a.scan(); err != nil {
		return Result{}, err
	}
	a.resolve()
	a.assignSlots()
	a.rewrite()
	return Result{FrameSize: a.frame.size, Stats: a.stats}, nil
}

// number gives the virtual registers of all classes one numbering.
func (a *alloc) number() {
	n := int32(0)
	for c := range a.f.Virt {
		a.base[c] = n
		n += int32(a.f.Virt[c])
	}
	a.base[4] = n
	for c := range a.physOf {
		for i := range a.physOf[c] {
			a.physOf[c][i] = -1
		}
		for i, r := range a.cfg.Regs[c] {
			a.physOf[c][r.Num()] = int8(i)
		}
	}
}

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

// checkEntry reports a register that is live where the code begins.
func (a *alloc) checkEntry() error {
	for w, bits := range a.liveIn[:a.words] {
		if bits != 0 {
			v := int32(w*64) + trailing(bits)
			return fmt.Errorf("regalloc: %w: virtual register %d of class %d; write or UNDEF it on every path to its first use", ErrUndefined, a.regOf(v).Num(), a.regOf(v).Class())
		}
	}
	return nil
}
