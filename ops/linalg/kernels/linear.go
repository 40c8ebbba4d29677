package kernels

import "github.com/gokiln/kiln/dsl"

// Matrices is a number of matrices in memory.
type Matrices struct {
	Count, Rows, Cols int
	Next              int    // from one to the next
	Step              [2]int // from row to row and from column to column
}

// at is where a matrix has an element.
func (p *Matrices) at(from, i, k int) int { return from + i*p.Step[0] + k*p.Step[1] }

// Blocks have a matrix each, and their threads stand in rows of so many: neighbours in a row
// look at neighbours in a row of the matrix.
const besideEach = 16

// Cholesky puts, for each symmetric matrix a of which it reads the lower triangle, the lower
// triangular matrix there whose product with its transpose is a. The upper triangle stays.
//
//kiln:kernel
func Cholesky[C dsl.Real](t dsl.Thread, a []C, p Matrices) {
	wide := min(besideEach, t.BlockDimX())
	row, col, high := t.ThreadX()/wide, t.ThreadX()%wide, t.BlockDimX()/wide
	for b := t.BlockX(); b < p.Count; b += t.GridDimX() {
		from := b * p.Next
		for k := range p.Rows {
			d := dsl.Sqrt(a[p.at(from, k, k)])
			t.Sync() // all have read it
			if t.ThreadX() == 0 {
				a[p.at(from, k, k)] = d
			}
			for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
				a[p.at(from, i, k)] /= d
			}
			t.Sync()
			for i := k + 1 + row; i < p.Rows; i += high {
				f := -a[p.at(from, i, k)]
				for j := k + 1 + col; j <= i; j += wide {
					a[p.at(from, i, j)] = dsl.FMA(f, a[p.at(from, j, k)], a[p.at(from, i, j)])
				}
			}
			t.Sync()
		}
	}
}

// SolveTriangular puts the matrices x of a·x = b in the place of b, which are p, for lower
// triangular matrices a, which are q, or upper ones. The other triangle of a is not read, nor is
// the diagonal if it is all ones. A thread has a column of b.
//
//kiln:kernel
func SolveTriangular[C dsl.Real](t dsl.Thread, x, a []C, p, q Matrices, upper, ones dsl.ConstBool) {
	c := t.GlobalX()
	if c >= p.Cols {
		return
	}
	n := p.Rows
	for b := t.BlockY(); b < p.Count; b += t.GridDimY() {
		to, from := b*p.Next, b*q.Next
		for k := range n {
			i := k
			if upper {
				i = n - 1 - k
			}
			v := x[p.at(to, i, c)]
			for u := range k {
				j := u
				if upper {
					j = n - 1 - u
				}
				v = dsl.FMA(-a[q.at(from, i, j)], x[p.at(to, j, c)], v)
			}
			if !ones {
				v /= a[q.at(from, i, i)]
			}
			x[p.at(to, i, c)] = v
		}
	}
}

// LU puts the factors of each matrix, of at least as many rows as columns, in its place: below the
// diagonal those of a lower triangular matrix with ones on the diagonal, and from the diagonal on
// an upper one. Rows change places so that the largest number of a column, the first of those, comes to
// the diagonal; those of order, one number for each row, do as well, and sign is negated with
// each change. A column of zeros stays.
//
//kiln:kernel
func LU[C dsl.Real](t dsl.Thread, a []C, order []int64, sign []C, p, o, s Matrices) {
	wide := min(besideEach, t.BlockDimX())
	row, col, high := t.ThreadX()/wide, t.ThreadX()%wide, t.BlockDimX()/wide
	for b := t.BlockX(); b < p.Count; b += t.GridDimX() {
		from := b * p.Next
		for k := range p.Cols {
			best, place := C(-1), p.Rows
			for i := k + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
				if v := dsl.Abs(a[p.at(from, i, k)]); v > best {
					best, place = v, i
				}
			}
			most := dsl.BlockMax(t, best)
			if best != most {
				place = p.Rows
			}
			place = int(dsl.BlockMin(t, int64(place)))
			t.Sync() // all have read the column
			if place > k && place < p.Rows {
				for c := t.ThreadX(); c < p.Cols; c += t.BlockDimX() {
					u, v := p.at(from, k, c), p.at(from, place, c)
					a[u], a[v] = a[v], a[u]
				}
				if t.ThreadX() == 0 {
					u, v := b*o.Next+k*o.Step[0], b*o.Next+place*o.Step[0]
					order[u], order[v] = order[v], order[u]
					sign[b*s.Next] = -sign[b*s.Next]
				}
			}
			t.Sync()
			if d := a[p.at(from, k, k)]; d != 0 {
				for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
					a[p.at(from, i, k)] /= d
				}
			}
			t.Sync()
			for i := k + 1 + row; i < p.Rows; i += high {
				f := -a[p.at(from, i, k)]
				for j := k + 1 + col; j < p.Cols; j += wide {
					a[p.at(from, i, j)] = dsl.FMA(f, a[p.at(from, k, j)], a[p.at(from, i, j)])
				}
			}
			t.Sync()
		}
	}
}

// Householder puts the upper triangular factor of each matrix, of at least as many rows as columns,
// from its diagonal on in its place, and below that the vectors v, without the one they begin
// with, of the reflections 1 - tau·v·vᵀ that lead there.
//
//kiln:kernel
func Householder[C dsl.Real](t dsl.Thread, a, tau []C, p, q Matrices) {
	for b := t.BlockX(); b < p.Count; b += t.GridDimX() {
		from := b * p.Next
		for k := range p.Cols {
			first := a[p.at(from, k, k)]
			f, beta, scale := reflection(t, a, &p, from, k, first)
			t.Sync() // all have read the column
			if t.ThreadX() == 0 {
				tau[b*q.Next+k*q.Step[0]] = f
				a[p.at(from, k, k)] = beta
			}
			for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
				a[p.at(from, i, k)] *= scale
			}
			t.Sync()
			for c := k + 1; c < p.Cols; c++ {
				var sum C
				for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
					sum = dsl.FMA(a[p.at(from, i, k)], a[p.at(from, i, c)], sum)
				}
				top := a[p.at(from, k, c)]
				sum = f * (dsl.BlockSum(t, sum) + top)
				t.Sync() // all have read the one on top
				if t.ThreadX() == 0 {
					a[p.at(from, k, c)] = top - sum
				}
				for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
					a[p.at(from, i, c)] = dsl.FMA(-sum, a[p.at(from, i, k)], a[p.at(from, i, c)])
				}
			}
			t.Sync()
		}
	}
}

// reflection returns tau of the reflection that makes a column from the diagonal on, where it
// has first, one of beta and zeros, and what makes v of what is below the diagonal. Numbers are
// divided by the largest one before they are squared.
func reflection[C dsl.Real](t dsl.Thread, a []C, p *Matrices, from, k int, first C) (tau, beta, scale C) {
	var most, sum C
	for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
		most = max(most, dsl.Abs(a[p.at(from, i, k)]))
	}
	most = dsl.BlockMax(t, most)
	if most == 0 {
		return 0, first, 0
	}
	most = max(most, dsl.Abs(first))
	for i := k + 1 + t.ThreadX(); i < p.Rows; i += t.BlockDimX() {
		v := a[p.at(from, i, k)] / most
		sum = dsl.FMA(v, v, sum)
	}
	v := first / most
	beta = -dsl.Copysign(most*dsl.Sqrt(dsl.BlockSum(t, sum)+v*v), first)
	return (beta - first) / beta, beta, 1 / (first - beta)
}

// Compact puts the upper triangular matrices c in the place of products of vectors, vᵀ·v, for
// which all their reflections, one after the other, are 1 - v·c·vᵀ (Schreiber and Van Loan, "A
// storage-efficient WY representation for products of Householder transformations", 1989). A
// thread has a row.
//
//kiln:kernel
func Compact[C dsl.Real](t dsl.Thread, c, g, tau []C, p, q, s Matrices) {
	i := t.GlobalX()
	if i >= p.Cols {
		return
	}
	for b := t.BlockY(); b < p.Count; b += t.GridDimY() {
		to, from := b*p.Next, b*q.Next
		for k := range p.Cols {
			f, sum := tau[b*s.Next+k*s.Step[0]], C(0)
			for j := i; j < k; j++ {
				sum = dsl.FMA(c[p.at(to, i, j)], g[q.at(from, j, k)], sum)
			}
			switch {
			case k < i:
				f = 0
			case k > i:
				f = -f * sum
			}
			c[p.at(to, i, k)] = f
		}
	}
}
