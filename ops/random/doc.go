// Package random has the random numbers of a counter: the same on every device.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package random
