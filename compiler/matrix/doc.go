// Package matrix says which matrix instructions targets have: the shapes of their factors, and
// which lane holds which element in which of its registers.
//
// The model: a [Unit] is one instruction, D = A·B + C, of a warp. Its matrices are distributed over
// the lanes; where element i of lane l stands is a [Layout], in which every bit of l and of i adds
// its own row and column. That describes the units of every vendor, so that the compiler makes index
// arithmetic of it and the tests' reference multiplies by it. A new instruction is a row of the
// table.
//
//	u := matrix.For(t, ir.MatrixBF16)     // nil where t has no such instruction
//	row, col := u.C.At(lane, i)           // of element i of the lane's sums
package matrix
