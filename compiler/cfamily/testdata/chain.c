// C of this machine.

typedef int i32;
typedef long long i64;
typedef unsigned u32;

void Chain(i32* out, i64 out_len, i32 x) {
	i32 v12;
	i32 v14;
	i32 v7 = 0;
	for (;;) {
		if (x == 0) {
			v12 = 1;
		} else if (x == 1) {
			v14 = 2;
			break;
		} else if (x == 2) {
			v12 = 3;
		} else {
			v12 = (i32)((u32)v7 + (u32)x);
		}
		if (!(v12 < 3)) {
			v14 = v12;
			break;
		}
		v7 = v12;
	}
	*out = v14;
}
