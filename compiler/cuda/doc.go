// Package cuda writes CUDA C++: for those who want to read a kernel so, or to hand
// it to NVRTC, and as a second opinion on package ptx. What it holds is what CUDA
// does differently from its relatives in package cfamily, which does the work.
//
// The text needs no header. Products are written so that no compiler option fuses
// them with sums.
//
//	text, err := cuda.Language.Emit(module, target, cfamily.Options{})
package cuda
