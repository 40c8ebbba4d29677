package analysis

import "github.com/gokiln/kiln/compiler/ir"

// SameValue reports whether a and b are one value or equal constants.
func SameValue(a, b *ir.Value) bool {
	return a == b || a.Op == ir.OpConst && b.Op == ir.OpConst && a.Type == b.Type && a.Imm == b.Imm
}

// BaseOf follows address arithmetic to where a pointer comes from.
func BaseOf(v *ir.Value) *ir.Value {
	for v.Op == ir.OpIndex || v.Op == ir.OpOffset || v.Op == ir.OpField {
		v = v.Args[0]
	}
	return v
}

func IsLocalPtr(v *ir.Value) bool { return v.Type.IsPtr() && v.Type.Space == ir.Local }

// IsAccess reports whether op uses its first operand as an address only.
func IsAccess(op ir.Op) bool {
	switch op {
	case ir.OpLoad, ir.OpLoadBytes, ir.OpStore, ir.OpZero, ir.OpIndex, ir.OpField, ir.OpOffset:
		return true
	}
	return false
}

// Inverse is the comparison that is true exactly when op is false, on integers.
var Inverse = map[ir.Op]ir.Op{
	ir.OpEq: ir.OpNe, ir.OpNe: ir.OpEq,
	ir.OpLt: ir.OpGe, ir.OpGe: ir.OpLt,
	ir.OpGt: ir.OpLe, ir.OpLe: ir.OpGt,
}

// Mirrored is the comparison with its operands exchanged.
var Mirrored = map[ir.Op]ir.Op{
	ir.OpEq: ir.OpEq, ir.OpNe: ir.OpNe,
	ir.OpLt: ir.OpGt, ir.OpGt: ir.OpLt, ir.OpLe: ir.OpGe, ir.OpGe: ir.OpLe,
}
