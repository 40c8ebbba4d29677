package ptx

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// This file runs matrix instructions for a warp or a warpgroup, by the figures of the PTX ISA:
// it knows nothing of package matrix.

// simFragment says which element of a matrix element i of a lane is; group is lane/4 and quad lane%4.
type simFragment func(group, quad, i int) (row, col int)

// simUnit is an instruction mma.sync.
type simUnit struct {
	m, n, k int
	elem    *ir.Type
	number  func(bits uint64) float64 // of an element, if the type does not say it
	sum     *ir.Type
	ignored int // bits of the factors, the lowest
	a, b, c simFragment
}

var simSums simFragment = func(g, q, i int) (int, int) { return g + 8*(i/2), 2*q + i%2 }

var simUnits = map[string]simUnit{
	"m16n8k16.row.col.f32.bf16.bf16.f32": halfUnit(ir.BF16),
	"m16n8k16.row.col.f32.f16.f16.f32":   halfUnit(ir.F16),
	"m16n8k8.row.col.f32.tf32.tf32.f32":  tf32Unit,
	"m16n8k32.row.col.f32.e4m3.e4m3.f32": byteUnit(ir.U8, ir.F32, 4, 3),
	"m16n8k32.row.col.f32.e5m2.e5m2.f32": byteUnit(ir.U8, ir.F32, 5, 2),
	"m16n8k32.row.col.s32.s8.s8.s32":     byteUnit(ir.I8, ir.I32, 0, 0),
	"m16n8k32.row.col.s32.u8.u8.s32":     byteUnit(ir.U8, ir.I32, 0, 0),
	"m8n8k4.row.col.f64.f64.f64.f64": {
		m: 8, n: 8, k: 4, elem: ir.F64, sum: ir.F64,
		a: func(g, q, _ int) (int, int) { return g, q },
		b: func(g, q, _ int) (int, int) { return q, g },
		c: func(g, q, i int) (int, int) { return g, 2*q + i },
	},
	"m16n8k8.row.col.f64.f64.f64.f64": {
		m: 16, n: 8, k: 8, elem: ir.F64, sum: ir.F64,
		a: func(g, q, i int) (int, int) { return g + 8*(i%2), q + 4*(i/2) },
		b: func(g, q, i int) (int, int) { return q + 4*i, g },
		c: simSums,
	},
}

var tf32Unit = simUnit{
	m: 16, n: 8, k: 8, elem: ir.F32, sum: ir.F32, ignored: 13,
	a: func(g, q, i int) (int, int) { return g + 8*(i%2), q + 4*(i/2) },
	b: func(g, q, i int) (int, int) { return q + 4*i, g },
	c: simSums,
}

func halfUnit(t *ir.Type) simUnit {
	return simUnit{
		m: 16, n: 8, k: 16, elem: t, sum: ir.F32,
		a: func(g, q, i int) (int, int) { return g + 8*(i/2%2), 2*q + i%2 + 8*(i/4) },
		b: func(g, q, i int) (int, int) { return 2*q + i%2 + 8*(i/2), g },
		c: simSums,
	}
}

// byteUnit has elements of 8 bits: integers, or numbers with bits of an exponent and of a fraction.
func byteUnit(elem, sum *ir.Type, exponent, fraction int) simUnit {
	u := simUnit{
		m: 16, n: 8, k: 32, elem: elem, sum: sum,
		a: func(g, q, i int) (int, int) { return g + 8*(i/4%2), 4*q + i%4 + 16*(i/8) },
		b: func(g, q, i int) (int, int) { return 4*q + i%4 + 16*(i/4), g },
		c: simSums,
	}
	switch {
	case elem == ir.I8:
		u.number = func(b uint64) float64 { return float64(int8(b)) }
	case exponent > 0:
		u.number = func(b uint64) float64 {
			e, f := int(b>>fraction)&(1<<exponent-1), float64(b&(1<<fraction-1))/float64(int(1)<<fraction)
			v := math.Ldexp(1+f, e-(1<<(exponent-1)-1))
			if e == 0 {
				v = math.Ldexp(f, 1-(1<<(exponent-1)-1))
			}
			if b>>7 == 1 {
				v = -v
			}
			return v
		}
	}
	return u
}

// simFloat is the number that bits of a type stand for.
func simFloat(t *ir.Type, b uint64) float64 {
	v, _ := ir.Eval(ir.OpConvert, ir.F64, 0, []uint64{b}, []*ir.Type{t})
	return math.Float64frombits(v)
}

// elements returns those of a list of registers of a thread.
func (o *simOperand) elements(t *simThread, typ *ir.Type) (out []uint64) {
	per := max(1, 4/typ.Size())
	for _, r := range o.pair {
		w := r.get(t)
		for i := range per {
			if per > 1 {
				out = append(out, w>>(i*8*typ.Size())&(1<<(8*typ.Size())-1))
			} else {
				out = append(out, w)
			}
		}
	}
	return out
}

// value is the number that the bits of an element of a factor stand for.
func (u *simUnit) value(bits uint64) float64 {
	bits = bits >> u.ignored << u.ignored
	if u.number != nil {
		return u.number(bits)
	}
	return simFloat(u.elem, bits)
}

// add adds the products of the numbers of a row and of a column to a sum, one after the other along
// k.
func (u *simUnit) add(c uint64, row, col []float64) uint64 {
	switch u.sum {
	case ir.I32:
		sum := int32(c)
		for k, x := range row {
			sum += int32(x * col[k])
		}
		return uint64(uint32(sum))
	case ir.F32:
		sum := math.Float32frombits(uint32(c))
		for k, x := range row {
			sum = float32(x*col[k] + float64(sum))
		}
		return uint64(math.Float32bits(sum))
	}
	sum := math.Float64frombits(c)
	for k, x := range row {
		sum = math.FMA(x, col[k], sum)
	}
	return math.Float64bits(sum)
}

// simFactor is the numbers of a factor: k of each row of A, or column of B. Each is decoded once,
// not for every sum that it is part of.
type simFactor struct {
	k       int
	numbers []float64
	set     []bool
}

func newFactor(lines, k int) *simFactor {
	return &simFactor{k, make([]float64, lines*k), make([]bool, lines*k)}
}

func (f *simFactor) put(i, k int, x float64) {
	at := i*f.k + k
	f.numbers[at], f.set[at] = x, true
}

func (f *simFactor) line(i int) []float64 { return f.numbers[i*f.k:][:f.k] }

// whole reports whether every number was put.
func (f *simFactor) whole() bool { return !slices.Contains(f.set, false) }

// multiply runs mma.sync for the lanes of a warp.
func multiply(in *simInst, lanes []*simThread) {
	name := strings.Join(in.mods[3:], ".")
	u, ok := simUnits[name]
	if !ok || strings.Join(in.mods[:3], ".") != "mma.sync.aligned" {
		panic("no instruction " + strings.Join(in.mods, "."))
	}
	a, b := newFactor(u.m, u.k), newFactor(u.n, u.k)
	for l, t := range lanes {
		for i, x := range in.ops[1].elements(t, u.elem) {
			row, k := u.a(l/4, l%4, i)
			a.put(row, k, u.value(x))
		}
		for i, x := range in.ops[2].elements(t, u.elem) {
			k, col := u.b(l/4, l%4, i)
			b.put(col, k, u.value(x))
		}
	}
	if !a.whole() || !b.whole() {
		panic("wrong number of registers in " + in.text)
	}
	for l, t := range lanes {
		for i, c := range in.ops[3].elements(t, u.sum) {
			row, col := u.c(l/4, l%4, i)
			in.ops[0].pair[i].set(t, u.add(c, a.line(row), b.line(col)))
		}
	}
}

// loadMatrices runs ldmatrix for the lanes of a warp: lane l names row l%8 of matrix l/8.
func loadMatrices(in *simInst, lanes []*simThread) {
	transposed := strings.Join(in.mods, ".") == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
	if !transposed && strings.Join(in.mods, ".") != "ldmatrix.sync.aligned.m8n8.x4.shared.b16" {
		panic("no instruction " + in.text)
	}
	var rows [32][]byte
	for l, t := range lanes {
		rows[l] = t.memory("shared", in.ops[1], 0, 16)
	}
	for l, t := range lanes {
		for q, r := range in.ops[0].pair {
			var v uint64
			for i := range 2 {
				row, col := l/4, 2*(l%4)+i
				if transposed {
					row, col = col, row
				}
				v |= uint64(binary.LittleEndian.Uint16(rows[8*q+row][2*col:])) << (16 * i)
			}
			r.set(t, v)
		}
	}
}

// simProduct is a product of a group that has begun.
type simProduct struct {
	in     *simInst
	n      int
	adds   bool
	unit   simUnit
	number int // of its batch
	a, b   func(i, k int) uint64
	regs   []simOperand // of A, if it is not in shared memory
}

// group runs wgmma for the threads of four warps. Products are made when they are waited for, and
// until then the sums are unset.
func (b *simBlock) group(in *simInst, threads []*simThread) {
	first := threads[0].id / 128
	state := b.groups[first]
	if state == nil {
		if b.groups == nil {
			b.groups = map[int]*simGroup{}
		}
		state = &simGroup{}
		b.groups[first] = state
	}
	switch in.mods[1] {
	case "fence":
		state.ready = true
	case "mma_async":
		if !state.ready {
			panic("products begin without a fence")
		}
		p := decodeProduct(in, threads[0])
		p.number = state.batch
		for _, t := range threads {
			for _, r := range p.regs {
				r.get(t)
			}
			for _, r := range in.ops[0].pair {
				if len(state.pending) == 0 && p.adds {
					r.get(t) // has to be set
				}
			}
			p.mark(t)
		}
		state.pending = append(state.pending, p)
	case "commit_group":
		state.batch++
	case "wait_group":
		left, _ := strconv.Atoi(strings.TrimSpace(in.text[strings.LastIndex(in.text, " "):]))
		for len(state.pending) > 0 && state.pending[0].number < state.batch-left {
			state.pending[0].run(threads)
			state.pending = state.pending[1:]
		}
		for _, t := range threads {
			t.unmark()
			for _, p := range state.pending {
				p.mark(t)
			}
		}
		state.ready = false
	default:
		panic("no instruction " + in.text)
	}
}

// mark says that the product has begun to read and write registers of a thread.
func (p *simProduct) mark(t *simThread) {
	for _, r := range p.in.ops[0].pair {
		t.mark(r.reg, simInFlight)
	}
	for _, r := range p.regs {
		t.mark(r.reg, simRead)
	}
}

// simGroup is the products of a warpgroup.
type simGroup struct {
	ready   bool
	batch   int
	pending []simProduct
}

// decodeProduct reads an instruction and its descriptors, which are those of the first thread.
func decodeProduct(in *simInst, t *simThread) simProduct {
	shape, types := in.mods[4], strings.Join(in.mods[5:], ".")
	p := simProduct{in: in}
	var m, k int
	if n, err := fmt.Sscanf(shape, "m%dn%dk%d", &m, &p.n, &k); n != 3 || err != nil || m != 64 || p.n%8 != 0 || p.n > 256 {
		panic("no shape " + shape)
	}
	switch types {
	case "f32.bf16.bf16":
		p.unit = halfUnit(ir.BF16)
	case "f32.f16.f16":
		p.unit = halfUnit(ir.F16)
	case "f32.tf32.tf32":
		p.unit = tf32Unit
	case "f32.e4m3.e4m3", "f32.e5m2.e5m2", "s32.s8.s8", "s32.u8.u8":
		p.unit = simUnits["m16n8k32.row.col."+types+"."+in.mods[5]]
	default:
		panic("no types " + types)
	}
	ints := p.unit.sum == ir.I32
	want := 8
	switch {
	case ints:
		want = 4
	case p.unit.elem.Size() != 2:
		want = 6
	case in.ops[1].pair != nil:
		want = 7 // A in registers is not transposed
	}
	if k != p.unit.k || len(in.ops) != want || ints && p.n > 32 && p.n%16 != 0 {
		panic("no instruction " + in.text)
	}
	ops := in.ops
	if p.adds = ops[3].get(t) == 1; !ints && (ops[4].imm != 1 || ops[5].imm != 1) {
		panic("factors are negated")
	}
	transposed := func(i int) bool { return i < len(ops) && ops[i].imm == 1 }
	if p.regs = ops[1].pair; p.regs != nil {
		p.b = p.factor(t, ops[2].get(t), transposed(6))
		return p
	}
	p.a, p.b = p.factor(t, ops[1].get(t), transposed(6)), p.factor(t, ops[2].get(t), transposed(7))
	return p
}

// run makes the product.
func (p *simProduct) run(threads []*simThread) {
	sums := p.in.ops[0].pair
	a, b := newFactor(groupRows, p.unit.k), newFactor(p.n, p.unit.k)
	if p.regs != nil {
		p.registers(threads, a)
	} else {
		p.read(a, p.a)
	}
	p.read(b, p.b)
	for l, t := range threads {
		for i := range sums {
			row := 16*(l/32) + l%32/4 + 8*(i/2%2)
			col := 8*(i/4) + 2*(l%4) + i%2
			r := sums[i].reg
			if !p.adds {
				t.regs[r] = 0
			}
			t.regs[r] = p.unit.add(t.regs[r], a.line(row), b.line(col))
		}
	}
}

// groupRows is how many rows of A a product of a group has.
const groupRows = 64

// read fills a factor with the elements that a function returns.
func (p *simProduct) read(to *simFactor, element func(i, k int) uint64) {
	for i := range len(to.numbers) / to.k {
		for k := range to.k {
			to.put(i, k, p.unit.value(element(i, k)))
		}
	}
}

// registers fills A from registers, of which each warp has 16 rows (PTX ISA, "Register Fragments"
// of wgmma): they are read when the product is made.
func (p *simProduct) registers(threads []*simThread, a *simFactor) {
	for l, t := range threads {
		for i, x := range (&simOperand{pair: p.regs}).elements(t, p.unit.elem) {
			row, k := p.unit.a(l%32/4, l%4, i)
			a.put(16*(l/32)+row, k, p.unit.value(x))
		}
	}
	if !a.whole() {
		panic("wrong number of registers in " + p.in.text)
	}
}

// factor returns what a descriptor says is at row or column i and place k (PTX ISA, "Matrix
// Descriptor Format" and "Strides" of wgmma with a swizzle of 128 bytes).
func (p *simProduct) factor(t *simThread, desc uint64, transposed bool) func(i, k int) uint64 {
	start, lead, stride := int(desc&0x3FFF)<<4, int(desc>>16&0x3FFF)<<4, int(desc>>32&0x3FFF)<<4
	if desc>>62 != 1 || desc>>49&7 != 0 {
		panic(fmt.Sprintf("descriptor %#x has no swizzle of 128 bytes", desc))
	}
	size := p.unit.elem.Size()
	return func(i, k int) uint64 {
		at := i/8*stride + i%8*128 + size*k
		if transposed {
			at = i/64*lead + k/8*stride + k%8*128 + 2*(i%64)
		}
		at += start
		at ^= at >> 3 & 0x70
		if t.block.dirty[at] {
			panic(fmt.Sprintf("shared memory at %#x was written, and no fence.proxy.async came after it", at))
		}
		switch size {
		case 1:
			return uint64(t.block.shared[at])
		case 4:
			return uint64(binary.LittleEndian.Uint32(t.block.shared[at:]))
		}
		return uint64(binary.LittleEndian.Uint16(t.block.shared[at:]))
	}
}
