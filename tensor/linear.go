package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/linalg"
)

// Linear algebra: factors of matrices, and systems of equations. Large matrices are cut into parts
// that kernels have a block for, and what is left between them is products of matrices.

const (
	factorSide = 64 // rows of triangular matrices that a kernel takes whole
	panelSide  = 32 // columns of others
)

// square is the tensor's matrices, of (…, n, n), as (count, n, n), or what is wrong.
func (t *Tensor) square(op string) (s Shape, bad *Tensor) {
	if s, bad = t.matrices(op); bad == nil && s[len(s)-1] != s[len(s)-2] {
		bad = failf(op, ErrShape, "%v: the matrices are not square", s)
	}
	return s, bad
}

// matrices is the shape of the tensor, which has matrices of a type with factors, or what is
// wrong.
func (t *Tensor) matrices(op string) (s Shape, bad *Tensor) {
	if bad := first(op, t); bad != nil {
		return nil, bad
	}
	if err := linalg.CheckLinear(op, t.dtype); err != nil {
		return nil, failed(op, err)
	}
	if s = t.Shape(); len(s) < 2 {
		return nil, failf(op, ErrRank, "%v has fewer than 2 dimensions", s)
	}
	return s, nil
}

// three is a tensor of matrices as (count, rows, columns).
func (t *Tensor) three() *Tensor {
	s := t.layout.Shape()
	if t.err != nil {
		return t
	}
	return t.Reshape(s[:len(s)-2].Count(), s[len(s)-2], s[len(s)-1])
}

// work is something that is done in steps on matrices in memory, up to the first one that fails.
type work struct {
	op  string
	err error
}

// set puts src in the place of dst.
func (w *work) set(dst, src *Tensor) {
	if w.err != nil {
		return
	}
	if src.err != nil {
		w.err = src.err
		return
	}
	if src.Count() > 0 {
		w.err = dst.dev.copyInto(dst, src)
	}
}

// block is a part of matrices: rows from i up to k, columns from j up to l.
func block(t *Tensor, i, k, j, l int) *Tensor { return t.Narrow(1, i, k-i).Narrow(2, j, l-j) }

// half is where n rows are cut in two.
func half(n, side int) int { return max((n/2+side-1)/side*side, side) }

// result is t, or the error.
func (w *work) result(t *Tensor) *Tensor {
	if w.err != nil {
		return failed(w.op, w.err)
	}
	return t
}

// Cholesky is, for symmetric positive definite matrices, (…, n, n), of types F32 and F64, the lower
// triangular ones with positive diagonals whose products with their transposes they are. Only the
// lower triangles are read; the gradient is symmetric. Other matrices give NaN.
//
//	l := x.Cholesky() // l.MatMul(l.T()) is x
func (t *Tensor) Cholesky() *Tensor {
	const op = "cholesky"
	shape, bad := t.square(op)
	if bad != nil {
		return bad
	}
	w := &work{op: op}
	a := t.Detach().three().Tril(0)
	w.cholesky(a)
	out := w.result(a.Tril(0).Reshape(shape...))
	return out.from(op, grad1(func(g, x, l *Tensor) *Tensor {
		p := l.T().product(g).Tril(0)
		p = p.Sub(p.Mul(eyeLike(p)).MulScalar(0.5))
		p = l.T().SolveTriangular(p, Triangle{Upper: true})
		p = l.T().SolveTriangular(p.T(), Triangle{Upper: true})
		return p.Add(p.T()).MulScalar(0.5)
	}), t)
}

func (w *work) cholesky(a *Tensor) {
	n := a.Size(1)
	if w.err != nil || n <= factorSide {
		w.step(a, func() error { return linalg.Cholesky(a.dev.stream, a.view()) })
		return
	}
	h := half(n, factorSide)
	top, low, rest := block(a, 0, h, 0, h), block(a, h, n, 0, h), block(a, h, n, h, n)
	w.cholesky(top)
	w.triangular(top, low.T(), Triangle{})
	w.set(rest, rest.Sub(low.product(low.T())))
	w.cholesky(rest)
}

// step runs an operation on matrices, if all was right so far.
func (w *work) step(a *Tensor, run func() error) {
	if w.err != nil {
		return
	}
	if a.err != nil {
		w.err = a.err
		return
	}
	w.err = run()
}

// eyeLike is ones on the diagonals of matrices of n rows, where t has its own.
func eyeLike(t *Tensor) *Tensor {
	if t.err != nil {
		return t
	}
	return Eye(t.dev, t.dtype, t.Size(-1)).scoped(t)
}

// Triangle says which part of triangular matrices is read.
type Triangle struct {
	Upper bool // from the diagonal on up, and else on down
	Ones  bool // the diagonal is all ones, and is not read
}

// SolveTriangular is x of the equations t·x = b, for triangular matrices t, (…, n, n), and b, (…,
// n, k), of types F32 and F64; the dimensions in front are broadcast. What tri does not name is not
// read. A zero on the diagonal gives what divisions by it give. Of x·t = b it is
// t.T().SolveTriangular(b.T(), …).T(), where T turns an upper triangle into a lower one.
func (t *Tensor) SolveTriangular(b *Tensor, tri Triangle) *Tensor {
	const op = "solve_triangular"
	a, x, bad := t.system(op, b)
	if bad != nil {
		return bad
	}
	shape := x.Shape()
	w := &work{op: op}
	x3 := x.Detach().Copy().three()
	w.triangular(a.Detach().three(), x3, tri)
	return w.result(x3.Reshape(shape...)).from(op, grad2(func(g, a, b, x *Tensor) (*Tensor, *Tensor) {
		db := a.T().SolveTriangular(g, Triangle{Upper: !tri.Upper, Ones: tri.Ones})
		return tri.of(db.product(x.T())).Neg(), db
	}), t, b)
}

// of is the part of matrices that is read.
func (tri Triangle) of(t *Tensor) *Tensor {
	k := 0
	if tri.Ones {
		k = 1
	}
	if tri.Upper {
		return t.Triu(k)
	}
	return t.Tril(-k)
}

// system is the operands of equations t·x = b with the same dimensions in front, or what is wrong.
func (t *Tensor) system(op string, b *Tensor) (a, x, bad *Tensor) {
	s, bad := t.square(op)
	if bad != nil {
		return nil, nil, bad
	}
	if bad := first(op, b); bad != nil {
		return nil, nil, bad
	}
	if err := same(t, b); err != nil {
		return nil, nil, failed(op, err)
	}
	u, n := b.layout.Shape(), s[len(s)-1]
	if len(u) < 2 {
		return nil, nil, failf(op, ErrRank, "%v has fewer than 2 dimensions: Unsqueeze makes a column of a vector", u)
	}
	if u[len(u)-2] != n {
		return nil, nil, failf(op, ErrShape, "%v and %v: %d columns and %d rows", s, u, n, u[len(u)-2])
	}
	batch, err := layout.Broadcast(s[:len(s)-2], u[:len(u)-2])
	if err != nil {
		return nil, nil, failed(op, fmt.Errorf("%w: %v and %v: %v", ErrShape, s, u, err))
	}
	return t.BroadcastTo(append(slices.Clone(batch), n, n)...), b.BroadcastTo(append(slices.Clone(batch), n, u[len(u)-1])...), nil
}

// triangular puts x of a·x = b in the place of b.
func (w *work) triangular(a, b *Tensor, tri Triangle) {
	n := a.Size(1)
	if w.err != nil || n <= factorSide {
		w.step(b, func() error { return linalg.SolveTriangular(b.dev.stream, b.view(), a.view(), tri.Upper, tri.Ones) })
		return
	}
	h := half(n, factorSide)
	top, rest := block(a, 0, h, 0, h), block(a, h, n, h, n)
	b1, b2 := b.Narrow(1, 0, h), b.Narrow(1, h, n-h)
	if tri.Upper {
		w.triangular(rest, b2, tri)
		w.set(b1, b1.Sub(block(a, 0, h, h, n).product(b2)))
		w.triangular(top, b1, tri)
		return
	}
	w.triangular(top, b1, tri)
	w.set(b2, b2.Sub(block(a, h, n, 0, h).product(b1)))
	w.triangular(rest, b2, tri)
}

// LU is the factors of square matrices, (…, n, n), of types F32 and F64, with their rows in another
// order, so that the largest number of a column is the one that is divided by: in one matrix that
// of a lower triangular one below the diagonal, where it has ones, and that of an upper one from
// there on. Row i of the product of both is row order[i], of type I64, and sign, 1 or -1, is the
// determinant of that order. There is no gradient: see [Tensor.Solve], [Tensor.Det].
//
//	lu, order, sign := x.LU()
//	l, u := lu.Tril(-1).Add(tensor.Eye(dev, x.DType(), n)), lu.Triu(0)
func (t *Tensor) LU() (lu, order, sign *Tensor) {
	const op = "lu"
	shape, bad := t.square(op)
	if bad != nil {
		return bad, bad, bad
	}
	a := t.Detach().Copy().three()
	lu, order, sign, err := factors(op, a)
	if err != nil {
		bad := failed(op, err)
		return bad, bad, bad
	}
	lead := shape[:len(shape)-2]
	return lu.Reshape(shape...).once(op, t), order.Reshape(shape[:len(shape)-1]...).without(t), sign.Reshape(lead...).without(t)
}

// factors puts the factors of a, (count, n, n), in its place.
func factors(op string, a *Tensor) (lu, order, sign *Tensor, err error) {
	if a.err != nil {
		return nil, nil, nil, a.err
	}
	w := &work{op: op}
	count, n := a.Size(0), a.Size(1)
	sign = Ones(a.dev, a.dtype, count).scoped(a)
	order = numbered(a, count, n)
	w.lu(a, order, sign)
	return a, order, sign, w.err
}

// numbered is the numbers from 0 up to n, for each of some matrices.
func numbered(like *Tensor, count, n int) *Tensor {
	return Arange(like.dev, int64(0), int64(n)).scoped(like).BroadcastTo(count, n).Copy()
}

func (w *work) lu(a, order, sign *Tensor) {
	m, n := a.Size(1), a.Size(2)
	if w.err != nil || n <= panelSide {
		w.step(a, func() error { return linalg.LU(a.dev.stream, a.view(), order.view(), sign.view()) })
		return
	}
	h := half(n, panelSide)
	left, right := block(a, 0, m, 0, h), block(a, 0, m, h, n)
	w.lu(left, order, sign)
	w.set(right, right.rows(order))
	up, low, rest := block(a, 0, h, h, n), block(a, h, m, 0, h), block(a, h, m, h, n)
	w.triangular(block(a, 0, h, 0, h), up, Triangle{Ones: true})
	w.set(rest, rest.Sub(low.product(up)))
	later := numbered(a, a.Size(0), m-h)
	w.lu(rest, later, sign)
	w.set(low, low.rows(later))
	w.set(order.Narrow(1, h, m-h), order.Narrow(1, h, m-h).Gather(later, 1))
}

// rows is the rows of matrices in another order.
func (t *Tensor) rows(order *Tensor) *Tensor {
	if t.err != nil || order.err != nil {
		return either(first("rows", t, order), t)
	}
	return t.Gather(order.Unsqueeze(2).BroadcastTo(order.Size(0), order.Size(1), t.Size(2)), 1)
}

// Solve is x of the equations t·x = b, for matrices t, (…, n, n), and b, (…, n, k), of types F32
// and F64; the dimensions in front are broadcast. Matrices that have no inverse give infinities
// and NaN.
func (t *Tensor) Solve(b *Tensor) *Tensor {
	const op = "solve"
	a, x, bad := t.system(op, b)
	if bad != nil {
		return bad
	}
	shape := x.Shape()
	lu, order, _, err := factors(op, a.Detach().Copy().three())
	if err != nil {
		return failed(op, err)
	}
	w := &work{op: op}
	x3 := x.Detach().three().rows(order)
	w.triangular(lu, x3, Triangle{Ones: true})
	w.triangular(lu, x3, Triangle{Upper: true})
	return w.result(x3.Reshape(shape...)).from(op, grad2(func(g, a, b, x *Tensor) (*Tensor, *Tensor) {
		db := a.T().Solve(g)
		return db.product(x.T()).Neg(), db
	}), t, b)
}

// Inverse is the inverse of matrices, (…, n, n), of types F32 and F64: [Tensor.Solve], which is
// as exact and less work where what is wanted is the product of an inverse.
func (t *Tensor) Inverse() *Tensor {
	const op = "inverse"
	if _, bad := t.square(op); bad != nil {
		return bad
	}
	x := t.Detach()
	return x.Solve(eyeLike(x)).from(op, grad1(func(g, x, out *Tensor) *Tensor {
		return out.T().product(g).product(out.T()).Neg()
	}), t)
}

// Det is the determinants of matrices, (…, n, n), of types F32 and F64; for those that overflow
// see [Tensor.LogDet]. The gradient of a matrix that has no inverse is NaN.
func (t *Tensor) Det() *Tensor {
	const op = "det"
	if _, bad := t.square(op); bad != nil {
		return bad
	}
	lu, _, sign := t.Detach().LU()
	if lu.err != nil {
		return failed(op, lu.err)
	}
	return lu.Diagonal(0, -2, -1).Prod(-1).Mul(sign).from(op, grad1(func(g, x, out *Tensor) *Tensor {
		return g.Mul(out).Unsqueeze(-1).Unsqueeze(-1).Mul(x.Inverse().T())
	}), t)
}

// LogDet is the signs of the determinants of matrices, (…, n, n), of types F32 and F64: 1, -1 or 0,
// and the logarithms of their magnitudes. Only these have a gradient.
func (t *Tensor) LogDet() (sign, log *Tensor) {
	const op = "logdet"
	if _, bad := t.square(op); bad != nil {
		return bad, bad
	}
	lu, _, sign := t.Detach().LU()
	if lu.err != nil {
		bad := failed(op, lu.err)
		return bad, bad
	}
	d := lu.Diagonal(0, -2, -1)
	log = d.Abs().Log().Sum(-1).from(op, grad1(func(g, x, out *Tensor) *Tensor {
		return g.Unsqueeze(-1).Unsqueeze(-1).Mul(x.Inverse().T())
	}), t)
	return d.Sign().Prod(-1).Mul(sign).without(t), log
}
