// What tests order and read, and what was done wrong.
#include "metal.h"

#include <cstring>

std::mutex mu;

namespace {
std::map<std::string, int> settings;
struct Order {
	int after, count;
};
std::map<std::string, Order> orders;
std::string problems; // a line each
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
