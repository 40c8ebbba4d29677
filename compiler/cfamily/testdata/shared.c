// C of this machine.

typedef float f32;
typedef long long i64;
#define FN static
FN void barrier(void) {}

struct f32_x4 { f32 v[4]; };
typedef struct f32_x4 f32_x4;
struct f32_x17 { f32 v[17]; };
typedef struct f32_x17 f32_x17;
struct f32_x17_x16 { f32_x17 v[16]; };
typedef struct f32_x17_x16 f32_x17_x16;

void Shared(f32* out, i64 out_len) {
	static f32_x17_x16 shared0;
	f32_x4 local4;
	i64 v2 = (i64)0;
	i64 v3 = (i64)0;
	local4 = (f32_x4){0};
	f32* v10 = out + v2;
	shared0.v[v2].v[v3] = *v10;
	barrier();
	*v10 = shared0.v[v3].v[v2] + local4.v[1];
}
