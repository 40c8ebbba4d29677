// The operations on block formats of bench/tensor by the reference implementation, ggml, on one core:
// rows of the same names as lines of JSON, those whose names match an extended regular expression, which
// is its argument. bench/ggml.sh builds it with a library that is there.
//
// Times are the processor time of the thread, each the least of some repetitions, which is reported as
// the median and both percentiles: what else runs on the machine slows the others.
#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ggml-cpu.h"
#include "ggml.h"

enum { N = 2048, K = 4096, SEARCH = 1 << 16, ROTATED = 96 << 20 };

static regex_t only;

static int wanted(const char *what) { return regexec(&only, what, 0, NULL, 0) == 0; }

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *room(size_t n) {
	void *p = malloc(n);
	if (!p) {
		fprintf(stderr, "ggml: no memory for %zu bytes\n", n);
		exit(1);
	}
	return p;
}

// row prints what so much work a second is.
static void row(const char *what, const char *unit, double rate) {
	printf("{\"suite\": \"tensor\", \"what\": \"%s\", \"who\": \"ggml\", \"median\": %g, \"p10\": %g, \"p90\": %g, "
	       "\"unit\": \"%s\", \"note\": \"one core, processor time\"}\n", what, rate, rate, rate, unit);
	fflush(stdout);
}

static const char *name(enum ggml_type t) {
	static char text[32];
	strncpy(text, ggml_type_name(t), sizeof text - 1);
	for (char *c = text; *c; c++)
		*c = toupper(*c);
	return text;
}

// best is the least time of a few calls, and of at least a fifth of a second.
static double best(void (*f)(void *), void *arg) {
	double least = 1e9, end = now() + 0.2;
	for (int i = 0; i < 3 || now() < end; i++) {
		double begin = now();
		f(arg);
		double took = now() - begin;
		if (took < least)
			least = took;
	}
	return least;
}

// blocks is what the operations on one type work on.
struct blocks {
	enum ggml_type type;
	float *x, *importance;
	char *data;
	int64_t rows;
};

// writes tells whether a type is one that no file has, of which only rows of activations are made.
static int internal(enum ggml_type t) { return t == GGML_TYPE_Q8_1 || t == GGML_TYPE_Q8_K; }

static void quantize(void *arg) {
	struct blocks *b = arg;
	if (internal(b->type))
		ggml_get_type_traits(b->type)->from_float_ref(b->x, b->data, b->rows * K);
	else
		ggml_quantize_chunk(b->type, b->x, b->data, 0, b->rows, K, b->importance);
}

static void dequantize(void *arg) {
	struct blocks *b = arg;
	size_t row = ggml_row_size(b->type, K);
	for (int64_t i = 0; i < N; i++)
		ggml_get_type_traits(b->type)->to_float(b->data + i * row, b->x + i * K, K);
}

// product is graphs of one product each, with copies of a weight that are larger than a cache.
struct product {
	struct ggml_context *memory;
	struct ggml_cgraph **graphs;
	struct ggml_cplan plan;
	int count, next;
};

static void multiply(void *arg) {
	struct product *p = arg;
	ggml_graph_compute(p->graphs[p->next++ % p->count], &p->plan);
}

static void linear(enum ggml_type t, const char *data, int64_t m, int64_t n, int64_t k) {
	char what[128];
	snprintf(what, sizeof what, "quantized linear %dx%dx%d f32 and %s", (int)m, (int)n, (int)k, name(t));
	if (!wanted(what))
		return;
	size_t size = ggml_row_size(t, K) * N;
	struct product p = {.count = m > 8 ? 1 : (int)((ROTATED + size - 1) / size)};
	struct ggml_init_params params = {.mem_size = p.count * (size + (m + 8) * (n + k) * 4 + (1 << 20)) + (64 << 20)};
	p.memory = ggml_init(params);
	p.graphs = room(p.count * sizeof *p.graphs);
	for (int i = 0; i < p.count; i++) {
		struct ggml_tensor *w = ggml_new_tensor_2d(p.memory, t, k, n), *x = ggml_new_tensor_2d(p.memory, GGML_TYPE_F32, k, m);
		memcpy(w->data, data, size);
		for (int64_t j = 0; j < m * k; j++)
			((float *)x->data)[j] = sinf(j * 0.37f);
		p.graphs[i] = ggml_new_graph_custom(p.memory, 4, false);
		ggml_build_forward_expand(p.graphs[i], ggml_mul_mat(p.memory, w, x));
	}
	p.plan = ggml_graph_plan(p.graphs[0], 1, NULL);
	p.plan.work_data = room(p.plan.work_size + 64);
	double took = best(multiply, &p);
	if (m <= 8)
		row(what, "GB/s", size / took / 1e9);
	else
		row(what, "TFLOP/s", 2.0 * m * n * k / took / 1e12);
	free(p.plan.work_data);
	free(p.graphs);
	ggml_free(p.memory);
}

// rows are of activations, besides one.
static const int rows[] = {8, 16, 32, 128, 512};

// all are the rows of one type.
static void all(enum ggml_type t, const float *x, float *out, const float *importance) {
	char what[128];
	struct blocks b = {.type = t, .x = (float *)x, .rows = SEARCH / K};
	size_t line = ggml_row_size(t, K);
	if (ggml_quantize_requires_imatrix(t))
		b.importance = (float *)importance;
	b.data = room(N * line);
	ggml_quantize_init(t);
	snprintf(what, sizeof what, "quantize f32 to %s", name(t));
	if (wanted(what))
		row(what, "Gelem/s", b.rows * K / best(quantize, &b) / 1e9);
	else
		quantize(&b);
	for (int64_t i = b.rows; i < N; i++)
		memcpy(b.data + i * line, b.data + i % b.rows * line, line);
	b.x = out;
	snprintf(what, sizeof what, "dequantize %s to f32", name(t));
	if (wanted(what))
		row(what, "GB/s", (N * line + 4.0 * N * K) / best(dequantize, &b) / 1e9);
	if (!internal(t)) {
		linear(t, b.data, 1, N, K);
		linear(t, b.data, 1, K, N);
		for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
			linear(t, b.data, rows[i], N, K);
	}
	free(b.data);
}

int main(int argc, char **argv) {
	if (regcomp(&only, argc > 1 ? argv[1] : ".", REG_EXTENDED | REG_NOSUB)) {
		fprintf(stderr, "ggml: %s is no regular expression\n", argv[1]);
		return 1;
	}
	ggml_cpu_init();
	float *x = room(4 * SEARCH), *out = room(4 * (size_t)N * K), importance[K];
	srand(1);
	for (int i = 0; i < SEARCH; i++) // normal numbers
		x[i] = sqrt(-2 * log((rand() + 1.0) / (RAND_MAX + 2.0))) * cos(6.2831853 * (rand() / (double)RAND_MAX)) / 64;
	for (int i = 0; i < K; i++)
		importance[i] = 0.5 + rand() / (double)RAND_MAX;
	for (enum ggml_type t = 0; t < GGML_TYPE_COUNT; t++)
		if (ggml_is_quantized(t) && ggml_get_type_traits(t)->to_float)
			all(t, x, out, importance);
	return 0;
}
