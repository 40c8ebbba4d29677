// Package linalg has the factorisations and solutions of systems of small matrices.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package linalg
