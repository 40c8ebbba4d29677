// Package front turns Go kernels into IR.
//
// It works wholly in memory: the text of a kernel package comes from a
// [Loader], usually out of the running binary itself, and no go command, GOROOT
// or file is needed. The stages, each a package or a file or two:
//
//   - internal/source: packages are parsed into declarations, with what each refers to.
//   - build.go: the state of one compilation, which the stages below fill.
//   - reach.go: from the kernel, find the declarations it reaches. Only those are
//     compiled, so host code with any imports may stand beside a kernel.
//   - instance.go, typecheck.go, dispatch.go: go/types over those declarations,
//     with a synthetic variable that instantiates a generic kernel; functions
//     behind dsl.Exp and its like are added for the widths in use.
//   - session.go: a compilation that came this far without a mistake is kept, and
//     serves later requests for what it covers, as long as there is room (internal/lru).
//   - checker.go, subset.go, tables.go, kernelsig.go: what Go has and kernels have not is
//     reported, all of it in one run; constant tables are read.
//   - lowered.go: the kernel in the form of go/ssa, with what is known of it, goes to
//     internal/lower, which makes IR of it.
//
// Beneath both halves, the checks and the lowering, are internal/gotype: what a Go type is to a
// kernel, internal/constval: values of compile-time parameters, internal/unroll: comments
// //kiln:unroll, and internal/report: the diagnostics of a compilation.
//
// Mistakes in kernels are a [diag.List]; a fault of the compiler, or of go/ssa,
// becomes a diagnostic too.
//
//	m, err := front.Build(front.Request{
//		Pkg: "example.com/k", Func: "Scale", Sig: "func(dsl.Thread, []float32, float32)",
//	}, load)
package front
