package hip

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/ir"
)

// helpers are the types and functions that HIP has or lacks.
var helpers = slices.Concat(floats("f32", "f", "u32"), floats("f64", "", "u64"), swaps(), units(), []cfamily.Helper{
	{Name: "FN", Text: "#define FN static __device__ inline __attribute__((always_inline))"},
	{Name: "FAR", Text: "#define FAR static __device__ __attribute__((noinline))"},
	{Name: "i8", Text: "typedef signed char i8;"}, {Name: "u8", Text: "typedef unsigned char u8;"},
	{Name: "i16", Text: "typedef short i16;"}, {Name: "u16", Text: "typedef unsigned short u16;"},
	{Name: "i32", Text: "typedef int i32;"}, {Name: "u32", Text: "typedef unsigned int u32;"},
	{Name: "i64", Text: "typedef long long i64;"}, {Name: "u64", Text: "typedef unsigned long long u64;"},
	{Name: "f32", Text: "typedef float f32;"}, {Name: "f64", Text: "typedef double f64;"},
	// The bits of an object of another type.
	{Name: "bits32", Text: "typedef u32 __attribute__((may_alias)) bits32;"},
	{Name: "bits64", Text: "typedef u64 __attribute__((may_alias)) bits64;"},

	{Name: "f32_from_f16", Text: "FN f32 f32_from_f16(u16 h) { return (f32)__builtin_bit_cast(_Float16, h); }"},
	{Name: "f16_from_f32", Text: "FN u16 f16_from_f32(f32 x) { return __builtin_bit_cast(u16, (_Float16)x); }"},
	{Name: "popcount32", Text: "FN u32 popcount32(u32 x) { return (u32)__builtin_popcount(x); }"},
	{Name: "popcount64", Text: "FN u32 popcount64(u64 x) { return (u32)__builtin_popcountll(x); }"},
	{Name: "clz32", Text: "FN u32 clz32(u32 x) { return x ? (u32)__builtin_clz(x) : 32u; }"},
	{Name: "clz64", Text: "FN u32 clz64(u64 x) { return x ? (u32)__builtin_clzll(x) : 64u; }"},
	{Name: "ctz32", Text: "FN u32 ctz32(u32 x) { return x ? (u32)__builtin_ctz(x) : 32u; }"},
	{Name: "ctz64", Text: "FN u32 ctz64(u64 x) { return x ? (u32)__builtin_ctzll(x) : 64u; }"},
	{Name: "reverse32", Text: "FN u32 reverse32(u32 x) { return __builtin_bitreverse32(x); }"},
	{Name: "reverse64", Text: "FN u64 reverse64(u64 x) { return __builtin_bitreverse64(x); }"},

	// Sizes are in the packet that started the kernel (HSA Runtime Programmer's
	// Reference, kernel dispatch packet): threads of a block, threads of the grid.
	{Name: "fail", Text: "FN void fail() { __builtin_trap(); }"},
	{Name: "block_dim", Text: "FN u32 block_dim(int axis) { return ((const u16*)__builtin_amdgcn_dispatch_ptr())[2 + axis]; }"},
	{Name: "grid_dim", Text: "FN u32 grid_dim(int axis) { return ((const u32*)__builtin_amdgcn_dispatch_ptr())[3 + axis] / block_dim(axis); }"},
	{Name: "lane_id", Text: `FN u32 lane_id() {
#if WAVE == 64
	return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
#else
	return __builtin_amdgcn_mbcnt_lo(~0u, 0u);
#endif
}`},
	{Name: "warp_id", Text: `FN u32 warp_id() {
	u32 row = (u32)__builtin_amdgcn_workitem_id_y() + block_dim(1) * (u32)__builtin_amdgcn_workitem_id_z();
	return ((u32)__builtin_amdgcn_workitem_id_x() + block_dim(0) * row) / WAVE;
}`},
	// Clang 16, which is in ROCm 5.6, and those before it compare instead.
	{Name: "ballot", Text: `FN u64 ballot(bool x) {
#if defined(__clang_major__) && __clang_major__ < 17
	return __builtin_amdgcn_uicmp((u32)x, 0u, 33);
#elif WAVE == 64
	return __builtin_amdgcn_ballot_w64(x);
#else
	return __builtin_amdgcn_ballot_w32(x);
#endif
}`},
	{Name: "source", Text: "FN u32 source(i64 lane) { return (u64)lane < WAVE ? (u32)lane : lane_id(); }"},
	{Name: "read32", Text: "FN u32 read32(u32 x, u32 lane) { return (u32)__builtin_amdgcn_ds_bpermute((int)(4 * lane), (int)x); }"},
	{Name: "read64", Text: "FN u64 read64(u64 x, u32 lane) { return (u64)read32((u32)(x >> 32), lane) << 32 | read32((u32)x, lane); }"},

	{Name: "barrier", Text: `FN void barrier() {
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}`},
	{Name: "warp_barrier", Text: `FN void warp_barrier() {
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
	__builtin_amdgcn_wave_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}`},
	{Name: "cas_part", Text: `FN u32 cas_part(u64 at, u32 ones, u32 old, u32 next) {
	bits32* word = (bits32*)(at & ~(u64)3);
	u32 shift = (u32)(at & 3) * 8;
	for (u32 seen = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);;) {
		u32 part = seen >> shift & ones;
		if (part != old) return part;
		u32 found = cas32(word, seen, (seen & ~(ones << shift)) | next << shift);
		if (found == seen) return old;
		seen = found;
	}
}`},
	// The sine and cosine of the hardware take turns.
	{Name: "turns", Text: "FN f32 turns(f32 x) { return __builtin_amdgcn_fractf(x * 0.15915494f); }"},
	{Name: "approx_tanh", Text: `FN f32 approx_tanh(f32 x) {
	if (__builtin_fabsf(x) < 0.0078125f) return x;
	return __builtin_copysignf(1.0f - 2.0f / (1.0f + __builtin_exp2f(2.8853901f * __builtin_fabsf(x))), x);
}`},
	{Name: "add_f16", Text: addHalf("f16")}, {Name: "add_bf16", Text: addHalf("bf16")},
})

// scopes are those of atomic operations as HIP calls them.
var scopes = [...]string{ir.DeviceScope: "AGENT", ir.BlockScope: "WORKGROUP"}

// floats are the functions of one width.
func floats(t, suffix, bits string) []cfamily.Helper {
	out := []cfamily.Helper{
		{Name: "bits_" + t, Text: fmt.Sprintf("FN %[2]s bits_%[1]s(%[1]s x) { return __builtin_bit_cast(%[2]s, x); }", t, bits)},
		{Name: t + "_bits", Text: fmt.Sprintf("FN %[1]s %[1]s_bits(%[2]s x) { return __builtin_bit_cast(%[1]s, x); }", t, bits)},
		{Name: "fma_" + t, Text: fmt.Sprintf("FN %[1]s fma_%[1]s(%[1]s a, %[1]s b, %[1]s c) { return __builtin_fma%[2]s(a, b, c); }", t, suffix)},
		{Name: "copysign_" + t, Text: fmt.Sprintf("FN %[1]s copysign_%[1]s(%[1]s a, %[1]s b) { return __builtin_copysign%[2]s(a, b); }", t, suffix)},
	}
	for name, builtin := range map[string]string{"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"} {
		out = append(out, cfamily.Helper{Name: name + "_" + t,
			Text: fmt.Sprintf("FN %[1]s %[2]s_%[1]s(%[1]s x) { return __builtin_%[3]s%[4]s(x); }", t, name, builtin, suffix)})
	}
	return out
}

// swaps compare and exchange words, one for each order and scope.
func swaps() []cfamily.Helper {
	var out []cfamily.Helper
	for _, n := range []string{"32", "64"} {
		for o, order := range cfamily.Orders {
			seen := order // of a failure, which writes nothing
			switch ir.Order(o) {
			case ir.Release:
				seen = "RELAXED"
			case ir.AcquireRelease:
				seen = "ACQUIRE"
			}
			for s, scope := range scopes {
				name := "cas" + n + cfamily.How(ir.Order(o), ir.Scope(s))
				out = append(out, cfamily.Helper{Name: name, Text: fmt.Sprintf(`FN u%[1]s %[2]s(bits%[1]s* p, u%[1]s old, u%[1]s next) {
	__hip_atomic_compare_exchange_strong(p, &old, next, __ATOMIC_%[3]s, __ATOMIC_%[4]s, __HIP_MEMORY_SCOPE_%[5]s);
	return old;
}`, n, name, order, seen, scope)})
			}
		}
	}
	return out
}

// addHalf adds to a half by exchanging the word around it until nobody came
// between.
func addHalf(t string) string {
	return fmt.Sprintf(`FN u16 add_%[1]s(u16* p, u16 x) {
	u64 at = (u64)p;
	bits32* word = (bits32*)(at & ~(u64)3);
	u32 shift = (u32)(at & 2) * 8;
	for (u32 old = __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);;) {
		u16 half = (u16)(old >> shift);
		u32 sum = %[1]s_from_f32(f32_from_%[1]s(half) + f32_from_%[1]s(x));
		u32 found = cas32(word, old, (old & ~(0xffffu << shift)) | sum << shift);
		if (found == old) return half;
		old = found;
	}
}`, t)
}
