// The threads of a block: fibers of one thread of this process. They run one
// after the other until they meet at a barrier or at an operation of their wave,
// where all of them have to arrive. One block runs at a time; in a launch whose
// blocks are all resident each has its own fibers and its own shared memory, and a
// thread that reads an atomic variable lets the other blocks go first.
//
// A fault of a fiber (a page that cannot be touched, a division by zero, a trap)
// ends the kernel; faults of anyone else go where they went before.
#include "sim.h"
#include "prelude.h"

#include <csetjmp>
#include <csignal>
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <time.h>
#include <vector>

EXPORT const kiln_sim_thread *kiln_sim_here = nullptr;
EXPORT unsigned char kiln_sim_packet[64] = {};

// ---- switching -------------------------------------------------------------------

#if defined(__x86_64__)
// sim_switch saves the registers that a function keeps, stores the stack pointer
// in *save and goes on at load.
extern "C" void sim_switch(void **save, void *load);
asm(R"(
.text
.hidden sim_switch
.globl sim_switch
sim_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
)");

static void *prepare(char *top, void (*entry)()) {
	void **sp = (void **)(top - 64);
	*--sp = nullptr; // the return address of entry, which does not return
	*--sp = (void *)entry;
	for (int i = 0; i < 6; i++) *--sp = nullptr;
	return sp;
}
#else
#include <ucontext.h>
// Elsewhere the C library switches: a context stands for a stack pointer.
static void sim_switch(void **save, void *load) { swapcontext((ucontext_t *)*save, (ucontext_t *)load); }
#endif

namespace {

constexpr size_t stack_size = 1 << 20, page = 4096;
constexpr int max_threads = 1024;

// A fiber in TURN goes on when all other blocks have had a turn.
enum State { READY, TURN, AT_WAVE, AT_BARRIER, DONE };
const char *const wave_names[] = {"a ballot", "ds_bpermute", "readfirstlane", "readlane", "a wave barrier", "a matrix instruction"};

struct Fiber {
	kiln_sim_thread here; // first: kiln_sim_here points at it
	State state;
	char *stack; // nullptr until it runs, and again when it is done
	void *sp;
#if !defined(__x86_64__)
	ucontext_t context;
#endif
	int kind, site, line;
	int released, barred; // the widths of a release fence, and of a barrier without an acquire fence yet
	unsigned value, operand;
	unsigned long result;
	kiln_sim_product *product; // of a matrix instruction
	void *operands;
};

struct Block {
	const Kernel *kernel;
	const unsigned char *args;
	size_t shared; // bytes of dynamic shared memory
	int n, wave;
	uint32_t dim[3];
	bool strict;
	std::string unfenced; // the first barrier without its fences
};

Fiber of_one[max_threads];
Fiber *fibers = of_one; // of the block that runs
Block block;

// Group is a block of a launch whose blocks are all resident, with its shared memory while another runs.
struct Group {
	uint32_t at[3];
	std::vector<Fiber> fibers;
	std::vector<char> lds, dynamic;
	bool done;
	// The rest of the block runs before the others do when a thread lets them go first. Blocks differ in
	// this, and change it with each turn, so that a missing barrier shows.
	bool patient;
};
std::vector<Group> groups; // empty for other launches
Group *loaded;             // whose shared memory is in place
bool leaving;              // the block that runs stops here
uint64_t turns;            // that threads have given since one came to something else
constexpr uint64_t too_many = 100 << 20;
std::vector<char *> stacks; // not in use
Fiber *running;
void *scheduler;
#if !defined(__x86_64__)
ucontext_t scheduler_context;
#endif

// What a fault jumps to, while kernel_thread runs a kernel.
volatile bool in_kernel;
volatile pthread_t kernel_thread;
sigjmp_buf fault_jump;
volatile int fault_signal;
void *volatile fault_address;

std::string name_of(const unsigned v[3]) {
	return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

// unfenced notes that a barrier lacks a fence.
void unfenced(const Fiber &f, const char *which) {
	if (!block.kernel->fences || !block.unfenced.empty()) return;
	block.unfenced = "kernel " + block.kernel->name + ", block " + name_of(f.here.block) + ", thread " + name_of(f.here.id) +
		": the barrier of line " + std::to_string(f.line) + " has no " + which;
}

// arrive begins a barrier of a width, leave ends it.
void arrive(Fiber *f, int width, int line) {
	if (f->barred) unfenced(*f, "acquire fence behind it");
	f->line = line;
	if (f->released < width) unfenced(*f, "release fence before it");
	f->released = f->barred = 0;
}

void leave(Fiber *f, int width) { f->released = 0, f->barred = width; }

void body() {
	block.kernel->call(block.args);
	if (running->barred) unfenced(*running, "acquire fence behind it");
	running->state = DONE;
	sim_switch(&running->sp, scheduler);
	abort(); // a fiber that is done does not run again
}

char *take_stack() {
	if (!stacks.empty()) {
		char *s = stacks.back();
		stacks.pop_back();
		return s;
	}
	void *s = mmap(nullptr, stack_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s == MAP_FAILED) abort();
	mprotect(s, page, PROT_NONE); // what overflows the stack
	return (char *)s;
}

void run(Fiber &f) {
	if (f.stack == nullptr) {
		f.stack = take_stack();
#if defined(__x86_64__)
		f.sp = prepare(f.stack + page + stack_size, body);
#else
		getcontext(&f.context);
		f.context.uc_stack.ss_sp = f.stack + page, f.context.uc_stack.ss_size = stack_size, f.context.uc_link = nullptr;
		makecontext(&f.context, body, 0);
		f.sp = &f.context;
		scheduler = &scheduler_context;
#endif
	}
	running = &f;
	kiln_sim_here = &f.here;
	sim_switch(&scheduler, f.sp);
	if (f.state == DONE) {
		stacks.push_back(f.stack);
		f.stack = nullptr;
	}
}

std::string place(const Fiber &f) {
	std::string who = "thread " + name_of(f.here.id);
	switch (f.state) {
	case DONE: return who + " has returned";
	case AT_BARRIER: return who + " waits at the barrier of line " + std::to_string(f.line);
	case AT_WAVE: return who + " waits at " + wave_names[f.kind] + " of line " + std::to_string(f.line);
	default: return who + " runs";
	}
}

std::string divergence(const char *what, const Fiber &a, const Fiber &b) {
	return "kernel " + block.kernel->name + ", block " + name_of(a.here.block) + ": the threads of a " + what + " part ways: " + place(a) + ", " + place(b);
}

// live is the first thread that has not returned.
Fiber *live(Fiber *list, int n) {
	for (int i = 0; i < n; i++)
		if (list[i].state != DONE) return &list[i];
	return nullptr;
}

// multiply does a matrix instruction, which reads and writes the registers of all lanes.
std::string multiply(Fiber *wave, int n) {
	void *operands[64];
	const char *wrong = n < block.wave ? "is run by a part of a wave" : nullptr;
	for (int i = 0; i < n; i++) {
		if (wave[i].state == DONE) wrong = "is run by a wave of which threads have returned";
		operands[i] = wave[i].operands;
	}
	Fiber &f = *live(wave, n);
	if (!wrong) wrong = f.product(operands);
	if (wrong) return "kernel " + block.kernel->name + ", block " + name_of(f.here.block) + ": the matrix instruction of line " + std::to_string(f.line) + " " + wrong;
	for (int i = 0; i < n; i++) wave[i].state = READY;
	return "";
}

// meet does the operation at which the lanes of a wave have arrived. Lanes that
// have returned are off: they vote for nothing, and zero is read from them.
std::string meet(Fiber *wave, int n) {
	if (live(wave, n)->kind == kiln_sim_matrix) return multiply(wave, n);
	unsigned long ballot = 0;
	int first = -1;
	for (int i = 0; i < n; i++) {
		if (wave[i].state == DONE) {
			wave[i].value = 0;
			continue;
		}
		if (first < 0) first = i;
		ballot |= (unsigned long)(wave[i].value & 1) << i;
	}
	for (int i = 0; i < n; i++) {
		Fiber &f = wave[i];
		if (f.state == DONE) continue;
		int from = 0;
		switch (f.kind) {
		case kiln_sim_ballot: f.result = ballot; break;
		case kiln_sim_permute: // the address counts in bytes and wraps around
			from = (int)(f.operand / 4 % (unsigned)block.wave);
			f.result = from < n ? wave[from].value : 0;
			break;
		case kiln_sim_first: f.result = wave[first].value; break;
		case kiln_sim_lane:
			from = (int)(f.operand % (unsigned)block.wave);
			f.result = from < n ? wave[from].value : 0;
			break;
		}
		f.state = READY;
	}
	return "";
}

std::string endless(const Fiber &f) {
	return "kernel " + block.kernel->name + ", block " + name_of(f.here.block) + ", thread " + name_of(f.here.id) +
		": waits for ever for what another thread writes" + (groups.empty() ? "; the blocks of this launch run one after the other" : "");
}

// apart is a thread that does not wait where the first one waits. The hardware does
// not wait for threads that have returned, such as those in which an assertion
// failed; the setting "strict" does.
Fiber *apart(Fiber *list, int n) {
	Fiber *first = live(list, n);
	for (int i = 0; i < n; i++) {
		Fiber &f = list[i];
		if (f.state == DONE ? block.strict : f.state != first->state || f.site != first->site || (f.state == AT_WAVE && f.kind != first->kind)) return &f;
	}
	return nullptr;
}

// run_wave runs the lanes of a wave until all of them wait at a barrier of the
// block or are done.
std::string run_wave(Fiber *wave, int n) {
	for (;;) {
		for (int i = 0; i < n; i++) {
			if (wave[i].state == READY) run(wave[i]);
			if (turns > too_many) return endless(wave[i]);
			if (leaving) return "";
		}
		bool waits = false, turn = false;
		for (int i = 0; i < n; i++) waits |= wave[i].state == AT_WAVE, turn |= wave[i].state == TURN;
		if (!waits || turn) return "";
		if (Fiber *f = apart(wave, n)) return divergence("wave", *live(wave, n), *f);
		std::string wrong = meet(wave, n);
		if (!wrong.empty()) return wrong;
	}
}

constexpr unsigned char guard = 0xA5;
constexpr size_t guarded = 4096;

// overrun returns what is wrong with the bytes behind the dynamic shared memory, which nothing may write.
std::string overrun(const uint32_t at[3]) {
	for (size_t i = 0; block.kernel->dynamic && i < guarded; i++)
		if ((unsigned char)block.kernel->dynamic[block.shared + i] != guard)
			return "kernel " + block.kernel->name + ", block " + name_of(at) + ": writes behind its " + std::to_string(block.shared) + " bytes of dynamic shared memory";
	return "";
}

void begin_block(const uint32_t at[3]) {
	for (int i = 0; i < block.n; i++) {
		Fiber &f = fibers[i];
		unsigned u = (unsigned)i;
		f.here = {{u % block.dim[0], u / block.dim[0] % block.dim[1], u / block.dim[0] / block.dim[1]}, {at[0], at[1], at[2]}, u % (unsigned)block.wave};
		f.state = READY, f.stack = nullptr, f.released = f.barred = 0;
	}
	turns = 0;
	if (block.kernel->lds_size) memset(block.kernel->lds, 0xFF, block.kernel->lds_size);
	if (block.kernel->dynamic) memset(block.kernel->dynamic, 0xFF, block.shared), memset(block.kernel->dynamic + block.shared, guard, guarded);
}

// run_block runs the block until it is done, or until one of its threads waits for other blocks to go on.
std::string run_block(const uint32_t at[3]) {
	leaving = false;
	for (;;) {
		bool turn = false;
		for (int i = 0; i < block.n; i += block.wave) {
			std::string wrong = run_wave(fibers + i, std::min(block.wave, block.n - i));
			if (!wrong.empty() || leaving) return wrong;
		}
		for (int i = 0; i < block.n; i++) turn |= fibers[i].state == TURN;
		if (turn) return "";
		turns = 0;
		Fiber *first = live(fibers, block.n);
		if (first == nullptr) return block.unfenced.empty() ? overrun(at) : block.unfenced;
		if (Fiber *f = apart(fibers, block.n)) return divergence("block", *first, *f);
		for (int i = 0; i < block.n; i++)
			if (fibers[i].state == AT_BARRIER) fibers[i].state = READY;
	}
}

// swap puts the shared memory of a group in place.
void swap(Group *g) {
	if (loaded == g) return;
	const Kernel &k = *block.kernel;
	for (bool save : {true, false}) {
		Group *of = save ? loaded : g;
		if (!of) continue;
		if (save) of->lds.assign(k.lds, k.lds + k.lds_size);
		else std::copy(of->lds.begin(), of->lds.end(), k.lds);
		if (!k.dynamic) continue;
		if (save) of->dynamic.assign(k.dynamic, k.dynamic + block.shared + guarded);
		else std::copy(of->dynamic.begin(), of->dynamic.end(), k.dynamic);
	}
	loaded = g;
}

// run_together runs the blocks of a launch by turns until all are done.
std::string run_together(const uint32_t grid[3]) {
	groups.resize((size_t)grid[0] * grid[1] * grid[2]);
	for (size_t i = 0; i < groups.size(); i++) {
		uint32_t u = (uint32_t)i;
		Group &g = groups[i];
		g.at[0] = u % grid[0], g.at[1] = u / grid[0] % grid[1], g.at[2] = u / grid[0] / grid[1];
		g.fibers.resize((size_t)block.n);
		g.done = false, g.patient = i % 2;
		swap(&g), fibers = g.fibers.data();
		begin_block(g.at);
	}
	for (size_t left = groups.size(); left > 0;) {
		for (Group &g : groups) {
			if (g.done) continue;
			swap(&g), fibers = g.fibers.data();
			for (Fiber &f : g.fibers)
				if (f.state == TURN) f.state = READY;
			std::string wrong = run_block(g.at);
			if (!wrong.empty()) return wrong;
			g.patient = !g.patient;
			g.done = live(fibers, block.n) == nullptr;
			left -= g.done;
		}
	}
	return "";
}

// ---- faults ------------------------------------------------------------------------

const int fault_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
struct sigaction before[64];

void on_fault(int signal, siginfo_t *info, void *context) {
	if (in_kernel && pthread_equal(pthread_self(), kernel_thread)) {
		in_kernel = false;
		fault_signal = signal, fault_address = info->si_addr;
		siglongjmp(fault_jump, 1);
	}
	struct sigaction &old = before[signal];
	if (old.sa_flags & SA_SIGINFO) {
		old.sa_sigaction(signal, info, context);
	} else if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
		old.sa_handler(signal);
	} else {
		sigaction(signal, &old, nullptr); // happens again, and ends the process
	}
}

// catch_faults puts on_fault before the handlers that there are, and gives this
// thread a stack for it: that of a fiber may be what has overflowed.
void catch_faults() {
	static thread_local bool have_stack;
	if (!have_stack) {
		have_stack = true;
		stack_t s = {};
		s.ss_size = 64 << 10;
		s.ss_sp = malloc(s.ss_size);
		sigaltstack(&s, nullptr);
	}
	for (int signal : fault_signals) {
		struct sigaction now;
		sigaction(signal, nullptr, &now);
		if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) continue;
		static bool known[64]; // another simulator may have come between; it has our handler already
		if (!known[signal]) before[signal] = now;
		known[signal] = true;
		struct sigaction ours = {};
		ours.sa_sigaction = on_fault;
		ours.sa_mask = now.sa_mask;
		ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
		sigaction(signal, &ours, nullptr);
	}
}

bool is_strict() {
	std::lock_guard<std::mutex> lock(mu);
	return setting("strict") != 0;
}

std::string fault() {
	char *at = (char *)fault_address;
	char address[32];
	snprintf(address, sizeof address, "%p", (void *)at);
	std::string text = "touches address " + std::string(address);
	if (fault_signal == SIGFPE) text = "divides an integer by zero, or the least one by -1";
	else if (fault_signal == SIGILL || fault_signal == SIGTRAP) text = "traps";
	else if (at >= running->stack && at < running->stack + page) text = "needs more than " + std::to_string(stack_size) + " bytes for its variables";
	return "kernel " + block.kernel->name + ", block " + name_of(running->here.block) + ", thread " + name_of(running->here.id) + ": " + text;
}

// finish gives the stacks of fibers back that will not go on, and those of more blocks than one to the system.
void finish() {
	auto give = [](Fiber &f) {
		if (f.stack) stacks.push_back(f.stack), f.stack = nullptr;
	};
	for (Fiber &f : of_one) give(f);
	for (Group &g : groups)
		for (Fiber &f : g.fibers) give(f);
	for (; stacks.size() > max_threads; stacks.pop_back()) munmap(stacks.back(), stack_size + page);
	groups.clear();
	loaded = nullptr, fibers = of_one;
}

} // namespace

std::string run_grid(const Kernel &k, const uint32_t grid[3], const uint32_t dim[3], int wave, size_t shared, const unsigned char *args, int *code, bool together) {
	static std::mutex one;
	std::lock_guard<std::mutex> lock(one);
	catch_faults();
	block = {&k, args, shared, (int)(dim[0] * dim[1] * dim[2]), wave, {dim[0], dim[1], dim[2]}, is_strict(), ""};
	// The packet, as far as kernels read it: the size of a block and of the grid, in threads.
	for (int i = 0; i < 3; i++) {
		uint16_t size = (uint16_t)dim[i];
		uint32_t all = grid[i] * dim[i];
		memcpy(kiln_sim_packet + 4 + 2 * i, &size, 2);
		memcpy(kiln_sim_packet + 12 + 4 * i, &all, 4);
	}
	if (sigsetjmp(fault_jump, 1) != 0) {
		std::string text = fault();
		finish();
		*code = ILLEGAL_ADDRESS;
		return text;
	}
	kernel_thread = pthread_self(), in_kernel = true;
	std::string wrong = together ? run_together(grid) : "";
	for (uint32_t z = 0; z < grid[2] && wrong.empty() && !together; z++)
		for (uint32_t y = 0; y < grid[1] && wrong.empty(); y++)
			for (uint32_t x = 0; x < grid[0] && wrong.empty(); x++) {
				const uint32_t at[3] = {x, y, z};
				begin_block(at);
				wrong = run_block(at);
			}
	in_kernel = false;
	if (!wrong.empty()) *code = LAUNCH_FAILURE;
	if (!wrong.empty() || together) finish();
	return wrong;
}

// ---- what kernels call ----------------------------------------------------------------

EXPORT unsigned long kiln_sim_wave(int kind, unsigned value, unsigned operand, int site, int line) {
	Fiber *f = running;
	if (kind == kiln_sim_meet) arrive(f, kiln_sim_wave_wide, line);
	f->state = AT_WAVE, f->kind = kind, f->value = value, f->operand = operand, f->site = site, f->line = line;
	sim_switch(&f->sp, scheduler);
	if (kind == kiln_sim_meet) leave(f, kiln_sim_wave_wide);
	return f->result;
}

EXPORT void kiln_sim_multiply(kiln_sim_product *product, void *operands, int site, int line) {
	Fiber *f = running;
	f->product = product, f->operands = operands;
	kiln_sim_wave(kiln_sim_matrix, 0, 0, site, line);
}

EXPORT void kiln_sim_barrier(int site, int line) {
	Fiber *f = running;
	arrive(f, kiln_sim_block_wide, line);
	f->state = AT_BARRIER, f->site = site;
	sim_switch(&f->sp, scheduler);
	leave(f, kiln_sim_block_wide);
}

// kiln_sim_turn comes before a read of an atomic variable, which another block may be about to write. Where blocks
// run one after the other there is none to wait for.
EXPORT void kiln_sim_turn(void) {
	if (++turns <= too_many && groups.empty()) return;
	Fiber *f = running;
	f->state = TURN;
	leaving = groups.empty() || !loaded->patient;
	sim_switch(&f->sp, scheduler);
}

EXPORT void kiln_sim_fence(int order, int width) {
	bool both = order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
	if ((both || order == __ATOMIC_RELEASE) && running->released < width) running->released = width;
	if ((both || order == __ATOMIC_ACQUIRE) && running->barred <= width) running->barred = 0;
}

// kiln_sim_clock counts at 100 MHz, as the clock of the real devices does.
EXPORT unsigned long kiln_sim_clock(void) {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 100000000ul + (unsigned long)t.tv_nsec / 10;
}
