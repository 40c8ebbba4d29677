// C of this machine.

#define FAR static __attribute__((noinline))
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

FAR void Ending_end(u32* out, u32 v24, i64 v25) {
	u32* v26 = out + 0;
	if (!(v24 == 1)) {
		*v26 = v24;
	}
	*v26 = (u32)v25;
}

void Ending(u32* out, i64 out_len, u32 limit) {
	if (!(out_len > 0)) {
		Ending_end(out, 1, 0);
		return;
	}
	i64 v9 = 0;
	while (v9 < out_len) {
		i64 v11 = 0;
		while (v11 < v9) {
			u32* v13 = out + v11;
			u32 v14 = *v13;
			if (!(v14 < limit)) {
				Ending_end(out, 2, (i64)((u64)v9 + (u64)v11));
				return;
			}
			*v13 = v14 + 1;
			v11 = (i64)((u64)v11 + 1);
		}
		if (!(out[v9] != limit)) {
			Ending_end(out, 3, v9);
			return;
		}
		v9 = (i64)((u64)v9 + 1);
	}
}
