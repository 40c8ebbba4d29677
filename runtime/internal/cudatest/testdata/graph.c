// Graphs of the stand-in, included by standin.c. A launch runs the nodes in an order
// that their dependencies allow, and in none of the allowed ones that one may count on:
// of the nodes that are ready, the one that was added last.

typedef struct Node {
	Op op;
	struct Graph *graph;
	struct Node **after;
	size_t nafter;
	int done;
	struct Node *next; // the one added before
} Node;

typedef struct Graph {
	Node *nodes;
	int executable;
	uint64_t seq; // of the latest launch
} Graph;

CUresult cuGraphCreate(Graph **g, unsigned flags) {
	ENTER(1);
	if (flags != 0) return INVALID_VALUE;
	*g = calloc(1, sizeof **g);
	add(&live_graphs, 1);
	return SUCCESS;
}

static void destroy(Graph *g) {
	for (Node *n = g->nodes, *next; n; n = next) {
		next = n->next;
		free(n->after);
		free(n);
	}
	free(g);
	add(&live_graphs, -1);
}

CUresult cuGraphDestroy(Graph *g) {
	ENTER(1);
	if (g->executable) return INVALID_HANDLE;
	destroy(g);
	return SUCCESS;
}

CUresult cuGraphExecDestroy(Graph *g) {
	ENTER(0); // also when the context is lost
	if (!g->executable) return INVALID_HANDLE;
	wait_for(g->seq);
	destroy(g);
	return SUCCESS;
}

static CUresult add_node(Node **out, Graph *g, Node *const *after, size_t n, const Op *op) {
	if (g->executable) return INVALID_HANDLE;
	for (size_t i = 0; i < n; i++) {
		if (after[i]->graph != g) return INVALID_VALUE;
		for (size_t j = 0; j < i; j++)
			if (after[i] == after[j]) return INVALID_VALUE; // the driver allows no duplicates
	}
	Node *node = calloc(1, sizeof *node);
	node->op = *op, node->graph = g, node->nafter = n, node->next = g->nodes;
	node->after = calloc(n + 1, sizeof *node->after);
	if (n) memcpy(node->after, after, n * sizeof *after);
	g->nodes = *out = node;
	return SUCCESS;
}

typedef struct {
	Function *func;
	unsigned grid[3], block[3], shared;
	void **params, **extra;
	void *kern, *ctx;
} KernelParams;

CUresult cuGraphAddKernelNode_v2(Node **out, Graph *g, Node *const *after, size_t n, const KernelParams *p) {
	ENTER(1);
	if (p->kern || p->ctx) return INVALID_VALUE;
	Op op;
	uint64_t block[2];
	size_t size = sizeof block;
	void *list[] = {(void *)1, block, (void *)2, &size, NULL};
	if (p->params) { // the two of "meet", the only kernel that has barriers of the grid
		if (p->extra || strcmp(p->func->name, "meet")) return INVALID_VALUE;
		memcpy(block, p->params[0], 8), memcpy(block + 1, p->params[1], 8);
	}
	CUresult r = kernel_op(&op, p->func, p->grid, p->block, p->shared, NULL, NULL, p->params ? list : p->extra);
	op.listed = p->params != NULL;
	return r == SUCCESS ? add_node(out, g, after, n, &op) : r;
}

// A kernel node takes CUlaunchAttributeValue, a union of 64 bytes. The driver (580.159 on an H100) refuses
// the attribute of nodes that have their arguments in a block.
CUresult cuGraphKernelNodeSetAttribute(Node *n, int attribute, const long long value[8]) {
	ENTER(1);
	if (n->op.kind != KERNEL || !n->op.listed || attribute != 2 || (value[0] & 0xffffffff) != 1) return INVALID_VALUE;
	n->op.cooperative = 1;
	return SUCCESS;
}

typedef struct {
	size_t x, y, z, lod;
	int kind;
	void *host;
	CUdeviceptr device;
	void *array, *reserved;
	size_t pitch, height;
} CopySide;

typedef struct {
	CopySide src, dst;
	size_t width, height, depth;
} CopyParams;

static int plain(const CopySide *s, size_t width) {
	return !s->x && !s->y && !s->z && !s->lod && s->kind == 4 && !s->reserved && s->pitch >= width && s->pitch <= 0x7fffffff;
}

CUresult cuGraphAddMemcpyNode(Node **out, Graph *g, Node *const *after, size_t n, const CopyParams *c, void *ctx) {
	ENTER(1);
	if (ctx != current || c->depth != 1 || !plain(&c->src, c->width) || !plain(&c->dst, c->width)) return INVALID_VALUE;
	Op op = {.kind = COPY2D, .dst = c->dst.device, .src = c->src.device, .size = c->width,
		.dpitch = c->dst.pitch, .spitch = c->src.pitch, .height = c->height};
	return copyable(&op) ? add_node(out, g, after, n, &op) : INVALID_VALUE;
}

typedef struct {
	CUdeviceptr dst;
	size_t pitch;
	unsigned value, size;
	size_t width, height;
} FillParams;

CUresult cuGraphAddMemsetNode(Node **out, Graph *g, Node *const *after, size_t n, const FillParams *f, void *ctx) {
	ENTER(1);
	pthread_mutex_lock(&mu);
	int ok = ctx == current && f->size == 1 && f->height == 1 && inside(f->dst, f->width);
	pthread_mutex_unlock(&mu);
	Op op = {.kind = FILL, .dst = f->dst, .value = (int)f->value, .size = f->width};
	return ok ? add_node(out, g, after, n, &op) : INVALID_VALUE;
}

static Node *copy_of(Node *n, Graph *to);

// The copy of a node is found at the same place in the list.
static Node *twin(Node *of, Graph *from, Graph *to) {
	Node *t = to->nodes;
	for (Node *n = from->nodes; n != of; n = n->next) t = t->next;
	return t;
}

CUresult cuGraphInstantiateWithFlags(Graph **out, Graph *g, unsigned long long flags) {
	ENTER(1);
	if (flags || g->executable) return INVALID_VALUE;
	Graph *e = calloc(1, sizeof *e);
	Node **tail = &e->nodes;
	for (Node *n = g->nodes; n; n = n->next, tail = &(*tail)->next) *tail = copy_of(n, e);
	Node *c = e->nodes;
	for (Node *n = g->nodes; n; n = n->next, c = c->next)
		for (size_t i = 0; i < n->nafter; i++) c->after[i] = twin(n->after[i], g, e);
	e->executable = 1;
	add(&live_graphs, 1);
	*out = e;
	return SUCCESS;
}

static Node *copy_of(Node *n, Graph *to) {
	Node *c = malloc(sizeof *c);
	*c = *n;
	c->graph = to, c->next = NULL;
	c->after = calloc(n->nafter + 1, sizeof *c->after);
	return c;
}

static int ready(const Node *n) {
	for (size_t i = 0; i < n->nafter; i++)
		if (!n->after[i]->done) return 0;
	return !n->done;
}

// run_graph runs the nodes; a fault ends the launch.
static void run_graph(Graph *g) {
	for (Node *n = g->nodes; n; n = n->next) n->done = 0;
	for (Node *n = g->nodes; n;) {
		if (!ready(n)) {
			n = n->next;
			continue;
		}
		pthread_mutex_lock(&mu);
		int lost = sticky;
		pthread_mutex_unlock(&mu);
		if (lost) return;
		run(&n->op);
		n->done = 1;
		n = g->nodes;
	}
}

CUresult cuGraphLaunch(Graph *g, void *stream) {
	(void)stream;
	ENTER(1);
	if (!g->executable) return INVALID_HANDLE;
	CUresult r = submit(&(Op){.kind = GRAPH, .graph = g});
	g->seq = latest();
	return r;
}
