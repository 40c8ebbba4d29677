package interp

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/gokiln/kiln/compiler/ir"
)

// hasSIMD reports whether the processor has what simd_amd64.s uses.
var hasSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasBMI2

// simdForms returns the vector kernels of a two-operand operation on type t; those
// that are missing are served by loops in Go.
func simdForms(op ir.Op, t *ir.Type) forms {
	return simdBinary[simdKey{op, t}]
}

type simdKey struct {
	op ir.Op
	t  *ir.Type
}

// both adds rows for types that differ in sign only.
func both(m map[simdKey]forms, op ir.Op, s, u *ir.Type, f forms) {
	m[simdKey{op, s}], m[simdKey{op, u}] = f, f
}

var simdBinary = func() map[simdKey]forms {
	m := map[simdKey]forms{
		{ir.OpAdd, ir.F32}: {vv: addF32VV, vs: addF32VS},
		{ir.OpSub, ir.F32}: {subF32VV, subF32VS, subF32SV},
		{ir.OpMul, ir.F32}: {vv: mulF32VV, vs: mulF32VS},
		{ir.OpDiv, ir.F32}: {divF32VV, divF32VS, divF32SV},
		{ir.OpMin, ir.F32}: {vv: minF32VV, vs: minF32VS},
		{ir.OpMax, ir.F32}: {vv: maxF32VV, vs: maxF32VS},
		{ir.OpEq, ir.F32}:  {vv: eqF32VV, vs: eqF32VS},
		{ir.OpNe, ir.F32}:  {vv: neF32VV, vs: neF32VS},
		{ir.OpLt, ir.F32}:  {ltF32VV, ltF32VS, ltF32SV},
		{ir.OpLe, ir.F32}:  {leF32VV, leF32VS, leF32SV},
		{ir.OpAdd, ir.F64}: {vv: addF64VV, vs: addF64VS},
		{ir.OpSub, ir.F64}: {subF64VV, subF64VS, subF64SV},
		{ir.OpMul, ir.F64}: {vv: mulF64VV, vs: mulF64VS},
		{ir.OpDiv, ir.F64}: {divF64VV, divF64VS, divF64SV},
		{ir.OpMin, ir.F64}: {vv: minF64VV, vs: minF64VS},
		{ir.OpMax, ir.F64}: {vv: maxF64VV, vs: maxF64VS},
		{ir.OpMin, ir.I32}: {vv: minI32VV, vs: minI32VS},
		{ir.OpMax, ir.I32}: {vv: maxI32VV, vs: maxI32VS},
		{ir.OpMin, ir.U32}: {vv: minU32VV, vs: minU32VS},
		{ir.OpMax, ir.U32}: {vv: maxU32VV, vs: maxU32VS},
		{ir.OpMin, ir.I64}: {vv: minI64VV, vs: minI64VS},
		{ir.OpMax, ir.I64}: {vv: maxI64VV, vs: maxI64VS},
		{ir.OpLt, ir.I32}:  {ltI32VV, ltI32VS, ltI32SV},
		{ir.OpLt, ir.I64}:  {vv: ltI64VV, vs: ltI64VS},
		{ir.OpLe, ir.I64}:  {vv: leI64VV, vs: leI64VS},
		{ir.OpShr, ir.I32}: {vs: shrI32VS},
		{ir.OpShr, ir.U32}: {vs: shrU32VS},
		{ir.OpShr, ir.U64}: {vs: shrU64VS},
	}
	both(m, ir.OpAdd, ir.I32, ir.U32, forms{vv: addI32VV, vs: addI32VS})
	both(m, ir.OpSub, ir.I32, ir.U32, forms{subI32VV, subI32VS, subI32SV})
	both(m, ir.OpMul, ir.I32, ir.U32, forms{vv: mulI32VV, vs: mulI32VS})
	both(m, ir.OpAnd, ir.I32, ir.U32, forms{vv: andI32VV, vs: andI32VS})
	both(m, ir.OpOr, ir.I32, ir.U32, forms{vv: orI32VV, vs: orI32VS})
	both(m, ir.OpXor, ir.I32, ir.U32, forms{vv: xorI32VV, vs: xorI32VS})
	both(m, ir.OpShl, ir.I32, ir.U32, forms{vs: shlI32VS})
	both(m, ir.OpEq, ir.I32, ir.U32, forms{vv: eqI32VV, vs: eqI32VS})
	both(m, ir.OpAdd, ir.I64, ir.U64, forms{vv: addI64VV, vs: addI64VS})
	both(m, ir.OpSub, ir.I64, ir.U64, forms{subI64VV, subI64VS, subI64SV})
	both(m, ir.OpMul, ir.I64, ir.U64, forms{vv: mulI64VV, vs: mulI64VS})
	both(m, ir.OpAnd, ir.I64, ir.U64, forms{vv: andI64VV, vs: andI64VS})
	both(m, ir.OpOr, ir.I64, ir.U64, forms{vv: orI64VV, vs: orI64VS})
	both(m, ir.OpXor, ir.I64, ir.U64, forms{vv: xorI64VV, vs: xorI64VS})
	both(m, ir.OpShl, ir.I64, ir.U64, forms{vs: shlI64VS})
	both(m, ir.OpEq, ir.I64, ir.U64, forms{vv: eqI64VV, vs: eqI64VS})
	both(m, ir.OpNe, ir.I64, ir.U64, forms{vv: neI64VV, vs: neI64VS})
	return m
}()

var simdUnary = map[simdKey]kern{
	{ir.OpSqrt, ir.F32}: sqrtF32, {ir.OpFloor, ir.F32}: floorF32, {ir.OpCeil, ir.F32}: ceilF32,
	{ir.OpTrunc, ir.F32}: truncF32, {ir.OpRint, ir.F32}: rintF32,
	{ir.OpSqrt, ir.F64}: sqrtF64, {ir.OpFloor, ir.F64}: floorF64, {ir.OpCeil, ir.F64}: ceilF64,
	{ir.OpTrunc, ir.F64}: truncF64, {ir.OpRint, ir.F64}: rintF64,
}

// simdConvert is indexed by source and result.
var simdConvert = map[[2]*ir.Type]kern{
	{ir.I32, ir.F32}: i32ToF32, {ir.F32, ir.F64}: f32ToF64, {ir.F64, ir.F32}: f64ToF32, {ir.I32, ir.F64}: i32ToF64,
	{ir.I32, ir.I64}: i32ToI64, {ir.I32, ir.U64}: i32ToI64, {ir.U32, ir.U64}: u32ToU64, {ir.U32, ir.I64}: u32ToU64,
	{ir.U8, ir.U64}: u8ToU64, {ir.U8, ir.I64}: u8ToU64, {ir.U8, ir.U32}: u8ToU32, {ir.U8, ir.I32}: u8ToU32, {ir.I8, ir.I32}: i8ToI32,
	{ir.I64, ir.I32}: i64ToI32, {ir.I64, ir.U32}: i64ToI32, {ir.U64, ir.I32}: i64ToI32, {ir.U64, ir.U32}: i64ToI32,
	{ir.F16, ir.F32}: f16ToF32, {ir.F32, ir.F16}: f32ToF16, {ir.BF16, ir.F32}: bf16ToF32, {ir.F32, ir.BF16}: f32ToBF16,
	{ir.F32, ir.I32}: f32ToI32,
}

// simdKern returns the vector kernel of v for operands of the given shape, nil if
// there is none.
func simdKern(v *ir.Value, s shape) (k kern, swap bool) {
	if !hasSIMD || v.Op.Info().Rule == ir.RuleApprox {
		return nil, false
	}
	switch v.Op {
	case ir.OpConvert:
		return onlyArrays(simdConvert[[2]*ir.Type{v.Args[0].Type, v.Type}], s), false
	case ir.OpSelect:
		return simdSelect(v.Type.Size(), s), false
	case ir.OpFMA:
		return simdFMA(v.Type, s)
	case ir.OpBitcast, ir.OpIndex, ir.OpOffset:
		return nil, false
	}
	if len(v.Args) == 1 {
		return onlyArrays(simdUnary[simdKey{v.Op, v.Type}], s), false
	}
	return pickForm(v, s, simdForms)
}

func simdSelect(size int, s shape) kern {
	switch size {
	case 4:
		return [8]kern{0: select32VV, 2: select32SV, 4: select32VS, 6: select32SS}[s]
	case 8:
		return [8]kern{0: select64VV, 2: select64SV, 4: select64VS, 6: select64SS}[s]
	}
	return nil
}

func simdFMA(t *ir.Type, s shape) (k kern, swap bool) {
	if s&3 == 1 { // the product commutes
		s, swap = s&^3|2, true
	}
	if t == ir.F32 {
		return [8]kern{0: fmaF32VVV, 2: fmaF32VSV, 4: fmaF32VVS, 6: fmaF32VSS}[s], swap
	}
	return [8]kern{0: fmaF64VVV, 2: fmaF64VSV, 4: fmaF64VVS, 6: fmaF64VSS}[s], swap
}

// simdIndex returns the kernel for a scalar base and an array of indices that takes
// the logarithm of the element size in place of the size.
func simdIndex() kern {
	if !hasSIMD {
		return nil
	}
	return indexShiftSV
}

//go:noescape
func addF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subF64SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func divF64SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxF64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxF64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func sqrtF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func floorF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ceilF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func truncF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func rintF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func sqrtF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func floorF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ceilF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func truncF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func rintF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF32VVV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF32VVS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF32VSV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF32VSS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF64VVV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF64VVS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF64VSV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func fmaF64VSS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func andI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func andI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func orI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func orI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func xorI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func xorI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minU32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minU32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxU32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxU32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func addI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func subI64SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func mulI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func andI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func andI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func orI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func orI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func xorI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func xorI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func minI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func maxI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func shlI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func shrI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func shrU32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func shlI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func shrU64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func indexShiftSV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func neF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func neF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltF32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func leF32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func leF32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func leF32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltI32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltI32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltI32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func eqI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func neI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func neI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func ltI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func leI64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func leI64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select32VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select32SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select32VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select32SS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select64VV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select64SV(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select64VS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func select64SS(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func i32ToF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f32ToF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f64ToF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func i32ToF64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func i32ToI64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func u32ToU64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func u8ToU64(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func u8ToU32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func i8ToI32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f16ToF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f32ToF16(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func bf16ToF32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func i64ToI32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f32ToI32(d, a, b, c unsafe.Pointer, n int)

//go:noescape
func f32ToBF16(d, a, b, c unsafe.Pointer, n int)
