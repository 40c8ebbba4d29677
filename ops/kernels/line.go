package kernels

import "github.com/gokiln/kiln/dsl"

// Line is a [Walk] of mode Flat.
type Line struct {
	Many dsl.ConstInt
	Vec  dsl.ConstInt
	Part int
	N    int
}

func (l *Line) Walk() Walk {
	return Walk{Mode: Flat, Many: l.Many, Vec: l.Vec, Part: l.Part, N: l.N}
}
