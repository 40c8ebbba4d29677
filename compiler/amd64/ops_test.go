//go:build unix && amd64

package amd64

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/irconf"
)

// form is how an operation is tried.
type form struct {
	sig     irconf.Signature
	isa     isa
	uniform bool
	fixed   int // the operand that is a constant, -1 for none
	bits    uint64
	neg     uint64 // of an FMA: its Imm, see fmaOps
	vnni    bool
}

func (f form) String() string {
	s := fmt.Sprintf("%v v%d", f.sig, f.isa)
	if f.uniform {
		s += " uniform"
	}
	if f.vnni {
		s += " VNNI"
	}
	if f.fixed >= 0 {
		s += fmt.Sprintf(" operand %d = %s", f.fixed, ir.ConstText(f.sig.Args[f.fixed], f.bits))
	}
	return s
}

// value makes the operation and its operands.
func (f form) value() *ir.Value {
	v := &ir.Value{Op: f.sig.Op, Type: f.sig.Result, ID: 100, Imm: f.neg}
	for i, t := range f.sig.Args {
		x := &ir.Value{Op: ir.OpParam, Type: t, ID: i}
		if i == f.fixed {
			x.Op, x.Imm = ir.OpConst, f.bits
		}
		v.Args = append(v.Args, x)
	}
	return v
}

// compiled makes code that loads operands, does the operation and stores its result.
func (f form) compiled(t *testing.T) *program {
	t.Helper()
	c := newCode(f.isa, &poolOf{at: map[string]int64{}})
	c.vnni = f.vnni
	c.bind(c.newLabel())
	v := f.value()
	var err error
	if f.uniform {
		err = f.uniformCode(c, v)
	} else {
		err = f.varyingCode(c, v)
	}
	require.NoError(t, err, f.String())
	return assembled(t, c)
}

func (f form) varyingCode(c *code, v *ir.Value) error {
	args := make([]val, len(v.Args))
	for i, x := range v.Args {
		switch {
		case x.Op == ir.OpConst && c.takesConstant(v, i):
		case x.Op == ir.OpConst:
			args[i] = c.constantLanes(x)
		default:
			args[i] = c.lanesOf(x.Type)
			c.fetch(args[i], int32(testData+128*i), x.Type)
		}
	}
	r, err := c.vector(v, args)
	if err == nil {
		c.dump(testResult, r, v.Type)
	}
	return err
}

func (f form) uniformCode(c *code, v *ir.Value) error {
	args := make([]val, len(v.Args))
	vectors := inVector(v.Type)
	for _, x := range v.Args {
		vectors = vectors || inVector(x.Type)
	}
	for i, x := range v.Args {
		switch {
		case x.Op == ir.OpConst && vectors && c.takesConstant(v, i), x.Op == ir.OpConst && !vectors && c.inInstruction(v, i):
		case x.Op == ir.OpConst && inVector(x.Type):
			args[i] = c.constantVector(x)
		case x.Op == ir.OpConst:
			args[i] = one(c.gpr())
			c.op(asm.MOV, 64, asm.R(args[i].reg[0]), asm.I(int64(x.Imm)))
		default:
			args[i] = c.loadSame(x.Type, ctxAt(int32(testData+128*i)))
		}
	}
	r, err := c.uniform(v, args)
	if err != nil {
		return err
	}
	if inVector(v.Type) { // all lanes count
		d := val{reg: [2]asm.Reg{r.reg[0], r.reg[0]}, n: 2}
		c.dump(testResult, d, v.Type)
		return nil
	}
	c.op(asm.MOV, 64, ctxAt(testResult), asm.R(r.reg[0]))
	return nil
}

// lanesAtOnce is how many rows of operands a run takes.
func (f form) lanesAtOnce() int {
	if f.uniform {
		return 1
	}
	return f.isa.lanes()
}

// slotSize is how many bytes of memory a lane has.
func (f form) slotSize(t *ir.Type) int {
	if t.Size() == 8 || f.uniform && !inVector(t) {
		return 8
	}
	return 4
}

// check runs the operation on rows of operands.
func (f form) check(t *testing.T, rows [][]uint64) {
	t.Helper()
	p := f.compiled(t)
	defer p.close()
	bad := 0
	for len(rows) > 0 && bad < 4 {
		n := min(f.lanesAtOnce(), len(rows))
		for i, typ := range f.sig.Args {
			for lane := range f.lanesAtOnce() {
				size := f.slotSize(typ)
				p.put(testData+128*i+size*lane, size, rows[lane%n][i])
			}
		}
		p.run()
		for lane := range f.lanesAtOnce() {
			if !f.right(t, p, lane, rows[lane%n]) {
				bad++
			}
		}
		rows = rows[n:]
	}
	if bad > 0 {
		t.Logf("%v:\n%s", f, p.text)
	}
}

// right compares what a lane got. Of NaNs none is better than another.
func (f form) right(t *testing.T, p *program, lane int, row []uint64) bool {
	row = append([]uint64{}, row...)
	if f.fixed >= 0 {
		row[f.fixed] = f.bits
	}
	sign := uint64(1) << (f.sig.Result.Size()*8 - 1)
	if f.neg&negProduct != 0 {
		row[0] ^= sign
	}
	if f.neg&negSum != 0 {
		row[2] ^= sign
	}
	want, ok := ir.Eval(f.sig.Op, f.sig.Result, 0, row, f.sig.Args)
	require.True(t, ok, f.String())
	size := f.slotSize(f.sig.Result)
	lanes := 1
	if f.uniform && inVector(f.sig.Result) {
		lanes = f.isa.bits() / 8 / size
	}
	for i := range lanes {
		got := p.get(testResult+size*(lane+i), size)
		full := want
		if size == 4 {
			full &= 1<<32 - 1
		}
		if got == full || f.near(ir.Normalize(f.sig.Result, got), want, row) {
			continue
		}
		var in []string
		for k, b := range row {
			in = append(in, fmt.Sprintf("%s (%#x)", ir.ConstText(f.sig.Args[k], b), b))
		}
		t.Errorf("%v: lane %d of %s is %#x, want %#x = %s", f, lane+i, strings.Join(in, ", "), got, full, ir.ConstText(f.sig.Result, want))
		return false
	}
	return true
}

func (f form) near(got, want uint64, row []uint64) bool {
	r := f.sig.Result
	if isNaN(r, got) && isNaN(r, want) {
		return true
	}
	return f.sig.Op.Info().Rule == ir.RuleApprox && irconf.Near(f.sig.Op, row, got, want)
}

func isNaN(t *ir.Type, bits uint64) bool {
	if !inVector(t) {
		return false
	}
	eq, _ := ir.Eval(ir.OpConvert, ir.F64, 0, []uint64{bits}, []*ir.Type{t})
	return eq&^(1<<63) > 0x7ff<<52
}

// rowsFor combines edge values of the operands and adds random ones.
func rowsFor(s irconf.Signature, r *rand.Rand) [][]uint64 {
	rows := [][]uint64{nil}
	for i, t := range s.Args {
		edges := irconf.Edges(t)
		if s.Op.Info().Rule == ir.RuleShift && i == 1 {
			edges = shiftCounts(t)
		}
		if len(s.Args) == 3 && len(edges) > 12 {
			r.Shuffle(len(edges), func(a, b int) { edges[a], edges[b] = edges[b], edges[a] })
			edges = edges[:12]
		}
		var next [][]uint64
		for _, row := range rows {
			for _, e := range edges {
				next = append(next, append(append([]uint64{}, row...), e))
			}
		}
		rows = next
	}
	if s.Op == ir.OpDiv || s.Op == ir.OpRem { // vectors whose numbers are all short, too
		for range 64 {
			x, y := r.Int64N(1<<51)>>r.IntN(51), r.Int64N(1<<51)>>r.IntN(51)
			if s.Result.IsSigned() {
				x, y = x*(1-2*r.Int64N(2)), y*(1-2*r.Int64N(2))
			}
			rows = append(rows, []uint64{short(s.Result, x), short(s.Result, y)})
		}
	}
	for range 200 {
		row := make([]uint64, len(s.Args))
		for i, t := range s.Args {
			row[i] = randomBits(t, r)
		}
		rows = append(rows, row)
	}
	return rows
}

// short returns an integer, or a whole float, as a value of t.
func short(t *ir.Type, n int64) uint64 {
	bits, _ := ir.Eval(ir.OpConvert, t, 0, []uint64{uint64(n)}, []*ir.Type{ir.I64})
	return bits
}

func shiftCounts(t *ir.Type) []uint64 {
	var out []uint64
	for _, n := range []uint64{0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 255, 1 << 16, 1<<32 - 1, 1 << 32, 1<<32 + 1, 1 << 63, 1<<64 - 1} {
		if ir.Normalize(t, n) == n {
			out = append(out, n)
		}
	}
	return out
}

// randomBits returns a value of t: of integers all lengths, of floats such as have a
// common size as well.
func randomBits(t *ir.Type, r *rand.Rand) uint64 {
	bits := r.Uint64()
	switch {
	case t.IsInt() && r.IntN(2) == 0:
		bits >>= r.IntN(t.Bits()) + 64 - t.Bits()
		if r.IntN(2) == 0 {
			bits = -bits
		}
	case t.IsFloat() && r.IntN(4) > 0:
		from := ir.I32
		if r.IntN(2) == 0 {
			from = ir.I64
		}
		n := ir.Normalize(from, bits) >> r.IntN(40)
		bits, _ = ir.Eval(ir.OpConvert, t, 0, []uint64{ir.Normalize(from, n)}, []*ir.Type{from})
	}
	return ir.Normalize(t, bits)
}

// levels are the instruction sets that this machine can run.
func levels(t *testing.T) []isa {
	var out []isa
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		out = append(out, v3)
	}
	if cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512CD {
		out = append(out, v4)
	}
	if len(out) == 0 {
		t.Skip("needs a processor with x86-64-v3 (AVX2)")
	}
	if len(out) < 2 {
		t.Logf("this processor runs only %v of the two levels", out)
	}
	return out
}

// forms are the operands with which a signature is tried: all operands in registers, and each
// operand but the first as a constant.
//
// KILN_SWEEP=all tries all of them on both levels. Otherwise constants are tried on one level, and
// with operands that differ from lane to lane.
func forms(s irconf.Signature, i isa) []form {
	var out []form
	for _, u := range []bool{false, true} {
		out = append(out, form{sig: s, isa: i, uniform: u, fixed: -1})
		for a := range s.Args {
			if len(s.Args) == 1 || (u || i != v3) && !tooltest.Whole() {
				break
			}
			for _, bits := range fixedValues(s, a) {
				out = append(out, form{sig: s, isa: i, uniform: u, fixed: a, bits: bits})
			}
		}
	}
	if s.Op == ir.OpDot4 && hasVNNI(i) {
		for _, f := range out {
			f.vnni = true
			out = append(out, f)
		}
	}
	return out
}

func hasVNNI(i isa) bool {
	return i == v3 && cpu.X86.HasAVXVNNI || i == v4 && cpu.X86.HasAVX512VNNI
}

func fixedValues(s irconf.Signature, a int) []uint64 {
	t := s.Args[a]
	if s.Op.Info().Rule == ir.RuleShift && a == 1 {
		return shiftCounts(t)
	}
	if t.IsInt() {
		var out []uint64
		for _, n := range []uint64{0, 1, 2, 3, 10, 64, 1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1, 1<<64 - 1, 0x80000000, 0x123456789abc, 0x3210, 0x9876} {
			if ir.Normalize(t, n) == n || n == 1<<64-1 {
				out = append(out, ir.Normalize(t, n))
			}
		}
		return out
	}
	edges := irconf.Edges(t)
	return edges[:min(len(edges), 8)]
}

// TestNegatedMultiplyAdds tries the multiply-adds that negate operands.
func TestNegatedMultiplyAdds(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for _, level := range levels(t) {
		for _, s := range irconf.Signatures(ir.OpFMA) {
			rows := rowsFor(s, r)
			for _, f := range forms(s, level) {
				for f.neg = range uint64(len(fmaOps)) {
					f.check(t, sample(rows, 100, r))
				}
			}
		}
	}
}

// pointers are what irconf has no operations on.
func pointers() []irconf.Signature {
	p := ir.PtrTo(ir.Global, ir.F32)
	return []irconf.Signature{
		{Op: ir.OpEq, Result: ir.Bool, Args: []*ir.Type{p, p}},
		{Op: ir.OpNe, Result: ir.Bool, Args: []*ir.Type{p, p}},
		{Op: ir.OpSelect, Result: p, Args: []*ir.Type{ir.Bool, p, p}},
		{Op: ir.OpEq, Result: ir.Bool, Args: []*ir.Type{ir.F16, ir.F16}},
		{Op: ir.OpNe, Result: ir.Bool, Args: []*ir.Type{ir.BF16, ir.BF16}},
	}
}

// TestOperationsOnPatterns compares and selects what has no arithmetic.
func TestOperationsOnPatterns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, level := range levels(t) {
		for _, s := range pointers() {
			rows := rowsFor(s, r)
			for _, u := range []bool{false, true} {
				form{sig: s, isa: level, uniform: u, fixed: -1}.check(t, rows)
			}
		}
	}
}

// TestEveryScalarOperation makes sure that none is left out.
func TestEveryScalarOperation(t *testing.T) {
	scalar := []ir.Rule{
		ir.RuleArith, ir.RuleInt, ir.RuleWord, ir.RuleLogic, ir.RuleFloat, ir.RuleApprox, ir.RuleShift,
		ir.RuleCompare, ir.RuleBoolArith, ir.RuleConvert, ir.RuleBitcast, ir.RuleSelect,
	}
	for op := range ir.Ops {
		if info := op.Info(); slices.Contains(scalar, info.Rule) && op.Pure() {
			require.NotEmpty(t, irconf.Signatures(op), "%v is not tried", op)
		}
	}
}

// TestScalarOperations tries every operation on values, for all types that it takes,
// on both levels, against what ir.Eval says.
func TestScalarOperations(t *testing.T) {
	only := os.Getenv("KILN_TEST_OP")
	for _, level := range levels(t) {
		t.Run(fmt.Sprintf("v%d", level), func(t *testing.T) {
			for op := range ir.Ops {
				if only != "" && op.String() != only {
					continue
				}
				t.Run(op.String(), func(t *testing.T) { tryOperation(t, op, level) })
			}
		})
	}
}

func tryOperation(t *testing.T, op ir.Op, level isa) {
	r := rand.New(rand.NewPCG(7, uint64(op)))
	for _, s := range irconf.Signatures(op) {
		rows := rowsFor(s, r)
		t.Run(s.String(), func(t *testing.T) {
			for _, f := range forms(s, level) {
				use := rows
				if f.fixed >= 0 || f.uniform {
					use = sample(rows, 100, r)
				}
				f.check(t, use)
			}
		})
	}
}

func sample(rows [][]uint64, n int, r *rand.Rand) [][]uint64 {
	out := make([][]uint64, 0, n)
	for range n {
		out = append(out, rows[r.IntN(len(rows))])
	}
	return out
}
