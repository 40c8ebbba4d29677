// Package cfamily writes kernels in languages of the C family: HIP C++, CUDA C++
// and whatever comes. What such a language is made of is a [Language], tables and
// a few pieces of text in a package of its own; the work is done here.
//
// The stages of the package, in order:
//
//   - structure.go turns the control-flow graph into a tree of loops, branches and
//     scopes. No target gets a goto: Metal has none.
//   - outline.go makes a function of an end of the kernel that many blocks jump to,
//     such as the record of a failed check.
//   - expr.go decides which values are written where they are used, and writes
//     expressions by the rows of the language, then by those that all share
//     (rows.go).
//   - stmt.go writes the tree: declarations, assignments, breaks out of several
//     constructs at once.
//   - types.go declares structs with Go's layout; arrays are structs too.
//   - helpers.go adds the functions that the text names, and no others.
//
// Go's meaning is kept where C has none or another: signed arithmetic wraps because
// it is done on unsigned types, counts of shifts and divisors are guarded, floats
// saturate on their way to integers, min and max treat NaN and zeros as Go does.
//
//	text, err := hip.Language.Emit(module, target, cfamily.Options{Lines: true})
package cfamily
