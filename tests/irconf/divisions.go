package irconf

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// divisionCases take quotients and remainders of the same 64-bit operands, of which
// both, one or none have 32 bits: who divides short ones another way, or both results
// at once, must find the same, for divisors of zero too.
func divisionCases() []Case {
	var out []Case
	for _, t := range []*ir.Type{ir.I64, ir.U64} {
		for _, in := range [][]*ir.Type{{t, t}, {ir.U32, t}, {t, ir.U32}, {ir.U32, ir.U32}} {
			c := chain{inputs: in}
			x, y := c.do(ir.OpConvert, t, 0), c.do(ir.OpConvert, t, 1)
			factor := c.constant(t, 0x9e3779b97f4a7c15)
			quo, rem := c.do(ir.OpDiv, t, x, y), c.do(ir.OpRem, t, x, y)
			c.do(ir.OpXor, t, c.do(ir.OpMul, t, quo, factor), rem)
			name := fmt.Sprintf("quotient and remainder %s of %s by %s", t, in[0], in[1])
			out = append(out, c.program(name, [][]uint64{divided(in[0]), divided(in[1])}))
		}
	}
	return out
}

// divided returns the edges of t and numbers next to 2^32.
func divided(t *ir.Type) []uint64 {
	list := Edges(t)
	for _, v := range []uint64{1<<32 + 1, 1<<33 - 1, neg(1 << 32), neg(1<<32 - 1), 1e9 + 7, 6e9} {
		list = append(list, ir.Normalize(t, v))
	}
	return list
}
