// Package attention has scaled dot-product attention in one kernel, with the log-sum-exp of each
// row of scores, by which gradients compute probabilities again.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package attention
