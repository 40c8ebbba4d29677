package compiler

import (
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// gridBarriers refuses barriers of the grid where the target has none, at the first one's position.
func gridBarriers(m *ir.Module, t target.Target) error {
	lack := t.GridBarriers()
	if lack == nil {
		return nil
	}
	for _, b := range m.Kernel().Blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpGridBarrier {
				return m.At(v.Pos, lack)
			}
		}
	}
	return nil
}
