package amd64

import (
	"encoding/binary"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
	"github.com/gokiln/kiln/compiler/ir"
)

// isa is a level of x86-64.
type isa uint8

const (
	v3 isa = 3 // AVX2, FMA, F16C, BMI
	v4 isa = 4 // AVX-512 F, BW, CD, DQ, VL
)

// lanes is how many threads a vector has: one for 32 bits.
func (i isa) lanes() int { return i.bits() / 32 }

// bits is the width of a vector.
func (i isa) bits() int {
	if i == v4 {
		return 512
	}
	return 256
}

// val is a value in registers: vectors, one or for types of 64 bits two; a mask, for
// bools that vary; or one general register.
type val struct {
	reg [2]asm.Reg
	n   uint8
	// splat values have equal lanes, uniform floats; one register is enough.
	splat bool
}

func one(r asm.Reg) val { return val{reg: [2]asm.Reg{r}, n: 1} }

// half returns vector i of a value of 64 bits.
func half(x val, i int) asm.Reg {
	if x.n == 1 {
		i = 0
	}
	return x.reg[i]
}

// code is where instructions go, and where registers and constants come from.
type code struct {
	f      *regalloc.Func
	cur    *regalloc.Block
	isa    isa
	vnni   bool // there are dot products of bytes: AVX512_VNNI, or AVX_VNNI
	pairs  bool // there are dot products of pairs of bfloat16: AVX512_BF16
	amx    bool // there are tile registers: AMX_TILE, AMX_BF16 and AMX_INT8
	pos    int32
	consts *poolOf
	parts  map[bytesKey]bytesIn // what dot4 has made

	labels []int // block of the code where a label is, -1 before it is bound
	depth  int   // of the loop that code goes to
}

// poolOf collects constants, each once.
type poolOf struct {
	bytes []byte
	at    map[string]int64
}

func newCode(i isa, consts *poolOf) *code {
	return &code{f: &regalloc.Func{Remat: map[asm.Reg]asm.Inst{}}, isa: i, consts: consts, parts: map[bytesKey]bytesIn{}}
}

func (c *code) width() int { return c.isa.bits() }
func (c *code) bytes() int { return c.isa.bits() / 8 }

func (c *code) vec() asm.Reg { return c.f.New(asm.Vec) }
func (c *code) gpr() asm.Reg { return c.f.New(asm.GPR) }

// mask returns a new register for a set of lanes.
func (c *code) mask() asm.Reg {
	if c.isa == v3 {
		return c.f.New(asm.Vec)
	}
	return c.f.New(asm.Mask)
}

// op adds an instruction and returns it for what is seldom said.
func (c *code) op(op asm.Op, width int, args ...asm.Arg) *asm.Inst {
	in := asm.Inst{Op: op, Width: uint16(width), Pos: c.pos}
	copy(in.Args[:], args)
	for i := range args {
		// A pool operand of one element is given to all lanes.
		if args[i].Kind == asm.PoolArg && args[i].Scale == 1 {
			in.Bcast, in.Args[i].Scale = true, 0
		}
	}
	c.cur.Insts = append(c.cur.Insts, in)
	return &c.cur.Insts[len(c.cur.Insts)-1]
}

// pool returns the operand for a constant of 32-bit words.
func (c *code) pool(words []uint32) asm.Arg {
	b := make([]byte, 0, 64)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	key := string(b)
	at, ok := c.consts.at[key]
	if !ok {
		for len(c.consts.bytes)%len(b) != 0 {
			c.consts.bytes = append(c.consts.bytes, 0)
		}
		at = int64(len(c.consts.bytes))
		c.consts.bytes = append(c.consts.bytes, b...)
		c.consts.at[key] = at
	}
	return asm.Pool(at)
}

// data returns the operand for constant data, which is aligned as tables are.
func (c *code) data(b []byte) asm.Arg {
	const align = 16
	key := "table " + string(b) // apart from vectors, whose alignment may be more
	at, ok := c.consts.at[key]
	if !ok {
		for len(c.consts.bytes)%align != 0 {
			c.consts.bytes = append(c.consts.bytes, 0)
		}
		at = int64(len(c.consts.bytes))
		c.consts.bytes = append(c.consts.bytes, b...)
		c.consts.at[key] = at
	}
	return asm.Pool(at)
}

// all32 returns the operand for a 32-bit constant in all lanes, of instructions
// that broadcast elements of 32 bits.
func (c *code) all32(x uint32) asm.Arg {
	if c.isa == v3 {
		return c.pool(sameWords(8, x))
	}
	a := c.pool([]uint32{x})
	a.Scale = 1
	return a
}

// all64 is all32 for 64 bits.
func (c *code) all64(x uint64) asm.Arg {
	w := []uint32{uint32(x), uint32(x >> 32)}
	if c.isa == v3 {
		return c.pool(append(w, w[0], w[1], w[0], w[1], w[0], w[1]))
	}
	a := c.pool(w)
	a.Scale = 1
	return a
}

// pick returns the instruction of the level that code is for.
func (c *code) pick(on3, on4 asm.Op) asm.Op {
	if c.isa == v3 {
		return on3
	}
	return on4
}

// vop adds an instruction on whole vectors and returns the new register of its
// result.
func (c *code) vop(op asm.Op, args ...asm.Arg) asm.Reg {
	r := c.vec()
	c.op(op, c.width(), append([]asm.Arg{asm.R(r)}, args...)...)
	return r
}

// vxx is vop with registers.
func (c *code) vxx(op asm.Op, x ...asm.Reg) asm.Reg {
	args := make([]asm.Arg, len(x))
	for i, r := range x {
		args[i] = asm.R(r)
	}
	return c.vop(op, args...)
}

// clear sets a vector to zero.
func (c *code) clear(r asm.Reg) {
	c.op(asm.UNDEF, c.width(), asm.R(r))
	c.op(c.pick(asm.VPXOR, asm.VPXORD), c.width(), asm.R(r), asm.R(r), asm.R(r))
}

func (c *code) zero() asm.Reg {
	r := c.vec()
	c.clear(r)
	return r
}

// copy copies a register.
func (c *code) copy(d, s asm.Reg) { c.op(asm.COPY, c.width(), asm.R(d), asm.R(s)) }

// inVector reports whether a value of type t that is the same in all lanes is kept
// in a vector.
func inVector(t *ir.Type) bool { return t.IsFloat() || t.IsHalf() }

type bytesKey struct {
	reg  asm.Reg
	kind bytesKind
}

type bytesIn struct {
	reg [2]asm.Reg
	in  *regalloc.Block
}

// bytesKind says what is made of a vector of bytes.
type bytesKind uint8
