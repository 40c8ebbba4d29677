package ptx

import (
	"slices"
	"strings"
)

// packConversions lets one instruction convert two float32 numbers to the halves of a register, where
// each was converted by itself and both were moved there (PTX ISA, cvt: .bf16x2 and .f16x2, from
// compute capability 8.0 on). It reports whether there was such a move.
func (e *emitter) packConversions() bool {
	if !slices.ContainsFunc(e.insts, func(in inst) bool { return in.narrows() != "" }) {
		return false
	}
	writers, block := make([][]int, len(e.class)), make([]int, len(e.insts))
	for i := range e.insts {
		in := &e.insts[i]
		if i > 0 {
			block[i] = block[i-1]
		}
		if in.label != "" {
			block[i]++
		}
		for n, r := range in.registers() {
			if n < in.defs {
				writers[r] = append(writers[r], i)
			}
		}
	}
	// conversion returns what is converted to the half h, which instruction at reads, and to what.
	conversion := func(h reg, at int) (from reg, to string) {
		if len(writers[h]) != 1 {
			return 0, ""
		}
		i := writers[h][0]
		in := &e.insts[i]
		regs := in.registers()
		to = in.narrows()
		if to == "" || len(regs) != 2 || i > at || block[i] != block[at] {
			return 0, ""
		}
		for _, w := range writers[regs[1]] {
			if w > i && w < at {
				return 0, ""
			}
		}
		return regs[1], to
	}
	packed := false
	for i := range e.insts {
		in := &e.insts[i]
		regs := in.registers()
		if in.opcode() != "mov.b32" || in.defs != 1 || len(regs) != 3 {
			continue
		}
		low, to := conversion(regs[1], i)
		high, too := conversion(regs[2], i)
		if to == "" || to != too {
			continue
		}
		in.frags = []frag{text("cvt.rn." + to + "16x2.f32 "), use(regs[0]), text(", "), use(high), text(", "), use(low)}
		packed = true
	}
	return packed
}

// narrows returns "f" or "bf" if the instruction converts a float32 to one half, else "".
func (in *inst) narrows() string {
	switch in.opcode() {
	case "cvt.rn.f16.f32":
		return "f"
	case "cvt.rn.bf16.f32":
		return "bf"
	}
	return ""
}

// opcode returns the opcode of an instruction, "" of a label.
func (in *inst) opcode() string {
	if len(in.frags) == 0 {
		return ""
	}
	op, _, _ := strings.Cut(in.frags[0].text, " ")
	return op
}

// registers returns the registers that an instruction names, in order.
func (in *inst) registers() []reg {
	var list []reg
	for _, f := range in.frags {
		if f.reg != 0 {
			list = append(list, f.reg)
		}
	}
	return list
}
