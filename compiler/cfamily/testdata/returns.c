// C of this machine.

typedef float f32;
typedef long long i64;

void Returns(f32* out, i64 out_len) {
	i64 v2 = (i64)0;
	if (v2 < out_len) {
		f32* v4 = out + v2;
		f32 v5 = *v4;
		if (!(v5 < 0.0f)) {
			if (!(v5 != v5)) {
				*v4 = v5 * v5;
			}
		}
	}
}
