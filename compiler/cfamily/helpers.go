package cfamily

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// Helpers are the functions that the languages share. Where a language has the
// function itself it says so in a helper of the same name. FN stands for what a
// function's definition begins with, FAR for the same of one that is not to be
// inlined; see [Language.Helpers].
var Helpers = append(integerHelpers(), []Helper{
	{"FAR", "#define FAR static __attribute__((noinline))"}, // a function that stays one
	{"mulhi_u64", `FN u64 mulhi_u64(u64 a, u64 b) {
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 low = al * bl, mid = ah * bl + (low >> 32), high = al * bh + (u32)mid;
	return ah * bh + (mid >> 32) + (high >> 32);
}`},
	{"mulhi_i64", `FN i64 mulhi_i64(i64 a, i64 b) {
	return (i64)(mulhi_u64((u64)a, (u64)b) - (a < 0 ? (u64)b : 0) - (b < 0 ? (u64)a : 0));
}`},
	{"min_f32", extremum("f32", "min", "<", "|")},
	{"max_f32", extremum("f32", "max", ">", "&")},
	{"min_f64", extremum("f64", "min", "<", "|")},
	{"max_f64", extremum("f64", "max", ">", "&")},
	{"f32_from_bf16", "FN f32 f32_from_bf16(u16 h) { return f32_bits((u32)h << 16); }"},
	{"bf16_from_f32", `FN u16 bf16_from_f32(f32 x) {
	u32 b = bits_f32(x);
	if ((b & 0x7fffffffu) > 0x7f800000u) return (u16)(b >> 16 | 64u);
	return (u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}`},
	// Rounding to odd keeps what a second rounding needs: the number is cut off and
	// its last bit set if anything was lost.
	{"odd_from_f64", `FN f32 odd_from_f64(f64 x) {
	f32 y = (f32)x;
	u32 b = bits_f32(y);
	if (x != x || (f64)y == x) return y;
	if (abs_f64((f64)y) > abs_f64(x)) b -= 1u;
	return f32_bits(b | 1u);
}`},
	{"odd_from_u64", `FN f32 odd_from_u64(u64 x) {
	u32 n = x == 0 ? 0 : 64u - (u32)clz64(x), drop = n > 24u ? n - 24u : 0;
	u64 kept = x >> drop;
	if (kept << drop != x) kept |= 1u;
	return (f32)(kept << drop);
}`},
	{"odd_from_i64", "FN f32 odd_from_i64(i64 x) { return x < 0 ? -odd_from_u64((u64)0 - (u64)x) : odd_from_u64((u64)x); }"},
	{"permute", `FN u32 permute(u32 a, u32 b, u32 sel) {
	u64 all = (u64)b << 32 | a;
	u32 out = 0;
	for (int i = 0; i < 4; i++) {
		u32 s = sel >> (4 * i) & 15u, x = (u32)(all >> (8 * (s & 7u))) & 255u;
		if (s & 8u) x = x & 128u ? 255u : 0;
		out |= x << (8 * i);
	}
	return out;
}`},
	{"dot4_i32", dot4("i32", "i8")},
	{"dot4_u32", dot4("u32", "u8")},
}...)

// extremum follows Go: NaN if either is NaN, and -0 before +0.
func extremum(t, name, less, zero string) string {
	u := "u" + t[1:]
	return fmt.Sprintf(`FN %[1]s %[2]s_%[1]s(%[1]s a, %[1]s b) {
	if (a != a || b != b) return a + b;
	if (a == b) return %[1]s_bits(bits_%[1]s(a) %[4]s bits_%[1]s(b));
	return a %[3]s b ? a : b;
}`, t, name, less, zero, u)
}

func dot4(t, e string) string {
	return fmt.Sprintf(`FN %[1]s dot4_%[1]s(%[1]s a, %[1]s b, %[1]s c) {
	u32 sum = (u32)c;
	for (int i = 0; i < 32; i += 8) sum += (u32)((i32)(%[2]s)((u32)a >> i) * (i32)(%[2]s)((u32)b >> i));
	return (%[1]s)sum;
}`, t, e)
}

// integerHelpers are the functions that exist for every width.
func integerHelpers() []Helper {
	var out []Helper
	for _, t := range ir.Scalars {
		if !t.IsInt() {
			continue
		}
		k := t.String()
		guard, rem := "b == 0", "b == 0 ? a : "
		if t.IsSigned() {
			u := "u" + k[1:]
			out = append(out,
				Helper{"div_" + k, fmt.Sprintf("FN %[1]s div_%[1]s(%[1]s a, %[1]s b) { return %[3]s ? (%[1]s)0 : b == -1 ? (%[1]s)((%[2]s)0 - (%[2]s)a) : (%[1]s)(a / b); }", k, u, guard)},
				Helper{"rem_" + k, fmt.Sprintf("FN %[1]s rem_%[1]s(%[1]s a, %[1]s b) { return %[2]sb == -1 ? (%[1]s)0 : (%[1]s)(a %% b); }", k, rem)})
		} else {
			out = append(out,
				Helper{"div_" + k, fmt.Sprintf("FN %[1]s div_%[1]s(%[1]s a, %[1]s b) { return %[2]s ? (%[1]s)0 : (%[1]s)(a / b); }", k, guard)},
				Helper{"rem_" + k, fmt.Sprintf("FN %[1]s rem_%[1]s(%[1]s a, %[1]s b) { return %[2]s(%[1]s)(a %% b); }", k, rem)})
		}
		for _, from := range []string{"f32", "f64"} {
			out = append(out, Helper{k + "_from_" + from, saturate(t, from)})
		}
	}
	return out
}

// saturate converts a float to an integer: towards zero, to the nearest value that
// there is, NaN to 0. The limits are powers of two, which floats have exactly.
func saturate(t *ir.Type, from string) string {
	n, k := t.Bits(), t.String()
	lo, hi := "0", fmt.Sprintf("%#x", uint64(1)<<n-1)
	above, below := power(n), "(%s)-1"
	if n == 64 {
		hi = "0xffffffffffffffff"
	}
	if t.IsSigned() {
		lo, hi = fmt.Sprintf("((%s)%#x)", k, uint64(1)<<(n-1)), fmt.Sprintf("%#x", uint64(1)<<(n-1)-1)
		above, below = power(n-1), "-"+power(n-1)
	} else {
		below = fmt.Sprintf(below, from)
	}
	cmp := "<="
	return fmt.Sprintf("FN %[1]s %[1]s_from_%[2]s(%[2]s x) { return x != x ? (%[1]s)0 : x %[7]s (%[2]s)%[6]s ? (%[1]s)%[3]s : x >= (%[2]s)%[5]s ? (%[1]s)%[4]s : (%[1]s)x; }",
		k, from, lo, hi, above, below, cmp)
}

// power writes 2^n as a float.
func power(n int) string {
	return map[int]string{
		7: "128.0f", 8: "256.0f", 15: "32768.0f", 16: "65536.0f", 31: "2147483648.0f", 32: "4294967296.0f",
		63: "9223372036854775808.0f", 64: "18446744073709551616.0f",
	}[n]
}

var identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// prelude returns the helpers that text names, and those that they name, each after
// what it needs.
func (l *Language) prelude(text string) string {
	known := map[string]string{}
	for _, list := range [][]Helper{Helpers, l.Helpers} { // those of the language replace
		for _, h := range list {
			known[h.Name] = h.Text
		}
	}
	var out strings.Builder
	done := map[string]bool{}
	var need func(text string)
	need = func(text string) {
		for _, name := range identifier.FindAllString(text, -1) {
			h, ok := known[name]
			if !ok || done[name] {
				continue
			}
			done[name] = true
			need(h)
			out.WriteString(h)
			out.WriteByte('\n')
		}
	}
	need(text)
	return out.String()
}
