// C of this machine.

typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

void Swapped(u32* out, i64 out_len) {
	i64 v6 = 0;
	u32 v7 = 0;
	u32 v8 = 1;
	while (v6 < out_len) {
		out[v6] = v7;
		i64 v12 = (i64)((u64)v6 + 1);
		u32 v13 = v7 + v8;
		if (v13 < v7) {
			v6 = v12;
			u32 v7_next = v8;
			v8 = v7;
			v7 = v7_next;
		} else {
			v6 = v12;
			v7 = v8;
			v8 = v13;
		}
	}
}
