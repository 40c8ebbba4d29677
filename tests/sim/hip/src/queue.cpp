// Streams and events. All streams feed one queue, which a thread works off, so
// that calls are as asynchronous as the real ones.
#include "sim.h"

#include <condition_variable>
#include <deque>
#include <set>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace {

struct Op {
	std::function<void()> work;
	bool always;
	int device;
};

// Of its own lock: work takes mu.
std::mutex qmu;
std::condition_variable moved;
std::deque<Op> queue;
uint64_t submitted, completed;
bool working;

std::set<void *> streams, events; // guarded by mu

void work() {
	for (;;) {
		std::unique_lock<std::mutex> lock(qmu);
		moved.wait(lock, [] { return !queue.empty(); });
		Op op = std::move(queue.front());
		queue.pop_front();
		lock.unlock();
		int delay;
		{
			std::lock_guard<std::mutex> state(mu);
			delay = setting("delay_us");
		}
		if (delay) usleep((useconds_t)delay);
		if (op.always || !lost(op.device)) op.work();
		lock.lock();
		completed++;
		moved.notify_all();
	}
}

double now() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool event_ok(void *e) {
	std::lock_guard<std::mutex> lock(mu);
	return events.count(e) != 0;
}

} // namespace

uint64_t submit(std::function<void()> op, bool always) {
	std::lock_guard<std::mutex> lock(qmu);
	queue.push_back({std::move(op), always, device_now()});
	if (!working) {
		working = true;
		std::thread(work).detach();
	}
	moved.notify_all();
	return ++submitted;
}

uint64_t latest() {
	std::lock_guard<std::mutex> lock(qmu);
	return submitted;
}

bool reached(uint64_t seq) {
	std::lock_guard<std::mutex> lock(qmu);
	return completed >= seq;
}

int wait_for(uint64_t seq) {
	{
		std::unique_lock<std::mutex> lock(qmu);
		moved.wait(lock, [&] { return completed >= seq; });
	}
	return lost(device_now());
}

bool stream_ok(void *s) {
	std::lock_guard<std::mutex> lock(mu);
	return s == nullptr || (streams.count(s) != 0 && ((Stream *)s)->device == device_now());
}

EXPORT int hipDeviceSynchronize(void) {
	ENTER(true);
	return wait_for(latest());
}

EXPORT int hipStreamCreateWithFlags(void **out, unsigned flags) {
	ENTER(true);
	if (flags != 0) return refuse(INVALID_VALUE, "the stream would not be ordered against the null stream");
	Stream *s = new Stream{device_now()};
	{
		std::lock_guard<std::mutex> lock(mu);
		streams.insert(s);
	}
	*out = s;
	count(STREAMS, 1);
	return SUCCESS;
}

EXPORT int hipStreamDestroy(void *s) {
	ENTER(true);
	if (s == nullptr || !stream_ok(s)) return INVALID_HANDLE;
	{
		std::lock_guard<std::mutex> lock(mu);
		streams.erase(s);
	}
	delete (Stream *)s;
	count(STREAMS, -1);
	return SUCCESS;
}

EXPORT int hipStreamSynchronize(void *s) {
	ENTER(true);
	return stream_ok(s) ? wait_for(latest()) : INVALID_HANDLE;
}

EXPORT int hipStreamWaitEvent(void *s, void *e, unsigned flags) {
	ENTER(true);
	return !stream_ok(s) || !event_ok(e) ? INVALID_HANDLE : flags ? INVALID_VALUE : SUCCESS;
}

EXPORT int hipEventCreateWithFlags(void **out, unsigned flags) {
	ENTER(true);
	if (flags & ~2u) return INVALID_VALUE;
	Event *e = new Event;
	e->timing = !(flags & 2);
	{
		std::lock_guard<std::mutex> lock(mu);
		events.insert(e);
	}
	*out = e;
	count(EVENTS, 1);
	return SUCCESS;
}

EXPORT int hipEventDestroy(void *e) {
	ENTER(true);
	if (!event_ok(e)) return INVALID_HANDLE;
	wait_for(((Event *)e)->seq);
	{
		std::lock_guard<std::mutex> lock(mu);
		events.erase(e);
	}
	delete (Event *)e;
	count(EVENTS, -1);
	return SUCCESS;
}

EXPORT int hipEventRecord(void *handle, void *s) {
	ENTER(true);
	if (!event_ok(handle) || !stream_ok(s)) return INVALID_HANDLE;
	Event *e = (Event *)handle;
	e->seq = submit([e] { e->when = now(); }, true);
	return SUCCESS;
}

EXPORT int hipEventQuery(void *e) {
	ENTER(true);
	if (!event_ok(e)) return INVALID_HANDLE;
	return reached(((Event *)e)->seq) ? SUCCESS : NOT_READY;
}

EXPORT int hipEventSynchronize(void *e) {
	ENTER(true);
	return event_ok(e) ? wait_for(((Event *)e)->seq) : INVALID_HANDLE;
}

EXPORT int hipEventElapsedTime(float *ms, void *start, void *end) {
	ENTER(true);
	if (!event_ok(start) || !event_ok(end)) return INVALID_HANDLE;
	Event *a = (Event *)start, *b = (Event *)end;
	if (!a->timing || !b->timing || a->seq == 0 || b->seq == 0) return INVALID_HANDLE;
	if (!reached(a->seq) || !reached(b->seq)) return NOT_READY;
	*ms = (float)(b->when - a->when);
	return SUCCESS;
}
