// Command kiln checks, prints and manages GPU kernels written in Go.
//
//	kiln check [packages]                                  diagnose kernels
//	kiln emit -target ir|ptx:sm_90 [-kernel K] [-types T,U] [-const name=value,…] package
//	                                                       print what a kernel compiles to
//	kiln emit -dump -target T package                     write a page about each kernel: source, IR after each pass, result
//	kiln devices                                           what was looked for, found, and works
//	kiln cache ls | path | verify | clear                  the store of compiled kernels
//
// Packages are named as for the go command, which kiln check and kiln emit run
// to find source files. The exit status is 0 for success, 1 for problems in
// kernels, devices or the cache, 2 for wrong use.
package main
