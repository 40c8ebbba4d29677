// The parts of the simulator: what they offer each other.
//
//   state.cpp    what tests order and read, and what was done wrong
//   text.cpp     reads the kernels of a text: their parameters and attributes
//   compile.cpp  makes a shared object of a text with clang
//   grid.cpp     runs a kernel on the engine of the HIP simulator (block.cpp)
//   objc.cpp     the Objective-C runtime: classes, messages, pools
//   memory.cpp   buffers: one address for the host, another for kernels
//   metal.cpp    the classes of Metal
#pragma once
#include "sim.h"

#include <map>
#include <memory>
#include <vector>
#include <algorithm>

// ---- state.cpp

// problem notes a call that Metal's validation layer would stop the process for.
void problem(const std::string &text);
// fails reports whether the test has ordered that the function called name fails.
bool fails(const std::string &name);

// count_compilation counts what is compiled, and adds a line to the file that
// KILN_SIM_METAL_TRACE names.
void count_compilation(const std::string &what);
bool read_whole(const std::string &path, std::string &text);
bool write_whole(const std::string &path, const std::string &text);

// ---- text.cpp

// Parameter is a parameter of a kernel.
struct Parameter {
	std::string type, name, attribute;
	int buffer = -1;        // index, of a buffer
	bool threadgroup = false; // threadgroup memory whose length the encoder has
	bool reference = false; // to one object, which has to be in the buffer as a whole
};
struct Entry {
	std::string name;
	int line;
	std::vector<Parameter> params;
};
// read_kernels returns the kernels of a text. log gets what is wrong with it.
std::vector<Entry> read_kernels(const std::string &source, std::string &log);

// ---- compile.cpp

constexpr int max_buffers = 31;

struct Code {
	struct Function {
		Entry entry;
		Kernel kernel;
		std::map<int, size_t> needs; // bytes, by index of a buffer
	};
	void *handle = nullptr;
	std::map<std::string, std::unique_ptr<Function>> functions;
	~Code();
};
// compile_text returns the code of a text for a version of the language (32 for
// 3.2), nullptr if the compiler has errors.
std::shared_ptr<Code> compile_text(const std::string &source, int version, bool fast, std::string &log);

// ---- grid.cpp

// run_kernel runs a kernel with so many bytes of threadgroup memory besides its own and with a table of
// the addresses of its buffers, which gets that of the memory. It returns the text of what went wrong.
std::string run_kernel(const Kernel &k, const uint32_t grid[3], const uint32_t block[3], size_t shared, uint64_t buffers[max_buffers + 1]);
