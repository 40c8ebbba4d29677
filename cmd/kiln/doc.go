// Command kiln checks, prints and manages GPU kernels written in Go.
//
//	kiln check [packages]                                  diagnose kernels
//	kiln emit -target ir|ptx:sm_90|hip:gfx942|… [-kernel K] [-types T,U] [-const name=value,…] package
//	                                                       print what a kernel compiles to
//	kiln emit -dump -target T package                     write a page about each kernel: source, IR after each pass, result
//	kiln devices                                           what was looked for, found, and works
//	kiln cache ls | path | verify | gc | clear             the store of compiled kernels
//
// Packages are named as for the go command, which kiln check and kiln emit run
// to find source files. With -json kiln check prints one JSON array with an
// object for each mistake, in order of position; [] if there is none:
//
//	[
//	  {
//	    "pos": {"file": "scale.go", "line": 10, "col": 7},
//	    "code": "K0102",
//	    "msg": "map type in a kernel",
//	    "note": "why it is a mistake here; may be absent",
//	    "fix": "the way out; may be absent"
//	  }
//	]
//
// Lines and columns count from 1, columns in bytes; a line of 0 means the file as
// a whole. File names are relative to the working directory where they lie below it.
// Codes are stable; docs/diagnostics.md has a section on each.
//
// The exit status is 0 for success, 1 for problems in
// kernels, devices or the cache, 2 for wrong use.
package main
