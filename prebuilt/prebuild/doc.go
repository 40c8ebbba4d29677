// Package prebuild compiles kernels where the devices are not: it makes the entries that
// package jit looks for, for any number of targets, as a bundle.
//
//	job := prebuild.Job{Load: load, Specs: specs, Targets: targets}
//	w, err := job.Run(ctx)
//	err = w.WriteFile("app.kiln")
//
// For each specialisation there is one entry with what its source comes to, and for
// each target and build one with the code. Where a vendor's assembler is present the
// machine code it makes is a further one, so that nothing is left to do for the
// driver; without it, drivers compile the text when they load it.
package prebuild
