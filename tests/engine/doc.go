// Package engine runs tests on each way that the CPU has to run kernels.
//
// The model: machine code for AVX-512, machine code for AVX2, and the interpreter
// are devices with names of their own, such as cpu:avx512. [Each] opens every one in
// a subtest of its name, and passes over what the processor has not. A processor
// that has the instructions and a build that does not use them is a failure.
//
//	engine.Each(t, func(t *testing.T, dev *runtime.Device) { conformance.RunAll(t, dev) })
package engine
