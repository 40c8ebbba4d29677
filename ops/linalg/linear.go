package linalg

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/linalg/kernels"
	"github.com/gokiln/kiln/runtime"
)

// Factors of matrices, and systems of equations, in the place of what is given: of views
// (count, rows, columns). What is done here takes a block for each matrix, so that large ones
// are for the caller to cut in parts.

var (
	cholesky    = ops.NewGeneric("cholesky", kernels.Cholesky[ops.C])
	triangular  = ops.NewGeneric("solve_triangular", kernels.SolveTriangular[ops.C])
	lu          = ops.NewGeneric("lu", kernels.LU[ops.C])
	householder = ops.NewGeneric("qr", kernels.Householder[ops.C])
	compact     = ops.NewGeneric("qr", kernels.Compact[ops.C])
)

// CheckLinear reports an element type that factors of matrices are not for.
func CheckLinear(op string, d dtype.DType) error {
	if d != dtype.F32 && d != dtype.F64 {
		return fmt.Errorf("%w: Cast the matrices", ops.Unsupported(op, d, "f32, f64"))
	}
	return nil
}

// matrices checks the operands of an operation, of one type, and returns the matrices of the
// views that follow each shape; dimensions that a view has not are 1.
func matrices(op string, of []ops.View, shapes ...layout.Shape) (list [3]kernels.Matrices, err error) {
	if err := CheckLinear(op, of[0].DType); err != nil {
		return list, err
	}
	for i, v := range of {
		s := v.Layout.Shape()
		if !s.Equal(shapes[i]) {
			return list, fmt.Errorf("%w: %s of %v with %v, want %v", layout.ErrShape, op, of[0].Layout.Shape(), s, shapes[i])
		}
		m := kernels.Matrices{Count: s[0], Rows: 1, Cols: 1, Next: v.Layout.Strides()[0]}
		if len(s) > 1 {
			m.Rows, m.Step[0] = s[1], v.Layout.Strides()[1]
		}
		if len(s) > 2 {
			m.Cols, m.Step[1] = s[2], v.Layout.Strides()[2]
		}
		list[i] = m
	}
	return list, nil
}

// three is the shape of matrices, or an error.
func three(op string, v ops.View) (s layout.Shape, err error) {
	if s = v.Layout.Shape(); len(s) != 3 {
		return nil, fmt.Errorf("%w: %s of %v, want matrices (count, rows, columns)", layout.ErrRank, op, s)
	}
	return s, nil
}

// blockEach is a grid of a block for each matrix.
func blockEach(s *runtime.Stream, count int) runtime.Grid {
	info := ops.DeviceInfo(s.Device())
	return runtime.Blocks(min(count, 1<<30), max(min(ops.MaxThreads, info.MaxThreads, info.ThreadsPerUnit), info.WarpSize))
}

// columnEach is a grid of a thread for each of n columns of each matrix.
func columnEach(s *runtime.Stream, count, n int) runtime.Grid {
	info := ops.DeviceInfo(s.Device())
	threads := max(min(ops.VectorThreads, info.MaxThreads, info.ThreadsPerUnit), info.WarpSize)
	return runtime.Grid{Blocks: runtime.Dim3{X: (n + threads - 1) / threads, Y: min(count, ops.MaxBlocks())}, Threads: runtime.Dim3{X: threads}}
}

// Cholesky puts, in the lower triangles of symmetric matrices of which it reads these, the lower
// triangular matrices whose products with their transposes are a. Matrices that are not positive
// definite give NaN.
func Cholesky(s *runtime.Stream, a ops.View) error {
	const op = "cholesky"
	shape, err := three(op, a)
	if err != nil {
		return err
	}
	m, err := matrices(op, []ops.View{a}, layout.Shape{shape[0], shape[1], shape[1]})
	if err != nil || shape.Count() == 0 {
		return err
	}
	h := a.Header()
	return cholesky.Launch(s, ops.TypeArgs{C: a.DType}, blockEach(s, shape[0]), ops.SliceArg(a.DType, &h), m[0])
}

// SolveTriangular puts x of a·x = b in the place of b, for lower triangular matrices a, or upper
// ones, of which the rest is not read, nor the diagonal if it is all ones. A zero on the diagonal
// gives what divisions by it give.
func SolveTriangular(s *runtime.Stream, b, a ops.View, upper, ones bool) error {
	const op = "solve_triangular"
	shape, err := three(op, b)
	if err != nil {
		return err
	}
	if err := ops.SameType(op, b, a); err != nil {
		return err
	}
	m, err := matrices(op, []ops.View{b, a}, shape, layout.Shape{shape[0], shape[1], shape[1]})
	if err != nil || shape.Count() == 0 {
		return err
	}
	to, from := b.Header(), a.Header()
	return triangular.Launch(s, ops.TypeArgs{C: a.DType}, columnEach(s, shape[0], shape[2]), ops.SliceArg(a.DType, &to), ops.SliceArg(a.DType, &from), m[0], m[1], dsl.ConstBool(upper), dsl.ConstBool(ones))
}

// LU puts the factors of matrices of at least as many rows as columns in their place: that of ones
// on the diagonal below it. Rows change places, those of order, (count, rows) of type I64, in the
// same way, and sign, (count), is negated each time.
func LU(s *runtime.Stream, a, order, sign ops.View) error {
	const op = "lu"
	shape, err := three(op, a)
	if err != nil {
		return err
	}
	if err := ops.SameType(op, a, sign); err != nil {
		return err
	}
	if order.DType != dtype.I64 {
		return ops.Unsupported(op+" with an order", order.DType, dtype.I64.String())
	}
	if shape[1] < shape[2] {
		return fmt.Errorf("%w: %s of %v: fewer rows than columns", layout.ErrShape, op, shape)
	}
	m, err := matrices(op, []ops.View{a, order, sign}, shape, shape[:2], shape[:1])
	if err != nil || shape.Count() == 0 {
		return err
	}
	x, o, g := a.Header(), order.Header(), sign.Header()
	return lu.Launch(s, ops.TypeArgs{C: a.DType}, blockEach(s, shape[0]), ops.SliceArg(a.DType, &x), ops.SliceArg(dtype.I64, &o), ops.SliceArg(a.DType, &g), m[0], m[1], m[2])
}

// Householder puts the upper triangular factors of matrices of at least as many rows as columns in
// their place, and below the diagonals the vectors v of the reflections 1 - tau·v·vᵀ that lead
// there, which have 1 on the diagonal; tau is (count, columns).
func Householder(s *runtime.Stream, a, tau ops.View) error {
	const op = "qr"
	shape, err := three(op, a)
	if err != nil {
		return err
	}
	if err := ops.SameType(op, a, tau); err != nil {
		return err
	}
	if shape[1] < shape[2] {
		return fmt.Errorf("%w: %s of %v: fewer rows than columns", layout.ErrShape, op, shape)
	}
	m, err := matrices(op, []ops.View{a, tau}, shape, layout.Shape{shape[0], shape[2]})
	if err != nil || shape.Count() == 0 {
		return err
	}
	x, h := a.Header(), tau.Header()
	return householder.Launch(s, ops.TypeArgs{C: a.DType}, blockEach(s, shape[0]), ops.SliceArg(a.DType, &x), ops.SliceArg(a.DType, &h), m[0], m[1])
}

// Compact stores in c, (count, n, n), the upper triangular matrices for which n reflections one
// after the other are 1 - v·c·vᵀ, given the products vᵀ·v, and tau, (count, n).
func Compact(s *runtime.Stream, c, products, tau ops.View) error {
	const op = "qr"
	shape, err := three(op, c)
	if err != nil {
		return err
	}
	for _, v := range []ops.View{products, tau} {
		if err := ops.SameType(op, c, v); err != nil {
			return err
		}
	}
	square := layout.Shape{shape[0], shape[2], shape[2]}
	m, err := matrices(op, []ops.View{c, products, tau}, square, square, layout.Shape{shape[0], shape[2]})
	if err != nil || shape.Count() == 0 {
		return err
	}
	to, g, h := c.Header(), products.Header(), tau.Header()
	return compact.Launch(s, ops.TypeArgs{C: c.DType}, columnEach(s, shape[0], shape[2]), ops.SliceArg(c.DType, &to), ops.SliceArg(c.DType, &g), ops.SliceArg(c.DType, &h), m[0], m[1], m[2])
}
