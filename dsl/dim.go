package dsl

// Dim3 is the size of a grid or a block. Y and Z of zero mean one.
type Dim3 struct{ X, Y, Z int }

// D1 is a size along x alone.
func D1(x int) Dim3 { return Dim3{x, 1, 1} }

// D2 is a size along x and y.
func D2(x, y int) Dim3 { return Dim3{x, y, 1} }

// D3 is a size in three dimensions.
func D3(x, y, z int) Dim3 { return Dim3{x, y, z} }
