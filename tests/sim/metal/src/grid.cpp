// Kernels on the engine of the HIP simulator: a simdgroup is a wave of 32 lanes.
#include "metal.h"
#include "prelude.h"

#include <cstring>

namespace {
uint32_t sizes[6]; // of a block, of the grid; the engine runs one kernel at a time
std::mutex one;
}

std::string run_kernel(const Kernel &k, const uint32_t grid[3], const uint32_t block[3], size_t shared, uint64_t buffers[max_buffers + 1]) {
	std::lock_guard<std::mutex> lock(one);
	memcpy(sizes, block, 12), memcpy(sizes + 3, grid, 12);
	int code = 0;
	static char dynamic[dynamic_room] __attribute__((aligned(16)));
	Kernel with = k;
	with.dynamic = dynamic, buffers[max_buffers] = (uint64_t)dynamic;
	return run_grid(with, grid, block, 32, shared, (const unsigned char *)buffers, &code);
}

// kiln_metal_place gives a thread what the parameters of a kernel may ask for.
EXPORT void kiln_metal_place(uint32_t *v) {
	const kiln_sim_thread &t = *kiln_sim_here;
	uint32_t index = t.id[0] + sizes[0] * (t.id[1] + sizes[1] * t.id[2]);
	for (int i = 0; i < 3; i++)
		v[i] = t.id[i], v[3 + i] = t.block[i], v[6 + i] = sizes[i], v[9 + i] = sizes[3 + i], v[12 + i] = t.block[i] * sizes[i] + t.id[i];
	v[15] = t.lane, v[16] = index / 32, v[17] = index, v[18] = 32;
}

// product multiplies matrices of 8 by 8 of a simdgroup. A lane has two neighbours of a row of each: the
// formula is that of MLX's kernels (BaseMMAFrag::get_coord in mlx/backend/metal/kernels/steel).
static const char *product(void *const *lanes) {
	float m[3][8][8];
	for (bool back : {false, true}) {
		for (int lane = 0; lane < 32; lane++) {
			int quad = lane / 4, row = (quad & 4) + lane / 2 % 4, col = (quad & 2) * 2 + lane % 2 * 2;
			float *e = (float *)lanes[lane];
			for (int i = 0; i < 6; i++) {
				float &to = m[i / 2][row][col + i % 2];
				if (!back) to = e[i];
				else if (i >= 4) e[i] = to;
			}
		}
		for (int row = 0; row < 8 && !back; row++)
			for (int col = 0; col < 8; col++)
				for (int k = 0; k < 8; k++) m[2][row][col] = __builtin_fmaf(m[0][row][k], m[1][k][col], m[2][row][col]);
	}
	return nullptr;
}

EXPORT void kiln_metal_matrix(float *elements, int site, int line) { kiln_sim_multiply(product, elements, site, line); }

// sim_compile and sim_run are kernels without Metal around them.
EXPORT void *sim_compile(const char *source, int version, char *log, size_t size) {
	std::string text;
	std::shared_ptr<Code> code = compile_text(source, version, false, text);
	strncpy(log, text.c_str(), size - 1);
	return code ? new std::shared_ptr<Code>(code) : nullptr;
}

EXPORT int sim_run(void *handle, const char *name, const uint32_t *dims, uint64_t args, char *log, size_t size) {
	auto &f = (*(std::shared_ptr<Code> *)handle)->functions[name];
	uint64_t buffers[max_buffers + 1] = {args};
	std::string wrong = f ? run_kernel(f->kernel, dims, dims + 3, 0, buffers) : "no kernel " + std::string(name);
	strncpy(log, wrong.c_str(), size - 1);
	return !wrong.empty();
}
