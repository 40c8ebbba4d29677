// Package input has what the compiler is given: the source of kernel packages, and the
// request for one kernel. It finds source that a program carries, function literals in it,
// and its hash, so that a program can tell which kernel it wants and look for it
// where kernels are kept, without a compiler.
package input
