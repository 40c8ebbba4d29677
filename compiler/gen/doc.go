// Package gen writes launchers: typed functions that launch the kernels of a package,
// which the command kiln gen puts into zz_kernels.go next to them. For
//
//	// Axpy adds a*x to y.
//	//
//	//kiln:kernel
//	func Axpy[T dsl.Real](t dsl.Thread, y, x []T, a T) { … }
//
// it writes
//
//	// LaunchAxpy launches [Axpy]: it adds a*x to y.
//	//
//	//kiln:launches Axpy
//	func LaunchAxpy[T dsl.Real](s *runtime.Stream, g runtime.Grid, y, x runtime.Slice[T], a T) error
//
// PrepareAxpy, which compiles or loads the kernel for a device, and KernelAxpy, which
// returns its handle. Launchers have the type parameters of their kernel, need no
// reflection and no memory, and can be called in generic functions.
//
// The model:
//
//   - [Generate] is a function of signatures and documentation comments, so that an edited
//     body changes nothing. What it writes begins with a hash of itself.
//   - [Check] makes the text again and compares hashes: kiln check and go vet report
//     launchers that are stale by it. A changed signature keeps them from being built, too.
//   - A kernel in a file with build constraints has its launchers in a file of its own, with
//     the same constraints: zz_kernels_file.go.
//   - [Launchers] reads which function launches which kernel, for tools that look for
//     instances in launch sites.
package gen
