// Command kiln checks, prints and manages GPU kernels written in Go.
//
//	kiln check [-target list] [packages]                   diagnose kernels, and for which of the targets they are too large
//	kiln gen [-check] [packages]                           write typed launchers, zz_kernels.go, next to kernels
//	kiln emit -target ir|ptx:sm_90|hip:gfx942|… [-kernel K] [-types T,U] [-const name=value,…] package
//	                                                       print what a kernel compiles to
//	kiln emit -dump -target T package                     write a page about each kernel: source, IR after each pass, result
//	kiln devices                                           what was looked for, found, and works
//	kiln prebuild [-target list] [-from record] [-o bundle] [packages]
//	                                                       compile kernels ahead, for deployment
//	kiln verify bundle [-from record] [packages]           what of them a bundle does not have
//	kiln bundle ls | sign | key                            look into bundles, sign them
//	kiln tensors ls | print | diff                         look into files of tensors, compare them
//	kiln tensors convert | quantize | dequantize           write other formats and types
//	kiln tensors split | merge                             write a model as several files, or as one
//	kiln run model [prompt]                                talk with a language model, or have it go on with a text
//	kiln pull name...                                      download language models from the Hugging Face hub
//	kiln embed model [texts...]                            make vectors of texts, or compare texts
//	kiln serve model...                                    serve models by OpenAI's HTTP interface
//	kiln bench model                                       measure how fast a language model is
//	kiln cache ls | path | gc | clear                      the store of compiled kernels
//	kiln cache verify [packages]                           compile again what is in it and compare
//	kiln cache export | import | push | pull               to and from bundles and registries
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
// For a kernel Axpy kiln gen writes LaunchAxpy, PrepareAxpy and KernelAxpy, with the type
// parameters and the documentation of the kernel. A program that has the line
//
//	tool github.com/gokiln/kiln/cmd/kiln
//
// in its go.mod (go get -tool writes it) runs the command as go tool kiln, for example by go
// generate:
//
//	//go:generate go tool kiln gen
//
// What is written depends on signatures and documentation comments only. When these have
// changed since, kiln check and go vet with kiln-vet report K0011, and kiln gen -check lists
// the files; in CI one of them is enough.
//
// The exit status is 0 for success, 1 for problems in
// kernels, devices or the cache, files that kiln gen -check finds stale or tensors that kiln tensors
// diff finds different, 2 for wrong use.
package main
