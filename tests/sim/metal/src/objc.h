// Objective-C, as far as a driver of Metal sees it.
#pragma once
#include "metal.h"

typedef const char *SEL;

struct Class;
struct Object {
	Class *isa;
	std::atomic<int> refs{1};
	explicit Object(const char *name);
	virtual ~Object() {}
	// close is what happens when the last reference goes. The memory stays, so that
	// messages to it are noticed.
	virtual void close() {}
};

struct Class : Object {
	std::string name;
	std::map<std::string, void *> own, shared; // methods of instances, of the class
	explicit Class(const char *n);
};

Class *class_named(const std::string &name);
template <class F> void method(const char *c, const char *sel, F *f) { class_named(c)->own[sel] = (void *)f; }
template <class F> void class_method(const char *c, const char *sel, F *f) { class_named(c)->shared[sel] = (void *)f; }

void retain(Object *o);
void release(Object *o);
Object *autorelease(Object *o);
Object *keep(Object *o);

struct String : Object {
	std::string s;
	explicit String(const std::string &text, const char *c = "NSString") : Object(c), s(text) {}
};
struct Array : Object {
	std::vector<Object *> list;
	Array() : Object("NSArray") {}
	void close() override {
		for (Object *o : list) release(o);
	}
};
struct Error : Object {
	long code;
	std::string text;
	Error(long c, const std::string &t) : Object("NSError"), code(c), text(t) {}
};

std::string system_version();
void define();     // all classes, once
void foundation(); // defines the classes of Foundation
void metal();      // and those of Metal
