// Package diag is the form in which the compiler reports mistakes in kernels.
//
// A [Diagnostic] is data: a position, a stable [Code], a message about
// it, and optionally a note (why) and a fix (the remedy). Stages of the
// compiler collect diagnostics in a [List] and go on, so that one run reports
// all of them. A List is an error that prints one line for each:
//
//	kern/kern.go:12:3: K0102: map type in a kernel (use an array, or a sorted slice prepared on the host)
//
// The table [Codes] documents every code with an example that triggers it;
// [Markdown] renders it as docs/diagnostics.md. A code never changes its meaning
// and is never used again for another mistake.
//
//	var list diag.List
//	list.Add(diag.New(pos, diag.Map, "map type in a kernel", ""))
//	if err := list.Err(); err != nil {
//		return err
//	}
package diag
