// Graphs. A launch runs the nodes in an order that their dependencies allow, and in
// none of the allowed ones that one may count on: of the nodes that are ready, the one
// that was added last.
#include "sim.h"

#include <memory>
#include <set>
#include <vector>

namespace {

struct Node {
	std::function<void()> work;
	std::vector<size_t> after; // places in the graph
	struct Graph *graph;
	size_t place;
};

struct Graph {
	int device;
	bool executable;
	std::vector<std::shared_ptr<Node>> nodes;
	uint64_t seq = 0; // of the latest launch
};

std::set<void *> graphs, nodes; // guarded by mu

Graph *keep(Graph *g) {
	{
		std::lock_guard<std::mutex> lock(mu);
		graphs.insert(g);
	}
	count(GRAPHS, 1);
	return g;
}

// graph_of returns the graph of a handle, null if it is none of that kind.
Graph *graph_of(void *handle, bool executable) {
	std::lock_guard<std::mutex> lock(mu);
	Graph *g = (Graph *)handle;
	return graphs.count(handle) && g->executable == executable && g->device == device_now() ? g : nullptr;
}

int destroy(Graph *g) {
	if (!g) return INVALID_VALUE;
	{
		std::lock_guard<std::mutex> lock(mu);
		graphs.erase(g);
		if (!g->executable)
			for (auto &n : g->nodes) nodes.erase(n.get());
	}
	delete g;
	count(GRAPHS, -1);
	return SUCCESS;
}

// add adds a node behind others, if what it is to do is in order.
int add(int checked, void **out, void *graph, void *const *after, size_t n, std::function<void()> work) {
	if (checked != SUCCESS) return checked;
	Graph *g = graph_of(graph, false);
	if (!g || (n && !after)) return INVALID_VALUE;
	auto node = std::make_shared<Node>(Node{std::move(work), {}, g, g->nodes.size()});
	std::lock_guard<std::mutex> lock(mu);
	for (size_t i = 0; i < n; i++) {
		if (!nodes.count(after[i]) || ((Node *)after[i])->graph != g) return INVALID_VALUE;
		node->after.push_back(((Node *)after[i])->place);
	}
	nodes.insert(node.get());
	g->nodes.push_back(node);
	*out = node.get();
	return SUCCESS;
}

// run runs the nodes; a fault ends the launch.
void run(const std::vector<std::shared_ptr<Node>> &list, int device) {
	std::vector<bool> done(list.size());
	auto ready = [&](size_t i) {
		for (size_t a : list[i]->after)
			if (!done[a]) return false;
		return !done[i];
	};
	for (size_t i = list.size(); i-- > 0;) {
		if (!ready(i)) continue;
		if (lost(device)) return;
		list[i]->work();
		done[i] = true;
		i = list.size();
	}
}

// The structures as in hip_runtime_api.h.
struct KernelParams {
	uint32_t block[3];
	void **extra;
	void *function;
	uint32_t grid[3];
	void **params;
	unsigned shared;
};

struct Side {
	void *array;
	size_t x, y, z;
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct CopyParams {
	Side src, dst;
	size_t width, height, depth;
	int kind;
};

// Before HIP 7, and since.
struct OldFill {
	void *dst;
	unsigned size;
	size_t height, pitch;
	unsigned value;
	size_t width;
};

struct Fill {
	void *dst;
	size_t pitch;
	unsigned value, size;
	size_t width, height;
};

bool plain(const Side &s) { return !s.array && !s.x && !s.y && !s.z; }

} // namespace

EXPORT int hipGraphCreate(void **out, unsigned flags) {
	ENTER(true);
	if (flags) return INVALID_VALUE;
	*out = keep(new Graph{device_now(), false, {}});
	return SUCCESS;
}

EXPORT int hipGraphAddKernelNode(void **out, void *graph, void *const *after, size_t n, const KernelParams *p) {
	ENTER(true);
	std::function<void()> work;
	return add(kernel_work(work, p->function, p->grid, p->block, p->shared, nullptr, p->params, p->extra), out, graph, after, n, work);
}

EXPORT int hipGraphAddMemcpyNode(void **out, void *graph, void *const *after, size_t n, const CopyParams *p) {
	ENTER(true);
	if (p->depth != 1 || !plain(p->src) || !plain(p->dst)) return refuse(INVALID_VALUE, "the simulator copies rectangles between pieces of memory");
	std::function<void()> work;
	return add(copy_work(work, p->dst.ptr, p->dst.pitch, p->src.ptr, p->src.pitch, p->width, p->height, p->kind), out, graph, after, n, work);
}

EXPORT int hipGraphAddMemcpyNode1D(void **out, void *graph, void *const *after, size_t n, void *dst, const void *src, size_t size, int kind) {
	ENTER(true);
	std::function<void()> work;
	return add(copy_work(work, dst, size, src, size, size, 1, kind), out, graph, after, n, work);
}

EXPORT int hipGraphAddMemsetNode(void **out, void *graph, void *const *after, size_t n, const void *params) {
	ENTER(true);
	Fill f;
	if (setting("hip7")) {
		f = *(const Fill *)params;
	} else {
		const OldFill &o = *(const OldFill *)params;
		f = {o.dst, o.pitch, o.value, o.size, o.width, o.height};
	}
	if (f.size != 1 || f.height != 1) return refuse(INVALID_VALUE, "the simulator fills rows of bytes");
	std::function<void()> work;
	return add(fill_work(work, f.dst, (unsigned char)f.value, f.width), out, graph, after, n, work);
}

EXPORT int hipGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
	ENTER(true);
	Graph *g = graph_of(graph, false);
	if (!g || flags) return INVALID_VALUE;
	*out = keep(new Graph{g->device, true, g->nodes});
	return SUCCESS;
}

EXPORT int hipGraphLaunch(void *exec, void *stream) {
	ENTER(true);
	Graph *g = graph_of(exec, true);
	if (!g || !stream_ok(stream)) return INVALID_VALUE;
	g->seq = submit([list = g->nodes, device = g->device] { run(list, device); });
	return SUCCESS;
}

EXPORT int hipGraphDestroy(void *graph) {
	ENTER(true);
	return destroy(graph_of(graph, false));
}

// hipGraphExecDestroy refuses a graph that is under way, which the runtime may destroy
// under its feet.
EXPORT int hipGraphExecDestroy(void *exec) {
	ENTER(true);
	Graph *g = graph_of(exec, true);
	if (g && !reached(g->seq)) return refuse(INVALID_VALUE, "the graph is still under way");
	return destroy(g);
}
