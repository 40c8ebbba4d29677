// The functions of graphs, of HIP 6: the same as CUDA's, with structures of their own.
#include "shim.h"

EXPORT int hipGraphCreate(void **graph, unsigned flags) { return hip_error(cuda.cuGraphCreate(graph, flags)); }
EXPORT int hipGraphDestroy(void *graph) { return hip_error(cuda.cuGraphDestroy(graph)); }
EXPORT int hipGraphExecDestroy(void *exec) { return hip_error(cuda.cuGraphExecDestroy(exec)); }
EXPORT int hipGraphLaunch(void *exec, void *stream) { return hip_error(cuda.cuGraphLaunch(exec, stream)); }

EXPORT int hipGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
	return hip_error(cuda.cuGraphInstantiateWithFlags(exec, graph, flags));
}

// hipKernelNodeParams and CUDA_KERNEL_NODE_PARAMS
struct hip_kernel {
	unsigned block[3];
	void **extra;
	void *function;
	unsigned grid[3];
	void **parameters;
	unsigned shared;
};
struct cuda_kernel {
	void *function;
	unsigned grid[3], block[3], shared;
	void **parameters, **extra;
	void *kernel, *context;
};

EXPORT int hipGraphAddKernelNode(void **node, void *graph, void *const *after, size_t n, const struct hip_kernel *k) {
	void *ours[5];
	int r = cuda_extra(k->parameters, k->extra, ours);
	if (r != SUCCESS) return r;
	struct cuda_kernel c = {.function = k->function, .shared = k->shared, .extra = ours};
	for (int i = 0; i < 3; i++) c.grid[i] = k->grid[i], c.block[i] = k->block[i];
	return hip_error(cuda.cuGraphAddKernelNode_v2(node, graph, after, n, &c));
}

// hipMemcpy3DParms and CUDA_MEMCPY3D
struct hip_side {
	void *array;
	size_t x, y, z;
	void *pointer;
	size_t pitch, xsize, ysize;
};
struct hip_copy {
	struct hip_side from, to;
	size_t width, height, depth;
	int kind;
};
struct cuda_side {
	size_t x, y, z, lod;
	int type;
	const void *host;
	uint64_t device;
	void *array, *reserved;
	size_t pitch, height;
};
struct cuda_copy {
	struct cuda_side from, to;
	size_t width, height, depth;
};

enum { BY_ADDRESS = 4, UNIFIED = 4 };

static int add_copy(void **node, void *graph, void *const *after, size_t n, const struct cuda_copy *c) {
	void *context;
	int r = cuda.cuCtxGetCurrent(&context);
	if (r == SUCCESS) r = cuda.cuGraphAddMemcpyNode(node, graph, after, n, c, context);
	return hip_error(r);
}

EXPORT int hipGraphAddMemcpyNode(void **node, void *graph, void *const *after, size_t n, const struct hip_copy *h) {
	if (h->kind != BY_ADDRESS || h->from.array || h->to.array) return refuse(INVALID_VALUE, "HIP over CUDA copies memory by address only");
	struct cuda_copy c = {
		.from = {.x = h->from.x, .y = h->from.y, .z = h->from.z, .type = UNIFIED, .device = (uint64_t)h->from.pointer, .pitch = h->from.pitch, .height = h->from.ysize},
		.to = {.x = h->to.x, .y = h->to.y, .z = h->to.z, .type = UNIFIED, .device = (uint64_t)h->to.pointer, .pitch = h->to.pitch, .height = h->to.ysize},
		.width = h->width, .height = h->height, .depth = h->depth,
	};
	return add_copy(node, graph, after, n, &c);
}

EXPORT int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after, size_t n, void *to, const void *from, size_t size, int kind) {
	if (kind != BY_ADDRESS) return refuse(INVALID_VALUE, "HIP over CUDA copies memory by address only");
	struct cuda_copy c = {
		.from = {.type = UNIFIED, .device = (uint64_t)from, .pitch = size},
		.to = {.type = UNIFIED, .device = (uint64_t)to, .pitch = size},
		.width = size, .height = 1, .depth = 1,
	};
	return add_copy(node, graph, after, n, &c);
}

// hipMemsetParams of HIP 6 and CUDA_MEMSET_NODE_PARAMS
struct hip_fill {
	void *to;
	unsigned size;
	size_t height, pitch;
	unsigned value;
	size_t width;
};
struct cuda_fill {
	uint64_t to;
	size_t pitch;
	unsigned value, size;
	size_t width, height;
};

EXPORT int hipGraphAddMemsetNode(void **node, void *graph, void *const *after, size_t n, const struct hip_fill *h) {
	struct cuda_fill c = {.to = (uint64_t)h->to, .pitch = h->pitch, .value = h->value, .size = h->size, .width = h->width, .height = h->height};
	void *context;
	int r = cuda.cuCtxGetCurrent(&context);
	if (r == SUCCESS) r = cuda.cuGraphAddMemsetNode(node, graph, after, n, &c, context);
	return hip_error(r);
}
