// Package nvrtc compiles CUDA C++ with NVIDIA's run-time compiler, where a machine
// has it: its test runs the programs of irconf on a GPU through package
// compiler/cuda and compares them with their references, as package irconf does
// through PTX.
//
//	lib, err := nvrtc.Open()
//	cubin, err := lib.Compile("scale.cu", text, "sm_90")
package nvrtc
