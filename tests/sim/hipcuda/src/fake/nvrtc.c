// A stand-in for NVRTC: it takes every text that has a kernel and does not say "bogus",
// and makes of it what the stand-in for libcuda takes for machine code: a list of the
// kernels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
	char *text, *code;
	char log[200];
};

int nvrtcVersion(int *major, int *minor) {
	*major = 13, *minor = 0;
	return 0;
}

int nvrtcCreateProgram(struct program **out, const char *text, const char *name, int headers, const char *const *texts, const char *const *names) {
	(void)name;
	if (headers || texts || names) return 3;
	struct program *p = calloc(1, sizeof *p);
	p->text = strdup(text);
	*out = p;
	return 0;
}

// The name of the file and the line come from the last "#line".
int nvrtcCompileProgram(struct program *p, int n, const char *const *options) {
	for (int i = 0; i < n; i++)
		if (strncmp(options[i], "-", 1)) return 5;
	char *text = strrchr(p->text, '#');
	for (char *at = p->text; (at = strstr(at, "#line 1 \"")) != NULL; at++) text = at;
	char *name = strchr(text, '"') + 1, *end = strchr(name, '"'), *bogus = strstr(text, "bogus(");
	if (strstr(text, "__global__ void ") == NULL) bogus = end + 2;
	if (bogus != NULL) {
		int line = 0;
		for (char *at = end + 2; at < bogus; at++) line += *at == '\n';
		snprintf(p->log, sizeof p->log, "%.*s(%d): error: identifier \"bogus\" is undefined\n", (int)(end - name), name, line + 1);
		return 6;
	}
	p->code = malloc(strlen(text) + 100);
	int at = sprintf(p->code, "\177ELF%64s", "");
	static const char kernel[] = "__global__ void ";
	while ((text = strstr(text, kernel)) != NULL) {
		text += strlen(kernel);
		at += sprintf(p->code + at, ".entry %.*s(", (int)strcspn(text, "("), text);
	}
	return 0;
}

int nvrtcDestroyProgram(struct program **p) {
	free((*p)->text);
	free((*p)->code);
	free(*p);
	*p = NULL;
	return 0;
}

int nvrtcGetProgramLogSize(struct program *p, size_t *n) {
	*n = strlen(p->log) + 1;
	return 0;
}

int nvrtcGetProgramLog(struct program *p, char *out) {
	strcpy(out, p->log);
	return 0;
}

int nvrtcGetCUBINSize(struct program *p, size_t *n) {
	*n = strlen(p->code) + 1;
	return 0;
}

int nvrtcGetCUBIN(struct program *p, char *out) {
	strcpy(out, p->code);
	return 0;
}
