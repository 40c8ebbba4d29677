// C of this machine.

typedef int i32;
typedef long long i64;
typedef unsigned char u8;
#define FN static
FN i32 rem_i32(i32 a, i32 b) { return b == 0 ? a : b == -1 ? (i32)0 : (i32)(a % b); }
typedef unsigned u32;

void Long(i32* out, i64 out_len, i32 a, u8 b) {
	i32 v8 = (i32)b;
	i32 v15 = rem_i32((i32)(b < 32 ? (u32)((i32)((i32)((u32)(((u32)a + (u32)v8) * 7) - (u32)a) / (i32)8) ^ v8) << b : 0), a);
	out[0] = (i32)~(i32)((u32)0 - (u32)(v15 < v8 ? v15 : v8));
}
