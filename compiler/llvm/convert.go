package llvm

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// fill is fmt.Sprintf of texts.
func fill(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// convertRows has a row for every pair of numeric kinds.
func convertRows() []row {
	var out []row
	for from := ir.KI8; from <= ir.KF64; from++ {
		for to := ir.KI8; to <= ir.KF64; to++ {
			out = append(out, row{op: ir.OpConvert, on: of(to), sub: fromSub + int(from), isa: all, asm: convert(to, from)})
		}
	}
	return out
}

func convert(to, from ir.Kind) string {
	switch {
	case ints.has(from) && ints.has(to):
		return convertInt(to, from)
	case from == to:
		return alias
	case ints.has(from):
		return intToFloat(to, from)
	case ints.has(to):
		return floatToInt(to, from)
	}
	return floatToFloat(to, from)
}

func convertInt(to, from ir.Kind) string {
	switch {
	case width(to) == width(from):
		return alias
	case width(to) < width(from):
		return fill("$d = trunc %s $a to {t}", typeNames[from])
	}
	return fill("$d = %s %s $a to {t}", extension(from), typeNames[from])
}

// extension is how the kind extends to a wider one.
func extension(k ir.Kind) string {
	if signed.has(k) {
		return "sext"
	}
	return "zext"
}

// intToFloat rounds once. The hardware has no such conversion to halves from wide
// integers, and LLVM goes by way of float32, which rounds twice.
func intToFloat(to, from ir.Kind) string {
	t, s := typeNames[from], intSign(from)
	switch {
	case floats.has(to):
		return fill("$d = %sitofp %s $a to {t}", s, t)
	case width(from) <= 16: // exact in float32
		return fill("$0 = %sitofp %s $a to float; ", s, t) + fromFloat32("$d", "$0", to, 10)
	case to == ir.KF16: // all that is larger is infinite; the limits are exact in float32
		limit := fill("$1 = call %[1]s @llvm.%[2]smin.%[1]s(%[1]s $a, %[1]s 131072); ", t, s)
		x := "$1"
		if signed.has(from) {
			limit, x = limit+fill("$2 = call %[1]s @llvm.smax.%[1]s(%[1]s $1, %[1]s -131072); ", t), "$2"
		}
		return limit + fill("$0 = %sitofp %s %s to float; ", s, t, x) + fromFloat32("$d", "$0", to, 10)
	}
	return intToBF16(from)
}

// intSign is s for signed kinds and u for others.
func intSign(k ir.Kind) string {
	if signed.has(k) {
		return "s"
	}
	return "u"
}

// intToBF16 rounds the magnitude to odd in float32, then to nearest: one rounding
// in effect.
func intToBF16(from ir.Kind) string {
	t := typeNames[from]
	pre, x := "", "$a"
	if signed.has(from) {
		pre, x = fill("$40 = icmp slt %[1]s $a, 0; $41 = sub %[1]s 0, $a; $42 = select i1 $40, %[1]s $41, %[1]s $a; ", t), "$42"
	}
	odd := strings.NewReplacer("#t", t, "#x", x).Replace("$43 = uitofp #t #x to float; $44 = call #t @llvm.fptoui.sat.#t.f32(float $43); "+
		"$45 = icmp ugt #t $44, #x; $46 = icmp ne #t $44, #x; ") + toOdd("$43")
	round := roundBF16("$d", "$50", "", 60)
	if signed.has(from) {
		round = roundBF16("$54", "$50", "", 60) + "; $55 = select i1 $40, i16 -32768, i16 0; $d = or i16 $54, $55"
	}
	return pre + odd + round
}

// toOdd makes the pattern $50 of float32 x rounded to odd, where $45 says that it
// was rounded away from zero and $46 that it was rounded.
func toOdd(x string) string {
	return "$47 = bitcast float " + x + " to i32; $48 = zext i1 $45 to i32; $49 = sub i32 $47, $48; $51 = zext i1 $46 to i32; $50 = or i32 $49, $51; "
}

// roundBF16 rounds the pattern x of a float32 to nearest even; nan is an i1 that
// says it is a NaN, "" if it cannot be. Temporaries are from number n on.
func roundBF16(to, x, nan string, n int) string {
	t := func(i int) string { return fmt.Sprintf("$%d", n+i) }
	last := to
	if nan != "" {
		last = t(5)
	}
	s := fill("%s = lshr i32 %s, 16; %s = and i32 %s, 1; ", t(0), x, t(1), t(0)) +
		fill("%s = add i32 %s, 32767; %s = add i32 %s, %s; ", t(2), x, t(3), t(2), t(1)) +
		fill("%s = lshr i32 %s, 16; %s = trunc i32 %s to i16", t(4), t(3), last, t(4))
	if nan != "" {
		s += fill("; %s = select i1 %s, i16 32704, i16 %s", to, nan, last)
	}
	return s
}

// fromFloat32 rounds float x to a half; temporaries are from number n on.
func fromFloat32(to, x string, k ir.Kind, n int) string {
	if k == ir.KF16 {
		return fill("$%d = fptrunc float %s to half; %s = bitcast half $%[1]d to i16; ", n, x, to)
	}
	return fill("$%d = bitcast float %s to i32; $%d = fcmp uno float %[2]s, 0.0; ", n, x, n+1) +
		roundBF16(to, fmt.Sprintf("$%d", n), fmt.Sprintf("$%d", n+1), n+2) + "; "
}

// toFloat32 leads to the value of a half as float.
func toFloat32(to, x string, k ir.Kind, n int) string {
	if k == ir.KF16 {
		return fill("$%d = bitcast i16 %s to half; %s = fpext half $%[1]d to float; ", n, x, to)
	}
	return fill("$%[1]d = zext i16 %[2]s to i32; $%[3]d = shl i32 $%[1]d, 16; %[4]s = bitcast i32 $%[3]d to float; ", n, x, n+1, to)
}

func floatToFloat(to, from ir.Kind) string {
	switch {
	case from == ir.KF32 && to == ir.KF64:
		return "$d = fpext float $a to double"
	case from == ir.KF64 && to == ir.KF32:
		return "$d = fptrunc double $a to float"
	case from == ir.KF64 && to == ir.KF16:
		return "$0 = fptrunc double $a to half; $d = bitcast half $0 to i16"
	case from == ir.KF64: // to bf16, by way of float32 rounded to odd
		return "$40 = fptrunc double $a to float; $41 = fpext float $40 to double; $42 = call double @llvm.fabs.f64(double $41);" +
			"$43 = call double @llvm.fabs.f64(double $a); $45 = fcmp ogt double $42, $43; $46 = fcmp one double $42, $43; " +
			toOdd("$40") + "$44 = fcmp uno double $a, 0.0; " + roundBF16("$d", "$50", "$44", 60)
	case to == ir.KF32:
		return toFloat32("$d", "$a", from, 0)
	case to == ir.KF64:
		return toFloat32("$9", "$a", from, 0) + "$d = fpext float $9 to double"
	case from == ir.KF32:
		return fromFloat32("$d", "$a", to, 10)
	}
	return toFloat32("$9", "$a", from, 0) + fromFloat32("$d", "$9", to, 10)
}

// floatToInt truncates and saturates; a NaN gives 0.
func floatToInt(to, from ir.Kind) string {
	pre, x, f, t := "", "$a", from, typeNames[from]
	if halves.has(from) {
		pre, x, f, t = toFloat32("$9", "$a", from, 0), "$9", ir.KF32, "float"
	}
	return pre + fill("$d = call {t} @llvm.fpto%si.sat.{o}.%s(%s %s)", intSign(to), overload(f), t, x)
}

// bitcastRows has a row for every pair of numeric kinds of one size.
func bitcastRows() []row {
	var out []row
	for from := ir.KI8; from <= ir.KF64; from++ {
		for to := ir.KI8; to <= ir.KF64; to++ {
			if width(from) != width(to) {
				continue
			}
			asm := alias
			if typeNames[from] != typeNames[to] {
				asm = fill("$d = bitcast %s $a to {t}", typeNames[from])
			}
			out = append(out, row{op: ir.OpBitcast, on: of(to), sub: fromSub + int(from), isa: all, asm: asm})
		}
	}
	return out
}
