// What tests order and read, errors, the devices there are.
#include "sim.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

std::mutex mu;

namespace {

struct Entry {
	int code = 0, after = 0, count = 0, calls = 0;
};

std::map<std::string, Entry> entries;
std::map<std::string, int> settings;
int live[LIVE_KINDS];
bool initialised;
// The devices that are lost, and why.
struct Loss {
	int code;
	std::string text;
};
std::map<int, Loss> losses;
// What hipGetErrorString adds: the last refusal with a code. It is not kept by
// thread, since a goroutine may ask from another one than it called from.
std::map<int, std::string> refusals;
// The device that the thread has set, for one call; and that of the call.
thread_local int chosen = -1, current = -1;

const Arch archs[] = {
	{"gfx90a:sramecc+:xnack-", "Simulated Instinct MI210", 64, 104, 64 << 10},
	{"gfx942:sramecc+:xnack-", "Simulated Instinct MI300X", 64, 304, 64 << 10},
	{"gfx1030", "Simulated Radeon RX 6900", 32, 40, 64 << 10},
	{"gfx1100", "Simulated Radeon RX 7900", 32, 48, 64 << 10},
	{"gfx1201", "Simulated Radeon RX 9070", 32, 32, 64 << 10},
};

// The devices are those that KILN_SIM_ARCH lists; by default all, one
// of each width first.
std::vector<const Arch *> &devices() {
	static std::vector<const Arch *> list = [] {
		const char *env = getenv("KILN_SIM_ARCH");
		std::string text = env && *env ? env : "gfx942,gfx1100,gfx90a,gfx1030,gfx1201";
		std::vector<const Arch *> found;
		for (size_t at = 0; at <= text.size();) {
			size_t end = text.find(',', at);
			if (end == std::string::npos) end = text.size();
			std::string name = text.substr(at, end - at);
			for (const Arch &a : archs)
				if (name == std::string(a.name).substr(0, strcspn(a.name, ":"))) found.push_back(&a);
			at = end + 1;
		}
		return found;
	}();
	return list;
}

} // namespace

int device_count() {
	int n = (int)devices().size(), want = setting("devices");
	return want >= 0 && want < n ? want : n;
}

const Arch &arch_of(int device) { return *devices()[(size_t)device]; }

int setting(const char *name) {
	auto it = settings.find(name);
	if (it != settings.end()) return it->second;
	return !strcmp(name, "pools") || !strcmp(name, "cooperative") ? 1 : !strcmp(name, "devices") ? -1 : 0;
}

int enter(const char *name, bool uses_device) {
	std::lock_guard<std::mutex> lock(mu);
	Entry &e = entries[name];
	e.calls++;
	current = uses_device ? chosen : -1;
	if (uses_device) chosen = -1;
	if (e.code != 0) {
		if (e.after > 0) {
			e.after--;
		} else {
			int code = e.code;
			if (e.count > 0 && --e.count == 0) e.code = 0;
			return code;
		}
	}
	if (!strcmp(name, "hipInit")) initialised = true;
	if (!initialised) return NOT_INITIALIZED;
	if (uses_device && current < 0) {
		refusals[INVALID_CONTEXT] = std::string(name) + " was called without hipSetDevice on its thread";
		return INVALID_CONTEXT;
	}
	auto it = losses.find(current);
	return uses_device && it != losses.end() ? it->second.code : (int)SUCCESS;
}

int device_now() { return current; }

int refuse(int code, const std::string &text) {
	std::lock_guard<std::mutex> lock(mu);
	refusals[code] = text;
	return code;
}

void lose(int device, int code, const std::string &text) {
	std::lock_guard<std::mutex> lock(mu);
	losses.insert({device, {code, text}});
}

int lost(int device) {
	std::lock_guard<std::mutex> lock(mu);
	auto it = losses.find(device);
	return it != losses.end() ? it->second.code : (int)SUCCESS;
}

void count(Live what, int n) {
	std::lock_guard<std::mutex> lock(mu);
	live[what] += n;
}

EXPORT int hipSetDevice(int device) {
	ENTER(false);
	if (device < 0 || device >= device_count()) return INVALID_DEVICE;
	chosen = device;
	return SUCCESS;
}

namespace {

const struct {
	int code;
	const char *name, *text;
} texts[] = {
	{0, "hipSuccess", "no error"},
	{1, "hipErrorInvalidValue", "invalid argument"},
	{2, "hipErrorOutOfMemory", "out of memory"},
	{3, "hipErrorNotInitialized", "initialization error"},
	{9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
	{98, "hipErrorInvalidDeviceFunction", "invalid device function"},
	{100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
	{101, "hipErrorInvalidDevice", "invalid device ordinal"},
	{200, "hipErrorInvalidImage", "device kernel image is invalid"},
	{201, "hipErrorInvalidContext", "invalid device context"},
	{209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
	{400, "hipErrorInvalidHandle", "invalid resource handle"},
	{500, "hipErrorNotFound", "named symbol not found"},
	{600, "hipErrorNotReady", "device not ready"},
	{700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
	{701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
	{719, "hipErrorLaunchFailure", "unspecified launch failure"},
	{720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
	{801, "hipErrorNotSupported", "operation not supported"},
};

} // namespace

EXPORT const char *hipGetErrorName(int code) {
	for (auto &t : texts)
		if (t.code == code) return t.name;
	return nullptr;
}

// hipGetErrorString adds what the simulator knows about the failure.
EXPORT const char *hipGetErrorString(int code) {
	static thread_local std::string text;
	text = "";
	for (auto &t : texts)
		if (t.code == code) text = t.text;
	std::lock_guard<std::mutex> lock(mu);
	for (auto &[device, loss] : losses)
		if (loss.code == code) return (text += ": " + loss.text).c_str();
	auto it = refusals.find(code);
	if (it != refusals.end()) {
		text += ": " + it->second;
		refusals.erase(it);
	}
	return text.c_str();
}

// ---- for tests -----------------------------------------------------------------

// sim_fail orders an error: the function called name returns code, after it has
// been called `after` times, count times in all (0 for always).
EXPORT void sim_fail(const char *name, int code, int after, int count) {
	std::lock_guard<std::mutex> lock(mu);
	Entry &e = entries[name];
	e.code = code, e.after = after, e.count = count;
}

EXPORT int sim_calls(const char *name) {
	std::lock_guard<std::mutex> lock(mu);
	return entries[name].calls;
}

EXPORT void sim_set(const char *what, uint64_t value) {
	std::lock_guard<std::mutex> lock(mu);
	if (!strcmp(what, "memory")) set_memory_limit(value);
	else settings[what] = (int)value;
}

EXPORT uint64_t sim_get(const char *what) {
	std::lock_guard<std::mutex> lock(mu);
	static const char *const names[] = {"hosts", "streams", "events", "modules", "graphs"};
	for (int i = 0; i < LIVE_KINDS; i++)
		if (!strcmp(what, names[i])) return (uint64_t)live[i];
	return !strcmp(what, "used") ? memory_used() : 0;
}

// sim_revive makes a lost device usable.
EXPORT void sim_revive(int device) {
	wait_for(latest());
	std::lock_guard<std::mutex> lock(mu);
	if (losses.erase(device)) memory_forget(device);
}

// sim_reset waits for the queue and forgets errors, orders and counts, and what
// could not be given back to a device that was lost.
EXPORT void sim_reset(void) {
	wait_for(latest());
	std::lock_guard<std::mutex> lock(mu);
	for (auto &[device, loss] : losses) {
		memory_forget(device);
		for (int &n : live) n = 0;
	}
	losses.clear();
	refusals.clear();
	settings.clear();
	entries.clear();
	set_memory_limit(0);
}
