// Package prebuilt shows that a program which brings its kernels runs where nothing else is: with
// an empty cache, KILN_JIT=readonly, no Go toolchain and no source on the machine, and that it
// compiles nothing.
//
// The model: the test binary runs itself as that program, kernels and operations of tensors on some
// devices. It does so first with a record of what it uses (KILN_RECORD), as a developer would; the
// record is prebuilt into one bundle, without a device; then the program runs again in an empty
// directory, with a PATH that leads to no go command and the bundle in KILN_BUNDLES. Every kernel
// has to come from the bundle, the results have to be the same, and a kernel that is not in it is
// ErrNotPrebuilt.
//
// The devices are the CPU, simulated AMD GPUs of both wave widths and Apple's simulated GPU,
// whose drivers compile the text that a bundle has for them when they load it, as real ones do
// without machine code. With KILN_DEVICE the program runs on a real device, and machine code is
// prebuilt if the vendor's assembler is found:
//
//	KILN_DEVICE=cuda KILN_PTXAS=/usr/local/cuda/bin/ptxas go test ./tests/prebuilt -run TestDevice
package prebuilt
