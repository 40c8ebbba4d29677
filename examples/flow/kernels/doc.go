// Package kernels holds the kernels of the flow example, a lattice-Boltzmann method with nine
// velocities in the plane (D2Q9), after Qian, d'Humières and Lallemand, Lattice BGK Models for
// Navier–Stokes Equation, 1992:
//
//	Step   moves and collides the particles of each cell
//	Paint  draws the vorticity
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the compiler reads the kernels from the binary
