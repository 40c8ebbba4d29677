// Package hip writes HIP C++ for AMD GPUs: the language of hipRTC, which is in
// every ROCm installation. What it holds is what HIP does differently from its
// relatives in package cfamily, which does the work.
//
// The text needs no header. Everything in it is a builtin of clang, so that stock
// clang compiles it too, and it is written for one width of a wave: that of the
// target.
//
//	text, err := hip.Language.Emit(module, target, cfamily.Options{})
package hip
