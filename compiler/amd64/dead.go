package amd64

import "github.com/gokiln/kiln/compiler/amd64/asm"

// dropDead leaves out what makes values that nobody reads: the upper half of an
// extension of which only the lower is used, vectors of what is also kept once, loads
// that a later instruction does itself.
func (c *code) dropDead() {
	var reads [4][]int32
	for class, n := range c.f.Virt {
		reads[class] = make([]int32, n)
	}
	count := func(r asm.Reg, by int32) {
		if r != 0 && r.IsVirtual() {
			reads[r.Class()][r.Num()] += by
		}
	}
	for _, b := range c.f.Blocks {
		for i := range b.Insts {
			eachRead(&b.Insts[i], func(r asm.Reg) { count(r, 1) })
		}
	}
	for again := true; again; {
		again = false
		for n := len(c.f.Blocks) - 1; n >= 0; n-- {
			list := c.f.Blocks[n].Insts
			dead := 0
			for i := len(list) - 1; i >= 0; i-- {
				if in := &list[i]; in.Op != asm.NOP && makesOnly(in) && reads[in.Args[0].Reg.Class()][in.Args[0].Reg.Num()] == 0 {
					eachRead(in, func(r asm.Reg) { count(r, -1) })
					in.Op = asm.NOP
					dead++
				}
			}
			if dead > 0 {
				again = true
				c.f.Blocks[n].Insts = withoutNops(list)
			}
		}
	}
}

func withoutNops(list []asm.Inst) []asm.Inst {
	kept := list[:0]
	for i := range list {
		if list[i].Op != asm.NOP {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// eachRead calls fn for the registers that an instruction reads, but not for the one which it does
// nothing but give another value to, as an extension in place does.
func eachRead(in *asm.Inst, each func(asm.Reg)) {
	clears := in.Clears()
	made := asm.Reg(0)
	if makesOnly(in) {
		made = in.Args[0].Reg
	}
	fn := func(r asm.Reg) {
		if r != made {
			each(r)
		}
	}
	for i := range in.Args {
		switch a := &in.Args[i]; a.Kind {
		case asm.RegArg:
			if !clears && in.RoleOf(i)&asm.Read != 0 {
				fn(a.Reg)
			}
		case asm.MemArg:
			fn(a.Reg)
			fn(a.Index)
		}
	}
	fn(in.Mask)
}

// makesOnly reports whether an instruction does nothing but give a value to a virtual
// register: it has no other results, flags among them.
func makesOnly(in *asm.Inst) bool {
	r := in.Args[0]
	if r.Kind != asm.RegArg || !r.Reg.IsVirtual() {
		return false
	}
	switch in.Op {
	case asm.COPY, asm.UNDEF, asm.MOV, asm.LEA, asm.MOVZXB, asm.MOVZXW, asm.MOVSXB, asm.MOVSXW, asm.MOVSXD:
		return true
	}
	return r.Reg.Class() != asm.GPR && (in.Clears() || in.RoleOf(0) == asm.Write)
}
