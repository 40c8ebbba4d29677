// Package index has the operations that read by indices: gather, index_select, embedding, search in
// sorted rows, selection by masks, and those that rearrange elements: padding, rolling, flipping.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package index
