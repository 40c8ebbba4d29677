package ir

import "fmt"

// Module is a kernel with the functions and shared objects that it reaches.
type Module struct {
	Name    string
	Checked bool // a build that looks for mistakes; who runs it may look for more
	Funcs   []*Func
	Shared  []*Object
	Tables  []*Table
	Launch  Bounds
	Texts   []string // messages of assert, formats of print
	Pos     []Pos    // position table; Value.Pos is an index into it, from 1
}

// Bounds says in which blocks a kernel runs: the first two as dsl.LaunchBounds does.
type Bounds struct {
	Threads int // of a block, 0 if there may be any number
	Blocks  int // at once on a unit of the device, 0 if the compiler may choose
	// Row is the size of a warp if the size of blocks along x must be a multiple of it, so that
	// the threads of a warp lie in one row; 0 if blocks may have any shape.
	Row int
	// Cluster is how many blocks along x can write each other's shared memory, 0 if none can.
	Cluster int
	Pos     int // of what says so in the source, index into Module.Pos
}

// Object is a shared-memory object of a block.
type Object struct {
	Name string
	Type *Type
	// Dynamic says that a launch decides how many elements the object has: as many as parameter
	// Param of the kernel says, once pass size has run. Its type is an array of none then, and it
	// is the last one.
	Dynamic bool
	Param   int
}

// sharedAlign is how shared objects are aligned: threads may access them in the widest units.
const sharedAlign = 16

// SharedLayout returns where the shared objects begin if they follow each other, and how
// many bytes they take together.
func (m *Module) SharedLayout() (offsets []int, size int) {
	offsets = make([]int, len(m.Shared))
	for i, o := range m.Shared {
		size = (size + sharedAlign - 1) / sharedAlign * sharedAlign
		offsets[i] = size
		if !o.Dynamic {
			size += max(o.Type.Size(), 1)
		}
	}
	return offsets, size
}

// Pos is a position in kernel source.
type Pos struct {
	File string
	Line int
	Col  int
}

// Func is a function in SSA form. Blocks[0] is the entry and has no
// parameters and no predecessors.
type Func struct {
	Name    string
	Kernel  bool
	Params  []*Value
	Args    []Arg // the Go parameters of a kernel, in order
	Results []*Type
	Blocks  []*Block

	nextValue int
	nextBlock int
}

// ArgKind says how a Go parameter of a kernel is passed.
type ArgKind uint8

// The kinds of kernel argument.
const (
	ArgScalar ArgKind = iota // one parameter
	ArgSlice                 // two parameters: pointer and length
	ArgStruct                // struct or array: a parameter for each scalar in it
	ArgConst                 // fixed at compile time: no parameters
)

var argKinds = [...]string{ArgScalar: "scalar", ArgSlice: "slice", ArgStruct: "struct", ArgConst: "const"}

func (k ArgKind) String() string { return argKinds[k] }

// Arg is one Go parameter of a kernel, after the Thread.
type Arg struct {
	Name string
	Kind ArgKind
	Elem *Type  // element type of a slice, type of all others
	Go   string // Go type, without spaces, as in []float32
}

// Value is the result of an operation. Values are compared by identity.
type Value struct {
	ID int
	Op Op
	// Contract lets a sum or difference take this product, or this sum take a
	// product, without rounding it first. Printed as the suffix .contract.
	Contract bool

	Type   *Type
	Args   []*Value
	Imm    uint64 // constant bits, axis, field, object, table or parameter index; what else: see the operation
	Callee *Func  // OpCall
	Block  *Block // nil for function parameters
	Pos    int    // index into Module.Pos, 0 for none
}

// TermKind is the kind of a block's last operation.
type TermKind uint8

// The terminators.
const (
	TermNone   TermKind = iota
	TermJump            // to Succs[0]
	TermBranch          // Args[0] ? Succs[0] : Succs[1]
	TermReturn          // Args are the results
)

// Term ends a block.
type Term struct {
	Kind  TermKind
	Args  []*Value
	Succs []Edge
	Pos   int
}

// Edge is a jump to a block with the values of its parameters.
type Edge struct {
	To   *Block
	Args []*Value
}

// Block is a basic block.
type Block struct {
	ID     int
	Params []*Value
	Instrs []*Value
	Term   Term
	Unroll Unroll // of the loop whose header the block is
	// Tail says that vectors all of whose lanes are on most often run a copy of the block, and
	// this one is for the others. Passes for vectors set it and leave such blocks as they are.
	Tail bool
}

// The Imm of a comparison by size in vector code says which operands are integers of 64 bits that
// are far from the ends of their range: an affine one does not wrap within a vector.
const (
	FarX = 1 << iota
	FarY
)

// OffLanes is the Imm of an [OpWhole] that holds for lanes that are off, too, and wants none on.
const OffLanes = 1

// Unroll is the unroll factor that the source asks for. It changes no result.
type Unroll struct {
	Times int // bodies for each test of the loop; 1 keeps the loop as it is, [UnrollFully] leaves none, 0 leaves it to the compiler
	Pos   int // index into Module.Pos
}

// UnrollFully is [Unroll].Times of a loop that bodies one after the other replace.
const UnrollFully = -1

// Func returns the function with the given name, nil if there is none.
func (m *Module) Func(name string) *Func {
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Kernel returns the module's kernel, nil if there is none.
func (m *Module) Kernel() *Func {
	for _, f := range m.Funcs {
		if f.Kernel {
			return f
		}
	}
	return nil
}

// PosError is an error at a position in kernel source.
type PosError struct {
	Pos Pos
	Err error
}

func (e *PosError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Pos.File, e.Pos.Line, e.Err) }

func (e *PosError) Unwrap() error { return e.Err }

// At returns err with the position of that index, or as it is if there is none.
func (m *Module) At(pos int, err error) error {
	if p := m.PosOf(pos); p.File != "" {
		return &PosError{p, err}
	}
	return err
}

// PosOf returns the source position of v, the zero Pos if it has none.
func (m *Module) PosOf(pos int) Pos {
	if pos <= 0 || pos > len(m.Pos) {
		return Pos{}
	}
	return m.Pos[pos-1]
}

// AddPos returns the index of p in the position table, adding it if needed.
func (m *Module) AddPos(p Pos) int {
	for i := len(m.Pos) - 1; i >= 0 && i >= len(m.Pos)-8; i-- { // neighbours share positions
		if m.Pos[i] == p {
			return i + 1
		}
	}
	m.Pos = append(m.Pos, p)
	return len(m.Pos)
}

// NewFunc adds a function to m.
func (m *Module) NewFunc(name string) *Func {
	f := &Func{Name: name}
	m.Funcs = append(m.Funcs, f)
	return f
}

// NewParam adds a parameter to f.
func (f *Func) NewParam(t *Type) *Value {
	v := f.NewValue(OpParam, t)
	v.Imm = uint64(len(f.Params))
	f.Params = append(f.Params, v)
	return v
}

// NewBlock appends an empty block to f.
func (f *Func) NewBlock() *Block {
	b := &Block{ID: f.nextBlock}
	f.nextBlock++
	f.Blocks = append(f.Blocks, b)
	return b
}

// NewValue returns a value of f that is in no block yet.
func (f *Func) NewValue(op Op, t *Type, args ...*Value) *Value {
	v := &Value{ID: f.nextValue, Op: op, Type: t, Args: args}
	f.nextValue++
	return v
}

// NumValues returns an upper bound of value IDs, for tables indexed by ID.
func (f *Func) NumValues() int { return f.nextValue }

// NumBlocks returns an upper bound of block IDs, for tables indexed by ID.
func (f *Func) NumBlocks() int { return f.nextBlock }

// Compact gives values and blocks new IDs without gaps, in the order of the old
// ones, if at least a quarter of the values are gone: tables indexed by ID are
// then as small as the function.
func (f *Func) Compact() {
	n := len(f.Params)
	for _, b := range f.Blocks {
		n += len(b.Params) + len(b.Instrs)
	}
	if 4*n > 3*f.nextValue {
		return
	}
	vals, blocks := make([]*Value, f.nextValue), make([]*Block, f.nextBlock)
	note := func(vs []*Value) {
		for _, v := range vs {
			vals[v.ID] = v
		}
	}
	note(f.Params)
	for _, b := range f.Blocks {
		blocks[b.ID] = b
		note(b.Params)
		note(b.Instrs)
	}
	f.nextValue, f.nextBlock = 0, 0
	for _, v := range vals {
		if v != nil {
			v.ID = f.nextValue
			f.nextValue++
		}
	}
	for _, b := range blocks {
		if b != nil {
			b.ID = f.nextBlock
			f.nextBlock++
		}
	}
}

// Renumber gives values and blocks the IDs that they have in what [Parse] makes
// of the text of m.
func (m *Module) Renumber() {
	for _, f := range m.Funcs {
		f.renumber()
	}
}

func (f *Func) renumber() {
	f.nextValue, f.nextBlock = 0, 0
	take := func(vs []*Value) {
		for _, v := range vs {
			v.ID = f.nextValue
			f.nextValue++
		}
	}
	for _, b := range f.Blocks {
		b.ID = -1
	}
	name := func(b *Block) { // blocks are numbered where they are first named
		if b.ID < 0 {
			b.ID = f.nextBlock
			f.nextBlock++
		}
	}
	take(f.Params)
	for _, b := range f.Blocks {
		name(b)
		take(b.Params)
		take(b.Instrs)
		for _, e := range b.Term.Succs {
			name(e.To)
		}
	}
}

// NewParam adds a parameter to b; every edge to b must pass one more value.
func (b *Block) NewParam(f *Func, t *Type) *Value {
	v := f.NewValue(OpBlockParam, t)
	v.Block = b
	b.Params = append(b.Params, v)
	return v
}

// Append adds v as the last instruction of b and returns it.
func (b *Block) Append(v *Value) *Value {
	v.Block = b
	b.Instrs = append(b.Instrs, v)
	return v
}

// Emit appends a new instruction to b.
func (b *Block) Emit(f *Func, op Op, t *Type, args ...*Value) *Value {
	return b.Append(f.NewValue(op, t, args...))
}

// EmitConst appends a constant with the given bits, normalised to its type.
func (b *Block) EmitConst(f *Func, t *Type, bits uint64) *Value {
	v := f.NewValue(OpConst, t)
	v.Imm = Normalize(t, bits)
	return b.Append(v)
}

// Jump ends b with a jump to to.
func (b *Block) Jump(to *Block, args ...*Value) {
	b.Term = Term{Kind: TermJump, Succs: []Edge{{To: to, Args: args}}, Pos: b.Term.Pos}
}

// Branch ends b with a conditional branch without block arguments.
func (b *Block) Branch(cond *Value, then, els *Block) {
	b.Term = Term{Kind: TermBranch, Args: []*Value{cond}, Succs: []Edge{{To: then}, {To: els}}, Pos: b.Term.Pos}
}

// Return ends b with a return.
func (b *Block) Return(results ...*Value) {
	b.Term = Term{Kind: TermReturn, Args: results, Pos: b.Term.Pos}
}

// Normalize returns the canonical bits of a constant of type t: sign-extended
// for signed integers, zero-extended for all others.
func Normalize(t *Type, bits uint64) uint64 {
	if t.Kind == KBool {
		return bits & 1
	}
	n := uint(64 - t.Bits())
	if t.IsSigned() {
		return uint64(int64(bits<<n) >> n)
	}
	return bits << n >> n
}

// MayContract reports whether v is an operation that can have Contract.
func (v *Value) MayContract() bool {
	return v.Type.IsFloat() && (v.Op == OpAdd || v.Op == OpSub || v.Op == OpMul)
}

// IsConst reports whether v is a constant.
func (v *Value) IsConst() bool { return v.Op == OpConst }

// EachUse calls fn with the address of every operand in f.
func (f *Func) EachUse(fn func(use **Value)) {
	for _, b := range f.Blocks {
		b.EachUse(fn)
	}
}

// EachUse calls fn with the address of every operand in b.
func (b *Block) EachUse(fn func(use **Value)) {
	for _, v := range b.Instrs {
		for i := range v.Args {
			fn(&v.Args[i])
		}
	}
	for i := range b.Term.Args {
		fn(&b.Term.Args[i])
	}
	for s := range b.Term.Succs {
		args := b.Term.Succs[s].Args
		for i := range args {
			fn(&args[i])
		}
	}
}
