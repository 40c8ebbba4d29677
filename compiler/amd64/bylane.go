package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// byLane does an operation on integers lane by lane, in general registers.
func (c *code) byLane(v *ir.Value, args []val) (val, error) {
	t := v.Args[0].Type
	parts := []int32{bufX, bufY}
	for i, x := range args {
		c.dump(parts[i], x, v.Args[i].Type)
	}
	lane, again := c.gpr(), c.newLabel()
	c.op(asm.MOV, 32, asm.R(lane), asm.I(0))
	c.depth++
	c.bind(again)
	at := func(part int32, t *ir.Type) asm.Arg {
		s := slot(part, t)
		s.Index = lane
		return s
	}
	in := make([]val, len(args))
	for i := range args {
		in[i] = one(c.gpr())
		c.loadSlot(in[i].reg[0], t, at(parts[i], t))
	}
	r, err := c.scalar(v, in)
	if err != nil {
		return val{}, err
	}
	c.op(asm.MOV, slotBits(v.Type), at(bufResult, v.Type), asm.R(r.reg[0]))
	c.op(asm.ADD, 32, asm.R(lane), asm.I(1))
	c.op(asm.CMP, 32, asm.R(lane), asm.I(int64(c.isa.lanes())))
	c.jcc(asm.CondB, again)
	c.depth--
	c.bind(c.newLabel())
	d := c.lanesOf(v.Type)
	c.fetch(d, bufResult, v.Type)
	return d, nil
}

// loadSlot loads a lane of the buffer, where narrow values are extended to 32 bits.
func (c *code) loadSlot(r asm.Reg, t *ir.Type, mem asm.Arg) {
	switch {
	case t.Size() == 8:
		c.op(asm.MOV, 64, asm.R(r), mem)
	case t.IsSigned():
		c.op(asm.MOVSXD, 64, asm.R(r), mem)
	default:
		c.op(asm.MOV, 32, asm.R(r), mem)
	}
}
