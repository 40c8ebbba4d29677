// What tests order and read, and what was done wrong.
#include "metal.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

std::mutex mu;

namespace {
std::map<std::string, int> settings;
struct Order {
	int after, count;
};
std::map<std::string, Order> orders;
std::string problems; // a line each
std::map<std::string, int> compiled;
}

void count_compilation(const std::string &what) {
	std::lock_guard<std::mutex> lock(mu);
	compiled[what]++;
	const char *trace = getenv("KILN_SIM_METAL_TRACE");
	if (FILE *f = trace ? fopen(trace, "ab") : nullptr) fprintf(f, "%s\n", what.c_str()), fclose(f);
}

// sim_compiled counts libraries, kernels, and kernels taken from an archive.
EXPORT int sim_compiled(const char *what) {
	std::lock_guard<std::mutex> lock(mu);
	return compiled[what];
}

bool read_whole(const std::string &path, std::string &text) {
	FILE *f = fopen(path.c_str(), "rb");
	if (!f) return false;
	char buf[1 << 16];
	for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) text.append(buf, n);
	fclose(f);
	return true;
}

bool write_whole(const std::string &path, const std::string &text) {
	FILE *f = fopen(path.c_str(), "wb");
	if (!f) return false;
	bool ok = fwrite(text.data(), 1, text.size(), f) == text.size();
	return fclose(f) == 0 && ok;
}

// setting is called with mu held, as by the engine.
int setting(const char *name) {
	auto it = settings.find(name);
	return it == settings.end() ? 0 : it->second;
}

void problem(const std::string &text) {
	std::lock_guard<std::mutex> lock(mu);
	problems += text + "\n";
}

bool fails(const std::string &name) {
	std::lock_guard<std::mutex> lock(mu);
	auto it = orders.find(name);
	if (it == orders.end()) return false;
	if (it->second.after > 0) {
		it->second.after--;
		return false;
	}
	if (it->second.count > 0 && --it->second.count == 0) orders.erase(it);
	return true;
}

EXPORT void sim_fail(const char *name, int after, int count) {
	std::lock_guard<std::mutex> lock(mu);
	orders[name] = {after, count};
}

EXPORT void sim_reset() {
	std::lock_guard<std::mutex> lock(mu);
	orders.clear(), settings.clear();
}

EXPORT void sim_set(const char *name, int value) {
	std::lock_guard<std::mutex> lock(mu);
	settings[name] = value;
}

// sim_problems gives the problems since the last time.
EXPORT void sim_problems(char *out, size_t size) {
	std::lock_guard<std::mutex> lock(mu);
	strncpy(out, problems.c_str(), size - 1);
	problems.clear();
}
