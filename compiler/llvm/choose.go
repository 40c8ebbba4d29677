package llvm

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/ir"
)

// key finds the rows for an operation.
type key struct {
	op   ir.Op
	on   ir.Kind
	from ir.Kind
}

func (d *dialect) makeTable() map[key][]*row {
	out := map[key][]*row{}
	rows := tableRows()
	for i := range rows {
		r := &rows[i]
		if r.isa&d.isa == 0 {
			continue
		}
		for k := ir.KVoid; k <= ir.KPtr; k++ {
			if r.on.Has(k) {
				at := key{r.op, k, r.from}
				out[at] = append(out[at], r)
			}
		}
	}
	return out
}

// selecting returns the type that selects the row of v.
func selecting(v *ir.Value) *ir.Type {
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe, ir.OpBallot, ir.OpBounds:
		return v.Args[0].Type
	case ir.OpStore, ir.OpAtomicStore:
		return v.Args[1].Type
	}
	return v.Type
}

// choose returns the row for v; b is the constant value of v's second operand
// if isConst.
func (d *dialect) choose(v *ir.Value, b uint64, isConst bool) (*row, error) {
	k := key{op: v.Op, on: selecting(v).Kind}
	froms := []ir.Kind{ir.KVoid}
	if v.Op == ir.OpConvert || v.Op == ir.OpBitcast {
		froms = []ir.Kind{v.Args[0].Type.Kind, ir.KVoid}
	}
	for _, k.from = range froms {
		for _, r := range d.rows()[k] {
			if r.when == nil || r.when(v, b, isConst) {
				return r, nil
			}
		}
	}
	if why, ok := unsupported[v.Op]; ok {
		return nil, fmt.Errorf("%s: %s", v.Op, why)
	}
	return nil, fmt.Errorf("%s on %s has no LLVM form", v.Op, v.Type)
}
