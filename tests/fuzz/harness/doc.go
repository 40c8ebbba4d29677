// Package harness runs generated kernels: as plain Go by dsltest, on a device
// through jit, and in the interpreter as a checked build and with optimisation passes
// turned off. The results must be the same bytes, NaNs aside, and checks find nothing.
//
// It is the main package of the programs that package fuzz builds. Those need
// neither Go nor files, so they can be taken to a machine with a GPU:
//
//	kilnfuzz -device cuda:0
//	kilnfuzz -device cpu -passes each -only 4711,4712 -v
package harness
