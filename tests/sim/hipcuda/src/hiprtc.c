// The functions of libhiprtc, on NVRTC: the text is compiled behind prelude.h.
#define _GNU_SOURCE // dladdr
#include "shim.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The text of prelude.h, with a zero behind it.
__asm__(".section .rodata\n"
	".globl shim_prelude\n"
	".hidden shim_prelude\n"
	"shim_prelude:\n"
	".incbin \"" PRELUDE "\"\n"
	".byte 0\n"
	".text\n");

#define NVRTC_FUNCTIONS(X) \
	X(nvrtcVersion, (int *, int *)) \
	X(nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *)) \
	X(nvrtcCompileProgram, (void *, int, const char *const *)) \
	X(nvrtcDestroyProgram, (void **)) \
	X(nvrtcGetProgramLogSize, (void *, size_t *)) \
	X(nvrtcGetProgramLog, (void *, char *)) \
	X(nvrtcGetCUBINSize, (void *, size_t *)) \
	X(nvrtcGetCUBIN, (void *, char *))

static struct {
#define DECLARE(name, parameters) int(*name) parameters;
	NVRTC_FUNCTIONS(DECLARE)
#undef DECLARE
} nvrtc;

// The results of both have the same numbers, as far as these go.
enum { RTC_INVALID_INPUT = 3, RTC_INVALID_PROGRAM = 4, RTC_INVALID_OPTION = 5, RTC_COMPILATION = 6, RTC_INTERNAL = 11 };

static const char *const results[] = {
	"HIPRTC_SUCCESS", "HIPRTC_ERROR_OUT_OF_MEMORY", "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE", "HIPRTC_ERROR_INVALID_INPUT",
	"HIPRTC_ERROR_INVALID_PROGRAM", "HIPRTC_ERROR_INVALID_OPTION", "HIPRTC_ERROR_COMPILATION", "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
	"HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION", "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
	"HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID", "HIPRTC_ERROR_INTERNAL_ERROR",
};

static char missing[1000]; // why there is no NVRTC

EXPORT const char *hiprtcGetErrorString(int r) {
	static char out[1100];
	if (r == RTC_INTERNAL && *missing) {
		snprintf(out, sizeof out, "HIPRTC_ERROR_INTERNAL_ERROR, %s", missing);
		return out;
	}
	return r >= 0 && r < (int)(sizeof results / sizeof *results) ? results[r] : "HIPRTC_ERROR_UNKNOWN";
}

static void *open_pattern(const char *pattern) {
	glob_t found;
	void *lib = NULL;
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = found.gl_pathc; i > 0 && lib == NULL; i--) lib = dlopen(found.gl_pathv[i - 1], RTLD_NOW | RTLD_LOCAL);
		globfree(&found);
	}
	return lib;
}

// open_library opens libnvrtc: the file that KILN_NVRTC names, or the one that the
// system's loader or the usual places have.
static void *open_library(void) {
	const char *name = nvrtc_instead ? nvrtc_instead : getenv("KILN_NVRTC");
	if (name != NULL && *name) return dlopen(name, RTLD_NOW | RTLD_LOCAL);
	static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
	static const char *const patterns[] = {"/usr/local/cuda*/lib64/libnvrtc.so*", "/usr/local/cuda*/targets/*/lib/libnvrtc.so*"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (lib != NULL) return lib;
	}
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		void *lib = open_pattern(patterns[i]);
		if (lib != NULL) return lib;
	}
	dlopen(names[0], RTLD_NOW | RTLD_LOCAL); // for its message
	return NULL;
}

// open_builtins opens the library that NVRTC opens by name, from NVRTC's own folder:
// the loader looks into that one only if it was told to.
static void open_builtins(void *lib) {
	Dl_info info;
	char pattern[600];
	void *symbol = dlsym(lib, "nvrtcVersion");
	if (symbol == NULL || !dladdr(symbol, &info) || strrchr(info.dli_fname, '/') == NULL) return;
	snprintf(pattern, sizeof pattern, "%.*s/libnvrtc-builtins.so*", (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	open_pattern(pattern);
}

static int start(void) {
	void *lib = open_library();
	if (lib == NULL) {
		snprintf(missing, sizeof missing, "HIP over CUDA needs NVRTC, see KILN_NVRTC: %s", dlerror());
		return RTC_INTERNAL;
	}
	open_builtins(lib);
#define FIND(name, parameters) \
	*(void **)&nvrtc.name = dlsym(lib, #name); \
	if (nvrtc.name == NULL) { \
		snprintf(missing, sizeof missing, "NVRTC has no %s: %s", #name, dlerror()); \
		return RTC_INTERNAL; \
	}
	NVRTC_FUNCTIONS(FIND)
#undef FIND
	return SUCCESS;
}

static int open_nvrtc(void) {
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	static int done, result;
	pthread_mutex_lock(&once);
	if (!done) result = start();
	done = 1;
	pthread_mutex_unlock(&once);
	return result;
}

EXPORT int hiprtcVersion(int *major, int *minor) {
	int r = open_nvrtc();
	return r != SUCCESS ? r : nvrtc.nvrtcVersion(major, minor);
}

// ---- programs ---------------------------------------------------------------------------

struct program {
	void *nvrtc;
	char *name, *log;
};

static const char cast[] = "(i16)(", function[] = "kiln_i16(";

// next_cast is the next cast of an expression in parentheses to the 16-bit integer,
// rather than of another cast.
static const char *next_cast(const char *text) {
	for (; (text = strstr(text, cast)) != NULL; text++) {
		const char *inside = text + strlen(cast);
		if (!(strchr("iuf", inside[0]) && inside[strcspn(inside, "()")] == ')' && strcspn(inside, "()") <= 3)) return text;
	}
	return NULL;
}

// whole writes the prelude and then the text, whose lines keep their numbers. Those
// casts are calls of prelude.h's function.
static char *whole(const char *source, const char *name) {
	size_t casts = 0;
	for (const char *at = source; (at = next_cast(at)) != NULL; at++) casts++;
	char *out = malloc(strlen(shim_prelude) + strlen(name) + 32 + strlen(source) + casts * sizeof function);
	if (out == NULL) return NULL;
	char *at = out + sprintf(out, "%s\n#line 1 \"%s\"\n", shim_prelude, name);
	for (const char *found; (found = next_cast(source)) != NULL; source = found + strlen(cast)) {
		memcpy(at, source, (size_t)(found - source));
		at = stpcpy(at + (found - source), function);
	}
	strcpy(at, source);
	return out;
}

EXPORT int hiprtcCreateProgram(struct program **out, const char *source, const char *name, int headers, const char *const *texts, const char *const *names) {
	int r = open_nvrtc();
	if (r != SUCCESS) return r;
	if (headers != 0 || texts != NULL || names != NULL || source == NULL || name == NULL) return RTC_INVALID_INPUT;
	struct program *p = calloc(1, sizeof *p);
	char *text = whole(source, name);
	if (p == NULL || text == NULL) return OUT_OF_MEMORY;
	p->name = strdup(name);
	r = nvrtc.nvrtcCreateProgram(&p->nvrtc, text, name, 0, NULL, NULL);
	free(text);
	*out = p;
	return r;
}

// The options that AMD's compiler is given, in NVRTC's words; "" for what NVRTC does
// by itself.
static const struct { const char *hip, *cuda; } options[] = {
	{"-std=c++17", "--std=c++17"}, {"-O3", ""}, {"-ffp-contract=off", "--fmad=false"}, {"-fno-fast-math", ""},
	{"-fno-strict-aliasing", ""}, {"-gline-tables-only", "-lineinfo"},
};

static const char *translated(const char *option) {
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(options[i].hip, option)) return options[i].cuda;
	return NULL;
}

// say gives the program a log of its own.
static int say(struct program *p, int result, const char *text, const char *what) {
	free(p->log);
	p->log = malloc(strlen(text) + strlen(what) + 1);
	if (p->log != NULL) strcat(strcpy(p->log, text), what);
	return result;
}

// clang_style writes "name(3): " as "name:3: ", as AMD's compiler does.
static void clang_style(struct program *p) {
	size_t n = strlen(p->name);
	for (char *at = p->log; at != NULL && (at = strstr(at, p->name)) != NULL; at += n) {
		char *end = at + n + 1 + strspn(at + n + 1, "0123456789");
		if (at[n] != '(' || end[0] != ')' || end[1] != ':') continue;
		at[n] = ':';
		memmove(end, end + 1, strlen(end));
	}
}

static void take_log(struct program *p) {
	size_t size = 0;
	free(p->log);
	p->log = NULL;
	if (nvrtc.nvrtcGetProgramLogSize(p->nvrtc, &size) != SUCCESS || (p->log = calloc(size + 1, 1)) == NULL) return;
	nvrtc.nvrtcGetProgramLog(p->nvrtc, p->log);
	clang_style(p);
}

EXPORT int hiprtcCompileProgram(struct program *p, int n, const char *const *given) {
	// A kernel may be launched with 1024 threads, which have 64 registers each.
	const char *list[16] = {"--maxrregcount=64", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "--disable-warnings"};
	int have = 5, sm = architecture();
	char arch[40];
	snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", sm ? sm : 90);
	for (int i = 0; i < n; i++) {
		int is_arch = !strncmp(given[i], "--offload-arch=gfx", 18);
		const char *option = is_arch ? arch : translated(given[i]);
		if (option == NULL || have == 16) return say(p, RTC_INVALID_OPTION, "HIP over CUDA does not know the option ", given[i]);
		if (*option) list[have++] = option;
	}
	int r = nvrtc.nvrtcCompileProgram(p->nvrtc, have, list);
	take_log(p);
	return r;
}

EXPORT int hiprtcDestroyProgram(struct program **p) {
	if (p == NULL || *p == NULL) return RTC_INVALID_PROGRAM;
	int r = nvrtc.nvrtcDestroyProgram(&(*p)->nvrtc);
	free((*p)->name);
	free((*p)->log);
	free(*p);
	*p = NULL;
	return r;
}

EXPORT int hiprtcGetProgramLogSize(struct program *p, size_t *n) {
	*n = p->log == NULL ? 0 : strlen(p->log) + 1;
	return SUCCESS;
}

EXPORT int hiprtcGetProgramLog(struct program *p, char *out) {
	if (p->log != NULL) strcpy(out, p->log);
	return SUCCESS;
}

EXPORT int hiprtcGetCodeSize(struct program *p, size_t *n) { return nvrtc.nvrtcGetCUBINSize(p->nvrtc, n); }
EXPORT int hiprtcGetCode(struct program *p, char *out) { return nvrtc.nvrtcGetCUBIN(p->nvrtc, out); }
