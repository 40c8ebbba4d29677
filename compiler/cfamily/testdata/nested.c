// C of this machine.

typedef long long i64;
#include <stdbool.h>
typedef unsigned long long u64;

void Nested(i64* out, i64 out_len, i64 want) {
	bool to3 = false;
	i64 v5 = 0;
	while (v5 < out_len) {
		i64 v7 = 0;
		while (v7 < v5) {
			i64 v11 = out[(i64)((u64)v5 + (u64)v7)];
			if (v11 == want) {
				to3 = true;
				break;
			}
			if (v11 < 0) {
				break;
			}
			out[v7] = v11;
			v7 = (i64)((u64)v7 + 1);
		}
		if (to3) {
			to3 = false;
			break;
		}
		v5 = (i64)((u64)v5 + 1);
	}
	out[0] = v5;
}
