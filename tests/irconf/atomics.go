package irconf

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
)

// atomicCases apply each atomic operation from many threads to few cells, in
// global and in shared memory. What the cells hold afterwards does not depend on
// the order.
func atomicCases() []Case {
	var out []Case
	ints := []*ir.Type{ir.I32, ir.U32, ir.I64, ir.U64, ir.I8, ir.U8, ir.I16, ir.U16}
	for _, a := range []struct {
		op    ir.Op
		plain ir.Op
		types []*ir.Type
	}{
		{ir.OpAtomicAdd, ir.OpAdd, append(append([]*ir.Type{ir.F16, ir.BF16}, ints...), floatTypes...)},
		{ir.OpAtomicMin, ir.OpMin, ints}, {ir.OpAtomicMax, ir.OpMax, ints},
		{ir.OpAtomicAnd, ir.OpAnd, ints}, {ir.OpAtomicOr, ir.OpOr, ints}, {ir.OpAtomicXor, ir.OpXor, ints},
	} {
		for _, t := range a.types {
			list := []Case{globalAtomic(a.op, a.plain, t), sharedAtomic(a.op, a.plain, t)}
			if t.IsInt() && t.Size() < 4 {
				list = asLoops(list)
			}
			out = append(out, list...)
		}
	}
	for _, t := range append(ints, floatTypes...) {
		list := []Case{exchange(t), compareSwap(t), loadStore(t)}
		switch t {
		case ir.I32:
			list = append(list, orders(append(list, sharedAtomic(ir.OpAtomicAdd, ir.OpAdd, t))...)...)
		case ir.U64, ir.F32, ir.U8, ir.I16:
			list = append(list, orders(compareSwap(t))...)
		}
		if t.Size() < 4 {
			list = append(asLoops(list[:1]), list[1:]...)
		}
		out = append(out, list...)
		if t.IsFloat() {
			out = append(out, compareBits(t))
		}
	}
	return append(out, roundedHalves(ir.F16), roundedHalves(ir.BF16))
}

// NarrowUpdates are the atomic updates of 8 and 16 bits as they are, for targets that
// write them; [Cases] has them as loops around compare-and-swap.
func NarrowUpdates() (out []Case) {
	for _, t := range []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16} {
		for op, plain := range map[ir.Op]ir.Op{
			ir.OpAtomicAdd: ir.OpAdd, ir.OpAtomicMin: ir.OpMin, ir.OpAtomicMax: ir.OpMax, ir.OpAtomicAnd: ir.OpAnd, ir.OpAtomicOr: ir.OpOr, ir.OpAtomicXor: ir.OpXor,
		} {
			out = append(out, globalAtomic(op, plain, t), sharedAtomic(op, plain, t))
		}
		out = append(out, exchange(t))
		out = append(out, orders(exchange(t))...)
	}
	for i := range out {
		out[i].Text = number(out[i].Text)
	}
	return out
}

// asLoops are cases with their updates as the pass casloop makes them.
func asLoops(cases []Case) []Case {
	for i := range cases {
		c := &cases[i]
		m, err := ir.Parse(number(c.Text))
		if err == nil {
			err = pass.Run(m, pass.Options{CASLoops: true, Check: ir.Verify, Disable: []string{
				"target", "fold", "sroa", "contract", "unroll", "strength", "licm", "partial", "narrow", "reciprocal", "cse", "ifconv", "bounds", "shortdiv", "dce"}})
		}
		if err != nil {
			panic(fmt.Sprintf("%s: %v", c.Name, err))
		}
		c.Name, c.Text = c.Name+" by a loop", m.Text()
	}
	return cases
}

var atomicLine = regexp.MustCompile(`(?m)(atomic\.\w+)( %[^:\n]*[^:\n ])( : \w+)?$`)

// orders are the cases, each of one block or with cells of its own for each, in every
// order and scope that their operations can have.
func orders(cases ...Case) (out []Case) {
	for _, c := range cases {
		for imm := uint64(1); imm <= ir.AtomicImm(ir.AcquireRelease, ir.BlockScope); imm++ {
			o := c
			o.Name = fmt.Sprintf("%s, order and scope %d", c.Name, imm)
			o.Text = atomicLine.ReplaceAllStringFunc(c.Text, func(line string) string {
				m := atomicLine.FindStringSubmatch(line)
				var op ir.Op
				for x := range ir.Ops {
					if x.String() == m[1] {
						op = x
					}
				}
				if !ir.OrderAllowed(op, ir.Order(imm&3)) {
					return line
				}
				return fmt.Sprintf("%s%s, %d%s", m[1], m[2], imm, m[3])
			})
			out = append(out, o)
		}
	}
	return out
}

// operand is the value that thread i contributes.
func operand(t *ir.Type, i int) uint64 {
	switch t.Kind {
	case ir.KF32:
		return uint64(math.Float32bits(float32(i%64) - 20)) // sums are exact
	case ir.KF64:
		return math.Float64bits(float64(i%64) - 20)
	case ir.KF16, ir.KBF16: // sums of a few hundred are exact
		return convert(t, ir.F64, math.Float64bits(float64(i%3)-1))
	}
	return ir.Normalize(t, bits.RotateLeft64(uint64(i+1)*0x9e3779b97f4a7c15, i))
}

// contribution is the value that thread i contributes to a reduction by op.
func contribution(op ir.Op, t *ir.Type, i int) uint64 {
	v := operand(t, i)
	if op == ir.OpAnd {
		v |= ir.Normalize(t, 0x5a5a5a5a5a5a5a5a<<(i%4)) // or nothing would be left
	}
	return v
}

func convert(to, from *ir.Type, x uint64) uint64 {
	return eval(Signature{ir.OpConvert, to, []*ir.Type{from}}, []uint64{x})
}

func reduce(op ir.Op, t *ir.Type, x, y uint64) uint64 {
	if t.IsHalf() {
		return convert(t, ir.F32, reduce(op, ir.F32, convert(ir.F32, t, x), convert(ir.F32, t, y)))
	}
	return eval(Signature{op, t, []*ir.Type{t, t}}, []uint64{x, y})
}

const cells = 4

func globalAtomic(op, plain ir.Op, t *ir.Type) Case {
	const n = 512
	name := fmt.Sprintf("%s %s global", op, t)
	c := Case{Name: name, Types: []*ir.Type{t, t}, Args: []Arg{{Buf: 0}, {Buf: 1}}, Grid: [3]int{4, 1, 1}, Block: [3]int{128, 1, 1}}
	c.Text = header(name, c.Types) + fmt.Sprintf(`  jump b2
b2:
  %%q = offset %%p1, %%i : ptr<global,%[1]s>
  %%x = load %%q : %[1]s
  %%cells = const %[2]d : i64
  %%c = rem %%i, %%cells : i64
  %%cell = offset %%p0, %%c : ptr<global,%[1]s>
  %%old = %[3]s %%cell, %%x : %[1]s
  ret
}
`, t, cells, op)
	c.Text = replaceOnce(c.Text, "br %in, b1, b2\nb1:\n", "jump b1\nb1:\n")
	before, after, in := make([]uint64, cells), make([]uint64, cells), make([]uint64, n)
	for i := range before {
		before[i] = operand(t, i+1000)
	}
	copy(after, before)
	for i := range in {
		in[i] = contribution(plain, t, i)
		after[i%cells] = reduce(plain, t, after[i%cells], in[i])
	}
	c.Bufs = [][]byte{encode(t, before), encode(t, in)}
	c.Want = [][]byte{encode(t, after), encode(t, in)}
	return c
}

func sharedAtomic(op, plain ir.Op, t *ir.Type) Case {
	init := func(i int) uint64 { return operand(t, i+77) }
	body := at(1, t) + fmt.Sprintf(`
  %%s = shared 0 : ptr<shared,[%[2]d]%[1]s>
  %%cells = const %[2]d : i64
  %%c = rem %%t, %%cells : i64
  %%e = index %%s, %%c : ptr<shared,%[1]s>
  %%first = lt %%t, %%cells : bool
  br %%first, init, go
init:
  %%ini = offset %%p2, %%i : ptr<global,%[1]s>
  %%iv = load %%ini : %[1]s
  store %%e, %%iv
  jump go
go:
  barrier
  %%old = %[3]s %%e, %%x1 : %[1]s
  barrier
  %%r = load %%e : %[1]s
`, t, cells, op) + put("%r", t)
	return wholeBlocks(fmt.Sprintf("%s %s shared", op, t), []*ir.Type{t, t, t}, 2, 128, fmt.Sprintf("shared 0 \"cells\" [%d]%s\n", cells, t), body,
		func(j, i int) uint64 {
			if j == 1 {
				return init(i)
			}
			return contribution(plain, t, i)
		}, func(in [][]uint64) []uint64 {
			acc := append([]uint64(nil), in[1][:cells]...)
			for i, v := range in[0] {
				acc[i%cells] = reduce(plain, t, acc[i%cells], v)
			}
			out := make([]uint64, len(in[0]))
			for i := range out {
				out[i] = acc[i%cells]
			}
			return out
		})
}

// exchange swaps each thread's own cell, in global memory and in shared memory.
func exchange(t *ir.Type) Case {
	return clearOutput(wholeBlocks(fmt.Sprintf("atomic.exch %s", t), []*ir.Type{t, t}, 2, 64, fmt.Sprintf("shared 0 \"own\" [64]%s\n", t), at(1, t)+fmt.Sprintf(`
  %%s = shared 0 : ptr<shared,[64]%[1]s>
  %%e = index %%s, %%t : ptr<shared,%[1]s>
  store %%e, %%x1
  %%cell = offset %%p0, %%i : ptr<global,%[1]s>
  %%zero = atomic.exch %%cell, %%x1 : %[1]s
  %%back = atomic.exch %%e, %%zero : %[1]s
  %%again = load %%e : %[1]s
  %%r = sub %%back, %%again : %[1]s
`, t)+put("%r", t), func(_, i int) uint64 { return operand(t, i) }, func(in [][]uint64) []uint64 { return in[0] }))
}

// loadStore hands each thread's value on through a cell of its own in global memory
// and one in shared memory, which another thread reads.
func loadStore(t *ir.Type) Case {
	return clearOutput(wholeBlocks(fmt.Sprintf("atomic.load and atomic.store %s", t), []*ir.Type{t, t}, 2, 64, fmt.Sprintf("shared 0 \"cells\" [64]%s\n", t), at(1, t)+fmt.Sprintf(`
  %%s = shared 0 : ptr<shared,[64]%[1]s>
  %%e = index %%s, %%t : ptr<shared,%[1]s>
  %%cell = offset %%p0, %%i : ptr<global,%[1]s>
  atomic.store %%cell, %%x1
  fence
  %%back = atomic.load %%cell : %[1]s
  atomic.store %%e, %%back
  fence.block
  barrier
  %%one = const 1 : i64
  %%j = xor %%t, %%one : i64
  %%f = index %%s, %%j : ptr<shared,%[1]s>
  %%r = atomic.load %%f : %[1]s
`, t)+put("%r", t), func(_, i int) uint64 { return operand(t, i) }, func(in [][]uint64) []uint64 {
		out := make([]uint64, len(in[0]))
		for i := range out {
			out[i] = in[0][i^1]
		}
		return out
	}))
}

// roundedHalves adds pairs of edge values, one of each pair in memory: the sum is
// rounded once, and the other half of the word stays as it is.
func roundedHalves(t *ir.Type) Case {
	edges := Edges(t)
	n := len(edges)
	even := (n*n + 1) &^ 1 // the word around the last half must be memory, too
	return perThread(fmt.Sprintf("atomic.add %s rounds", t), []*ir.Type{t, t, t}, even, func(j, i int) uint64 {
		if j == 0 {
			return edges[i/n%n]
		}
		return edges[i%n]
	}, at(1, t)+at(2, t)+fmt.Sprintf(`
  %%cell = offset %%p0, %%i : ptr<global,%[1]s>
  store %%cell, %%x1
  %%old = atomic.add %%cell, %%x2 : %[1]s
`, t)+footer, func(in []uint64) uint64 { return reduce(ir.OpAdd, t, in[0], in[1]) })
}

// clearOutput has the output start as zeros.
func clearOutput(c Case) Case {
	clear(c.Bufs[0])
	return c
}

// compareSwap adds up by compare and swap loops on a cell for each block, and
// checks both outcomes.
func compareSwap(t *ir.Type) Case {
	return clearOutput(wholeBlocks(fmt.Sprintf("atomic.cas %s", t), []*ir.Type{t, t}, 2, 64, fmt.Sprintf("shared 0 \"sum\" %s\n", t), at(1, t)+fmt.Sprintf(`
  %%s = shared 0 : ptr<shared,%[1]s>
  %%c0 = const 0 : i64
  %%zero = const %[2]s : %[1]s
  %%first = eq %%t, %%c0 : bool
  br %%first, init, go
init:
  store %%s, %%zero
  jump go
go:
  barrier
  jump try(%%zero)
try(%%seen: %[1]s):
  %%next = add %%seen, %%x1 : %[1]s
  %%got = atomic.cas %%s, %%seen, %%next : %[1]s
  %%won = eq %%got, %%seen : bool
  br %%won, done, try(%%got)
done:
  barrier
  %%sum = load %%s : %[1]s
  %%cell = offset %%p0, %%i : ptr<global,%[1]s>
  %%one = const %[3]s : %[1]s
  %%lost = atomic.cas %%cell, %%one, %%sum : %[1]s
  %%still = atomic.cas %%cell, %%lost, %%sum : %[1]s
`, t, ir.ConstText(t, 0), ir.ConstText(t, 1)), func(_, i int) uint64 { return operand(t, i) }, func(in [][]uint64) []uint64 {
		sum := uint64(0)
		for _, v := range in[0] {
			sum = reduce(ir.OpAdd, t, sum, v)
		}
		out := make([]uint64, len(in[0]))
		for i := range out {
			out[i] = sum
		}
		return out
	}))
}

// compareBits swaps where the cell's bits are the expected ones, which for floats
// is not the same as equality: zeros differ, a NaN is itself.
func compareBits(t *ir.Type) Case {
	edges := Edges(t)
	c := perThread(fmt.Sprintf("atomic.cas %s compares bits", t), []*ir.Type{t, t, t}, len(edges)*3, func(j, i int) uint64 {
		if j == 0 || i%3 == 0 {
			return edges[i/3]
		}
		if i%3 == 1 {
			return edges[i/3] ^ 1<<(t.Bits()-1)
		}
		return edges[i/3] ^ 1
	}, at(1, t)+at(2, t)+fmt.Sprintf(`
  %%cell = offset %%p0, %%i : ptr<global,%[1]s>
  %%was = atomic.exch %%cell, %%x1 : %[1]s
  %%new = const 42.0 : %[1]s
  %%old = atomic.cas %%cell, %%x2, %%new : %[1]s
`, t)+footer, func(in []uint64) uint64 {
		if in[0] != in[1] {
			return in[0]
		}
		return eval(Signature{ir.OpConvert, t, []*ir.Type{ir.I64}}, []uint64{42})
	})
	return c
}
