// Package cases holds kernels that together use every construct of the kernel
// language. Tests of the front end compile them, compare the IR with golden
// files, and compare what the IR computes with what plain Go computes.
package cases
