// The queues: a thread for each works off its command buffers.
#include "device.h"

#include <chrono>
#include <condition_variable>
#include <thread>

namespace {

std::mutex qmu;
std::condition_variable moved;

void work(std::shared_ptr<Lane> lane) {
	for (;;) {
		std::unique_lock<std::mutex> lock(qmu);
		moved.wait(lock, [&] { return !lane->waiting.empty() || lane->closed; });
		if (lane->waiting.empty()) return;
		CommandBuffer *cb = lane->waiting.front();
		lane->waiting.pop_front();
		lock.unlock();
		std::string wrong;
		for (auto &w : cb->work)
			if (wrong = w(); !wrong.empty()) break;
		lock.lock();
		cb->wrong = wrong;
		cb->end = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
		cb->status = wrong.empty() ? COMPLETED : FAILED;
		cb->leave();
		release(cb); // before anyone can see that it is done
		moved.notify_all();
	}
}

} // namespace

CommandBuffer *new_command_buffer(Queue *q) {
	std::lock_guard<std::mutex> lock(qmu);
	if (q->lane->open >= q->most)
		return problem("commandBuffer: the queue has " + std::to_string(q->most) + " command buffers that are not completed: Metal blocks the caller"), nullptr;
	q->lane->open++;
	return new CommandBuffer(q->lane);
}

// leave makes room in the queue, once; the lock is held.
void CommandBuffer::leave() {
	if (lane) lane->open--;
	lane = nullptr;
}

void CommandBuffer::close() {
	if (status == NOT_ENQUEUED) { // nobody else knows it
		std::lock_guard<std::mutex> lock(qmu);
		leave();
	}
	for (Object *o : holds) release(o);
	holds.clear(), work.clear();
}

void Queue::close() {
	std::lock_guard<std::mutex> lock(qmu);
	lane->closed = true;
	moved.notify_all();
}

void commit(CommandBuffer *cb) {
	if (cb->encoding) return problem("commit: an encoder has not ended");
	std::lock_guard<std::mutex> lock(qmu);
	if (cb->status != NOT_ENQUEUED) return problem("commit: the command buffer was committed before");
	cb->status = COMMITTED;
	retain(cb);
	cb->lane->waiting.push_back(cb);
	if (!cb->lane->working) {
		cb->lane->working = true;
		std::thread(work, cb->lane).detach();
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
	if (reached(e, value, 20000)) return "";
	return "Caused GPU Timeout Error: nobody has signalled the value " + std::to_string(value) + " of an event";
}

bool reached(SharedEvent *e, uint64_t value, uint64_t ms) {
	std::unique_lock<std::mutex> lock(qmu);
	return moved.wait_for(lock, std::chrono::milliseconds(ms), [&] { return e->value >= value; });
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
