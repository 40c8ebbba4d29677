// Package standin builds the libraries of simulators, in C++ with clang, once for a test
// binary.
//
//	var library = standin.Library{What: "AMD GPUs", Name: "libamdhip64.so", Sources: sources, Flags: flags}
//
//	lib := library.Open(tb) // skips without clang, fails where KILN_REQUIRE_TOOLS=1
//	library.Clean()         // after the tests
package standin
