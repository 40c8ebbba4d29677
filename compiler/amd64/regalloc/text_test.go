package regalloc

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// text prints code for reading in tests: b1: blocks, v3 g2 k1 virtual registers,
// Z3 RBX K1 machine registers.
func text(f *Func) string {
	var s strings.Builder
	for i, b := range f.Blocks {
		fmt.Fprintf(&s, "b%d: depth %d\n", i, b.Depth)
		for k := range b.Insts {
			fmt.Fprintf(&s, "\t%s\n", instText(&b.Insts[k]))
		}
	}
	return s.String()
}

func instText(in *asm.Inst) string {
	s := opText(in.Op)
	for i, arg := range in.Args {
		if arg.Kind == asm.NoArg {
			break
		}
		s += []string{", ", " "}[max(0, 1-i)] + argText(arg)
		if i == 0 && in.Mask != 0 {
			s += "{" + regText(in.Mask) + "}"
			if in.Zero {
				s += "{z}"
			}
		}
	}
	return s
}

func opText(op asm.Op) string {
	if op == asm.JCC {
		return "JCC"
	}
	return strings.ToUpper(op.String())
}

func argText(arg asm.Arg) string {
	switch arg.Kind {
	case asm.RegArg:
		return regText(arg.Reg)
	case asm.ImmArg:
		return fmt.Sprint(arg.Imm)
	case asm.LabelArg:
		return fmt.Sprintf("b%d", arg.Imm)
	case asm.PoolArg:
		return fmt.Sprintf("[pool+%d]", arg.Imm+int64(arg.Disp))
	}
	s := "["
	if arg.Reg != 0 {
		s += regText(arg.Reg)
	}
	if arg.Index != 0 {
		s += fmt.Sprintf("+%s*%d", regText(arg.Index), arg.Scale)
	}
	return s + fmt.Sprintf("+%d]", arg.Disp)
}

func regText(r asm.Reg) string {
	if r.IsVirtual() {
		return fmt.Sprintf("%c%d", " gvk"[r.Class()], r.Num())
	}
	switch r.Class() {
	case asm.Vec:
		return fmt.Sprintf("Z%d", r.Num())
	case asm.Mask:
		return fmt.Sprintf("K%d", r.Num())
	}
	return strings.Fields("RAX RCX RDX RBX RSP RBP RSI RDI R8 R9 R10 R11 R12 R13 R14 R15")[r.Num()]
}
