// Package ops tests the operations of tensors on simulated GPUs: what package opstest
// tests on the CPU and on the GPUs of a machine, and copies of tensors between devices.
//
// The model: the simulators compile every kernel with clang, so that tests run in many goroutines
// and the compiler takes many texts at a time, without optimising. A part is an operation with a
// type and a layout of its operands. AMD GPUs of the two wave widths and Apple's each run every
// 23rd part, others than the others, which is each operation with types and layouts in turn. With
// KILN_OPSTEST=all each device runs all of them, in several times the time that CI has. Cases with
// known results, errors and indices out of range are tested on each.
//
// Example:
//
//	KILN_OPSTEST=all go test ./tests/ops -run TestROCm
package ops
