// Package conv has the operations of images over windows: convolutions, pooling, unfolding and
// folding of windows, resizing and sampling.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package conv
