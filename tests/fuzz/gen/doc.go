// Package gen writes random kernels in Go.
//
// A kernel is a function of its seed alone. It is well typed, ends, never
// panics, and has one meaning: its threads write what no other thread reads
// between two barriers, atomics are of kinds whose order does not matter, and no
// expression depends on what Go leaves open (the order of reading a variable and
// of a call that changes it, the bits of a NaN, conversions out of range). So
// whatever runs it must give the same bytes.
//
//	k := gen.New(42)
//	fmt.Println(k.Source) // type S42a struct …  func K42(t dsl.Thread, …) { … }
//
// How a program grows: [New] draws types, helper functions and parameters, then
// statements until a budget is used up. Expressions are drawn for a wanted type
// out of the variables in scope, whose list is a stack cut at the end of each
// block. Barriers and warp operations stand only where control flow is uniform
// by construction (gen.uni); loops carry the product of their trip counts
// (gen.weight), which bounds the running time.
package gen
