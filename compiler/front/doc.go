// Package front turns Go kernels into IR.
//
// It works wholly in memory: the text of a kernel package comes from a
// [Loader], usually out of the running binary itself, and no go command, GOROOT
// or file is needed. The stages, each a file or two:
//
//   - source.go, lib.go, refs.go: parse packages into declarations, and note
//     what each refers to. Package dsl and stand-ins for math are split by line
//     and parsed declaration by declaration when first reached. Parsed text is
//     cached for the life of the process.
//   - reach.go: from the kernel, find the declarations it reaches. Only those are
//     compiled, so host code with any imports may stand beside a kernel.
//   - instance.go, typecheck.go, dispatch.go: go/types over those declarations,
//     with a synthetic variable that instantiates a generic kernel; functions
//     behind dsl.Exp and its like are added for the widths in use.
//   - session.go: a compilation that came this far without a mistake is kept, and
//     serves later requests for what it covers.
//   - subset.go, kernelsig.go: what Go has and kernels have not is reported, all
//     of it in one run.
//   - params.go: the parameters of a kernel. Structs become a parameter for each
//     scalar, compile-time parameters become constants.
//   - lower.go and the files after it: go/ssa to IR. Structs, slices, small arrays
//     and several results become scalars; functions are specialised for the
//     memory their pointers point to and the function literals they are given.
//     intrinsics.go has a row for each function that is an operation.
//
// Mistakes in kernels are a [diag.List]; a fault of the compiler, or of go/ssa,
// becomes a diagnostic too.
//
//	m, err := front.Build(front.Request{
//		Pkg: "example.com/k", Func: "Scale", Sig: "func(dsl.Thread, []float32, float32)",
//	}, load)
package front
