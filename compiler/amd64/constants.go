package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// rounding has the mode of rounding instructions; 8 keeps them from raising the
// inexact flag.
var rounding = map[ir.Op]int64{ir.OpRint: 8, ir.OpFloor: 9, ir.OpCeil: 10, ir.OpTrunc: 11}

// constant32 returns a vector of equal 32-bit lanes.
func (c *code) constant32(x uint32) asm.Reg {
	if x == 0 {
		return c.zero()
	}
	r := c.vec()
	mem := c.pool([]uint32{x})
	c.op(asm.VBROADCASTSS, c.width(), asm.R(r), mem)
	c.f.Remat[r] = c.cur.Insts[len(c.cur.Insts)-1]
	return r
}

// constant64 returns a vector of equal 64-bit lanes.
func (c *code) constant64(x uint64) asm.Reg {
	if x == 0 {
		return c.zero()
	}
	r := c.vec()
	mem := c.pool([]uint32{uint32(x), uint32(x >> 32)})
	c.op(asm.VBROADCASTSD, c.width(), asm.R(r), mem)
	c.f.Remat[r] = c.cur.Insts[len(c.cur.Insts)-1]
	return r
}
