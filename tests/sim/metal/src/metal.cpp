// The classes of Metal, with what its validation layer checks.
#include "device.h"

#include <cstdlib>
#include <cstring>

namespace {

struct Size {
	uint64_t w, h, d;
};
struct Range {
	uint64_t at, size;
};

constexpr int max_threads = 1024;
constexpr size_t threadgroup_memory = 32 << 10;

struct Device : Object {
	Device() : Object("MTLDevice") {}
};

// version is the newest language of the device, 32 for 3.2: what KILN_SIM_METAL_VERSION
// says at first.
int version() {
	static const int v = [] {
		const char *s = getenv("KILN_SIM_METAL_VERSION");
		return s && *s ? atoi(s) : 32;
	}();
	return v;
}

// discrete says that the GPU has memory of its own.
bool discrete() {
	std::lock_guard<std::mutex> lock(mu);
	return setting("discrete") != 0;
}

Device *the_device() {
	static Device *d = (Device *)keep(new Device);
	return d;
}

Object *fail(Error **out, long code, const std::string &text) {
	Error *e = new Error(code, text);
	autorelease(e);
	if (out) *out = e;
	return nullptr;
}

Object *new_library(Device *, SEL, String *source, Options *o, Error **err) {
	if (fails("newLibraryWithSource")) return fail(err, 3, "Compiler encountered an internal error");
	int v = o && o->version ? o->version : version();
	if (v > version()) return fail(err, 1, "the language version is not supported on this OS");
	count_compilation("library");
	std::string log;
	Library *l = new Library;
	l->made_of = std::to_string(v) + (o && !o->fast ? "s" : "f") + source->s;
	l->code = compile_text(source->s, v, o ? o->fast : true, log);
	if (l->code) return l;
	release(l);
	return fail(err, 3, log);
}

// A simulated metallib is a text with its language version before it, see Metallib in metal.go.
const std::string library_magic = "simulated metallib ";

Object *open_library(Device *, SEL sel, String *url, Error **err) {
	if (!url || url->isa->name != "NSURL") return problem(std::string(sel) + ": wants a URL"), nullptr;
	std::string s;
	size_t at = 0, n = library_magic.size();
	bool ok = read_whole(url->s, s) && s.compare(0, n, library_magic) == 0 && (at = s.find('\n')) != std::string::npos;
	if (!ok || fails("newLibraryWithURL")) return fail(err, 1, "Invalid library file");
	int v = atoi(s.c_str() + n);
	if (v > version()) return fail(err, 1, "This library is using language version " + std::to_string(v / 10) + "." + std::to_string(v % 10) + " which is not supported on this OS");
	count_compilation("opened");
	std::string text = s.substr(at + 1), log;
	Library *l = new Library;
	l->made_of = std::to_string(v) + "s" + text;
	l->code = compile_text(text, v, false, log);
	if (l->code) return l;
	release(l);
	return fail(err, 3, log);
}

Object *new_function(Library *l, SEL, String *name) {
	auto it = l->code->functions.find(name->s);
	if (it == l->code->functions.end()) return nullptr;
	Function *f = new Function;
	f->code = l->code, f->f = it->second.get(), f->made_of = name->s + "\n" + l->made_of;
	return f;
}

Object *function_names(Library *l, SEL) {
	Array *a = new Array;
	for (auto &[name, f] : l->code->functions) a->list.push_back(new String(name));
	return autorelease(a);
}

// compile_kernel is the second half of the compiler: from a library to the machine.
bool compile_kernel(Function *f, Error **err) {
	count_compilation("kernel");
	if (fails("newComputePipelineState")) return fail(err, 3, "Compiler encountered XPC_ERROR_CONNECTION_INTERRUPTED"), false;
	if (f->f->kernel.lds_size > threadgroup_memory)
		return fail(err, 3, "Threadgroup memory size (" + std::to_string(f->f->kernel.lds_size) + ") exceeds the maximum threadgroup memory allowed (32768)"), false;
	return true;
}

Object *made_pipeline(Function *f) {
	Pipeline *p = new Pipeline;
	p->code = f->code, p->f = f->f;
	return p;
}

Object *new_pipeline(Device *, SEL, Function *f, Error **err) {
	if (!f) return problem("newComputePipelineStateWithFunction: the function is nil"), nullptr;
	return compile_kernel(f, err) ? made_pipeline(f) : nullptr;
}

constexpr uint64_t fail_on_miss = 1 << 2;

Object *new_pipeline_with(Device *, SEL sel, Descriptor *d, uint64_t options, void **reflection, Error **err) {
	if (!d || !d->f) return problem(std::string(sel) + ": computeFunction must not be nil"), nullptr;
	if ((options & ~(uint64_t)7) || ((options & 3) && !reflection)) return problem(std::string(sel) + ": wrong options"), nullptr;
	if (d->archives)
		for (Object *o : d->archives->list)
			if (((Archive *)o)->kernels.count(d->f->made_of)) return count_compilation("archived"), made_pipeline(d->f);
	if (options & fail_on_miss) return fail(err, 3, "the function was not found in the binary archives");
	return compile_kernel(d->f, err) ? made_pipeline(d->f) : nullptr;
}

// An archive is a file of the kernels in it, for this GPU and this system.
const std::string archive_magic = "simulated archive of " + system_version() + "\n";

Object *new_archive(Device *, SEL sel, ArchiveDescriptor *d, Error **err) {
	if (!d) return problem(std::string(sel) + ": the descriptor is nil"), nullptr;
	Archive *a = new Archive;
	if (!d->url) return a;
	std::string s;
	bool ok = read_whole(d->url->s, s) && s.compare(0, archive_magic.size(), archive_magic) == 0;
	size_t at = archive_magic.size(), size = 0;
	while (ok && at < s.size()) {
		ok = at + 8 <= s.size() && (memcpy(&size, &s[at], 8), at += 8, size <= s.size() - at);
		if (ok) a->kernels.insert(s.substr(at, size)), at += size;
	}
	if (ok && !fails("newBinaryArchive")) return a;
	release(a);
	return fail(err, 1, "Invalid binary archive, or of another GPU or system: " + d->url->s);
}

bool add_functions(Archive *a, SEL sel, Descriptor *d, Error **err) {
	if (!d || !d->f) return problem(std::string(sel) + ": computeFunction must not be nil"), false;
	if (!compile_kernel(d->f, err)) return false;
	a->kernels.insert(d->f->made_of);
	return true;
}

bool serialize(Archive *a, SEL sel, String *url, Error **err) {
	if (!url || url->isa->name != "NSURL") return problem(std::string(sel) + ": wants a URL"), false;
	std::string s = archive_magic;
	for (const std::string &k : a->kernels) {
		size_t n = k.size();
		s.append((const char *)&n, 8), s += k;
	}
	if (!fails("serializeToURL") && write_whole(url->s, s)) return true;
	return fail(err, 2, "cannot write " + url->s), false;
}

template <class T> void replace(T *&at, T *with) { retain(with), release(at), at = with; }

Object *new_encoder(CommandBuffer *cb, const char *name) {
	if (cb->encoding) problem(std::string(name) + ": another encoder of the command buffer has not ended");
	if (status_of(cb) != NOT_ENQUEUED) problem(std::string(name) + ": the command buffer was committed");
	cb->encoding = true;
	return autorelease(new Encoder(name, cb));
}

bool open(Encoder *e, const char *sel) {
	if (e->ended) problem("-[" + e->isa->name + " " + sel + "]: after endEncoding");
	return !e->ended;
}

bool index_ok(uint64_t i, const char *sel) {
	if (i >= max_buffers) problem(std::string(sel) + ": index " + std::to_string(i) + " is out of range: there are 31 buffers");
	return i < max_buffers;
}

void set_bytes(Encoder *e, SEL sel, const char *p, uint64_t size, uint64_t i) {
	if (!open(e, sel) || !index_ok(i, sel)) return;
	if (size == 0 || size > 4096) return problem(std::string(sel) + ": the length " + std::to_string(size) + " is not between 1 and 4096");
	e->bytes[(int)i] = std::string(p, size);
	e->buffers.erase((int)i);
}

void set_buffer(Encoder *e, SEL sel, Buffer *b, uint64_t at, uint64_t i) {
	if (!open(e, sel) || !index_ok(i, sel) || !b) return;
	if (at >= b->size) return problem(std::string(sel) + ": the offset is behind the end of the buffer");
	e->buffers[(int)i] = {b, at}, e->bytes.erase((int)i);
	e->used.push_back(b);
}

void use_resource(Encoder *e, SEL sel, Buffer *b, uint64_t usage) {
	if (!open(e, sel)) return;
	if (!b || (usage & ~3ul) || usage == 0) return problem("useResource:usage: wrong resource or usage");
	e->used.push_back(b);
}

void set_shared(Encoder *e, SEL sel, uint64_t size, uint64_t i) {
	if (!open(e, sel)) return;
	if (i >= max_buffers) return problem(std::string(sel) + ": index " + std::to_string(i) + " is out of range: there are 31");
	if (size == 0 || size % 16 != 0) return problem(std::string(sel) + ": the length " + std::to_string(size) + " is no multiple of 16");
	if (i == 0) e->shared = size;
}

// refused returns why a dispatch cannot be, "" if it can.
std::string refused(Encoder *e, Size grid, Size block) {
	if (!e->pipeline) return "no pipeline state is set";
	if (!grid.w || !grid.h || !grid.d || !block.w || !block.h || !block.d) return "the grid or the threadgroup is empty";
	uint64_t n = block.w * block.h * block.d;
	if (n > max_threads) return "a threadgroup of " + std::to_string(n) + " threads; the pipeline state has maxTotalThreadsPerThreadgroup 1024";
	if (uint64_t size = e->shared + e->pipeline->f->kernel.lds_size; size > threadgroup_memory)
		return "a total threadgroup memory length of " + std::to_string(size) + " exceeds the maximum of 32768";
	for (const Parameter &p : e->pipeline->f->entry.params) {
		if (p.threadgroup && e->shared == 0) return "missing threadgroup memory length at index 0 for " + p.name;
		if (p.buffer < 0) continue;
		size_t need = e->pipeline->f->needs[p.buffer], have = 0;
		auto bytes = e->bytes.find(p.buffer);
		auto buffer = e->buffers.find(p.buffer);
		if (bytes != e->bytes.end()) have = bytes->second.size();
		else if (buffer != e->buffers.end()) have = buffer->second.first->size - buffer->second.second;
		else return "missing buffer binding at index " + std::to_string(p.buffer) + " for " + p.name;
		if (p.reference && have < need)
			return "argument " + p.name + " from buffer " + std::to_string(p.buffer) + " needs " + std::to_string(need) + " bytes, and has " + std::to_string(have);
	}
	return "";
}

void dispatch(Encoder *e, SEL sel, Size grid, Size block) {
	if (!open(e, sel)) return;
	if (std::string why = refused(e, grid, block); !why.empty()) return problem(std::string(sel) + ": " + why);
	e->cb->hold(e->pipeline);
	for (Buffer *b : e->used) e->cb->hold(b);
	Pipeline *p = e->pipeline;
	auto used = e->used;
	auto bytes = e->bytes;
	uint64_t shared = e->shared;
	auto buffers = e->buffers;
	e->cb->work.push_back([=]() -> std::string {
		uint64_t table[max_buffers + 1] = {};
		for (auto &[i, b] : bytes) table[i] = (uint64_t)b.data();
		for (auto &[i, b] : buffers) table[i] = b.first->gpu + b.second;
		for (Buffer *b : used) b->resident(true);
		const uint32_t g[3] = {(uint32_t)grid.w, (uint32_t)grid.h, (uint32_t)grid.d}, t[3] = {(uint32_t)block.w, (uint32_t)block.h, (uint32_t)block.d};
		std::string wrong = run_kernel(p->f->kernel, g, t, shared, table);
		for (Buffer *b : used) b->resident(false);
		return wrong;
	});
}

void end_encoding(Encoder *e, SEL sel) {
	if (!open(e, sel)) return;
	e->ended = true, e->cb->encoding = false;
}

bool inside(Buffer *b, uint64_t at, uint64_t size, const char *sel) {
	bool ok = b && at <= b->size && size <= b->size - at && size > 0;
	if (!ok) problem(std::string(sel) + ": the range is not inside of the buffer");
	return ok;
}

void blit_copy(Encoder *e, SEL sel, Buffer *from, uint64_t at, Buffer *to, uint64_t to_at, uint64_t size) {
	if (!open(e, sel) || !inside(from, at, size, sel) || !inside(to, to_at, size, sel)) return;
	e->cb->hold(from), e->cb->hold(to);
	e->cb->work.push_back([=] { return memmove(to->cpu + to_at, from->cpu + at, size), std::string(); });
}

void blit_fill(Encoder *e, SEL sel, Buffer *b, Range r, uint8_t value) {
	if (!open(e, sel) || !inside(b, r.at, r.size, sel)) return;
	e->cb->hold(b);
	e->cb->work.push_back([=] { return memset(b->cpu + r.at, value, r.size), std::string(); });
}

Object *number(CommandBuffer *cb, SEL, String *key) {
	if (key->s != "GPUEndTime") return problem("valueForKey: the class is not key value coding-compliant for the key " + key->s), nullptr;
	char text[64];
	snprintf(text, sizeof text, "%.16g", cb->end);
	return autorelease(new String(text, "NSNumber"));
}

void device_methods() {
	const char *c = "MTLDevice";
	method(c, "name", +[](Device *, SEL) { return autorelease(new String("Simulated Apple GPU")); });
	method(c, "registryID", +[](Device *, SEL) { return 42l; });
	method(c, "hasUnifiedMemory", +[](Device *, SEL) { return (long)!discrete(); });
	method(c, "supportsFamily:", +[](Device *, SEL, long family) { return (long)(family == 5001 || family == 1007); });
	method(c, "recommendedMaxWorkingSetSize", +[](Device *, SEL) { return memory_limit(); });
	method(c, "currentAllocatedSize", +[](Device *, SEL) { return memory_used(); });
	method(c, "maxThreadgroupMemoryLength", +[](Device *, SEL) { return threadgroup_memory; });
	method(c, "maxBufferLength", +[](Device *, SEL) { return memory_limit(); });
	if (version() >= 31) method(c, "architecture", +[](Device *, SEL) { return (Object *)nullptr; });
	method(c, "newCommandQueue", +[](Device *, SEL) -> Object * { return fails("newCommandQueue") ? nullptr : new Queue(64); });
	method(c, "newCommandQueueWithMaxCommandBufferCount:", +[](Device *, SEL sel, uint64_t n) -> Object * {
		if (n == 0) problem(std::string(sel) + ": the count is zero");
		return fails("newCommandQueue") ? nullptr : new Queue(n);
	});
	method(c, "newSharedEvent", +[](Device *, SEL) -> Object * { return new SharedEvent; });
	method(c, "newBufferWithLength:options:", +[](Device *, SEL, uint64_t size, uint64_t options) -> Object * {
		if (options != 0 && options != 2 << 4) return problem("newBufferWithLength:options: wrong options " + std::to_string(options)), nullptr;
		return new_buffer(size, options != 0);
	});
	method(c, "newLibraryWithSource:options:error:", new_library);
	method(c, "newLibraryWithURL:error:", open_library);
	method(c, "newComputePipelineStateWithFunction:error:", new_pipeline);
	method(c, "newComputePipelineStateWithDescriptor:options:reflection:error:", new_pipeline_with);
	method(c, "newBinaryArchiveWithDescriptor:error:", new_archive);
	class_method("MTLCompileOptions", "new", +[](Class *, SEL) -> Object * { return new Options; });
	c = "MTLCompileOptions";
	method(c, "setFastMathEnabled:", +[](Options *o, SEL, bool yes) { o->fast = yes; });
	if (version() >= 32) method(c, "setMathMode:", +[](Options *o, SEL, long mode) { o->fast = mode != 0; });
	method(c, "setLanguageVersion:", +[](Options *o, SEL, uint64_t v) { o->version = (int)((v >> 16) * 10 + (v & 0xffff)); });
}

void object_methods() {
	method("MTLLibrary", "newFunctionWithName:", new_function);
	method("MTLLibrary", "functionNames", function_names);
	class_method("MTLComputePipelineDescriptor", "new", +[](Class *, SEL) -> Object * { return new Descriptor; });
	class_method("MTLBinaryArchiveDescriptor", "new", +[](Class *, SEL) -> Object * { return new ArchiveDescriptor; });
	const char *c = "MTLComputePipelineDescriptor";
	method(c, "setComputeFunction:", +[](Descriptor *d, SEL, Function *f) { replace(d->f, f); });
	method(c, "setBinaryArchives:", +[](Descriptor *d, SEL, Array *a) { replace(d->archives, a); });
	method("MTLBinaryArchiveDescriptor", "setUrl:", +[](ArchiveDescriptor *d, SEL, String *url) { replace(d->url, url); });
	method("MTLBinaryArchive", "addComputePipelineFunctionsWithDescriptor:error:", add_functions);
	method("MTLBinaryArchive", "serializeToURL:error:", serialize);
	c = "MTLComputePipelineState";
	method(c, "maxTotalThreadsPerThreadgroup", +[](Pipeline *, SEL) { return (long)max_threads; });
	method(c, "threadExecutionWidth", +[](Pipeline *, SEL) { return 32l; });
	method(c, "staticThreadgroupMemoryLength", +[](Pipeline *p, SEL) { return p->f->kernel.lds_size; });
	c = "MTLBuffer";
	method(c, "contents", +[](Buffer *b, SEL) -> char * {
		if (b->hidden) return problem("contents: the buffer is private, and the host has no address of it"), nullptr;
		return b->cpu;
	});
	method(c, "gpuAddress", +[](Buffer *b, SEL) { return b->gpu; });
	method(c, "length", +[](Buffer *b, SEL) { return b->size; });
	c = "MTLSharedEvent";
	method(c, "signaledValue", +[](SharedEvent *e, SEL) { return value_of(e); });
	method(c, "setSignaledValue:", +[](SharedEvent *e, SEL, uint64_t v) { set_value(e, v); });
	method(c, "waitUntilSignaledValue:timeoutMS:", +[](SharedEvent *e, SEL, uint64_t v, uint64_t ms) -> long { return reached(e, v, ms); });
}

void command_methods() {
	method("MTLCommandQueue", "commandBuffer", +[](Queue *q, SEL) -> Object * { return fails("commandBuffer") ? nullptr : autorelease(new_command_buffer(q)); });
	const char *c = "MTLCommandBuffer";
	method(c, "computeCommandEncoder", +[](CommandBuffer *cb, SEL) { return new_encoder(cb, "MTLComputeCommandEncoder"); });
	method(c, "blitCommandEncoder", +[](CommandBuffer *cb, SEL) { return new_encoder(cb, "MTLBlitCommandEncoder"); });
	method(c, "encodeWaitForEvent:value:", +[](CommandBuffer *cb, SEL, SharedEvent *e, uint64_t v) {
		if (cb->encoding) return problem("encodeWaitForEvent: an encoder has not ended");
		cb->hold(e), cb->work.push_back([=] { return await(e, v); });
	});
	method(c, "encodeSignalEvent:value:", +[](CommandBuffer *cb, SEL, SharedEvent *e, uint64_t v) {
		if (cb->encoding) return problem("encodeSignalEvent: an encoder has not ended");
		cb->hold(e), cb->work.push_back([=] { return set_value(e, v), std::string(); });
	});
	method(c, "commit", +[](CommandBuffer *cb, SEL) { commit(cb); });
	method(c, "waitUntilCompleted", +[](CommandBuffer *cb, SEL) { wait(cb); });
	method(c, "status", +[](CommandBuffer *cb, SEL) { return status_of(cb); });
	method(c, "error", +[](CommandBuffer *cb, SEL) -> Object * { return status_of(cb) == FAILED ? autorelease(new Error(3, cb->wrong)) : nullptr; });
	method(c, "valueForKey:", number);
	c = "MTLComputeCommandEncoder";
	method(c, "setComputePipelineState:", +[](Encoder *e, SEL sel, Pipeline *p) {
		if (open(e, sel)) e->pipeline = p;
	});
	method(c, "setBytes:length:atIndex:", set_bytes);
	method(c, "setBuffer:offset:atIndex:", set_buffer);
	method(c, "setThreadgroupMemoryLength:atIndex:", set_shared);
	method(c, "useResource:usage:", use_resource);
	method(c, "dispatchThreadgroups:threadsPerThreadgroup:", dispatch);
	method(c, "endEncoding", end_encoding);
	c = "MTLBlitCommandEncoder";
	method(c, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", blit_copy);
	method(c, "fillBuffer:range:value:", blit_fill);
	method(c, "endEncoding", end_encoding);
}

} // namespace

void metal() { device_methods(), object_methods(), command_methods(); }

EXPORT Object *MTLCopyAllDevices() {
	define();
	Array *a = new Array;
	std::unique_lock<std::mutex> lock(mu);
	bool none = setting("devices") < 0;
	lock.unlock();
	if (!none) retain(the_device()), a->list.push_back(the_device());
	return a;
}

EXPORT Object *MTLCreateSystemDefaultDevice() {
	define();
	return retain(the_device()), the_device();
}
