// Package sort has the sorts of rows, and what needs only a part of the order: the k largest
// elements, quantiles.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package sort
