// C of this machine.

typedef unsigned long long u64;
typedef long long i64;
typedef unsigned char u8;
#include <stdbool.h>

void Constants(u64* out, i64 out_len, u8 a_byte, u8 b_byte) {
	bool a = a_byte != 0;
	bool b = b_byte != 0;
	*out = (u64)(a ? 0x7fffffff : 0) + (u64)(b ? 0 : 0x7fffffff);
}
