package llvm

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

var convertRows = []row{
	{op: ir.OpConvert, on: numbers, isa: all, form: convert},
	{op: ir.OpBitcast, on: numbers, isa: all, form: func(x *build) value.Value { return x.cast(x.a, x.t) }},
}

// cast takes the bits of a value for those of another type.
func (e *emitter) cast(p value.Value, to types.Type) value.Value {
	if p.Type() == to {
		return p
	}
	return e.NewBitCast(p, to)
}

// convert converts between numbers.
func convert(x *build) value.Value {
	from := x.v.Args[0].Type.Kind
	switch {
	case ints.Has(from) && ints.Has(x.k):
		return x.convertInt(from)
	case from == x.k:
		return x.a
	case ints.Has(from):
		return x.intToFloat(from)
	case ints.Has(x.k):
		return x.floatToInt(from)
	}
	return x.floatToFloat(from)
}

func (x *build) convertInt(from ir.Kind) value.Value {
	switch to, bits := x.v.Type.Bits(), x.v.Args[0].Type.Bits(); {
	case to == bits:
		return x.a
	case to < bits:
		return x.NewTrunc(x.a, x.t)
	}
	return x.extend(from, x.a, x.t)
}

// toFloat rounds an integer of kind from to a float of type t.
func (e *emitter) toFloat(from ir.Kind, p value.Value, t types.Type) value.Value {
	if signed.Has(from) {
		return e.NewSIToFP(p, t)
	}
	return e.NewUIToFP(p, t)
}

// intToFloat rounds once. The hardware has no such conversion to halves from wide
// integers, and LLVM goes through float32, which rounds twice.
func (x *build) intToFloat(from ir.Kind) value.Value {
	switch t := x.a.Type(); {
	case floats.Has(x.k):
		return x.toFloat(from, x.a, x.t)
	case x.v.Args[0].Type.Bits() <= 16: // exact in float32
		return x.fromFloat32(x.toFloat(from, x.a, types.Float), x.k)
	case x.k == ir.KF16: // all that is larger is infinite; the limits are exact in float32
		const limit = 131072
		var p value.Value
		if signed.Has(from) {
			p = x.call("llvm.smax."+overload(t), t, x.call("llvm.smin."+overload(t), t, x.a, whole(t, limit)), whole(t, -limit))
		} else {
			p = x.call("llvm.umin."+overload(t), t, x.a, whole(t, limit))
		}
		return x.fromFloat32(x.toFloat(from, p, types.Float), x.k)
	}
	return x.intToBF16(from)
}

// intToBF16 rounds the magnitude to odd in float32, then to nearest: one rounding
// in effect.
func (x *build) intToBF16(from ir.Kind) value.Value {
	t, size := x.a.Type(), x.a
	var negative value.Value
	if signed.Has(from) {
		negative = x.icmp(enum.IPredSLT, x.a, whole(t, 0))
		size = x.NewSelect(negative, x.NewSub(whole(t, 0), x.a), x.a)
	}
	rounded := x.NewUIToFP(size, types.Float)
	back := x.call("llvm.fptoui.sat."+overload(t)+".f32", t, rounded)
	out := x.roundBF16(x.toOdd(rounded, x.icmp(enum.IPredUGT, back, size), x.icmp(enum.IPredNE, back, size)), nil)
	if negative != nil {
		return x.NewOr(out, x.NewSelect(negative, i16(-1<<15), i16(0)))
	}
	return out
}

// toOdd returns the pattern of a float32 rounded to odd, given whether it was rounded
// away from zero and whether it was rounded.
func (e *emitter) toOdd(p, away, inexact value.Value) value.Value {
	toZero := e.NewSub(e.NewBitCast(p, types.I32), e.NewZExt(away, types.I32))
	return e.NewOr(toZero, e.NewZExt(inexact, types.I32))
}

// roundBF16 rounds the pattern of a float32 to nearest even; nan says whether it is a
// NaN, nil if it cannot be.
func (e *emitter) roundBF16(pattern, nan value.Value) value.Value {
	odd := e.NewAnd(e.NewLShr(pattern, i32(16)), i32(1))
	sum := e.NewAdd(e.NewAdd(pattern, i32(32767)), odd)
	out := e.NewTrunc(e.NewLShr(sum, i32(16)), types.I16)
	if nan == nil {
		return out
	}
	return e.NewSelect(nan, i16(0x7fc0), out)
}

// fromFloat32 rounds a float32 to a half.
func (e *emitter) fromFloat32(p value.Value, to ir.Kind) value.Value {
	if to == ir.KF16 {
		return e.NewBitCast(e.NewFPTrunc(p, types.Half), types.I16)
	}
	pattern := e.NewBitCast(p, types.I32)
	return e.roundBF16(pattern, e.NewFCmp(enum.FPredUNO, p, f32(0)))
}

// toFloat32 returns the value of a half.
func (e *emitter) toFloat32(p value.Value, from ir.Kind) value.Value {
	if from == ir.KF16 {
		return e.NewFPExt(e.NewBitCast(p, types.Half), types.Float)
	}
	return e.NewBitCast(e.NewShl(e.NewZExt(p, types.I32), i32(16)), types.Float)
}

func (x *build) floatToFloat(from ir.Kind) value.Value {
	switch {
	case from == ir.KF32 && x.k == ir.KF64:
		return x.NewFPExt(x.a, types.Double)
	case from == ir.KF64 && x.k == ir.KF32:
		return x.NewFPTrunc(x.a, types.Float)
	case from == ir.KF64 && x.k == ir.KF16:
		return x.NewBitCast(x.NewFPTrunc(x.a, types.Half), types.I16)
	case from == ir.KF64: // to bf16, by way of float32 rounded to odd
		rounded := x.NewFPTrunc(x.a, types.Float)
		size := x.call("llvm.fabs.f64", types.Double, x.NewFPExt(rounded, types.Double))
		exact := x.call("llvm.fabs.f64", types.Double, x.a)
		away, inexact := x.NewFCmp(enum.FPredOGT, size, exact), x.NewFCmp(enum.FPredONE, size, exact)
		odd := x.toOdd(rounded, away, inexact)
		return x.roundBF16(odd, x.NewFCmp(enum.FPredUNO, x.a, constant.NewFloat(types.Double, 0)))
	case x.k == ir.KF32:
		return x.toFloat32(x.a, from)
	case x.k == ir.KF64:
		return x.NewFPExt(x.toFloat32(x.a, from), types.Double)
	case from == ir.KF32:
		return x.fromFloat32(x.a, x.k)
	}
	return x.fromFloat32(x.toFloat32(x.a, from), x.k)
}

// floatToInt truncates and saturates; a NaN gives 0.
func (x *build) floatToInt(from ir.Kind) value.Value {
	p := x.a
	if halves.Has(from) {
		p = x.toFloat32(p, from)
	}
	name := "llvm.fptoui.sat."
	if signed.Has(x.k) {
		name = "llvm.fptosi.sat."
	}
	return x.call(name+overload(x.t)+"."+overload(p.Type()), x.t, p)
}
