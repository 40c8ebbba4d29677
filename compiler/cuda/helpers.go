package cuda

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
)

// helpers are the types and functions that CUDA has or lacks.
var helpers = slices.Concat(floats("f32", "f"), floats("f64", ""), matrixHelpers(), []cfamily.Helper{
	{Name: "FN", Text: "#define FN static __device__ __forceinline__"},
	{Name: "FAR", Text: "#define FAR static __device__ __noinline__"},
	{Name: "i8", Text: "typedef signed char i8;"}, {Name: "u8", Text: "typedef unsigned char u8;"},
	{Name: "i16", Text: "typedef short i16;"}, {Name: "u16", Text: "typedef unsigned short u16;"},
	{Name: "i32", Text: "typedef int i32;"}, {Name: "u32", Text: "typedef unsigned int u32;"},
	{Name: "i64", Text: "typedef long long i64;"}, {Name: "u64", Text: "typedef unsigned long long u64;"},
	{Name: "f32", Text: "typedef float f32;"}, {Name: "f64", Text: "typedef double f64;"},
	{Name: "word32", Text: "typedef unsigned int word32;"},
	{Name: "word64", Text: "typedef unsigned long long word64;"},

	{Name: "bits_f32", Text: "FN u32 bits_f32(f32 x) { return __float_as_uint(x); }"},
	{Name: "f32_bits", Text: "FN f32 f32_bits(u32 x) { return __uint_as_float(x); }"},
	{Name: "bits_f64", Text: "FN u64 bits_f64(f64 x) { return (u64)__double_as_longlong(x); }"},
	{Name: "f64_bits", Text: "FN f64 f64_bits(u64 x) { return __longlong_as_double((i64)x); }"},
	{Name: "fma_f32", Text: "FN f32 fma_f32(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }"},
	{Name: "fma_f64", Text: "FN f64 fma_f64(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }"},
	{Name: "sqrt_f32", Text: "FN f32 sqrt_f32(f32 x) { return __fsqrt_rn(x); }"},
	{Name: "sqrt_f64", Text: "FN f64 sqrt_f64(f64 x) { return __dsqrt_rn(x); }"},

	{Name: "f32_from_f16", Text: `FN f32 f32_from_f16(u16 h) {
	f32 x;
	asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
	return x;
}`},
	{Name: "f16_from_f32", Text: `FN u16 f16_from_f32(f32 x) {
	u16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
	return h;
}`},
	{Name: "popcount32", Text: "FN u32 popcount32(u32 x) { return (u32)__popc(x); }"},
	{Name: "popcount64", Text: "FN u32 popcount64(u64 x) { return (u32)__popcll(x); }"},
	{Name: "clz32", Text: "FN u32 clz32(u32 x) { return (u32)__clz((int)x); }"},
	{Name: "clz64", Text: "FN u32 clz64(u64 x) { return (u32)__clzll((i64)x); }"},
	{Name: "ctz32", Text: "FN u32 ctz32(u32 x) { return (u32)__clz((int)__brev(x)); }"},
	{Name: "ctz64", Text: "FN u32 ctz64(u64 x) { return (u32)__clzll((i64)__brevll(x)); }"},
	{Name: "reverse32", Text: "FN u32 reverse32(u32 x) { return __brev(x); }"},
	{Name: "reverse64", Text: "FN u64 reverse64(u64 x) { return __brevll(x); }"},
	{Name: "mulhi_u64", Text: "FN u64 mulhi_u64(u64 a, u64 b) { return __umul64hi(a, b); }"},
	{Name: "mulhi_i64", Text: "FN i64 mulhi_i64(i64 a, i64 b) { return __mul64hi(a, b); }"},

	{Name: "wrap_i16", Text: `FN i16 wrap_i16(u32 x) {
	i32 y;
	asm("cvt.s32.s16 %0, %1;" : "=r"(y) : "r"(x));
	return (i16)y;
}`},
	{Name: "div_i16", Text: "FN i16 div_i16(i16 a, i16 b) { return b == 0 ? (i16)0 : wrap_i16((u32)((i32)a / (i32)b)); }"},
	{Name: "pick", Text: `FN u32 pick(bool first, u32 a, u32 b) {
	u32 x;
	asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tselp.b32 %0, %2, %3, p;\n\t}" : "=r"(x) : "r"((u32)first), "r"(a), "r"(b));
	return x;
}`},
	{Name: "less", Text: `FN bool less(u32 a, u32 b) {
	u32 x;
	asm("{\n\t.reg .pred p;\n\t.reg .b64 a, b;\n\tcvt.u64.u32 a, %1;\n\tcvt.u64.u32 b, %2;\n\tsetp.lt.u64 p, a, b;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(x) : "r"(a), "r"(b));
	return x != 0;
}`},
	{Name: "either", Text: "FN bool either(bool a, bool b) { return pick(a, 1u, (u32)b) != 0; }"},
	{Name: "both", Text: "FN bool both(bool a, bool b) { return pick(a, (u32)b, 0u) != 0; }"},
	{Name: "pick64", Text: `FN u64 pick64(bool first, u64 a, u64 b) {
	u64 x;
	asm("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tselp.b64 %0, %2, %3, p;\n\t}" : "=l"(x) : "r"((u32)first), "l"(a), "l"(b));
	return x;
}`},
	same("i32", "32", "r"), same("u32", "32", "r"), same("i64", "64", "l"), same("u64", "64", "l"),
	half("i32", "s32", "r"), half("u32", "u32", "r"), half("i64", "s64", "l"), half("u64", "u64", "l"),
	extremum("min_i32", "lt", "s32"), extremum("max_i32", "gt", "s32"), extremum("min_u32", "lt", "u32"), extremum("max_u32", "gt", "u32"),
	{Name: "fail", Text: "FN void fail() { __trap(); }"},
	{Name: "lane_id", Text: `FN u32 lane_id() {
	u32 x;
	asm("mov.u32 %0, %%laneid;" : "=r"(x));
	return x;
}`},
	{Name: "warp_id", Text: "FN u32 warp_id() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32; }"},
	{Name: "source", Text: "FN int source(i64 lane) { return (u64)lane < 32 ? (int)lane : (int)lane_id(); }"},
	{Name: "approx_tanh", Text: `FN f32 approx_tanh(f32 x) {
	if (fabsf(x) < 0.0078125f) return x;
	return copysignf(1.0f - 2.0f * approx_rcp(1.0f + approx_ex2(__fmul_rn(2.8853901f, fabsf(x)))), x);
}`},
	approx("ex2.approx.ftz"), approx("lg2.approx"), approx("sin.approx"), approx("cos.approx"),
	approx("rsqrt.approx"), approx("sqrt.approx"), approx("rcp.approx"),
	{Name: "cas_part", Text: `FN u32 cas_part(u64 at, u32 ones, u32 old, u32 next) {
	word32* word = (word32*)(at & ~(u64)3);
	u32 shift = (u32)(at & 3) * 8;
	for (u32 seen = *(volatile word32*)word;;) {
		u32 part = seen >> shift & ones;
		if (part != old) return part;
		u32 found = atomicCAS(word, seen, (seen & ~(ones << shift)) | next << shift);
		if (found == seen) return old;
		seen = found;
	}
}`},
	{Name: "add_f16", Text: addHalf("f16")}, {Name: "add_bf16", Text: addHalf("bf16")},
})

// floats are the functions of one width.
func floats(t, suffix string) []cfamily.Helper {
	var out []cfamily.Helper
	for name, fn := range map[string]string{"abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"} {
		out = append(out, cfamily.Helper{Name: name + "_" + t,
			Text: fmt.Sprintf("FN %[1]s %[2]s_%[1]s(%[1]s x) { return %[3]s%[4]s(x); }", t, name, fn, suffix)})
	}
	return append(out, cfamily.Helper{Name: "copysign_" + t,
		Text: fmt.Sprintf("FN %[1]s copysign_%[1]s(%[1]s a, %[1]s b) { return copysign%[2]s(a, b); }", t, suffix)})
}

// extremum compares and selects, which stays two instructions. That of unsigned numbers
// compares 64 bits, of which ptxas makes no minimum.
func extremum(name, compare, t string) cfamily.Helper {
	k, asm := "i32", "setp.%s.s32 p, %%1, %%2;"
	if t == "u32" {
		k, asm = "u32", ".reg .b64 a, b;\\n\\tcvt.u64.u32 a, %%1;\\n\\tcvt.u64.u32 b, %%2;\\n\\tsetp.%s.u64 p, a, b;"
	}
	return cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN %[1]s %[2]s(%[1]s a, %[1]s b) {
	%[1]s x;
	asm("{\n\t.reg .pred p;\n\t%[3]s\n\tselp.b32 %%0, %%1, %%2, p;\n\t}" : "=r"(x) : "r"(a), "r"(b));
	return x;
}`, k, name, fmt.Sprintf(asm, compare))}
}

// same returns a number that NVVM does not know where it comes from.
func same(t, bits, register string) cfamily.Helper {
	return cfamily.Helper{Name: "same_" + t, Text: fmt.Sprintf(`FN %[1]s same_%[1]s(%[1]s x) {
	%[1]s y;
	asm("mov.b%[2]s %%0, %%1;" : "=%[3]s"(y) : "%[3]s"(x));
	return y;
}`, t, bits, register)}
}

// half rounds an integer to a half.
func half(t, asm, register string) cfamily.Helper {
	return cfamily.Helper{Name: "f16_from_" + t, Text: fmt.Sprintf(`FN u16 f16_from_%[1]s(%[1]s x) {
	u16 h;
	asm("cvt.rn.f16.%[2]s %%0, %%1;" : "=h"(h) : "%[3]s"(x));
	return h;
}`, t, asm, register)}
}

// addHalf adds to a half by exchanging the word around it until nobody came
// between.
func addHalf(t string) string {
	return fmt.Sprintf(`FN u16 add_%[1]s(u16* p, u16 x) {
	u64 at = (u64)p;
	word32* word = (word32*)(at & ~(u64)3);
	u32 shift = (u32)(at & 2) * 8;
	for (u32 old = *(volatile word32*)word;;) {
		u16 half = (u16)(old >> shift);
		u32 sum = %[1]s_from_f32(f32_from_%[1]s(half) + f32_from_%[1]s(x));
		u32 found = atomicCAS(word, old, (old & ~(0xffffu << shift)) | sum << shift);
		if (found == old) return half;
		old = found;
	}
}`, t)
}

// approx is an instruction of PTX that approximates a function.
func approx(op string) cfamily.Helper {
	name, _, _ := strings.Cut(op, ".")
	return cfamily.Helper{Name: "approx_" + name, Text: fmt.Sprintf(`FN f32 approx_%s(f32 x) {
	f32 y;
	asm("%s.f32 %%0, %%1;" : "=f"(y) : "f"(x));
	return y;
}`, name, op)}
}
