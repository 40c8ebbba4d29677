// Package opencl writes OpenCL C 1.2, which every OpenCL driver compiles. What it
// holds is what OpenCL does differently from its relatives in package cfamily, which
// does the work. No driver of this module runs the text: it shows how little a new
// language takes, and it is there for programs that bring an OpenCL of their own.
//
// The arguments of a kernel are set one by one: for a slice the memory object and
// the length as a long, a bool as a byte. For exact results the program is built
// with -cl-fp32-correctly-rounded-divide-sqrt (see [BuildOptions]), on a device that
// keeps subnormal numbers. 64-bit floats and atomics need the extensions of the
// device for them, which the text then turns on. Threads of a warp cannot exchange
// values: OpenCL 1.2 has no sub-groups.
//
//	text, err := opencl.Language.Emit(module, target, cfamily.Options{})
package opencl
