package dsl

import "github.com/gokiln/kiln/internal/dim"

// Dim3 is the size of a grid or a block. Y and Z of zero mean one. It is the type of that name in
// package runtime, too.
type Dim3 = dim.Dim3

// D1 is a size along x alone.
func D1(x int) Dim3 { return Dim3{X: x, Y: 1, Z: 1} }

// D2 is a size along x and y.
func D2(x, y int) Dim3 { return Dim3{X: x, Y: y, Z: 1} }

// D3 is a size in three dimensions.
func D3(x, y, z int) Dim3 { return Dim3{X: x, Y: y, Z: z} }
