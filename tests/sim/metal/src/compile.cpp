// Metal's compiler, on clang: the text as C++ for OpenCL, which has the same address
// spaces, with the library of metal_stdlib.
#include "metal.h"
#include "clang.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace {

std::string replaced(std::string s, const std::string &from, const std::string &to) {
	for (size_t at = s.find(from); at != std::string::npos; at = s.find(from, at + to.size())) s.replace(at, from.size(), to);
	return s;
}

// caller is the function through which the engine calls a kernel: it gives each
// parameter its value.
std::string caller(const Entry &e) {
	static const std::map<std::string, int> first = {
		{"thread_position_in_threadgroup", 0}, {"threadgroup_position_in_grid", 3}, {"threads_per_threadgroup", 6}, {"threadgroups_per_grid", 9},
		{"thread_position_in_grid", 12}, {"thread_index_in_simdgroup", 15}, {"simdgroup_index_in_threadgroup", 16},
		{"thread_index_in_threadgroup", 17}, {"threads_per_simdgroup", 18},
	};
	std::string s = "extern \"C\" void kiln_call_" + e.name + "(constant unsigned long *at) {\n\tunsigned v[19];\n\tkiln_metal_place(v);\n\t" + e.name + "(", sizes;
	for (size_t i = 0; i < e.params.size(); i++) {
		const Parameter &p = e.params[i];
		if (i > 0) s += ", ";
		if (p.buffer >= 0) {
			std::string object = p.type.substr(0, p.type.size() - 1); // without & or *
			s += std::string(p.reference ? "*" : "") + "(" + object + "*)at[" + std::to_string(p.buffer) + "]";
			std::string type = object.substr(object.find(' ') + 1);
			sizes += "extern \"C\" constant const unsigned long kiln_size_" + e.name + "_" + std::to_string(p.buffer) + " = sizeof(" + type + ");\n";
			continue;
		}
		if (p.threadgroup) {
			s += "(" + p.type + ")at[" + std::to_string(max_buffers) + "]";
			continue;
		}
		int at = first.at(p.attribute);
		auto v = [&](int n) { return "v[" + std::to_string(at + n) + "]"; };
		s += at < 15 ? "metal::uint3{" + v(0) + ", " + v(1) + ", " + v(2) + "}" : v(0);
	}
	return s + ");\n}\n" + sizes;
}

void load(Code &code, const std::string &out, const std::vector<Entry> &entries) {
	code.handle = dlopen(out.c_str(), RTLD_NOW | RTLD_LOCAL);
	if (!code.handle) return;
	auto lds = (char *const *)dlsym(code.handle, "kiln_msl_lds");
	for (const Entry &e : entries) {
		auto f = std::make_unique<Code::Function>();
		f->entry = e;
		f->kernel = {e.name, (void (*)(const unsigned char *))dlsym(code.handle, ("kiln_call_" + e.name).c_str()), 0, lds[0], (size_t)(lds[1] - lds[0]), 0};
		for (const Parameter &p : e.params)
			if (p.buffer >= 0) f->needs[p.buffer] = *(const size_t *)dlsym(code.handle, ("kiln_size_" + e.name + "_" + std::to_string(p.buffer)).c_str());
		code.functions[e.name] = std::move(f);
	}
}

std::shared_ptr<Code> build(const std::string &source, int version, bool fast, bool quick, std::string &log) {
	std::vector<Entry> entries = read_kernels(source, log);
	if (!log.empty()) return nullptr;
	std::string text = "#line 1 \"program_source\"\n" + source;
	if (version >= 32) { // before, the pragmas are unknown
		if (text.find("#pragma METAL fp math_mode(safe)") != std::string::npos) fast = false;
		text = replaced(replaced(text, "#pragma METAL fp contract(off)", "#pragma clang fp contract(off)"), "#pragma METAL fp math_mode(safe)", "");
	}
	text += "\n#line 1 \"simulator\"\nextern \"C\" void kiln_metal_place(thread unsigned *);\n";
	for (const Entry &e : entries) text += caller(e);
	char dir[] = SIM_DIR "/XXXXXX";
	if (!mkdtemp(dir)) return nullptr;
	std::string base = std::string(dir) + "/kernel", in = base + ".metal", out = base + ".so";
	std::vector<std::string> args = {"-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc", "-Xclang", "-cl-ext=+cl_khr_fp16", "-isystem", SIM_DIR,
		"-D__METAL_VERSION__=" + std::to_string(version * 10), quick ? "-O0" : "-O1", __builtin_cpu_supports("x86-64-v3") ? "-march=x86-64-v3" : "-march=x86-64", fast ? "-ffast-math" : "-ffp-contract=fast-honor-pragmas", "-fPIC", "-shared", "-nostartfiles",
		"-nostdlib++", "-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wl," SIM_DIR "/lds.o", "-lm"};
	int status = write_whole(in, text) ? compile_file(args, in, out, log) : -1;
	std::shared_ptr<Code> code;
	if (status == 0) {
		code = std::make_shared<Code>();
		load(*code, out, entries);
		if (!code->handle) log = std::string("the kernel cannot be loaded: ") + dlerror(), code = nullptr;
	}
	unlink(in.c_str()), unlink(out.c_str()), rmdir(dir);
	return code;
}

} // namespace

Code::~Code() {
	if (handle) dlclose(handle);
}

std::shared_ptr<Code> compile_text(const std::string &source, int version, bool fast, std::string &log) {
	// Tests compile the same text often.
	static std::mutex cache_mu;
	static std::map<std::string, std::shared_ptr<Code>> cache;
	bool quick;
	{
		std::lock_guard<std::mutex> lock(mu);
		quick = setting("quick") != 0;
	}
	std::string key = std::to_string(version) + (fast ? "f" : "s") + (quick ? "q" : "o") + source;
	{
		std::lock_guard<std::mutex> lock(cache_mu);
		auto it = cache.find(key);
		if (it != cache.end()) return it->second;
	}
	std::shared_ptr<Code> code = build(source, version, fast, quick, log);
	if (code) {
		std::lock_guard<std::mutex> lock(cache_mu);
		if (cache.size() >= 512) cache.clear();
		cache[key] = code;
	}
	return code;
}
