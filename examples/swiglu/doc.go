// Command swiglu runs one kernel for three element types on a device and checks
// each result against float64 on the host:
//
//	go run ./examples/swiglu -device auto
//
// The bound is stated in u, the largest relative error of rounding to the
// element type: 2^-24 for float32, 2^-11 for F16, 2^-8 for BF16.
//
//   - float32: 6u. Exp is within 1 ulp (2u) and enters with a weight of at most 1;
//     the sum, the quotient and the product add 1u each; one is left for terms of
//     second order.
//   - F16, BF16: 1.01u. The arithmetic is that of float32, far below one u of the
//     element type, and the result is rounded once. Below F16's normal range the
//     bound is half the distance of its numbers, 2^-25.
//
// Inputs are normally distributed with a standard deviation of 2, rounded to
// the element type before both computations.
package main
