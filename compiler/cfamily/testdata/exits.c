// C of this machine.

typedef unsigned u32;
typedef long long i64;
#include <stdbool.h>
#define FN static
FN void barrier(void) {}

void Exits(u32* out, i64 out_len, u32 x) {
	bool to2 = false;
	bool to5 = false;
	u32* v6 = out + 0;
	u32 v7 = x;
	do {
		do {
			for (;;) {
				if ((v7 & 1) == 1) {
					to2 = true;
					break;
				}
				u32 v10 = v7 >> 1;
				if (v10 < 2) {
					break;
				}
				v7 = v10;
			}
			if (to2) {
				to2 = false;
				break;
			}
			*v6 = 2;
			to5 = true;
			break;
		} while (0);
		if (to5) {
			to5 = false;
			break;
		}
		*v6 = v7;
	} while (0);
	barrier();
}
