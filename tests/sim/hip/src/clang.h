// clang, as the simulators use it.
#pragma once
#include <string>
#include <vector>

// compile_file makes the shared object out of the text in the file in, with options
// of clang, and returns the status of the compiler, less than 0 if it cannot be run.
// log gets what it says.
//
// A process costs more than a kernel. What is asked for while others are at work is
// compiled by one process, each text on its own.
int compile_file(const std::vector<std::string> &options, const std::string &in, const std::string &out, std::string &log);
