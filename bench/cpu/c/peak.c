#include "twins.h"

// Peak does fused multiply-adds on independent vectors, 24 of them a turn, and
// returns how many turns it did.
typedef struct {
	floats out;
	int64_t turns;
} peak_args;

void Peak(const peak_args *p) {
	vec acc[24];
	vec x = p->out.at[0] - (vec){0}, y = p->out.at[1] - (vec){0};
	for (int i = 0; i < 24; i++) acc[i] = (vec){0};
	for (int64_t t = 0; t < p->turns; t++) {
#pragma clang loop unroll(full)
		for (int i = 0; i < 24; i++) {
			acc[i] = __builtin_elementwise_fma(x, acc[i], y);
			__asm__ volatile("" : "+v"(acc[i]));
		}
	}
	vec sum = acc[0];
	for (int i = 1; i < 24; i++) sum += acc[i];
	for (int i = 0; i < LANES; i++) p->out.at[2 + i] = sum[i];
}
