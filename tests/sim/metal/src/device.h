// The objects of Metal.
#pragma once
#include "objc.h"

#include <deque>
#include <functional>
#include <set>

struct Buffer : Object {
	size_t size, whole;
	char *cpu_base, *gpu_base, *cpu;
	uint64_t gpu;
	bool hidden = false; // private: the host has no address of it
	int users = 0;       // kernels that run and have it resident
	Buffer() : Object("MTLBuffer") {}
	void resident(bool yes);
	void close() override;
};
Buffer *new_buffer(size_t size, bool hidden);

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
	std::string made_of; // text and options
	Library() : Object("MTLLibrary") {}
	void close() override { code.reset(); }
};
struct Function : Object {
	std::shared_ptr<Code> code;
	Code::Function *f;
	std::string made_of;
	Function() : Object("MTLFunction") {}
	void close() override { code.reset(); }
};
struct Pipeline : Object {
	std::shared_ptr<Code> code;
	Code::Function *f;
	Pipeline() : Object("MTLComputePipelineState") {}
	void close() override { code.reset(); }
};

// Descriptor describes a pipeline state.
struct Descriptor : Object {
	Function *f = nullptr;
	Array *archives = nullptr;
	Descriptor() : Object("MTLComputePipelineDescriptor") {}
	void close() override { release(f), release(archives); }
};
struct ArchiveDescriptor : Object {
	String *url = nullptr;
	ArchiveDescriptor() : Object("MTLBinaryArchiveDescriptor") {}
	void close() override { release(url); }
};
struct Archive : Object {
	std::set<std::string> kernels; // by what they were compiled of
	Archive() : Object("MTLBinaryArchive") {}
};

struct CommandBuffer;
// Lane is the part of a queue that outlives it; the lock of the queues guards it.
struct Lane {
	std::deque<CommandBuffer *> waiting;
	uint64_t open = 0; // command buffers that are not completed
	bool working = false, closed = false;
};
struct Queue : Object {
	std::shared_ptr<Lane> lane = std::make_shared<Lane>();
	uint64_t most;
	explicit Queue(uint64_t n) : Object("MTLCommandQueue"), most(n) {}
	void close() override;
};

enum Status : long { NOT_ENQUEUED = 0, COMMITTED = 2, COMPLETED = 4, FAILED = 5 };

struct CommandBuffer : Object {
	std::vector<std::function<std::string()>> work; // gives what went wrong
	std::vector<Object *> holds;
	bool encoding = false;
	Status status = NOT_ENQUEUED; // guarded by the lock of the queue, like the rest
	std::string wrong;
	double end = 0;
	std::shared_ptr<Lane> lane;
	explicit CommandBuffer(std::shared_ptr<Lane> l) : Object("MTLCommandBuffer"), lane(l) {}
	void hold(Object *o) { retain(o), holds.push_back(o); }
	void leave();
	void close() override;
};
CommandBuffer *new_command_buffer(Queue *q);

struct Encoder : Object {
	CommandBuffer *cb;
	bool ended = false;
	Pipeline *pipeline = nullptr;
	std::map<int, std::string> bytes;
	std::map<int, std::pair<Buffer *, size_t>> buffers;
	std::vector<Buffer *> used; // made resident
	uint64_t shared = 0;        // bytes of threadgroup memory at index 0
	Encoder(const char *name, CommandBuffer *c) : Object(name), cb(c) { retain(c); }
	void close() override {
		if (!ended) problem(isa->name + " deallocated before endEncoding");
		release(cb);
	}
};

// The queues: a thread of each works off its command buffers in the order in which they
// were committed.
void commit(CommandBuffer *cb);
void wait(CommandBuffer *cb);
Status status_of(CommandBuffer *cb);
// await waits for the value of an event, and gives what went wrong.
std::string await(SharedEvent *e, uint64_t value);
// reached waits for the value of an event, so many milliseconds at most.
bool reached(SharedEvent *e, uint64_t value, uint64_t ms);
uint64_t value_of(SharedEvent *e);
void set_value(SharedEvent *e, uint64_t value);
