// Package dump writes a page about one compiled kernel: what its Go source
// became, step by step.
//
// [Collect] compiles a kernel instance once more, watching, and returns a
// [Page]; [Page.WriteHTML] writes it as one self-contained HTML file. The page
// has the Go source of every function that the kernel reaches, the IR after the
// front end and after each pass that changed it, the text for the target, the
// vendor compiler's log, and what the kernel needs: registers, spills, memory,
// and the occupancy that follows; for matrix instructions, the layouts of their fragments.
// Columns are beside each other and collapse; a click on a value, register or line marks it
// everywhere.
//
// Values keep their number through all columns, unlike in the text of `kiln
// emit`, which numbers anew: %12 after one pass is %12 after the next.
//
// Programs are asked for pages by the environment:
//
//	KILN_DUMP=SwiGLU,Softmax   kernels, by function, package.function, or * for all
//	KILN_DUMP_DIR=/tmp/pages   where to write; default: the current directory
//
// [Selection] reads these two; package jit and `kiln emit -dump` use it:
//
//	page, err := dump.Collect(dump.Input{Request: req, Load: load, Target: tgt})
//	file, err := dump.Selection{Dir: "pages"}.Write(page)
package dump
