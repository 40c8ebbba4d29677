// The objects of Metal.
#pragma once
#include "objc.h"

#include <functional>

struct Buffer : Object {
	size_t size, whole;
	char *cpu_base, *gpu_base, *cpu;
	uint64_t gpu;
	Buffer() : Object("MTLBuffer") {}
	void resident(bool yes);
	void close() override;
};
Buffer *new_buffer(size_t size);

struct SharedEvent : Object {
	uint64_t value = 0; // guarded by the lock of the queue
	SharedEvent() : Object("MTLSharedEvent") {}
};

struct Options : Object {
	bool fast = true; // as Metal has it
	int version = 0;
	Options() : Object("MTLCompileOptions") {}
};

struct Library : Object {
	std::shared_ptr<Code> code;
	Library() : Object("MTLLibrary") {}
	void close() override { code.reset(); }
};
struct Function : Object {
	std::shared_ptr<Code> code;
	Code::Function *f;
	Function() : Object("MTLFunction") {}
	void close() override { code.reset(); }
};
struct Pipeline : Object {
	std::shared_ptr<Code> code;
	Code::Function *f;
	Pipeline() : Object("MTLComputePipelineState") {}
	void close() override { code.reset(); }
};

struct Queue : Object {
	Queue() : Object("MTLCommandQueue") {}
};

enum Status : long { NOT_ENQUEUED = 0, COMMITTED = 2, COMPLETED = 4, FAILED = 5 };

struct CommandBuffer : Object {
	std::vector<std::function<std::string()>> work; // gives what went wrong
	std::vector<Object *> holds;
	bool encoding = false;
	Status status = NOT_ENQUEUED; // guarded by the lock of the queue, like the rest
	std::string wrong;
	double end = 0;
	CommandBuffer() : Object("MTLCommandBuffer") {}
	void hold(Object *o) { retain(o), holds.push_back(o); }
	void close() override {
		for (Object *o : holds) release(o);
		holds.clear(), work.clear();
	}
};

struct Encoder : Object {
	CommandBuffer *cb;
	bool ended = false;
	Pipeline *pipeline = nullptr;
	std::map<int, std::string> bytes;
	std::map<int, std::pair<Buffer *, size_t>> buffers;
	std::vector<Buffer *> used; // made resident
	Encoder(const char *name, CommandBuffer *c) : Object(name), cb(c) { retain(c); }
	void close() override {
		if (!ended) problem(isa->name + " deallocated before endEncoding");
		release(cb);
	}
};

// The queue: a thread works off the command buffers in the order in which they were
// committed.
void commit(CommandBuffer *cb);
void wait(CommandBuffer *cb);
Status status_of(CommandBuffer *cb);
// await waits for the value of an event, and gives what went wrong.
std::string await(SharedEvent *e, uint64_t value);
uint64_t value_of(SharedEvent *e);
void set_value(SharedEvent *e, uint64_t value);
