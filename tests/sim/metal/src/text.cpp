// The kernels of a text. The compiler of the simulator takes Metal's attributes for
// unknown ones, so they are read and judged here.
#include "metal.h"

#include <cctype>
#include <cstring>

namespace {

// Meaning is an attribute of a parameter and the type that it must have.
struct Meaning {
	const char *name, *type;
};
const Meaning meanings[] = {
	{"thread_position_in_threadgroup", "uint3"}, {"threadgroup_position_in_grid", "uint3"}, {"threads_per_threadgroup", "uint3"},
	{"threadgroups_per_grid", "uint3"}, {"thread_position_in_grid", "uint3"}, {"thread_index_in_simdgroup", "uint"},
	{"simdgroup_index_in_threadgroup", "uint"}, {"thread_index_in_threadgroup", "uint"}, {"threads_per_simdgroup", "uint"},
};

bool word(char c) { return isalnum((unsigned char)c) || c == '_'; }

std::string trim(std::string s) {
	while (!s.empty() && isspace((unsigned char)s.back())) s.pop_back();
	size_t i = 0;
	while (i < s.size() && isspace((unsigned char)s[i])) i++;
	return s.substr(i);
}

// blank overwrites comments and directives, so that words can be found.
std::string blank(std::string s) {
	bool line_start = true;
	for (size_t i = 0; i < s.size(); i++) {
		size_t end = i;
		if (s.compare(i, 2, "//") == 0 || (line_start && s[i] == '#')) end = s.find('\n', i);
		else if (s.compare(i, 2, "/*") == 0) end = s.find("*/", i);
		end = std::min(end, s.size());
		for (; i < end; i++)
			if (s[i] != '\n') s[i] = ' ';
		if (i >= s.size()) break;
		if (s[i] == '\n') line_start = true;
		else if (!isspace((unsigned char)s[i])) line_start = false;
	}
	return s;
}

std::vector<std::string> split(const std::string &s) {
	std::vector<std::string> out;
	int depth = 0;
	std::string part;
	for (char c : s) {
		depth += (c == '(' || c == '<' || c == '[') - (c == ')' || c == '>' || c == ']');
		if (c == ',' && depth == 0) out.push_back(trim(part)), part.clear();
		else part += c;
	}
	if (!trim(part).empty()) out.push_back(trim(part));
	return out;
}

// judge returns what is wrong with a parameter.
std::string judge(Parameter &p) {
	static const std::string buffer = "buffer(";
	if (p.attribute.compare(0, buffer.size(), buffer) == 0) {
		p.buffer = atoi(p.attribute.c_str() + buffer.size());
		if (p.buffer < 0 || p.buffer >= max_buffers) return "'buffer' attribute parameter is out of bounds: must be between 0 and 30";
		p.reference = p.type.back() == '&';
		if (!p.reference && p.type.back() != '*') return "'buffer' attribute only applies to pointers and references";
		if (p.type.compare(0, 7, "device ") != 0 && p.type.compare(0, 9, "constant ") != 0) return "buffers are in address space device or constant, not '" + p.type + "'";
		return "";
	}
	if (p.attribute == "threadgroup(0)") { // the only one that the simulator has memory for
		p.threadgroup = true;
		return p.type.compare(0, 12, "threadgroup ") == 0 && p.type.back() == '*' ? "" : "'threadgroup' attribute only applies to pointers to threadgroup memory, not '" + p.type + "'";
	}
	std::string type = p.type.compare(0, 7, "metal::") == 0 ? p.type.substr(7) : p.type;
	if (type == "u32") type = "uint";
	for (const Meaning &m : meanings)
		if (p.attribute == m.name) return type == m.type ? "" : "type '" + p.type + "' is not valid for attribute '" + p.attribute + "'";
	return "invalid attribute '" + p.attribute + "' for a kernel's parameter";
}

} // namespace

std::vector<Entry> read_kernels(const std::string &source, std::string &log) {
	std::vector<Entry> out;
	std::string s = blank(source);
	static const std::string key = "kernel";
	for (size_t at = s.find(key); at != std::string::npos; at = s.find(key, at + 1)) {
		if ((at > 0 && word(s[at - 1])) || word(s[at + key.size()])) continue;
		Entry e;
		e.line = 1 + (int)std::count(s.begin(), s.begin() + (long)at, '\n');
		std::string where = "program_source:" + std::to_string(e.line) + ":1: error: ";
		size_t open = s.find('(', at), close = open;
		for (int depth = 0; close < s.size(); close++) {
			depth += (s[close] == '(') - (s[close] == ')');
			if (depth == 0) break;
		}
		if (open == std::string::npos || close >= s.size()) break;
		std::string head = trim(s.substr(at + key.size(), open - at - key.size()));
		if (head.compare(0, 5, "void ") != 0) {
			log += where + "kernel must have void return type\n";
			continue;
		}
		e.name = trim(head.substr(5));
		bool used[max_buffers] = {};
		for (const std::string &text : split(s.substr(open + 1, close - open - 1))) {
			size_t a = text.find("[["), b = text.find("]]");
			if (a == std::string::npos || b == std::string::npos) {
				log += where + "parameter '" + text + "' has no attribute\n";
				continue;
			}
			Parameter p;
			std::string decl = trim(text.substr(0, a));
			p.attribute = trim(text.substr(a + 2, b - a - 2));
			size_t i = decl.size();
			while (i > 0 && word(decl[i - 1])) i--;
			p.name = decl.substr(i), p.type = trim(decl.substr(0, i));
			std::string wrong = p.type.empty() ? "parameter '" + text + "' has no type" : judge(p);
			if (wrong.empty() && p.buffer >= 0) {
				if (used[p.buffer]) wrong = "buffer " + std::to_string(p.buffer) + " has two parameters";
				used[p.buffer] = true;
			}
			if (!wrong.empty()) log += where + wrong + "\n";
			e.params.push_back(p);
		}
		out.push_back(e);
	}
	return out;
}
