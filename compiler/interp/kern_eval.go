package interp

import (
	"unsafe"

	"github.com/gokiln/kiln/compiler/ir"
)

// evalKern computes a scalar operation lane by lane with [ir.Eval]. It is slow; an
// operation that kernels use much gets a loop of its own.
func evalKern(v *ir.Value) kern {
	op, t, imm := v.Op, v.Type, v.Imm
	types := make([]*ir.Type, len(v.Args))
	for i, a := range v.Args {
		types[i] = a.Type
	}
	return func(d, a, b, c unsafe.Pointer, n int) {
		operands := [3]unsafe.Pointer{a, b, c}
		args := make([]uint64, len(types))
		for i := range n {
			for j, t := range types {
				args[j] = ir.Normalize(t, readLane(operands[j], t.Size(), i))
			}
			r, _ := ir.Eval(op, t, imm, args, types) // the verifier has seen the types
			writeLane(d, t.Size(), i, r)
		}
	}
}

func readLane(p unsafe.Pointer, size, i int) uint64 {
	p = unsafe.Add(p, i*size)
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(*(*uint16)(p))
	case 4:
		return uint64(*(*uint32)(p))
	}
	return *(*uint64)(p)
}

func writeLane(p unsafe.Pointer, size, i int, bits uint64) {
	p = unsafe.Add(p, i*size)
	switch size {
	case 1:
		*(*uint8)(p) = uint8(bits)
	case 2:
		*(*uint16)(p) = uint16(bits)
	case 4:
		*(*uint32)(p) = uint32(bits)
	default:
		*(*uint64)(p) = bits
	}
}
