// Package cpu brings the kernels of the common operations for CPUs, compiled: a program that
// imports it compiles none of them at their first use.
//
//	import _ "github.com/gokiln/kiln/prebuilt/cpu"
//
// The model is that of package prebuilt. The targets are cpu:x86-64-v3 (AVX2) and
// cpu:x86-64-v4 (AVX-512, with AMX and without), each with the kernels that operations choose
// there; for other processors the package is empty.
package cpu

//go:generate go run github.com/gokiln/kiln/bench/variants -device cpu:avx2-record -record kernels.txt
//go:generate go run github.com/gokiln/kiln/bench/variants -device cpu:avx512-record,cpu:amx-record -record kernels.txt
//go:generate go run github.com/gokiln/kiln/cmd/kiln prebuild -strict -embed . -from kernels.txt
