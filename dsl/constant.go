package dsl

import "github.com/gokiln/kiln/dsl/internal/host"

// ConstInt is an integer that is fixed when a kernel is compiled. It is the
// type of a kernel parameter, or of a field of a struct that is one:
//
//	type Config struct {
//		Tile   dsl.ConstInt
//		Masked dsl.ConstBool
//		Scale  float32 // an ordinary number
//	}
//
//	//kiln:kernel
//	func Blur[T dsl.Float](t dsl.Thread, out, in []T, radius dsl.ConstInt, cfg Config)
//
// A launch passes it like any argument, as dsl.ConstInt(3) or in the struct.
// The kernel is compiled once for each combination of values that a program
// uses, with the values as constants: loops over them unroll, branches on them
// disappear, and [SharedSlice] and [LocalSlice] take them as lengths. So give it
// values from a small set, such as tile sizes, and pass lengths of data as int.
//
// kiln check compiles a kernel for 1 and 8, with false and true. Where these make
// no sense, a comment above the kernel names two other values, or one:
//
//	//kiln:kernel
//	//kiln:const tile=16,32 cfg.Masked=true
//
// In the language it is an integer type like any other: int(radius) converts,
// and the result of arithmetic on constants is a constant again.
type ConstInt int

// ConstBool is a bool that is fixed when a kernel is compiled; see [ConstInt].
type ConstBool bool

// SharedSlice is [Shared] for an array whose length is a compile-time
// parameter:
//
//	tile := dsl.SharedSlice[float32](t, cfg.Tile*cfg.Tile)
//
// The length n must come out as a constant when the kernel is compiled: it is
// made of constants and compile-time parameters by operators, conversions,
// calls, and branches whose conditions are such constants too; loops and memory
// do not count. Each call in the source is one object of the block for each
// length that it is made with, and two calls for one type need two lines. Like
// any slice the result is indexed under bounds checks in checked builds.
//
// dsltest takes any n that is not negative.
//
//kiln:intrinsic
//go:noinline
func SharedSlice[T any](t Thread, n ConstInt) []T { return host.SharedSlice[T](t.h, int(n)) }

// DynamicShared is [Shared] for an array whose length a launch decides: n is a parameter
// of the kernel, an integer as it was passed, or a constant.
//
//	//kiln:kernel
//	func Histogram(t dsl.Thread, out, x []uint32, bins int) {
//		count := dsl.DynamicShared[uint32](t, bins)
//
// Kernels for other lengths are the same code, so that n may have many values; where it has
// few, [SharedSlice] gives the faster code. A kernel has one such array, which is not in a
// loop and is made with one parameter. A launch with more than the device has besides the
// kernel's other arrays, or with a negative length, is an error that says how much that is.
//
//kiln:intrinsic
//go:noinline
func DynamicShared[T any](t Thread, n int) []T { return host.SharedSlice[T](t.h, n) }

// LaunchBounds says that the kernel runs in blocks of so many threads, and that a unit of
// the device should have room for so many of them at once, or 0 if the compiler shall
// choose:
//
//	dsl.LaunchBounds(t, cfg.Tile*cfg.Tile, 2)
//
// The compiler then gives a thread as many registers as that leaves for it. A launch
// in blocks of another size is an error, of any shape it is not. Numbers are what
// those of [SharedSlice] are; it does not matter where in the kernel the call stands,
// and a kernel that calls it again repeats the same numbers.
//
// dsltest takes the number of threads and no other either.
//
//kiln:intrinsic
func LaunchBounds(t Thread, threads, blocks ConstInt) { t.h.Bounds(int(threads), int(blocks)) }

// LocalSlice returns n zeros that belong to the calling thread, an array
//
//	var acc [n]T
//
// whose length is a compile-time parameter; for n see [SharedSlice]. Where all
// its indices are constants once loops are unrolled it lives in registers. As
// with a variable, the function that calls LocalSlice cannot return it.
//
//kiln:intrinsic
func LocalSlice[T any](n ConstInt) []T { return make([]T, n) }
