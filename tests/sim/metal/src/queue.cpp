// The queue: a thread works off the command buffers.
#include "device.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <thread>

namespace {

std::mutex qmu;
std::condition_variable moved;
std::deque<CommandBuffer *> queue;
bool working;

void work() {
	for (;;) {
		std::unique_lock<std::mutex> lock(qmu);
		moved.wait(lock, [] { return !queue.empty(); });
		CommandBuffer *cb = queue.front();
		queue.pop_front();
		lock.unlock();
		std::string wrong;
		for (auto &w : cb->work)
			if (wrong = w(); !wrong.empty()) break;
		lock.lock();
		cb->wrong = wrong;
		cb->end = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
		cb->status = wrong.empty() ? COMPLETED : FAILED;
		release(cb); // before anyone can see that it is done
		moved.notify_all();
	}
}

} // namespace

void commit(CommandBuffer *cb) {
	if (cb->encoding) return problem("commit: an encoder has not ended");
	std::lock_guard<std::mutex> lock(qmu);
	if (cb->status != NOT_ENQUEUED) return problem("commit: the command buffer was committed before");
	cb->status = COMMITTED;
	retain(cb);
	queue.push_back(cb);
	if (!working) {
		working = true;
		std::thread(work).detach();
	}
	moved.notify_all();
}

void wait(CommandBuffer *cb) {
	std::unique_lock<std::mutex> lock(qmu);
	if (cb->status == NOT_ENQUEUED) return problem("waitUntilCompleted: the command buffer was not committed");
	moved.wait(lock, [&] { return cb->status >= COMPLETED; });
}

Status status_of(CommandBuffer *cb) {
	std::lock_guard<std::mutex> lock(qmu);
	return cb->status;
}

std::string await(SharedEvent *e, uint64_t value) {
	std::unique_lock<std::mutex> lock(qmu);
	bool came = moved.wait_for(lock, std::chrono::seconds(20), [&] { return e->value >= value; });
	return came ? "" : "Caused GPU Timeout Error: nobody has signalled the value " + std::to_string(value) + " of an event";
}

uint64_t value_of(SharedEvent *e) {
	std::lock_guard<std::mutex> lock(qmu);
	return e->value;
}

void set_value(SharedEvent *e, uint64_t value) {
	std::lock_guard<std::mutex> lock(qmu);
	if (value > e->value) e->value = value;
	moved.notify_all();
}
