// C of this machine.

typedef long long i64;
typedef unsigned char u8;
typedef short i16;
typedef signed char i8;
#include <stdbool.h>
typedef unsigned long long u64;

struct S2 { i64 f0; u8 f1; };
typedef struct S2 S2;
struct i16_x2 { i16 v[2]; };
typedef struct i16_x2 i16_x2;
struct S1 { i8 f0; S2 f1; i16_x2 f2; };
typedef struct S1 S1;

void Parameters(i64* out, i64 out_len, u8 flip_byte, S1 s, i64 register_) {
	bool flip = flip_byte != 0;
	out[0] = (flip && (s.f1.f1 != 0)) ? (i64)(((u64)s.f0 - (u64)s.f2.v[1]) * (u64)register_) : s.f1.f0;
}
