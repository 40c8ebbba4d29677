package irconf

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// chain is a program of operations one after the other, which can be written and
// evaluated. Values are numbers: first the inputs, then a value for each step.
type chain struct {
	inputs []*ir.Type
	steps  []chainStep
}

type chainStep struct {
	op   ir.Op
	t    *ir.Type
	imm  uint64
	args []int
}

func (c *chain) do(op ir.Op, t *ir.Type, args ...int) int {
	c.steps = append(c.steps, chainStep{op, t, 0, args})
	return len(c.inputs) + len(c.steps) - 1
}

func (c *chain) constant(t *ir.Type, v uint64) int {
	c.steps = append(c.steps, chainStep{op: ir.OpConst, t: t, imm: ir.Normalize(t, v)})
	return len(c.inputs) + len(c.steps) - 1
}

func (c *chain) typeOf(v int) *ir.Type {
	if v < len(c.inputs) {
		return c.inputs[v]
	}
	return c.steps[v-len(c.inputs)].t
}

// program writes the steps, over all combinations of values that the inputs may have.
func (c *chain) program(name string, values [][]uint64) Case {
	result := c.typeOf(len(c.inputs) + len(c.steps) - 1)
	n := 1
	var body strings.Builder
	for i, t := range c.inputs {
		n *= len(values[i])
		body.WriteString(at(i+1, t))
	}
	ref := func(v int) string {
		if v < len(c.inputs) {
			return fmt.Sprintf("%%x%d", v+1)
		}
		return fmt.Sprintf("%%s%d", v-len(c.inputs))
	}
	for i, s := range c.steps {
		if s.op == ir.OpConst {
			fmt.Fprintf(&body, "  %%s%d = const %s : %s\n", i, ir.ConstText(s.t, s.imm), s.t)
			continue
		}
		args := make([]string, len(s.args))
		for j, a := range s.args {
			args[j] = ref(a)
		}
		fmt.Fprintf(&body, "  %%s%d = %s %s : %s\n", i, s.op, strings.Join(args, ", "), s.t)
	}
	body.WriteString(put(ref(len(c.inputs)+len(c.steps)-1), result) + footer)
	input := func(column, i int) uint64 {
		for _, v := range values[:column] {
			i /= len(v)
		}
		return values[column][i%len(values[column])]
	}
	return perThread(name, append([]*ir.Type{result}, c.inputs...), n, input, body.String(), c.value)
}

// value evaluates the chain.
func (c *chain) value(in []uint64) uint64 {
	all := append([]uint64(nil), in...)
	for _, s := range c.steps {
		if s.op == ir.OpConst {
			all = append(all, s.imm)
			continue
		}
		sig := Signature{Op: s.op, Result: s.t}
		args := make([]uint64, len(s.args))
		for i, a := range s.args {
			args[i] = all[a]
			sig.Args = append(sig.Args, c.typeOf(a))
		}
		all = append(all, eval(sig, args))
	}
	return all[len(all)-1]
}

// negations are the ways to a value that optimisers may make a negation of.
var negations = []struct {
	name string
	on   func(t *ir.Type) bool
	do   func(c *chain, t *ir.Type, x int) int
}{
	{"neg", nil, func(c *chain, t *ir.Type, x int) int { return c.do(ir.OpNeg, t, x) }},
	{"zero less", nil, func(c *chain, t *ir.Type, x int) int { return c.do(ir.OpSub, t, c.constant(t, 0), x) }},
	{"times -1", nil, func(c *chain, t *ir.Type, x int) int { return c.do(ir.OpMul, t, x, c.constant(t, ^uint64(0))) }},
	{"by -1", (*ir.Type).IsSigned, func(c *chain, t *ir.Type, x int) int { return c.do(ir.OpDiv, t, x, c.constant(t, ^uint64(0))) }},
	{"by -4", (*ir.Type).IsSigned, func(c *chain, t *ir.Type, x int) int { return c.do(ir.OpDiv, t, x, c.constant(t, ^uint64(3))) }},
	{"not and one", nil, func(c *chain, t *ir.Type, x int) int {
		return c.do(ir.OpAdd, t, c.do(ir.OpNot, t, x), c.constant(t, 1))
	}},
	{"of 64 bits", nil, func(c *chain, t *ir.Type, x int) int {
		return c.do(ir.OpConvert, t, c.do(ir.OpNeg, ir.I64, c.do(ir.OpConvert, ir.I64, x)))
	}},
	{"of the other sign", nil, func(c *chain, t *ir.Type, x int) int {
		other := sibling(t)
		return c.do(ir.OpBitcast, t, c.do(ir.OpNeg, other, c.do(ir.OpBitcast, other, x)))
	}},
	{"magnitude", (*ir.Type).IsSigned, func(c *chain, t *ir.Type, x int) int {
		less := c.do(ir.OpLt, ir.Bool, x, c.constant(t, 0))
		return c.do(ir.OpSelect, t, less, c.do(ir.OpNeg, t, x), x)
	}},
	{"magnitude by the sign", (*ir.Type).IsSigned, func(c *chain, t *ir.Type, x int) int {
		sign := c.do(ir.OpShr, t, x, c.constant(ir.U32, uint64(t.Bits()-1)))
		return c.do(ir.OpSub, t, c.do(ir.OpXor, t, x, sign), sign)
	}},
	{"magnitude by the sign, inverted", (*ir.Type).IsSigned, func(c *chain, t *ir.Type, x int) int {
		sign := c.do(ir.OpShr, t, x, c.constant(ir.U32, uint64(t.Bits()-1)))
		return c.do(ir.OpXor, t, c.do(ir.OpAdd, t, x, sign), sign)
	}},
	{"not of one less", nil, func(c *chain, t *ir.Type, x int) int {
		return c.do(ir.OpNot, t, c.do(ir.OpAdd, t, x, c.constant(t, ^uint64(0))))
	}},
}

// sibling is the integer type of the same width and the other sign.
func sibling(t *ir.Type) *ir.Type {
	for _, s := range ir.Scalars {
		if s.IsInt() && s.Bits() == t.Bits() && s.IsSigned() != t.IsSigned() {
			return s
		}
	}
	return t
}

// negatedUses are what is done with a negation n and another number y.
var negatedUses = []struct {
	name string
	do   func(c *chain, t *ir.Type, n, y int) int
}{
	{"widened", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpConvert, ir.I64, n) }},
	{"shifted", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpShr, t, n, c.constant(ir.U32, 3)) }},
	{"compared", func(c *chain, t *ir.Type, n, y int) int { return c.do(ir.OpLt, ir.Bool, n, y) }},
	{"below zero", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpLt, ir.Bool, n, c.constant(t, 0)) }},
	{"as a float", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpConvert, ir.F32, n) }},
	{"as a bfloat16", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpConvert, ir.BF16, n) }},
	{"as a half", func(c *chain, t *ir.Type, n, _ int) int { return c.do(ir.OpConvert, ir.F16, n) }},
	{"masked", func(c *chain, t *ir.Type, n, y int) int {
		return c.do(ir.OpConvert, ir.I64, c.do(ir.OpAnd, t, n, c.do(ir.OpNot, t, y)))
	}},
	{"least of three", func(c *chain, t *ir.Type, n, y int) int {
		least := c.do(ir.OpMin, t, c.do(ir.OpMin, t, y, n), c.do(ir.OpOr, t, y, c.constant(t, 6)))
		return c.do(ir.OpConvert, ir.I64, least)
	}},
	{"greatest of three", func(c *chain, t *ir.Type, n, y int) int {
		return c.do(ir.OpMax, t, c.do(ir.OpXor, t, y, c.constant(t, 9)), c.do(ir.OpMax, t, n, y))
	}},
	{"within limits", func(c *chain, t *ir.Type, n, y int) int {
		return c.do(ir.OpMax, t, c.do(ir.OpMin, t, n, c.constant(t, 100)), y)
	}},
	{"chosen of three", func(c *chain, t *ir.Type, n, y int) int {
		first := c.do(ir.OpSelect, t, c.do(ir.OpLt, ir.Bool, y, n), y, n)
		z := c.do(ir.OpOr, t, y, c.constant(t, 6))
		return c.do(ir.OpConvert, ir.I64, c.do(ir.OpSelect, t, c.do(ir.OpLt, ir.Bool, z, first), z, first))
	}},
	{"chosen and greatest", func(c *chain, t *ir.Type, n, y int) int {
		return c.do(ir.OpMax, t, c.do(ir.OpSelect, t, c.do(ir.OpGt, ir.Bool, n, y), n, y), c.constant(t, 5))
	}},
}

// negationCases are about negated integers, which NVIDIA's assembler takes for
// something else in some places: see package compiler/ptxas.
func negationCases() []Case {
	var out []Case
	for _, t := range []*ir.Type{ir.I8, ir.U8, ir.I16, ir.U16, ir.I32, ir.U32, ir.I64} {
		for i, n := range negations {
			if n.on != nil && !n.on(t) || t.Bits() == 8 && i > 0 {
				continue
			}
			for _, u := range negatedUses {
				if t == ir.I64 && !strings.HasPrefix(n.name, "magnitude") {
					continue // it is the magnitude that has instructions of 64 bits
				}
				c := &chain{inputs: []*ir.Type{t, t}}
				u.do(c, t, n.do(c, t, 0), 1)
				out = append(out, c.program(fmt.Sprintf("negated %s: %s, %s", t, n.name, u.name), [][]uint64{Edges(t), thin(Edges(t))}))
			}
		}
	}
	return append(out, predicateCases()...)
}

// predicates are choices between bools, where what is chosen and what chooses share
// parts.
var predicates = []struct {
	name string
	do   func(l logic, a, b, d int) int
}{
	{"one implies the other", func(l logic, a, b, _ int) int {
		b = l.and(a, b)
		return l.choose(l.or(b, a), l.and(b, a), l.not(b))
	}},
	{"negated", func(l logic, a, b, _ int) int { return l.choose(a, l.not(b), b) }},
	{"negated and compared", func(l logic, a, b, d int) int { return l.xor(l.choose(a, b, d), l.not(b)) }},
	{"chosen to choose", func(l logic, a, b, d int) int { return l.choose(l.choose(a, b, l.not(d)), d, l.not(a)) }},
	{"of three", func(l logic, a, b, d int) int {
		return l.choose(l.and(a, l.not(b)), l.or(b, d), l.not(l.or(a, d)))
	}},
	{"less", func(l logic, a, b, d int) int {
		return l.xor(l.and(l.choose(b, a, d), l.not(l.and(a, b))), l.or(l.not(d), l.choose(d, l.not(a), b)))
	}},
}

// disjunctions have the conjunction and the disjunction of the same two bools, of which
// one is computed, and something that takes both.
var disjunctions = []struct {
	name string
	do   func(l logic, a, b, d int) int
}{
	{"without one", func(l logic, a, b, d int) int {
		x := l.or(b, d)
		either, both := l.or(a, x), l.and(x, a)
		return l.or(l.and(either, l.not(x)), both)
	}},
	{"with one", func(l logic, a, b, d int) int {
		x := l.xor(d, b)
		return l.xor(l.or(l.or(d, x), x), l.and(d, x))
	}},
	{"equal to one", func(l logic, a, b, d int) int {
		x := l.and(d, b)
		either, both := l.or(x, d), l.and(x, d)
		return l.xor(both, l.not(l.xor(x, either)))
	}},
	{"both of both", func(l logic, a, b, d int) int {
		x := l.and(a, b)
		either, both := l.or(d, x), l.and(x, d)
		return l.xor(l.and(x, both), either)
	}},
	{"of negations", func(l logic, a, b, d int) int {
		x := l.not(l.xor(a, b))
		neither, both := l.and(l.not(d), l.not(x)), l.and(x, d)
		return l.xor(l.or(l.not(neither), x), both)
	}},
	{"negated and both", func(l logic, a, b, d int) int { return l.xor(l.and(a, b), l.not(b)) }},
}

// logic is a chain of operations on bools.
type logic struct{ *chain }

func (l logic) and(x, y int) int       { return l.do(ir.OpAnd, ir.Bool, x, y) }
func (l logic) or(x, y int) int        { return l.do(ir.OpOr, ir.Bool, x, y) }
func (l logic) xor(x, y int) int       { return l.do(ir.OpXor, ir.Bool, x, y) }
func (l logic) not(x int) int          { return l.do(ir.OpNot, ir.Bool, x) }
func (l logic) choose(p, x, y int) int { return l.do(ir.OpSelect, ir.Bool, p, x, y) }

// predicateCases choose between bools that are results of comparisons.
func predicateCases() []Case {
	var out []Case
	few := []uint64{0, 1, 2}
	for _, p := range predicates {
		l := logic{&chain{inputs: []*ir.Type{ir.I32, ir.I32, ir.I32}}}
		p.do(l, l.do(ir.OpLt, ir.Bool, 0, 1), l.do(ir.OpEq, ir.Bool, 1, 2), l.do(ir.OpGe, ir.Bool, 2, 0))
		out = append(out, l.program("choice of bools: "+p.name, [][]uint64{few, few, few}))
	}
	for _, p := range disjunctions {
		l := logic{&chain{inputs: []*ir.Type{ir.I32, ir.I32, ir.I32, ir.I32}}}
		p.do(l, l.do(ir.OpEq, ir.Bool, 0, 2), l.do(ir.OpLt, ir.Bool, 3, 2), l.do(ir.OpNe, ir.Bool, 3, 1))
		out = append(out, l.program("logic of bools: "+p.name, [][]uint64{few, few, few, few}))
	}
	return out
}
