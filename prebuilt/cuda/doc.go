// Package cuda brings the kernels of the common operations for NVIDIA GPUs, as PTX: a program
// that imports it compiles none of them to PTX at their first use.
//
//	import _ "github.com/gokiln/kiln/prebuilt/cuda"
//
// The model is that of package prebuilt. The targets are ptx:sm_80 (Ampere and later) and
// ptx:sm_90a (Hopper, whose products of matrices have instructions that no other has). What the driver makes of PTX, it makes once and keeps. Launches with
// unaligned or overlapping tensors, or with 2³¹ elements and more, have other variants of
// the kernels, which are compiled when they come.
package cuda

//go:generate sh record.sh
//go:generate go run github.com/gokiln/kiln/cmd/kiln prebuild -strict -text -embed . -from kernels.txt -recorded -target ptx:sm_80,ptx:sm_90a
