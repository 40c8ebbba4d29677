// Package tooltest finds the programs that tests use and users do not need, such as
// compilers that check emitted text.
//
//	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
//
// A test whose program is absent is skipped by name, or fails where
// KILN_REQUIRE_TOOLS=1 says that the machine has everything. [Sweeps] reports
// whether tests are to go through all that there is, [Whole] whether through every combination of
// it, and [Some] chooses what they try otherwise. [Run] is for packages that compile many kernels,
// and [FreshCache] gives the tests of one a cache of their own as well.
package tooltest
