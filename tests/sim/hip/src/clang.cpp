// Runs clang.
#include "clang.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace {

using Words = std::vector<std::string>;

// Commands are the two that clang would run: the compiler, without names of files, and
// the linker with placeholders of them.
struct Commands {
	Words compiler, linker;
};

const std::string object_here = "\1object", output_here = "\1output";

struct Job {
	std::string key; // the options
	const Words &options;
	const std::string &in, &out;
	std::string log;
	int status = -1;
	bool done = false;
};

constexpr size_t most = 32; // texts for a process

std::mutex queue_mu; // guards what follows
std::condition_variable changed;
std::deque<Job *> waiting;
unsigned working;
std::map<std::string, std::shared_ptr<Commands>> known;

std::string file_text(const std::string &path) {
	std::string s;
	if (FILE *f = fopen(path.c_str(), "rb")) {
		char buf[1 << 14];
		for (size_t n; (n = fread(buf, 1, sizeof buf, f)) > 0;) s.append(buf, n);
		fclose(f);
	}
	return s;
}

// run runs a program and returns its status; its messages become log.
int run(const Words &args, const std::string &messages, std::string &log) {
	std::vector<char *> argv;
	for (const std::string &a : args) argv.push_back(const_cast<char *>(a.c_str()));
	argv.push_back(nullptr);
	posix_spawn_file_actions_t files;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 2, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawnattr_t attr; // signals as a program expects to find them
	posix_spawnattr_init(&attr);
	sigset_t none, all;
	sigemptyset(&none), sigfillset(&all);
	posix_spawnattr_setsigmask(&attr, &none), posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	pid_t pid;
	int r = posix_spawnp(&pid, argv[0], &files, &attr, argv.data(), environ), status = 0;
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (r != 0) return log = "cannot run " + args[0], -1;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	log = file_text(messages);
	unlink(messages.c_str());
	return status;
}

// words reads the words of a line that clang prints with -###.
Words words(const std::string &line) {
	Words list;
	for (size_t i = 0; i < line.size(); i++) {
		if (line[i] != '"') continue;
		std::string word;
		for (i++; i < line.size() && line[i] != '"'; i++) {
			if (line[i] == '\\' && i + 1 < line.size()) i++;
			word += line[i];
		}
		list.push_back(word);
	}
	return list;
}

Words with(Words list, const Words &more) {
	list.insert(list.end(), more.begin(), more.end());
	return list;
}

Words driver(const Job &j) { return with(with({SIM_CLANG}, j.options), {"-o", j.out, j.in}); }

// taken_apart asks clang for what it runs.
std::shared_ptr<Commands> taken_apart(const Job &j) {
	std::string text, object;
	Words ask = driver(j);
	ask.insert(ask.begin() + 1, "-###");
	if (run(ask, j.out + ".log", text) != 0) return nullptr;
	auto c = std::make_shared<Commands>();
	for (size_t at = 0; at < text.size();) {
		size_t end = std::min(text.find('\n', at), text.size());
		std::string line = text.substr(at, end - at);
		at = end + 1;
		if (line.compare(0, 2, " \"") != 0) continue;
		Words list = words(line), &to = c->compiler.empty() ? c->compiler : c->linker;
		if (!to.empty()) return nullptr; // a third one
		for (size_t i = 0; i < list.size(); i++) {
			if (&to == &c->linker) to.push_back(list[i] == object ? object_here : list[i] == j.out ? output_here : list[i]);
			else if (list[i] == "-o" && i + 1 < list.size()) object = list[++i];
			else if (list[i] != j.in) to.push_back(list[i]);
		}
	}
	auto has = [&](const std::string &what) { return std::count(c->linker.begin(), c->linker.end(), what) == 1; };
	return c->compiler.size() > 1 && c->compiler[1] == "-cc1" && has(object_here) && has(output_here) ? c : nullptr;
}

std::string object_of(const Job &j) { return j.in.substr(0, j.in.rfind('.')) + ".o"; }

void link(Job &j, const Commands &c) {
	Words args = c.linker;
	std::replace(args.begin(), args.end(), object_here, object_of(j));
	std::replace(args.begin(), args.end(), output_here, j.out);
	std::string log;
	j.status = run(args, j.out + ".log", log);
	j.log += log;
	unlink(object_of(j).c_str());
}

void alone(Job &j, const Commands *c) {
	if (!c) {
		j.status = run(driver(j), j.out + ".log", j.log);
		return;
	}
	j.status = run(with(c->compiler, {j.in}), j.out + ".log", j.log);
	if (j.status == 0) link(j, *c);
}

void compile_all(std::vector<Job *> &batch, const Commands *c) {
	if (c && batch.size() > 1) {
		Words args = c->compiler;
		for (Job *j : batch) args.push_back(j->in);
		std::string log;
		if (run(args, batch[0]->out + ".log", log) == 0 && log.empty()) {
			for (Job *j : batch) link(*j, *c);
			return;
		}
	}
	for (Job *j : batch) alone(*j, c); // each with its own messages
}

// work takes jobs that have the same options and does them.
void work(std::unique_lock<std::mutex> &lock) {
	std::vector<Job *> batch;
	std::deque<Job *> rest;
	for (Job *j : waiting) {
		if (batch.empty() || (batch.size() < most && j->key == batch[0]->key)) batch.push_back(j);
		else rest.push_back(j);
	}
	waiting.swap(rest);
	working++;
	auto it = known.find(batch[0]->key);
	std::shared_ptr<Commands> c = it != known.end() ? it->second : nullptr;
	bool first = it == known.end();
	lock.unlock();
	if (first) c = taken_apart(*batch[0]);
	compile_all(batch, c.get());
	lock.lock();
	known[batch[0]->key] = c;
	working--;
	for (Job *j : batch) j->done = true;
	changed.notify_all();
}

} // namespace

int compile_file(const std::vector<std::string> &options, const std::string &in, const std::string &out, std::string &log) {
	std::string key;
	for (const std::string &o : options) key += o + "\n";
	Job j{key, options, in, out, "", -1, false};
	std::unique_lock<std::mutex> lock(queue_mu);
	waiting.push_back(&j);
	while (!j.done) {
		if (!waiting.empty() && working < std::max(1u, std::thread::hardware_concurrency())) work(lock);
		else changed.wait(lock);
	}
	log = j.log;
	return j.status;
}
