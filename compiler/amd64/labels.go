package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
)

// label names a place in the code before it is known which block that will be.
type label int

func (c *code) newLabel() label {
	c.labels = append(c.labels, -1)
	return label(len(c.labels) - 1)
}

// bind begins a block of the code at a label.
func (c *code) bind(l label) {
	c.labels[l] = len(c.f.Blocks)
	c.cur = &regalloc.Block{Depth: c.depth}
	c.f.Blocks = append(c.f.Blocks, c.cur)
}

// to is the operand for a label, which resolve replaces by its block.
func (c *code) to(l label) asm.Arg { return asm.L(int(l)) }

func (c *code) jump(l label) { c.op(asm.JMP, 64, c.to(l)) }
func (c *code) call(l label) { c.op(asm.CALL, 64, c.to(l)) }

func (c *code) jcc(cond asm.Cond, l label) { c.op(asm.JCC, 64, c.to(l)).Cond = cond }

func (c *code) cmov(cond asm.Cond, d, s asm.Reg) {
	c.op(asm.CMOVCC, 64, asm.R(d), asm.R(s)).Cond = cond
}

// setcc sets a register to 1 where a condition holds, else 0.
func (c *code) setcc(cond asm.Cond, d asm.Reg) {
	c.op(asm.MOV, 32, asm.R(d), asm.I(0)) // leaves the flags alone
	c.op(asm.SETCC, 8, asm.R(d)).Cond = cond
}

// resolve gives jumps the numbers of their blocks, and leaves out those to the
// block that follows.
func (c *code) resolve() error {
	for n, b := range c.f.Blocks {
		for i := range b.Insts {
			for a := range b.Insts[i].Args {
				arg := &b.Insts[i].Args[a]
				if arg.Kind != asm.LabelArg {
					continue
				}
				if arg.Imm = int64(c.labels[arg.Imm]); arg.Imm < 0 {
					return fmt.Errorf("jump to a label that is nowhere")
				}
			}
		}
		b.Insts = endOnce(b.Insts, n+1)
	}
	return nil
}

// endOnce cuts a block behind its first jump that is always taken, which goes too
// if it leads to the next block.
func endOnce(list []asm.Inst, next int) []asm.Inst {
	for i := range list {
		switch in := &list[i]; in.Op {
		case asm.JMP, asm.RET:
			if in.Op == asm.JMP && in.Args[0].Kind == asm.LabelArg && int(in.Args[0].Imm) == next {
				return list[:i]
			}
			return list[:i+1]
		}
	}
	return list
}
