package ptx

import "github.com/gokiln/kiln/compiler/ir"

// This file runs instructions that NVVM and LLVM write and Emit does not: bits are taken out of a
// number, and put into one (PTX ISA, bfe, bfi and shf).

// fieldSim returns what such an instruction does, nil for others.
func fieldSim(mods []string, ops []simOperand) func(t *simThread) {
	wide := uint64(bitsOf(last(mods)))
	mask := func(n uint64) uint64 { return ^uint64(0) >> (64 - n) } // of the lowest n bits
	switch mods[0] {
	case "bfi":
		return func(t *simThread) {
			from, into := ops[1].get(t), ops[2].get(t)
			at, ones := ops[3].get(t)&0xff, mask(min(ops[4].get(t)&0xff, wide))
			ops[0].set(t, into&^(ones<<at)|from&ones<<at)
		}
	case "bfe":
		return func(t *simThread) {
			typ := irType(last(mods))
			at, n := ops[2].get(t)&0xff, min(ops[3].get(t)&0xff, wide)
			v := uint64(int64(ir.Normalize(typ, ops[1].get(t))) >> min(at, 63))
			if v &= mask(n); typ.IsSigned() && n > 0 && v>>(n-1)&1 == 1 {
				v |= ^mask(n)
			}
			ops[0].set(t, v)
		}
	case "shf":
		return func(t *simThread) {
			both := ops[1].get(t)&mask(32) | ops[2].get(t)<<32
			n := ops[3].get(t)
			if n &= 0x3f; mods[2] == "wrap" {
				n &= 0x1f
			} else {
				n = min(n, 32)
			}
			if mods[1] == "l" {
				ops[0].set(t, both<<n>>32)
				return
			}
			ops[0].set(t, both>>n)
		}
	}
	return nil
}
