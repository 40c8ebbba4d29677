// The Objective-C runtime: classes, messages, reference counts, pools. What would be
// an exception there is a problem here, and the message gives 0.
#include "objc.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

namespace {

std::mutex objc_mu; // guards the tables
std::map<std::string, Class *> &classes() {
	static std::map<std::string, Class *> all;
	return all;
}
std::map<std::string, int> live;
std::vector<Object *> kept;
std::map<std::string, SEL> selectors;

struct Pool {
	std::vector<Object *> list;
};
thread_local std::vector<Pool *> pools;

void *nothing(Object *, SEL) { return nullptr; }

void count(Object *o, int n) {
	std::lock_guard<std::mutex> lock(objc_mu);
	live[o->isa->name] += n;
}

} // namespace

void define() {
	static std::once_flag once;
	std::call_once(once, [] { foundation(), metal(); });
}

Class::Class(const char *n) : Object(nullptr), name(n) {}
Object::Object(const char *name) : isa(nullptr) {
	if (!name) return; // a class
	isa = class_named(name);
	count(this, 1);
}

Class *class_named(const std::string &name) {
	std::lock_guard<std::mutex> lock(objc_mu);
	Class *&c = classes()[name];
	if (!c) c = new Class(strdup(name.c_str()));
	return c;
}

void retain(Object *o) {
	if (o && o->isa) o->refs++;
}

void release(Object *o) {
	if (!o || !o->isa) return;
	int n = --o->refs;
	if (n < 0) problem("release of a " + o->isa->name + " that was deallocated");
	if (n != 0) return;
	count(o, -1);
	o->close();
}

Object *autorelease(Object *o) {
	if (!o) return o;
	if (pools.empty()) problem("a " + o->isa->name + " is autoreleased with no pool in place: it leaks");
	else pools.back()->list.push_back(o);
	return o;
}

// sim_lookup finds the method for a message.
extern "C" __attribute__((visibility("hidden"))) void *sim_lookup(Object *o, SEL sel) {
	if (!o) return (void *)nothing;
	std::string name = sel;
	if (o->isa && o->refs <= 0) {
		problem("message " + name + " to a " + o->isa->name + " that was deallocated");
		return (void *)nothing;
	}
	bool is_class = !o->isa;
	Class *c = is_class ? (Class *)o : o->isa;
	for (Class *at : {c, class_named("NSObject")}) {
		auto &table = is_class ? at->shared : at->own;
		auto it = table.find(name);
		if (it != table.end()) return it->second;
	}
	problem(std::string(is_class ? "+[" : "-[") + c->name + " " + name + "]: unrecognized selector");
	return (void *)nothing;
}

asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
	pushq %rbp
	movq %rsp, %rbp
	subq $48, %rsp
	movq %rdi, -8(%rbp)
	movq %rsi, -16(%rbp)
	movq %rdx, -24(%rbp)
	movq %rcx, -32(%rbp)
	movq %r8, -40(%rbp)
	movq %r9, -48(%rbp)
	call sim_lookup
	movq %rax, %r11
	movq -8(%rbp), %rdi
	movq -16(%rbp), %rsi
	movq -24(%rbp), %rdx
	movq -32(%rbp), %rcx
	movq -40(%rbp), %r8
	movq -48(%rbp), %r9
	leave
	jmp *%r11
)");

EXPORT Class *objc_getClass(const char *name) {
	define();
	std::lock_guard<std::mutex> lock(objc_mu);
	auto it = classes().find(name);
	return it == classes().end() ? nullptr : it->second;
}

EXPORT SEL sel_registerName(const char *name) {
	std::lock_guard<std::mutex> lock(objc_mu);
	SEL &s = selectors[name];
	if (!s) s = strdup(name);
	return s;
}

EXPORT void *objc_autoreleasePoolPush() {
	pools.push_back(new Pool);
	return pools.back();
}

EXPORT void objc_autoreleasePoolPop(void *token) {
	if (pools.empty() || pools.back() != token) {
		problem("objc_autoreleasePoolPop: not the innermost pool of this thread");
		return;
	}
	Pool *p = pools.back();
	pools.pop_back();
	for (Object *o : p->list) release(o);
	delete p;
}

// keep gives an object that is always there, once, to whoever asks.
Object *keep(Object *o) {
	std::lock_guard<std::mutex> lock(objc_mu);
	kept.push_back(o);
	live[o->isa->name]--;
	return o;
}

// sim_alive names the classes that have objects, with their number, a line each, and
// objects that are always there and were retained too often.
EXPORT void sim_alive(char *out, size_t size) {
	std::lock_guard<std::mutex> lock(objc_mu);
	std::string s;
	for (auto &[name, n] : live)
		if (n != 0) s += std::to_string(n) + " " + name + "\n";
	for (Object *o : kept)
		if (o->refs != 1) s += o->isa->name + " with " + std::to_string(o->refs - 1) + " references too many\n";
	strncpy(out, s.c_str(), size - 1);
}

std::string system_version() { return "Version 15.0 (Build SIM1)"; }

void foundation() {
	method("NSObject", "retain", +[](Object *o, SEL) { return retain(o), o; });
	method("NSObject", "release", +[](Object *o, SEL) { release(o); });
	method("NSObject", "autorelease", +[](Object *o, SEL) { return autorelease(o); });
	method("NSObject", "respondsToSelector:", +[](Object *o, SEL, SEL s) -> long {
		return o->isa->own.count(s) != 0 || class_named("NSObject")->own.count(s) != 0;
	});
	class_method("NSObject", "instancesRespondToSelector:", +[](Class *c, SEL, SEL s) -> long { return c->own.count(s) != 0; });
	class_method("NSString", "stringWithUTF8String:", +[](Class *, SEL, const char *s) { return autorelease(new String(s)); });
	method("NSString", "UTF8String", +[](String *s, SEL) { return s->s.c_str(); });
	method("NSString", "length", +[](String *s, SEL) { return s->s.size(); });
	method("NSArray", "count", +[](Array *a, SEL) { return a->list.size(); });
	method("NSArray", "objectAtIndex:", +[](Array *a, SEL, size_t i) -> Object * {
		if (i >= a->list.size()) return problem("-[NSArray objectAtIndex:]: index " + std::to_string(i) + " beyond bounds"), nullptr;
		return a->list[i];
	});
	class_method("NSArray", "arrayWithObject:", +[](Class *, SEL, Object *o) -> Object * {
		if (!o) return problem("+[NSArray arrayWithObject:]: the object is nil"), nullptr;
		Array *a = new Array;
		retain(o), a->list.push_back(o);
		return autorelease(a);
	});
	class_method("NSURL", "fileURLWithPath:", +[](Class *, SEL, String *path) { return autorelease(new String(path->s, "NSURL")); });
	class_method("NSProcessInfo", "processInfo", +[](Class *, SEL) -> Object * {
		static Object *info = keep(new String("", "NSProcessInfo"));
		return info;
	});
	method("NSProcessInfo", "operatingSystemVersionString", +[](Object *, SEL) { return autorelease(new String(system_version())); });
	method("NSError", "code", +[](Error *e, SEL) { return e->code; });
	method("NSError", "localizedDescription", +[](Error *e, SEL) { return autorelease(new String(e->text)); });
	method("NSNumber", "stringValue", +[](String *s, SEL) { return autorelease(new String(s->s)); });
}
