package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
)

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

// resolve gives jumps the numbers of their blocks. It leaves out those to the block
// that follows, and passes over blocks that only jump.
func (c *code) resolve() error {
	for _, b := range c.f.Blocks {
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
		b.Insts = endOnce(b.Insts)
	}
	c.thread()
	c.dropUnreached()
	c.rotateLoops()
	for n, b := range c.f.Blocks {
		b.Insts = c.invert(b.Insts, n)
	}
	return nil
}

// dropUnreached empties blocks to which nothing leads: those of jumps that others now
// pass over.
func (c *code) dropUnreached() {
	reached := make([]bool, len(c.f.Blocks)+1)
	for _, b := range c.f.Blocks {
		for i := range b.Insts {
			for _, a := range b.Insts[i].Args {
				if a.Kind == asm.LabelArg {
					reached[a.Imm] = true
				}
			}
		}
	}
	falls := true // control comes from the block before
	for n, b := range c.f.Blocks {
		falls = falls || reached[n]
		if !falls {
			b.Insts = nil
		}
		if k := len(b.Insts); k > 0 {
			falls = b.Insts[k-1].Op != asm.JMP && b.Insts[k-1].Op != asm.RET
		}
	}
}

// rotationLimit is the length up to which the test of a loop is copied to its latches.
const rotationLimit = 6

// rotateLoops replaces jumps back to the test of a loop by the test (loop rotation), so that each
// iteration has one jump. The test must write nothing that is given a register.
func (c *code) rotateLoops() {
	for n, b := range c.f.Blocks {
		k := len(b.Insts)
		if k == 0 || b.Insts[k-1].Op != asm.JMP || b.Insts[k-1].Args[0].Kind != asm.LabelArg {
			continue
		}
		to := b.Insts[k-1].Args[0].Imm
		if to > int64(n) {
			continue
		}
		if list, ok := c.decision(to); ok {
			b.Insts = append(b.Insts[:k-1:k-1], list...)
		}
	}
}

// decision returns the code at a block that does nothing but decide where to go on.
func (c *code) decision(at int64) ([]asm.Inst, bool) {
	for ; at < int64(len(c.f.Blocks))-1 && len(c.f.Blocks[at].Insts) == 0; at++ {
	}
	list := c.f.Blocks[at].Insts
	k := len(list)
	if k == 0 || k > rotationLimit {
		return nil, false
	}
	next := asm.Inst{Op: asm.JMP, Width: 64, Args: [4]asm.Arg{asm.L(int(at) + 1)}, Pos: list[k-1].Pos}
	if list[k-1].Op == asm.JMP {
		next, list = list[k-1], list[:k-1]
	}
	some := false
	for i := range list {
		switch in := &list[i]; in.Op {
		case asm.JCC:
			some = true
		case asm.CMP, asm.TEST, asm.KORTESTW:
		default:
			if r := in.Args[0].Reg; in.Args[0].Kind != asm.RegArg || r.IsVirtual() || r != asm.RAX {
				return nil, false
			}
		}
	}
	last := len(list) - 1
	if !some || list[last].Op != asm.JCC {
		return nil, false
	}
	list = append(list[:len(list):len(list)], next)
	if next.Args[0].Kind == asm.LabelArg { // the other way round: going on is the jump
		list[last].Cond ^= 1
		list[last].Args[0], list[last+1].Args[0] = list[last+1].Args[0], list[last].Args[0]
	}
	return list, true
}

// endOnce cuts a block behind its first jump that is always taken.
func endOnce(list []asm.Inst) []asm.Inst {
	for i := range list {
		if list[i].Op == asm.JMP || list[i].Op == asm.RET {
			return list[:i+1]
		}
	}
	return list
}

// thread leads jumps to where the jump leads that is all there is at their target.
func (c *code) thread() {
	for _, b := range c.f.Blocks {
		for i := range b.Insts {
			if in := &b.Insts[i]; in.Op == asm.JMP || in.Op == asm.JCC {
				for range 8 {
					to, ok := c.onlyJumps(in.Args[0])
					if !ok {
						break
					}
					in.Args[0].Imm = to
				}
			}
		}
	}
}

// onlyJumps returns where the code at a label goes that does nothing else.
func (c *code) onlyJumps(l asm.Arg) (int64, bool) {
	if l.Kind != asm.LabelArg {
		return 0, false
	}
	for n := l.Imm; n < int64(len(c.f.Blocks)); n++ {
		list := c.f.Blocks[n].Insts
		if len(list) == 0 {
			continue
		}
		if in := &list[0]; in.Op == asm.JMP && in.Args[0].Kind == asm.LabelArg && in.Args[0].Imm != l.Imm {
			return in.Args[0].Imm, true
		}
		return n, n != l.Imm
	}
	return 0, false
}

// invert drops a jump to what follows the block at n, and makes one of a jump over a
// jump.
func (c *code) invert(list []asm.Inst, n int) []asm.Inst {
	k := len(list)
	if k == 0 || list[k-1].Op != asm.JMP || list[k-1].Args[0].Kind != asm.LabelArg {
		return list
	}
	if c.follows(n, list[k-1].Args[0].Imm) {
		return list[:k-1]
	}
	if k > 1 && list[k-2].Op == asm.JCC && c.follows(n, list[k-2].Args[0].Imm) {
		list[k-2].Cond ^= 1
		list[k-2].Args[0] = list[k-1].Args[0]
		return list[:k-1]
	}
	return list
}

// follows reports whether nothing lies between the end of the block at n and the
// block to.
func (c *code) follows(n int, to int64) bool {
	for n++; int64(n) < to && len(c.f.Blocks[n].Insts) == 0; n++ {
	}
	return int64(n) == to
}
