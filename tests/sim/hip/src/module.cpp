// hipRTC and modules. A "code object" here is a shared object of this machine
// that clang makes from the text of the kernel; it names the architecture that it
// was made for, and has a table of its kernels.
#include "sim.h"
#include "clang.h"
#include "prelude.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <set>
#include <unistd.h>
#include <vector>

namespace {

enum RTC : int { RTC_SUCCESS = 0, RTC_INVALID_INPUT = 3, RTC_INVALID_PROGRAM = 4, RTC_INVALID_OPTION = 5, RTC_COMPILATION = 6, RTC_INTERNAL = 11 };

struct Program {
	std::string name, source, log, code;
};

struct Module {
	int device;
	void *handle;
	std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

std::set<void *> programs, modules, functions; // guarded by mu

bool known(const std::set<void *> &list, void *handle) {
	std::lock_guard<std::mutex> lock(mu);
	return list.count(handle) != 0;
}

// ---- the text ------------------------------------------------------------------------

// blank overwrites comments, strings and directives, so that words can be found.
std::string blank(std::string s) {
	bool line_start = true;
	for (size_t i = 0; i < s.size(); i++) {
		size_t end = i;
		if (s.compare(i, 2, "//") == 0 || (line_start && s[i] == '#')) {
			end = s.find('\n', i);
			while (end != std::string::npos && s[i] == '#' && s[end - 1] == '\\') end = s.find('\n', end + 1);
		} else if (s.compare(i, 2, "/*") == 0) {
			end = s.find("*/", i + 2);
			if (end != std::string::npos) end += 2;
		} else if (s[i] == '"') {
			for (end = i + 1; end < s.size() && s[end] != '"'; end++)
				if (s[end] == '\\') end++;
			end++;
		}
		if (end == std::string::npos || end > s.size()) end = s.size();
		for (size_t j = i; j < end; j++)
			if (s[j] != '\n') s[j] = ' ';
		if (end > i) i = end - 1;
		if (s[i] == '\n') line_start = true;
		else if (!isspace((unsigned char)s[i])) line_start = false;
	}
	return s;
}

bool word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// kernels_in lists the functions that are declared __global__: the last word
// before the parameters, past attributes in parentheses.
std::vector<std::string> kernels_in(const std::string &source) {
	static const char key[] = "__global__";
	std::vector<std::string> names;
	std::string s = blank(source);
	for (size_t at = s.find(key); at != std::string::npos; at = s.find(key, at + 1)) {
		size_t i = at + sizeof key - 1;
		std::string last;
		for (; i < s.size() && s[i] != '{' && s[i] != ';';) {
			if (word(s[i])) {
				size_t start = i;
				while (i < s.size() && word(s[i])) i++;
				last = s.substr(start, i - start);
			} else if (s[i] == '(') {
				if (last != "__launch_bounds__" && last != "__attribute__") {
					names.push_back(last);
					break;
				}
				for (int depth = 0; i < s.size(); i++) {
					depth += (s[i] == '(') - (s[i] == ')');
					if (depth == 0) break;
				}
				i++;
			} else {
				i++;
			}
		}
	}
	return names;
}

// plain makes an ordinary array of the dynamic shared memory that a text declares, of which it returns
// the type of the elements and the name. All kernels of a text declare it alike.
std::string plain(std::string s, std::string &type, std::string &name) {
	static const std::string words = "extern __shared__ ";
	for (size_t at = s.find(words); at != std::string::npos; at = s.find(words, at)) {
		s.replace(at, words.size(), "extern ");
		size_t end = s.find('[', at), start = end;
		if (end == std::string::npos) break;
		while (start > at && (isalnum((unsigned char)s[start - 1]) || s[start - 1] == '_')) start--;
		at += 7;
		type = s.substr(at, start - at), name = s.substr(start, end - start);
	}
	if (!name.empty()) s = "extern \"C\" " + type + name + "[];\n#line 1\n" + s;
	return s;
}

std::string kernel_row(const std::string &name, const std::string &of) {
	return "\t{\"" + name + "\", " + of + "call, " + of + "layout.used, " + of + "layout.at, " + of + "layout.size, " + of + "count},\n";
}

// unit is the text that clang sees: the kernel's with what the simulator looks for
// behind it.
std::string unit(const Program &p, const std::string &arch) {
	std::string type, name, source = plain(p.source, type, name);
	std::string s = "#line 1 \"" + p.name + "\"\n" + source + "\n#line 1 \"simulator\"\nextern \"C\" {\n";
	s += "extern const char kiln_sim_arch[] = \"" + arch + "\";\nextern const kiln_sim_kernel kiln_sim_kernels[] = {\n";
	for (const std::string &name : kernels_in(p.source))
		s += kernel_row(name, "kiln_sim_thunk<&" + name + ">::");
	std::string dynamic = "0";
	if (!name.empty()) dynamic = "(char *)" + name;
	s += "\t{0, 0, 0, 0, 0, 0}};\nextern char *const kiln_sim_lds[] = {__start_kiln_lds, __stop_kiln_lds, " + dynamic + "};\n}\n";
	if (!name.empty()) s += "alignas(16) " + type + name + "[" + std::to_string(dynamic_room) + " / sizeof(*" + name + ")];\n";
	return s;
}

// ---- clang -----------------------------------------------------------------------------

std::string read_file(const std::string &path) {
	std::string s;
	if (FILE *f = fopen(path.c_str(), "rb")) {
		char buf[1 << 16];
		for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) s.append(buf, n);
		fclose(f);
	}
	return s;
}

bool write_file(const std::string &path, const std::string &text) {
	FILE *f = fopen(path.c_str(), "wb");
	if (!f) return false;
	bool ok = fwrite(text.data(), 1, text.size(), f) == text.size();
	return fclose(f) == 0 && ok;
}

int compile(Program &p, const std::string &arch, int wave, const std::vector<std::string> &flags) {
	char dir[] = SIM_DIR "/XXXXXX";
	if (!mkdtemp(dir)) return RTC_INTERNAL;
	std::string base = std::string(dir) + "/kernel", in = base + ".cpp", out = base + ".so";
	std::vector<std::string> args = {"-x", "c++", "-std=c++17", "-fPIC", "-shared", "-nostartfiles", "-nostdlib++", "-fno-math-errno",
		"-fno-exceptions", "-fno-rtti", "-fno-stack-protector", "-Wno-unknown-attributes", "-DKILN_SIM_WAVE=" + std::to_string(wave),
		"-D__" + arch.substr(0, arch.find(':')) + "__=1", "-D__HIP_DEVICE_COMPILE__=1", "-include", SIM_DIR "/prelude.h", "-lm"};
	args.insert(args.end(), flags.begin(), flags.end());
	p.log = "cannot write the text";
	int status = write_file(in, unit(p, arch)) ? compile_file(args, in, out, p.log) : -1;
	p.code = status == 0 ? read_file(out) : "";
	unlink(in.c_str()), unlink(out.c_str()), rmdir(dir);
	return status == 0 ? RTC_SUCCESS : RTC_COMPILATION;
}

// option sorts the options that hipRTC knows; the others are errors.
bool option(const std::string &o, std::string &arch, std::vector<std::string> &flags) {
	static const std::string offload = "--offload-arch=";
	if (o.compare(0, offload.size(), offload) == 0) return arch = o.substr(offload.size()), true;
	if (o == "-std=c++17" || o == "-O3" || o == "-O2" || o == "-gline-tables-only") return true; // see compile
	if (o.compare(0, 2, "-f") == 0 || o.compare(0, 2, "-D") == 0 || o.compare(0, 2, "-W") == 0) return flags.push_back(o), true;
	return false;
}

int wave_of(const std::string &arch) {
	for (int d = 0; d < device_count(); d++)
		if (arch.substr(0, arch.find(':')) == std::string(arch_of(d).name).substr(0, strcspn(arch_of(d).name, ":"))) return arch_of(d).wave;
	return 0;
}

int enter_rtc(const char *name) { return enter(name, false) == SUCCESS ? RTC_SUCCESS : RTC_INTERNAL; }

#define ENTER_RTC(ok) \
	do { \
		int entered = enter_rtc(__func__); \
		if (entered != RTC_SUCCESS) return entered; \
		if (!(ok)) return RTC_INVALID_PROGRAM; \
	} while (0)

} // namespace

EXPORT const char *hiprtcGetErrorString(int code) {
	switch (code) {
	case RTC_SUCCESS: return "HIPRTC_SUCCESS";
	case RTC_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
	case RTC_INVALID_PROGRAM: return "HIPRTC_ERROR_INVALID_PROGRAM";
	case RTC_INVALID_OPTION: return "HIPRTC_ERROR_INVALID_OPTION";
	case RTC_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
	}
	return "HIPRTC_ERROR_INTERNAL_ERROR";
}

EXPORT int hiprtcVersion(int *major, int *minor) {
	ENTER_RTC(true);
	*major = 6, *minor = 2;
	return RTC_SUCCESS;
}

EXPORT int hiprtcCreateProgram(void **out, const char *source, const char *name, int headers, const char **texts, const char **names) {
	ENTER_RTC(true);
	if (!source || headers != 0 || texts || names) return RTC_INVALID_INPUT;
	Program *p = new Program{name ? name : "", source, "", ""};
	std::lock_guard<std::mutex> lock(mu);
	programs.insert(p);
	*out = p;
	return RTC_SUCCESS;
}

EXPORT int hiprtcDestroyProgram(void **p) {
	ENTER_RTC(p && known(programs, *p));
	{
		std::lock_guard<std::mutex> lock(mu);
		programs.erase(*p);
	}
	delete (Program *)*p;
	*p = nullptr;
	return RTC_SUCCESS;
}

EXPORT int hiprtcCompileProgram(void *handle, int n, const char **options) {
	ENTER_RTC(known(programs, handle));
	Program &p = *(Program *)handle;
	std::string arch;
	std::vector<std::string> flags;
	std::string key;
	for (int i = 0; i < n; i++) {
		if (!option(options[i], arch, flags)) {
			p.log = std::string("error: unknown option ") + options[i] + "\n";
			return RTC_INVALID_OPTION;
		}
		key += std::string(options[i]) + "\n";
	}
	int wave = wave_of(arch);
	if (wave == 0) {
		p.log = "error: no device here has the architecture '" + arch + "'\n";
		return RTC_INVALID_OPTION;
	}
	{
		std::lock_guard<std::mutex> lock(mu);
		flags.push_back(setting("quick") ? "-O0" : "-O1");
		key += flags.back() + "\n";
	}
	// Tests compile the same text often.
	static std::mutex cache_mu;
	static std::map<std::string, Program> cache;
	key += p.name + "\n" + p.source;
	{
		std::lock_guard<std::mutex> lock(cache_mu);
		auto it = cache.find(key);
		if (it != cache.end()) return p.log = it->second.log, p.code = it->second.code, RTC_SUCCESS;
	}
	int r = compile(p, arch, wave, flags);
	if (r == RTC_SUCCESS) {
		std::lock_guard<std::mutex> lock(cache_mu);
		if (cache.size() >= 512) cache.clear();
		cache[key] = p;
	}
	return r;
}

EXPORT int hiprtcGetProgramLogSize(void *p, size_t *size) {
	ENTER_RTC(known(programs, p));
	*size = ((Program *)p)->log.size() + 1;
	return RTC_SUCCESS;
}

EXPORT int hiprtcGetProgramLog(void *p, char *log) {
	ENTER_RTC(known(programs, p));
	memcpy(log, ((Program *)p)->log.c_str(), ((Program *)p)->log.size() + 1);
	return RTC_SUCCESS;
}

EXPORT int hiprtcGetCodeSize(void *p, size_t *size) {
	ENTER_RTC(known(programs, p) && !((Program *)p)->code.empty());
	*size = ((Program *)p)->code.size();
	return RTC_SUCCESS;
}

EXPORT int hiprtcGetCode(void *p, char *code) {
	ENTER_RTC(known(programs, p) && !((Program *)p)->code.empty());
	memcpy(code, ((Program *)p)->code.data(), ((Program *)p)->code.size());
	return RTC_SUCCESS;
}

// ---- modules -----------------------------------------------------------------------------

// fits reports whether code for an architecture runs on another: each feature that
// both name has to be the same.
static bool fits(const std::string &code, const std::string &device) {
	size_t colon = code.find(':');
	if (code.substr(0, colon) != device.substr(0, device.find(':'))) return false;
	return colon == std::string::npos || code == device;
}

static int load(Module *m, const char *image) {
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)image;
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0) return INVALID_IMAGE;
	Elf64_Half host = EM_X86_64;
#if defined(__aarch64__)
	host = EM_AARCH64;
#endif
	if (h->e_machine != host) return refuse(NO_BINARY, "the simulator runs what its own hipRTC has made");
	size_t size = h->e_shoff + (size_t)h->e_shnum * h->e_shentsize; // the last thing in the file
	static std::atomic<int> loads; // the loader takes a name that it has seen for the same object
	std::string path = SIM_DIR "/code" + std::to_string(getpid()) + "-" + std::to_string(++loads) + ".so";
	m->handle = write_file(path, std::string(image, size)) ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
	unlink(path.c_str());
	if (!m->handle) {
		const char *why = dlerror();
		return refuse(INVALID_IMAGE, why ? why : "cannot be loaded");
	}
	const char *arch = (const char *)dlsym(m->handle, "kiln_sim_arch");
	auto list = (const kiln_sim_kernel *)dlsym(m->handle, "kiln_sim_kernels");
	auto lds = (char *const *)dlsym(m->handle, "kiln_sim_lds");
	if (!arch || !list || !lds) return INVALID_IMAGE;
	if (!fits(arch, arch_of(m->device).name)) return refuse(NO_BINARY, std::string("made for ") + arch + ", and this is " + arch_of(m->device).name);
	size_t lds_size = (size_t)(lds[1] - lds[0]);
	if (lds_size > (size_t)arch_of(m->device).lds)
		return refuse(INVALID_IMAGE, std::to_string(lds_size) + " bytes of shared memory, more than a block has");
	for (; list->name; list++)
		m->kernels[list->name].reset(new Kernel{list->name, list->call, list->size, lds[0], lds_size, m->device, true, lds[2], list->at, list->sizes, list->count});
	return SUCCESS;
}

static void unload(Module *m) {
	if (m->handle) dlclose(m->handle);
	delete m;
}

EXPORT int hipModuleLoadData(void **out, const void *image) {
	ENTER(true);
	Module *m = new Module{device_now(), nullptr, {}};
	int r = load(m, (const char *)image);
	if (r != SUCCESS) {
		unload(m);
		return r;
	}
	{
		std::lock_guard<std::mutex> lock(mu);
		modules.insert(m);
		for (auto &[name, k] : m->kernels) functions.insert(k.get());
	}
	*out = m;
	count(MODULES, 1);
	return SUCCESS;
}

EXPORT int hipModuleUnload(void *handle) {
	ENTER(true);
	if (!known(modules, handle)) return INVALID_HANDLE;
	wait_for(latest()); // a kernel of the module may be under way
	Module *m = (Module *)handle;
	{
		std::lock_guard<std::mutex> lock(mu);
		modules.erase(m);
		for (auto &[name, k] : m->kernels) functions.erase(k.get());
	}
	unload(m);
	count(MODULES, -1);
	return SUCCESS;
}

EXPORT int hipModuleGetFunction(void **out, void *handle, const char *name) {
	ENTER(true);
	if (!known(modules, handle)) return INVALID_HANDLE;
	Module *m = (Module *)handle;
	auto it = m->kernels.find(name);
	if (it == m->kernels.end()) return NOT_FOUND;
	*out = it->second.get();
	return SUCCESS;
}

EXPORT int hipFuncGetAttribute(int *value, int attribute, void *function) {
	ENTER(true);
	if (!known(functions, function)) return INVALID_HANDLE;
	switch (attribute) {
	case 0: *value = 1024; break;
	case 1: *value = (int)((Kernel *)function)->lds_size; break;
	case 3: *value = 0; break;
	case 4: *value = 32; break;
	default: return INVALID_VALUE;
	}
	return SUCCESS;
}

// ---- launches ------------------------------------------------------------------------------

// Last is what sim_last tells of the latest launch.
struct Last {
	uint64_t grid[3], block[3], shared, stream, length;
	unsigned char args[4096];
};
static Last last;

EXPORT void sim_last(Last *out) {
	std::lock_guard<std::mutex> lock(mu);
	*out = last;
}

// arguments finds the block of arguments in the list of pairs, which has to be as
// HIP wants it.
static bool arguments(void **extra, const unsigned char **args, size_t *size) {
	if (!extra || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] != (void *)3) return false;
	*args = (const unsigned char *)extra[1], *size = *(size_t *)extra[3];
	return *args != nullptr;
}

// packed makes a block of the parameters that are given one by one.
static bool packed(const Kernel &k, void **params, std::vector<unsigned char> &args) {
	args.resize(k.size);
	for (size_t i = 0; i < k.params; i++) {
		if (!params || !params[i]) return false;
		memcpy(args.data() + k.param_at[i], params[i], k.param_size[i]);
	}
	return true;
}

// resident is how many blocks of a kernel a unit holds: so many that a device has about a hundred.
static int resident(const Kernel &k, uint64_t threads, size_t shared) {
	const Arch &a = arch_of(k.device);
	if (threads == 0 || threads > 1024 || shared + k.lds_size > (size_t)a.lds) return 0;
	return std::max(1, 100 / a.units);
}

EXPORT int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *n, void *function, int threads, size_t shared) {
	ENTER(true);
	if (!n || threads <= 0) return INVALID_VALUE;
	if (!known(functions, function)) return INVALID_HANDLE;
	*n = resident(*(const Kernel *)function, (uint64_t)threads, shared);
	return SUCCESS;
}

int kernel_work(std::function<void()> &work, void *function, const uint32_t grid[3], const uint32_t block[3], unsigned shared, void *stream, void **params, void **extra, bool together) {
	if (!known(functions, function)) return INVALID_HANDLE;
	const Kernel *k = (const Kernel *)function;
	if (k->device != device_now()) return refuse(INVALID_HANDLE, "the kernel is loaded on another device");
	for (int i = 0; i < 3; i++)
		if (grid[i] == 0 || block[i] == 0 || (uint64_t)grid[i] * block[i] > UINT32_MAX) return refuse(INVALID_CONFIGURATION, "the grid is empty or too large");
	if ((uint64_t)block[0] * block[1] * block[2] > 1024) return refuse(INVALID_CONFIGURATION, "a block has more than 1024 threads");
	if (shared + k->lds_size > (size_t)arch_of(k->device).lds) return refuse(INVALID_VALUE, "more shared memory than a block has");
	const unsigned char *args;
	size_t size;
	std::vector<unsigned char> own;
	if (together) {
		if (!setting("cooperative")) return LAUNCH_FAILURE;
		if ((uint64_t)grid[0] * grid[1] * grid[2] > (uint64_t)resident(*k, (uint64_t)block[0] * block[1] * block[2], shared) * (uint64_t)arch_of(k->device).units) return TOO_LARGE;
		if (!packed(*k, params, own)) return refuse(INVALID_VALUE, "the address of a parameter is missing");
		args = own.data(), size = own.size();
	} else if (params || !arguments(extra, &args, &size)) return refuse(INVALID_VALUE, "the list with the arguments is not as HIP wants it");
	// What follows the arguments may be padding, and a kernel without any reads none.
	if (size < k->size || (k->size > 0 && size > (k->size + 7) / 8 * 8))
		return refuse(INVALID_VALUE, "kernel " + k->name + " has " + std::to_string(k->size) + " bytes of arguments and was given " + std::to_string(size));
	{
		std::lock_guard<std::mutex> lock(mu);
		last = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, (uint64_t)(uintptr_t)stream, size, {0}};
		memcpy(last.args, args, std::min(size, sizeof last.args));
	}
	struct Shape {
		uint32_t grid[3], block[3];
	} shape = {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}};
	int wave = arch_of(k->device).wave;
	work = [k, shape, wave, shared, together, copy = std::vector<unsigned char>(args, args + size)] {
		int code = LAUNCH_FAILURE;
		std::string wrong = run_grid(*k, shape.grid, shape.block, wave, shared, copy.data(), &code, together);
		if (wrong.empty()) {
			std::lock_guard<std::mutex> lock(mu);
			if (std::string text = damaged(k->device); !text.empty()) wrong = "kernel " + k->name + ": " + text, code = ILLEGAL_ADDRESS;
		}
		if (!wrong.empty()) lose(k->device, code, wrong);
	};
	return SUCCESS;
}

EXPORT int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		void **params, void **extra) {
	ENTER(true);
	if (!stream_ok(stream)) return INVALID_HANDLE;
	const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	std::function<void()> work;
	int r = kernel_work(work, function, grid, block, shared, stream, params, extra);
	if (r == SUCCESS) submit(work);
	return r;
}

EXPORT int hipModuleLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
		void **params) {
	ENTER(true);
	if (!stream_ok(stream)) return INVALID_HANDLE;
	const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	std::function<void()> work;
	int r = kernel_work(work, function, grid, block, shared, stream, params, nullptr, true);
	if (r == SUCCESS) submit(work);
	return r;
}
