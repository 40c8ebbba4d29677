// Package jit compiles kernels when they are first used and launches them.
//
// [Of] makes a handle from a kernel function, and [Kernel.Launch] runs it:
//
//	scale := jit.Of(kernels.Scale[float32])
//
//	dev, err := runtime.Open("auto")
//	x, err := runtime.From(dev, []float32{1, 2, 3})
//	err = scale.Launch(dev.DefaultStream(), runtime.Cover(x.Len(), 256), x, float32(2))
//	out, err := x.Host() // [2 4 6]
//
// The first launch on a device resolves the kernel: from the process, from the
// user cache on disk, or by compiling the source that the kernel's package
// embeds. The result is kept, so that later launches check the arguments'
// types, pack them and call the driver, without allocating. However many
// goroutines ask at once, a kernel is compiled once.
//
// # Launchers
//
// The command kiln gen writes launchers next to the kernels of a package: functions with
// the type parameters of the kernel, whose calls the Go compiler checks.
//
//	err = kernels.LaunchScale(dev.DefaultStream(), runtime.Cover(x.Len(), 256), x, 2)
//
// They find their handle by [Instance], which works in generic functions, too, where [Of]
// cannot tell the types.
//
// # Structs with slices
//
// A kernel may take structs that have slices. What a launch passes for one is a struct of the
// program's own, with the same fields in the same order and a runtime.Slice of T for
// each []T: for func Scale(t dsl.Thread, m struct{ Data []float32; Cols int })
//
//	type Matrix struct { Data runtime.Slice[float32]; Cols int }
//	err = scale.Launch(s, grid, Matrix{x, 3})
//
// # Compile-time parameters
//
// A parameter of type dsl.ConstInt or dsl.ConstBool, and a field of such a type
// in a struct parameter, is part of what is compiled. A launch passes it like
// any argument:
//
//	blur := jit.Of(kernels.Blur[float32])
//	err = blur.Launch(s, grid, out, in, dsl.ConstInt(3), kernels.Config{Tile: 16, Scale: 0.5})
//
// Each combination of such values is compiled once and found again without
// allocating. A kernel with more than 1000 of them on a device fails with
// [ErrSpecialisations]: the parameter should then be an int. All other fields of
// a struct are passed as they are in memory.
//
// # Checked kernels
//
// [Kernel.Checked] gives a handle of the same kernel that reports what goes wrong
// in it, on a GPU as on the CPU:
//
//	err = scale.Checked().Launch(s, grid, x, float32(2))
//	err = s.Sync() // cuda:0: kernel Scale failed: k.go:12: kernel Scale: block (1,0,0), thread (6,0,0): index out of range [70] with length 70
//
// # Functions
//
// [Func] makes a handle from a function, most often a function literal in the
// middle of host code. It runs over slices, or is what a kernel is compiled with:
//
//	add := jit.Func(func(a, b float32) float32 { return a*b + 1 })
//	err = add.Map(s, out, x, y)
//	err = jit.Of(kernels.Fold[float32]).Launch(s, grid, out, x, add)
//
// A parameter of a function type, as in
//
//	func Fold[T dsl.Number](t dsl.Thread, out, in []T, f func(a, b T) T)
//
// is a compile-time parameter: each function makes a specialisation, in which its
// body stands where the kernel calls it. The function is found by the position of
// its code, which the Go runtime knows, in the source that its package registers
// with dsl.Source. What a literal refers to is compiled with it; variables that it
// captures are refused by name. A library of templates that chooses element types
// at run time gets its kernels from [Named].
//
// # Tuning
//
// Which tile size, block size or algorithm is the fastest differs from device to device. A [Tuner]
// measures where it runs, once, and keeps its choice in the cache and in the record, see [Tune]:
//
//	var tiles = jit.Tune("example.com/app/transpose", kernels.Config{Tile: 32}, kernels.Config{Tile: 64})
//
//	err = tiles.Run(s, func(c kernels.Config) error {
//		return kernels.LaunchTranspose(s, grid(c), out, in, n, m, c)
//	}, n, m)
//
// # Keys
//
// Bundles of prebuilt kernels, see [Register] and package cache/bundle, and the cache have three
// levels, each keyed by SHA-256 of everything its content depends on and of nothing else:
//
//	source   source text, kernel, types, compile-time values and functions, compiler → hash of the IR, positions
//	artifact hash of the IR, target, options          → PTX, or IR for the CPU
//	machine  artifact, device architecture, driver    → cubin
//
// An edited comment changes the first only. An unchanged source does not run
// the front end, and a cached machine code does not run the driver's compiler.
//
// # Programs without the compiler
//
// With the build tag kiln_nojit nothing of the compiler is linked. Such a program finds the
// same kernels under the same keys, and what it would compile is [ErrNotPrebuilt] in every
// mode.
//
// # Environment
//
//	KILN_CACHE_DIR  directory of the cache; default: kiln in the user's cache directory
//	KILN_CACHE_MAX  size limit of the cache, such as 512MB
//	KILN_JIT        auto: use bundles and the cache, compile on a miss (default)
//	                readonly: a miss is ErrNotPrebuilt
//	                off: compile always, ignore both
//	KILN_BUNDLES    files and directories with prebuilt kernels, separated as in PATH
//	KILN_TRUST      public keys, or files of them, that bundles must be signed by
//	KILN_RECORD     file to which the kernels that are used, and the choices of tuners, are added
//	KILN_TUNE       auto: a [Tuner] measures what no bundle and no cache has a choice for (default),
//	                but not with KILN_JIT=readonly
//	                off: it takes its first configuration then
//	                again: it measures everything once in each process, and keeps that
//	                all: as auto, and the operations of tensors measure their strategies, too
//	KILN_CHECK      1: all kernels are checked, see [Kernel.Checked]
//	KILN_LOG        info or debug: lines on standard error
//	KILN_DUMP       kernels to write a page about, see package compiler/dump
//	KILN_DUMP_DIR   where to write it
//	KILN_DISABLE_PASS  optimisation passes to leave out, for finding faults
//	KILN_STRICT     1: a kernel that the emitter of machine code for the CPU fails on is
//	                an error; by default it runs on the interpreter, and KILN_LOG=info tells
package jit
