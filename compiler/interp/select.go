package interp

import "github.com/gokiln/kiln/compiler/ir"

// shape says which operands of an operation are scalars: bit i for operand i.
type shape uint8

const arrays shape = 0

// findKern returns the kernel of the pure operation v for operands of the given
// shape, nil if that form does not exist. The form for arrays alone exists for
// every operation: the reference serves those that have no loop of their own.
// swap says to exchange the first two operands.
func findKern(v *ir.Value, s shape) (k kern, swap bool) {
	k, swap = ownKern(v, s)
	if k == nil && s == arrays {
		return evalKern(v), false
	}
	return k, swap
}

// ownKern is findKern for operations that have a loop of their own.
func ownKern(v *ir.Value, s shape) (k kern, swap bool) {
	if v.Op.Info().Rule == ir.RuleApprox {
		return onlyArrays(approxKern(v.Op), s), false
	}
	switch v.Op {
	case ir.OpConvert:
		return onlyArrays(convKern(v.Type, v.Args[0].Type), s), false
	case ir.OpBitcast:
		return onlyArrays(copyKern(v.Type.Size()), s), false
	case ir.OpSelect:
		return selectKern(v.Type.Size(), s), false
	case ir.OpFMA:
		return fmaKern(v.Type, s), false
	case ir.OpIndex, ir.OpOffset:
		return indexKern(s), false
	case ir.OpPermute:
		return onlyArrays(permute, s), false
	case ir.OpDot4:
		if v.Type.IsSigned() {
			return onlyArrays(dot4Signed, s), false
		}
		return onlyArrays(dot4Unsigned, s), false
	}
	switch t := v.Args[0].Type; len(v.Args) {
	case 1:
		return onlyArrays(unaryKern(v.Op, t), s), false
	case 2:
		return pickForm(v, s)
	}
	return nil, false
}

// pickForm chooses among the forms of a two-operand operation.
func pickForm(v *ir.Value, s shape) (k kern, swap bool) {
	op := v.Op
	switch op { // x > y is y < x
	case ir.OpGt:
		op, swap, s = ir.OpLt, true, exchange(s)
	case ir.OpGe:
		op, swap, s = ir.OpLe, true, exchange(s)
	}
	f := binaryForms(op, v.Args[0].Type)
	switch {
	case s == arrays:
		return f.vv, swap
	case s == 2:
		return f.vs, swap
	case s == 1 && f.sv != nil:
		return f.sv, swap
	case s == 1 && v.Op.Info().Commute:
		return f.vs, !swap
	}
	return nil, false
}

func exchange(s shape) shape { return s&^3 | s&1<<1 | s>>1&1 }

func onlyArrays(k kern, s shape) kern {
	if s != arrays {
		return nil
	}
	return k
}

func selectKern(size int, s shape) kern {
	var ks [8]kern
	switch size {
	case 1:
		ks = selectForms[uint8]()
	case 2:
		ks = selectForms[uint16]()
	case 4:
		ks = selectForms[uint32]()
	case 8:
		ks = selectForms[uint64]()
	}
	return ks[s]
}

func selectForms[T unsigned]() [8]kern {
	return [8]kern{0: selectVV[T], 1: selectArray[T], 2: selectSV[T], 4: selectVS[T], 6: selectSS[T]}
}

func fmaKern(t *ir.Type, s shape) kern {
	array, scalar := fma64VVV, fma64VVS // the last operand
	if t == ir.F32 {
		array, scalar = fma32VVV, fma32VVS
	}
	switch s {
	case arrays:
		return array
	case 4:
		return scalar
	}
	return nil
}

func indexKern(s shape) kern {
	return [4]kern{indexVV, indexSV, indexVS, nil}[s&3]
}

func copyKern(size int) kern {
	return bySize(size, copyLanes[uint8], copyLanes[uint16], copyLanes[uint32], copyLanes[uint64])
}

func splatKern(size int) kern {
	return bySize(size, splat[uint8], splat[uint16], splat[uint32], splat[uint64])
}

// bySize picks by the size of an element in bytes.
func bySize[T any](size int, k1, k2, k4, k8 T) T {
	switch size {
	case 1:
		return k1
	case 2:
		return k2
	case 4:
		return k4
	}
	return k8
}

func unaryKern(op ir.Op, t *ir.Type) kern {
	switch t.Kind {
	case ir.KBool:
		return notBool // the only one that bool has
	case ir.KF32:
		if op == ir.OpNeg {
			return neg32
		}
		if op == ir.OpAbs {
			return abs32
		}
		return unaryFloat[float32](op)
	case ir.KF64:
		if op == ir.OpNeg {
			return neg64
		}
		if op == ir.OpAbs {
			return abs64
		}
		return unaryFloat[float64](op)
	}
	return bySize(t.Size(), unaryInt[uint8, int8], unaryInt[uint16, int16], unaryInt[uint32, int32], unaryInt[uint64, int64])(op)
}

func unaryFloat[T float](op ir.Op) kern {
	switch op {
	case ir.OpSqrt:
		return sqrtKern[T]
	case ir.OpFloor:
		return floorKern[T]
	case ir.OpCeil:
		return ceilKern[T]
	case ir.OpTrunc:
		return truncKern[T]
	case ir.OpRint:
		return rintKern[T]
	}
	return nil
}

func unaryInt[U unsigned, S signed](op ir.Op) kern {
	switch op {
	case ir.OpNeg:
		return negInt[S]
	case ir.OpNot:
		return not[U]
	case ir.OpPopcount:
		return popcount[U]
	case ir.OpClz:
		return clz[U]
	case ir.OpCtz:
		return ctz[U]
	case ir.OpReverse:
		return reverse[U]
	}
	return nil
}

// binaryForms returns the forms of a two-operand operation on type t.
func binaryForms(op ir.Op, t *ir.Type) forms {
	switch t.Kind {
	case ir.KI8:
		return intForms[int8, uint8](op)
	case ir.KU8:
		return intForms[uint8, uint8](op)
	case ir.KI16:
		return intForms[int16, uint16](op)
	case ir.KU16:
		return intForms[uint16, uint16](op)
	case ir.KI32:
		return intForms[int32, uint32](op)
	case ir.KU32:
		return intForms[uint32, uint32](op)
	case ir.KI64:
		return intForms[int64, uint64](op)
	case ir.KU64, ir.KPtr:
		return intForms[uint64, uint64](op)
	case ir.KBool:
		return bitForms[uint8](op)
	case ir.KF32:
		return floatForms[float32](op)
	case ir.KF64:
		return floatForms[float64](op)
	}
	return forms{}
}

// intForms takes the type and the unsigned type of its size, whose kernels serve
// both where the sign does not matter.
func intForms[T integer, U unsigned](op ir.Op) forms {
	switch op {
	case ir.OpDiv:
		return forms{vv: divIntVV[T]}
	case ir.OpRem:
		return forms{vv: remIntVV[T]}
	case ir.OpMulHi:
		return forms{vv: mulHi[T]()}
	case ir.OpShr:
		return forms{vv: shrVV[T], vs: shrVS[T]}
	case ir.OpMin, ir.OpMax, ir.OpLt, ir.OpLe:
		return ordered[T](op)
	}
	return bitForms[U](op)
}

func mulHi[T integer]() kern {
	var x T
	switch any(x).(type) {
	case int64:
		return mulHiI64
	case uint64:
		return mulHiU64
	}
	return mulHiNarrow[T]
}

func bitForms[U unsigned](op ir.Op) forms {
	switch op {
	case ir.OpAdd:
		return addForms[U]()
	case ir.OpSub:
		return subForms[U]()
	case ir.OpMul:
		return mulForms[U]()
	case ir.OpAnd:
		return forms{vv: andVV[U], vs: andVS[U]}
	case ir.OpOr:
		return forms{vv: orVV[U], vs: orVS[U]}
	case ir.OpXor:
		return forms{vv: xorVV[U], vs: xorVS[U]}
	case ir.OpAndNot:
		return forms{vv: andNotVV[U]}
	case ir.OpShl:
		return forms{vv: shlVV[U], vs: shlVS[U]}
	}
	return equality[U](op)
}

func equality[T number](op ir.Op) forms {
	switch op {
	case ir.OpEq:
		return forms{vv: eqVV[T], vs: eqVS[T]}
	case ir.OpNe:
		return forms{vv: neVV[T], vs: neVS[T]}
	}
	return forms{}
}

func ordered[T number](op ir.Op) forms {
	switch op {
	case ir.OpMin:
		return forms{vv: minVV[T], vs: minVS[T]}
	case ir.OpMax:
		return forms{vv: maxVV[T], vs: maxVS[T]}
	case ir.OpLt:
		return forms{ltVV[T], ltVS[T], ltSV[T]}
	case ir.OpLe:
		return forms{leVV[T], leVS[T], leSV[T]}
	}
	return equality[T](op)
}

func floatForms[T float](op ir.Op) forms {
	switch op {
	case ir.OpAdd:
		return addForms[T]()
	case ir.OpSub:
		return subForms[T]()
	case ir.OpMul:
		return mulForms[T]()
	case ir.OpDiv:
		return forms{divFloatVV[T], divFloatVS[T], divFloatSV[T]}
	case ir.OpCopysign:
		var x T
		if any(x) == any(float32(0)) {
			return forms{vv: copysign32}
		}
		return forms{vv: copysign64}
	}
	return ordered[T](op)
}
