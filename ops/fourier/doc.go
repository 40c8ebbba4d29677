// Package fourier has the Fourier transforms of rows of any length.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package fourier
