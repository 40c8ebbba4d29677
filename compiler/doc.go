// Package compiler turns a kernel, an ordinary Go function, into code for a
// target.
//
// The flow of the data, one package a step:
//
//	Go source → front → ir → pass → an emitter, ptx for example → Artifact
//	                              ↘ the IR's text, for the CPU  ↗
//
// [Front] runs the first half, up to IR: it needs no target, and its result has
// a hash that does not change when a comment does. [Program.Emit] runs the
// second half for one target. The two halves are separate because the cache has
// a level for each.
//
//	p, err := compiler.Front(front.Request{Pkg: "example.com/k", Func: "Scale"}, compiler.Registered)
//	tgt, err := target.Parse("ptx:sm_90")
//	art, err := p.Emit(tgt, compiler.Options{})
//	fmt.Println(string(art.Code)) // PTX
//
// The example below is the same with all errors handled.
//
// What goes in is of package input, what comes out of package code: programs that load
// kernels and have no compiler need only those.
//
// Mistakes in a kernel come back as a [diag.List]; a fault of the compiler
// itself as an [InternalError]. Neither half panics on user input.
package compiler
