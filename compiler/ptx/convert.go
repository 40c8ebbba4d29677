package ptx

import "github.com/gokiln/kiln/compiler/ir"

// convertRows has a row, or one for each of two architectures, for every pair of
// numeric kinds.
func convertRows() []row {
	var out []row
	for from := ir.KI8; from <= ir.KF64; from++ {
		for to := ir.KI8; to <= ir.KF64; to++ {
			for _, cc := range []int{80, 0} {
				asm, narrow := convert(to, from, cc)
				out = append(out, row{op: ir.OpConvert, on: ir.KindsOf(to), sub: fromSub + int(from), cc: cc, asm: asm, narrow: narrow})
			}
		}
	}
	return out
}

func convert(to, from ir.Kind, cc int) (asm string, narrow bool) {
	fromInt, toInt := ints.Has(from), ints.Has(to)
	switch {
	case fromInt && toInt:
		return convertInt(to, from)
	case from == to:
		return alias, false
	case fromInt:
		return intToFloat(to, from, cc), false
	case toInt:
		return floatToInt(to, from), false
	}
	return floatToFloat(to, from, cc), false
}

func convertInt(to, from ir.Kind) (asm string, narrow bool) {
	wideTo, wideFrom := int64s.Has(to), int64s.Has(from)
	switch {
	case wideTo && wideFrom:
		return alias, false
	case wideTo && signed.Has(from):
		return "cvt.s64.s32 $d, $A", false
	case wideTo:
		return "cvt.u64.u32 $d, $A", false
	case wideFrom:
		return "cvt.u32.u64 $d, $A", small.Has(to)
	case !small.Has(to) || contains(to, from):
		return alias, false
	}
	return extend(to), false
}

// contains reports whether every value of from is a value of to, both of at most
// 32 bits, so that the register of one is the register of the other.
func contains(to, from ir.Kind) bool {
	if to == from {
		return true
	}
	if signed.Has(from) && !signed.Has(to) {
		return false
	}
	return width(to) > width(from)
}

// extend writes the canonical form of a value of a small kind from the low bits
// of a 32-bit register.
func extend(k ir.Kind) string {
	switch k {
	case ir.KI8:
		return "cvt.s32.s8 $d, $A"
	case ir.KI16:
		return "cvt.s32.s16 $d, $A"
	case ir.KU8:
		return "and.b32 $d, $A, 255"
	}
	return "and.b32 $d, $A, 65535"
}

func intToFloat(to, from ir.Kind, cc int) string {
	t := words2ptx(from)
	switch {
	case to == ir.KF32 || to == ir.KF64 || to == ir.KF16:
		return "cvt.rn." + ptxType(to) + "." + t + " $d, $A"
	case small.Has(from): // exact in float32
		return "cvt.rn.f32." + t + " $r0, $A; " + toBF16("$r0", cc)
	}
	back := "$r3"
	if int64s.Has(from) {
		back = "$q0"
	}
	// Round to odd in float32, then to nearest: one rounding in effect.
	return "cvt.rz.f32." + t + " $r0, $A; cvt.rzi." + t + ".f32 " + back + ", $r0; setp.ne." + t + " $p0, " + back + ", $A;" +
		"selp.u32 $r1, 1, 0, $p0; or.b32 $r2, $r0, $r1; " + toBF16("$r2", cc)
}

// words2ptx is the type of an integer kind in its register.
func words2ptx(k ir.Kind) string {
	t := "u"
	if signed.Has(k) {
		t = "s"
	}
	if int64s.Has(k) {
		return t + "64"
	}
	return t + "32"
}

// toBF16 rounds the float32 in register x.
func toBF16(x string, cc int) string {
	if cc >= 80 {
		return "cvt.rn.bf16.f32 $d, " + x
	}
	return "shr.u32 $r11, " + x + ", 16; and.b32 $r12, $r11, 1; add.u32 $r13, " + x + ", 32767; add.u32 $r14, $r13, $r12;" +
		"shr.u32 $r15, $r14, 16; setp.nan.f32 $p11, " + x + ", " + x + "; selp.b32 $r16, 0x7fc0, $r15, $p11; cvt.u16.u32 $d, $r16"
}

// toF32 leads to the float32 value of a half in $r10.
func toF32(from ir.Kind) string {
	if from == ir.KF16 {
		return "cvt.f32.f16 $r10, $A; "
	}
	return widen("$r10") + "; "
}

// widen makes a bfloat16 the upper half of register x, which takes one instruction for
// each half of a word.
func widen(x string) string { return "mov.b16 $h9, 0; mov.b32 " + x + ", {$h9, $A}" }

func floatToFloat(to, from ir.Kind, cc int) string {
	pre, x := "", "$A"
	if halves.Has(from) {
		pre, x = toF32(from), "$r10"
	}
	switch {
	case from == ir.KBF16 && to == ir.KF32:
		return widen("$d")
	case from == ir.KF16 && to == ir.KF32:
		return "cvt.f32.f16 $d, $A"
	case from == ir.KF64 && to == ir.KBF16: // round to odd in float32 first
		return "cvt.rz.f32.f64 $r0, $A; cvt.f64.f32 $q0, $r0; setp.neu.f64 $p0, $q0, $A; selp.u32 $r1, 1, 0, $p0;" +
			"or.b32 $r2, $r0, $r1; " + toBF16("$r2", cc)
	case from == ir.KF64:
		return "cvt.rn." + ptxType(to) + ".f64 $d, $A"
	case to == ir.KF64:
		return pre + "cvt.f64.f32 $d, " + x
	case to == ir.KF16:
		return pre + "cvt.rn.f16.f32 $d, " + x
	}
	return pre + toBF16(x, cc)
}

// floatToInt truncates. The hardware saturates to 32 and 64 bits, and gives 0
// for NaN only from float32 to 32 bits.
func floatToInt(to, from ir.Kind) string {
	pre, x, src := "", "$A", "f32"
	switch {
	case halves.Has(from):
		pre, x = toF32(from), "$r10"
	case from == ir.KF64:
		src = "f64"
	}
	t := words2ptx(to)
	cvt := "cvt.rzi." + t + "." + src + " "
	zeroNaN := "; setp.nan." + src + " $p0, " + x + ", " + x + "; selp.b"
	switch {
	case int64s.Has(to):
		return pre + cvt + "$q0, " + x + zeroNaN + "64 $d, 0, $q0, $p0"
	case src == "f64":
		pre += cvt + "$r0, " + x + zeroNaN + "32 $r1, 0, $r0, $p0; "
	default:
		pre += cvt + "$r1, " + x + "; "
	}
	switch to {
	case ir.KI8:
		return pre + "max.s32 $r2, $r1, -128; min.s32 $d, $r2, 127"
	case ir.KI16:
		return pre + "max.s32 $r2, $r1, -32768; min.s32 $d, $r2, 32767"
	case ir.KU8:
		return pre + "min.u32 $d, $r1, 255"
	case ir.KU16:
		return pre + "min.u32 $d, $r1, 65535"
	}
	return pre + "mov.b32 $d, $r1"
}

// bitcastRows has a row for every pair of numeric kinds of one size.
func bitcastRows() []row {
	var out []row
	for from := ir.KI8; from <= ir.KF64; from++ {
		for to := ir.KI8; to <= ir.KF64; to++ {
			if width(from) == width(to) {
				out = append(out, row{op: ir.OpBitcast, on: ir.KindsOf(to), sub: fromSub + int(from), asm: bitcast(to, from)})
			}
		}
	}
	return out
}

func bitcast(to, from ir.Kind) string {
	switch {
	case from == to || !small.Has(to) && !small.Has(from):
		return alias
	case halves.Has(to):
		return "cvt.u16.u32 $d, $A"
	case halves.Has(from) && to == ir.KI16:
		return "cvt.s32.s16 $d, $A"
	case halves.Has(from):
		return "cvt.u32.u16 $d, $A"
	}
	return extend(to)
}
