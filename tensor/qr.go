package tensor

import (
	"github.com/gokiln/kiln/ops/linalg"
	"slices"
)

// QR is the factors of matrices, (…, m, n), of types F32 and F64, by reflections: with k the
// smaller of m and n, q is (…, m, k) with columns that are orthogonal and of length 1, and r (…, k,
// n) upper triangular. The signs are those of LAPACK. Gradients are for matrices of at least as
// many rows as columns, NaN if the columns are not independent; of others, asking for one is an
// error of kind [ErrNoGradient].
func (t *Tensor) QR() (q, r *Tensor) {
	const op = "qr"
	shape, bad := t.matrices(op)
	if bad != nil {
		return bad, bad
	}
	m, n := t.Size(-2), t.Size(-1)
	k := min(m, n)
	w := &work{op: op}
	a := t.Detach().Copy().three()
	list := w.reflect(a, k)
	q = w.result(w.orthogonal(list, a, k))
	r = w.result(a.Narrow(1, 0, k).Triu(0))
	if bad := first(op, q, r); bad != nil {
		return bad, bad
	}
	lead := shape[:len(shape)-2]
	q, r = q.Reshape(append(slices.Clone(lead), m, k)...), r.Reshape(append(slices.Clone(lead), k, n)...)
	if m < n {
		return q.once(op, t), r.once(op, t)
	}
	// Both are parts of one result, which has the gradient.
	both := Cat(-2, q, r).from(op, grad1(func(g, x, out *Tensor) *Tensor {
		return gradQR(g.Narrow(-2, 0, m), g.Narrow(-2, m, n), out.Narrow(-2, 0, m), out.Narrow(-2, m, n))
	}), t)
	return both.Narrow(-2, 0, m), both.Narrow(-2, m, n)
}

// gradQR is (dq + q·s)·r⁻ᵀ, where s is symmetric with the lower triangle of r·drᵀ - dqᵀ·q (Walter
// and Lehmann, "Algorithmic differentiation of linear algebra functions with application in optimum
// experimental design", 2012).
func gradQR(dq, dr, q, r *Tensor) *Tensor {
	s := r.product(dr.T()).Sub(dq.T().product(q))
	s = s.Tril(0).Add(s.Tril(-1).T())
	return r.SolveTriangular(dq.Add(q.product(s)).T(), Triangle{Upper: true}).T()
}

// reflections are those of some columns of matrices, one after the other, in the rows from the
// first of these on: 1 - v·c·vᵀ.
type reflections struct {
	from int
	v, c *Tensor
}

// reflect makes the first k columns of a, (count, m, n), upper triangular by reflections, of
// which what is below the diagonal then says something.
func (w *work) reflect(a *Tensor, k int) (list []reflections) {
	if a.err != nil || a.Count() == 0 {
		return nil
	}
	count, m, n := a.Size(0), a.Size(1), a.Size(2)
	for i := 0; i < k && w.err == nil; i += panelSide {
		end := min(i+panelSide, k)
		panel := block(a, i, m, i, end)
		tau, c := Zeros(a.dev, a.dtype, count, end-i).scoped(a), Zeros(a.dev, a.dtype, count, end-i, end-i).scoped(a)
		w.step(tau, func() error { return linalg.Householder(a.dev.stream, panel.view(), tau.view()) })
		v := panel.Tril(-1)
		one := v.Diagonal(0, 1, 2)
		w.set(one, one.OnesLike())
		products := v.T().product(v)
		w.step(c, func() error { return linalg.Compact(a.dev.stream, c.view(), products.view(), tau.view()) })
		list = append(list, reflections{i, v, c})
		if end < n {
			rest := block(a, i, m, end, n)
			w.set(rest, rest.Sub(v.product(c.T().product(v.T().product(rest)))))
		}
	}
	return list
}

// orthogonal is the first k columns of the product of reflections, in the type of a.
func (w *work) orthogonal(list []reflections, a *Tensor, k int) *Tensor {
	if a.err != nil {
		return a
	}
	q := Zeros(a.dev, a.dtype, a.Size(0), a.Size(1), k).scoped(a)
	if q.Count() == 0 {
		return q
	}
	one := q.Diagonal(0, 1, 2)
	w.set(one, one.OnesLike())
	for _, r := range slices.Backward(list) {
		rest := block(q, r.from, q.Size(1), r.from, k) // in front of these columns there are ones and zeros
		w.set(rest, rest.Sub(r.v.product(r.c.product(r.v.T().product(rest)))))
	}
	return q
}
