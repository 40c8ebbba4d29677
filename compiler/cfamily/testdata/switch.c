// C of this machine.

typedef unsigned u32;
typedef long long i64;

void Switch(u32* out, i64 out_len, u32 k) {
	u32 v12;
	do {
		if (k == 0) {
			v12 = 2;
		} else {
			if (!(k == 1)) {
				if (!(k == 2)) {
					v12 = k * k;
					break;
				}
			}
			v12 = k + 1;
		}
	} while (0);
	out[0] = v12;
}
