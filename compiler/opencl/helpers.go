package opencl

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/cfamily"
)

// helpers are the types and functions that OpenCL has or lacks. Extensions are
// turned on by the types that need them.
var helpers = append(append(floats("f32", "uint", "float"), floats("f64", "ulong", "double")...), append(adds(), []cfamily.Helper{
	{Name: "FN", Text: "#define FN static inline"},
	{Name: "i8", Text: "typedef char i8;"}, {Name: "u8", Text: "typedef uchar u8;"},
	{Name: "i16", Text: "typedef short i16;"}, {Name: "u16", Text: "typedef ushort u16;"},
	{Name: "i32", Text: "typedef int i32;"}, {Name: "u32", Text: "typedef uint u32;"},
	{Name: "i64", Text: "typedef long i64;"}, {Name: "u64", Text: "typedef ulong u64;"},
	{Name: "f32", Text: "typedef float f32;"},
	{Name: "f64", Text: "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\ntypedef double f64;"},
	{Name: "atom_i64", Text: extended + "typedef long atom_i64;"},
	{Name: "atom_u64", Text: extended + "typedef ulong atom_u64;"},

	{Name: "f32_from_f16", Text: "FN f32 f32_from_f16(u16 h) { return vload_half(0, (const __private half*)&h); }"},
	{Name: "f16_from_f32", Text: `FN u16 f16_from_f32(f32 x) {
	u16 h;
	vstore_half_rte(x, 0, (__private half*)&h);
	return h;
}`},
	{Name: "mulhi_u64", Text: "FN u64 mulhi_u64(u64 a, u64 b) { return mul_hi(a, b); }"},
	{Name: "mulhi_i64", Text: "FN i64 mulhi_i64(i64 a, i64 b) { return mul_hi(a, b); }"},
	{Name: "popcount32", Text: "FN u32 popcount32(u32 x) { return popcount(x); }"},
	{Name: "popcount64", Text: "FN u32 popcount64(u64 x) { return (u32)popcount(x); }"},
	{Name: "clz32", Text: "FN u32 clz32(u32 x) { return clz(x); }"},
	{Name: "clz64", Text: "FN u32 clz64(u64 x) { return (u32)clz(x); }"},
	{Name: "ctz32", Text: "FN u32 ctz32(u32 x) { return popcount(~x & (x - 1u)); }"},
	{Name: "ctz64", Text: "FN u32 ctz64(u64 x) { return (u32)popcount(~x & (x - 1u)); }"},
	{Name: "reverse32", Text: `FN u32 reverse32(u32 x) {
	x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
	x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
	x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
	x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
	return x >> 16 | x << 16;
}`},
	{Name: "reverse64", Text: "FN u64 reverse64(u64 x) { return (u64)reverse32((u32)x) << 32 | reverse32((u32)(x >> 32)); }"},
	{Name: "thread_index", Text: `FN i64 thread_index(void) {
	return (i64)(get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2)));
}`},
}...)...)

const extended = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"

// floats are the functions of one width, which OpenCL has under one name for all.
func floats(t, bits, name string) []cfamily.Helper {
	out := []cfamily.Helper{
		{Name: "bits_" + t, Text: fmt.Sprintf("FN %[2]s bits_%[1]s(%[1]s x) { return as_%[2]s(x); }", t, bits)},
		{Name: t + "_bits", Text: fmt.Sprintf("FN %[1]s %[1]s_bits(%[2]s x) { return as_%[3]s(x); }", t, bits, name)},
		{Name: "fma_" + t, Text: fmt.Sprintf("FN %[1]s fma_%[1]s(%[1]s a, %[1]s b, %[1]s c) { return fma(a, b, c); }", t)},
		{Name: "abs_" + t, Text: fmt.Sprintf("FN %[1]s abs_%[1]s(%[1]s x) { return fabs(x); }", t)},
		{Name: "copysign_" + t, Text: fmt.Sprintf("FN %[1]s copysign_%[1]s(%[1]s a, %[1]s b) { return copysign(a, b); }", t)},
	}
	for _, fn := range []string{"sqrt", "floor", "ceil", "trunc", "rint"} {
		out = append(out, cfamily.Helper{Name: fn + "_" + t, Text: fmt.Sprintf("FN %[1]s %[2]s_%[1]s(%[1]s x) { return %[2]s(x); }", t, fn)})
	}
	return out
}

// adds are the atomic sums of floats, which exchange until nobody came between, and
// the exchange of a part of a word.
func adds() []cfamily.Helper {
	var out []cfamily.Helper
	for _, m := range memories {
		for _, t := range []struct{ float, word, cas string }{{"f32", "u32", "atomic_cmpxchg"}, {"f64", "atom_u64", "atom_cmpxchg"}} {
			name := "add_" + t.float + "_" + m.name
			out = append(out, cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN %[2]s %[1]s(%[4]s %[2]s* p, %[2]s x) {
	volatile %[4]s %[3]s* word = (volatile %[4]s %[3]s*)p;
	for (%[3]s old = *word;;) {
		%[3]s found = %[5]s(word, old, bits_%[2]s(%[2]s_bits(old) + x));
		if (found == old) return %[2]s_bits(old);
		old = found;
	}
}`, name, t.float, t.word, m.word, t.cas)})
		}
		out = append(out, cfamily.Helper{Name: "cas_part_" + m.name, Text: fmt.Sprintf(`FN u32 cas_part_%[1]s(volatile %[2]s u8* p, u32 ones, u32 old, u32 next) {
	u32 shift = (u32)((u64)p & 3) * 8;
	volatile %[2]s u32* word = (volatile %[2]s u32*)(p - ((u64)p & 3));
	for (u32 seen = *word;;) {
		u32 part = seen >> shift & ones;
		if (part != old) return part;
		u32 found = atomic_cmpxchg(word, seen, (seen & ~(ones << shift)) | next << shift);
		if (found == seen) return old;
		seen = found;
	}
}`, m.name, m.word)})
		for _, t := range []string{"f16", "bf16"} {
			name := "add_" + t + "_" + m.name
			out = append(out, cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN u16 %[1]s(%[3]s u16* p, u16 x) {
	u32 shift = (u32)((u64)p & 2) * 8;
	volatile %[3]s u32* word = (volatile %[3]s u32*)((%[3]s u8*)p - ((u64)p & 2));
	for (u32 old = *word;;) {
		u16 before = (u16)(old >> shift);
		u32 sum = %[2]s_from_f32(f32_from_%[2]s(before) + f32_from_%[2]s(x));
		u32 found = atomic_cmpxchg(word, old, (old & ~(0xffffu << shift)) | sum << shift);
		if (found == old) return before;
		old = found;
	}
}`, name, t, m.word)})
		}
	}
	return out
}
