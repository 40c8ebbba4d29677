package msl

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/cfamily"
)

// helpers are the types and functions that Metal has or lacks.
var helpers = append(append(atomicHelpers(), units()...), []cfamily.Helper{
	{Name: "FN", Text: "#define FN static inline __attribute__((always_inline))"},
	{Name: "i8", Text: "typedef char i8;"}, {Name: "u8", Text: "typedef unsigned char u8;"},
	{Name: "i16", Text: "typedef short i16;"}, {Name: "u16", Text: "typedef unsigned short u16;"},
	{Name: "i32", Text: "typedef int i32;"}, {Name: "u32", Text: "typedef unsigned int u32;"},
	{Name: "i64", Text: "typedef long i64;"}, {Name: "u64", Text: "typedef unsigned long u64;"},
	{Name: "f32", Text: "typedef float f32;"},

	{Name: "bits_f32", Text: "FN u32 bits_f32(f32 x) { return as_type<u32>(x); }"},
	{Name: "f32_bits", Text: "FN f32 f32_bits(u32 x) { return as_type<f32>(x); }"},
	{Name: "fma_f32", Text: "FN f32 fma_f32(f32 a, f32 b, f32 c) { return metal::fma(a, b, c); }"},
	{Name: "copysign_f32", Text: "FN f32 copysign_f32(f32 a, f32 b) { return metal::copysign(a, b); }"},
	{Name: "sqrt_f32", Text: "FN f32 sqrt_f32(f32 x) { return metal::precise::sqrt(x); }"},
	{Name: "abs_f32", Text: "FN f32 abs_f32(f32 x) { return metal::fabs(x); }"},
	{Name: "floor_f32", Text: "FN f32 floor_f32(f32 x) { return metal::floor(x); }"},
	{Name: "ceil_f32", Text: "FN f32 ceil_f32(f32 x) { return metal::ceil(x); }"},
	{Name: "trunc_f32", Text: "FN f32 trunc_f32(f32 x) { return metal::trunc(x); }"},
	{Name: "rint_f32", Text: "FN f32 rint_f32(f32 x) { return metal::rint(x); }"},
	{Name: "f32_from_f16", Text: "FN f32 f32_from_f16(u16 h) { return (f32)as_type<half>(h); }"},
	{Name: "f16_from_f32", Text: "FN u16 f16_from_f32(f32 x) { return as_type<u16>((half)x); }"},

	// Metal counts bits of words; of longer integers not in every version.
	{Name: "popcount32", Text: "FN u32 popcount32(u32 x) { return metal::popcount(x); }"},
	{Name: "popcount64", Text: "FN u32 popcount64(u64 x) { return popcount32((u32)x) + popcount32((u32)(x >> 32)); }"},
	{Name: "clz32", Text: "FN u32 clz32(u32 x) { return metal::clz(x); }"},
	{Name: "clz64", Text: "FN u32 clz64(u64 x) { return x >> 32 != 0 ? clz32((u32)(x >> 32)) : 32u + clz32((u32)x); }"},
	{Name: "ctz32", Text: "FN u32 ctz32(u32 x) { return metal::ctz(x); }"},
	{Name: "ctz64", Text: "FN u32 ctz64(u64 x) { return (u32)x != 0u ? ctz32((u32)x) : 32u + ctz32((u32)(x >> 32)); }"},
	{Name: "reverse32", Text: "FN u32 reverse32(u32 x) { return metal::reverse_bits(x); }"},
	{Name: "reverse64", Text: "FN u64 reverse64(u64 x) { return (u64)reverse32((u32)x) << 32 | (u64)reverse32((u32)(x >> 32)); }"},

	{Name: "source", Text: "FN u32 source(u32 lane, i64 from) { return (u64)from < 32u ? (u32)from : lane; }"},
	{Name: "shuffle64", Text: `FN u64 shuffle64(u64 x, u16 lane) {
	u32 high = metal::simd_shuffle((u32)(x >> 32), lane);
	return (u64)high << 32 | (u64)metal::simd_shuffle((u32)x, lane);
}`},
}...)

// atomics are the names of the functions on words.
var atomics = strings.Fields("atomic_add atomic_min atomic_max atomic_and atomic_or atomic_xor atomic_exch atomic_cas atomic_read atomic_write")

// atomicHelpers are functions with an overload for each address space and type of
// word. What threads cannot share needs no atomic operation.
func atomicHelpers() []cfamily.Helper {
	out := []cfamily.Helper{
		{Name: "atomic_add", Text: fetch("add") + atomicAddF32 + own("f32", "add", "old + x")},
		{Name: "atomic_min", Text: fetch("min") + own("u32", "min", "x < old ? x : old") + own("i32", "min", "x < old ? x : old")},
		{Name: "atomic_max", Text: fetch("max") + own("u32", "max", "x > old ? x : old") + own("i32", "max", "x > old ? x : old")},
		{Name: "atomic_exch", Text: shared(`FN {t} atomic_exch({space} {t}* p, {t} x) { return {as}(metal::atomic_exchange_explicit(({space} metal::{a}*)p, {of}(x), metal::memory_order_relaxed)); }
`) + ownEach("exch", "x")},
		// Metal has the comparison that may fail for no reason.
		{Name: "atomic_cas", Text: shared(`FN {t} atomic_cas({space} {t}* p, {t} old, {t} next) {
	{w} want = {of}(old), seen = want;
	while (!metal::atomic_compare_exchange_weak_explicit(({space} metal::{a}*)p, &seen, {of}(next), metal::memory_order_relaxed, metal::memory_order_relaxed) && seen == want) {
	}
	return {as}(seen);
}
`) + each(`FN {t} atomic_cas(thread {t}* p, {t} old, {t} next) {
	{t} seen = *p;
	if ({of}(seen) == {of}(old)) *p = next;
	return seen;
}
`)},
		{Name: "atomic_read", Text: shared(`FN {t} atomic_read({space} {t}* p) { return {as}(metal::atomic_load_explicit(({space} metal::{a}*)p, metal::memory_order_relaxed)); }
`) + each(`FN {t} atomic_read(thread {t}* p) { return *p; }
`)},
		{Name: "atomic_write", Text: shared(`FN void atomic_write({space} {t}* p, {t} x) { metal::atomic_store_explicit(({space} metal::{a}*)p, {of}(x), metal::memory_order_relaxed); }
`) + each(`FN void atomic_write(thread {t}* p, {t} x) { *p = x; }
`)},
		{Name: "part_cas", Text: inBoth(partCAS)}, {Name: "part_read", Text: inBoth(partRead)}, {Name: "part_write", Text: inBoth(partWrite)},
		{Name: "atomic_add_f16", Text: addHalf("f16")}, {Name: "atomic_add_bf16", Text: addHalf("bf16")},
	}
	out[0].Text += own("u32", "add", "old + x") + own("i32", "add", "(i32)((u32)old + (u32)x)")
	for name, op := range map[string]string{"and": "&", "or": "|", "xor": "^"} {
		out = append(out, cfamily.Helper{Name: "atomic_" + name, Text: fetch(name) + own("u32", name, "old "+op+" x") + own("i32", name, "old "+op+" x")})
	}
	for i := range out {
		out[i].Text = strings.TrimSuffix(out[i].Text, "\n")
	}
	return out
}

// word is a type of which Metal has atomics, or has them of its bits: w is what they
// hold, and of and as turn one into the other.
type word struct{ t, w, atomic, of, as string }

var words = []word{{"u32", "u32", "atomic_uint", "u32", "u32"}, {"i32", "i32", "atomic_int", "i32", "i32"}, {"f32", "u32", "atomic_uint", "bits_f32", "f32_bits"}}

// each writes text for every type of word.
func each(text string) string {
	out := ""
	for _, w := range words {
		out += strings.NewReplacer("{t}", w.t, "{w}", w.w, "{a}", w.atomic, "{of}", w.of, "{as}", w.as).Replace(text)
	}
	return out
}

// shared writes text for every type of word in memory that threads share.
func shared(text string) string {
	return each(strings.ReplaceAll(text, "{space}", "device")) + each(strings.ReplaceAll(text, "{space}", "threadgroup"))
}

// fetch is an operation that Metal has on integers.
func fetch(op string) string {
	out := ""
	for _, space := range []string{"device", "threadgroup"} {
		for _, w := range words[:2] {
			out += fmt.Sprintf("FN %[1]s atomic_%[2]s(%[3]s %[1]s* p, %[1]s x) { return metal::atomic_fetch_%[2]s_explicit((%[3]s metal::%[4]s*)p, x, metal::memory_order_relaxed); }\n",
				w.t, op, space, w.atomic)
		}
	}
	return out
}

// own is an operation on memory that is the thread's.
func own(t, op, result string) string {
	return fmt.Sprintf("FN %[1]s atomic_%[2]s(thread %[1]s* p, %[1]s x) {\n\t%[1]s old = *p;\n\t*p = %[3]s;\n\treturn old;\n}\n", t, op, result)
}

func ownEach(op, result string) string {
	out := ""
	for _, w := range words {
		out += own(w.t, op, result)
	}
	return out
}

// atomicAddF32 exchanges the bits until nobody came between: that is in every
// version, in both spaces, and rounds as everywhere.
var atomicAddF32 = inBoth(`FN f32 atomic_add({space} f32* p, f32 x) {
	{space} metal::atomic_uint* word = ({space} metal::atomic_uint*)p;
	u32 old = metal::atomic_load_explicit(word, metal::memory_order_relaxed);
	while (!metal::atomic_compare_exchange_weak_explicit(word, &old, bits_f32(f32_bits(old) + x), metal::memory_order_relaxed, metal::memory_order_relaxed)) {
	}
	return f32_bits(old);
}
`)

// addHalf adds to a half by exchanging the word around it likewise.
func addHalf(t string) string {
	return strings.ReplaceAll(inBoth(`FN u16 atomic_add_{h}({space} u16* p, u16 x) {
	u64 odd = (u64)p & 2u;
	u32 shift = (u32)odd * 8u;
	{space} metal::atomic_uint* word = ({space} metal::atomic_uint*)(({space} u8*)p - odd);
	u32 old = metal::atomic_load_explicit(word, metal::memory_order_relaxed);
	for (;;) {
		u16 half_was = (u16)(old >> shift);
		u32 sum = {h}_from_f32(f32_from_{h}(half_was) + f32_from_{h}(x));
		if (metal::atomic_compare_exchange_weak_explicit(word, &old, (old & ~(0xffffu << shift)) | sum << shift, metal::memory_order_relaxed, metal::memory_order_relaxed)) return half_was;
	}
}
`)+`FN u16 atomic_add_{h}(thread u16* p, u16 x) {
	u16 old = *p;
	*p = {h}_from_f32(f32_from_{h}(old) + f32_from_{h}(x));
	return old;
}
`, "{h}", t)
}

// The parts of a word, 8 or 16 bits, are at an address of any type.
const partCAS = `FN u32 part_cas({space} void* p, u32 ones, u32 old, u32 next) {
	u64 at = (u64)p & 3u;
	u32 shift = (u32)at * 8u;
	{space} metal::atomic_uint* word = ({space} metal::atomic_uint*)(({space} u8*)p - at);
	u32 seen = metal::atomic_load_explicit(word, metal::memory_order_relaxed);
	for (;;) {
		u32 part = seen >> shift & ones;
		if (part != old) return part;
		if (metal::atomic_compare_exchange_weak_explicit(word, &seen, (seen & ~(ones << shift)) | next << shift, metal::memory_order_relaxed, metal::memory_order_relaxed)) return old;
	}
}
`

const partRead = `FN u32 part_read({space} void* p, u32 ones) {
	u64 at = (u64)p & 3u;
	{space} metal::atomic_uint* word = ({space} metal::atomic_uint*)(({space} u8*)p - at);
	return metal::atomic_load_explicit(word, metal::memory_order_relaxed) >> ((u32)at * 8u) & ones;
}
`

const partWrite = `FN void part_write({space} void* p, u32 ones, u32 x) {
	u64 at = (u64)p & 3u;
	u32 shift = (u32)at * 8u;
	{space} metal::atomic_uint* word = ({space} metal::atomic_uint*)(({space} u8*)p - at);
	u32 seen = metal::atomic_load_explicit(word, metal::memory_order_relaxed);
	while (!metal::atomic_compare_exchange_weak_explicit(word, &seen, (seen & ~(ones << shift)) | x << shift, metal::memory_order_relaxed, metal::memory_order_relaxed)) {
	}
}
`

func inBoth(text string) string {
	return strings.ReplaceAll(text, "{space}", "device") + strings.ReplaceAll(text, "{space}", "threadgroup")
}
