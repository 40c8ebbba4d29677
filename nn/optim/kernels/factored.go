package kernels

import "github.com/gokiln/kiln/dsl"

// Factors says how a second moment is stored (Shazeer and Stern, "Adafactor: Adaptive Learning
// Rates with Sublinear Memory Cost", 2018, section 3): of matrices as a factor for each row and one
// for each column, whose product is divided by the mean of those of the rows; of vectors as it is.
type Factors struct {
	Matrix     dsl.ConstBool
	Rows, Cols int
}

// at is where the factors of element i are, and which matrix it is in.
func (f *Factors) at(i int) (row, col, matrix int) {
	row = i / f.Cols
	matrix = row / f.Rows
	return row, matrix*f.Cols + i - row*f.Cols, matrix
}

// factored is the gradient of element i over the root of its second moment, which is at least eps².
func factored[O dsl.Number, C dsl.Real](i int, g []O, rows, cols, means []C, scale, eps C, f *Factors) C {
	var v C
	if f.Matrix {
		r, c, m := f.at(i)
		v = rows[r] * cols[c] / max(means[m], eps)
	} else {
		v = rows[i]
	}
	return dsl.Convert[C](g[i]) * scale / dsl.Sqrt(max(v, eps*eps))
}

// FactoredSquares is [Squares] of what [FactoredUpdate] adds.
//
//kiln:kernel
func FactoredSquares[O dsl.Number, C dsl.Real](t dsl.Thread, out []C, g []O, rows, cols, means, scale []C, eps C, f Factors, n int) {
	var sum C
	for i := t.Global(); i < n; i += t.GlobalSize() {
		x := factored(i, g, rows, cols, means, scale[0], eps, &f)
		sum += x * x
	}
	sum = dsl.BlockSum(t, sum)
	if t.ThreadX() == 0 {
		out[t.BlockX()] = sum
	}
}

// FactoredRate stores the learning rate of a variable in out[0]: relative to the root mean square
// of its n elements, which is at least eps, and so that the root mean square of the update is at
// most d (algorithms 5 and 6 there). Both begin as so many partial sums of squares. The learning
// rate that this is relative to is in a row of steps. One block computes it.
//
//kiln:kernel
func FactoredRate[C dsl.Real](t dsl.Thread, out, values, updates, steps []C, row, parts, n int, eps, d C) {
	var x, u C
	for i := t.ThreadX(); i < parts; i += t.BlockDimX() {
		x += values[i]
		u += updates[i]
	}
	x, u = dsl.BlockSum(t, x), dsl.BlockSum(t, u)
	if t.ThreadX() == 0 {
		x, u = dsl.Sqrt(x/C(n)), dsl.Sqrt(u/C(n))
		out[0] = steps[row*Columns+ToLR] * max(x, eps) / max(u/d, 1)
	}
}

// FactoredUpdate changes a variable x, and its master copy w if there is one, by the gradient over
// the root of its second moment.
//
//kiln:kernel
func FactoredUpdate[T, O dsl.Number, C dsl.Real](t dsl.Thread, x []T, w []C, g []O, rows, cols, means, scale, rate, steps []C, row int, eps C, f Factors, n int, master dsl.ConstBool) {
	i := t.Global()
	if i >= n {
		return
	}
	var v C
	if master {
		v = w[i]
	} else {
		v = dsl.Convert[C](x[i])
	}
	v = v*steps[row*Columns+ToDecay] - rate[0]*factored(i, g, rows, cols, means, scale[0], eps, &f)
	x[i] = dsl.Convert[T](v)
	if master {
		w[i] = v
	}
}

// Momentum moves the mean by a part of the way to the gradient, and stores what is to be made
// orthogonal: the mean, or with Nesterov's momentum the gradient moved by keep of the way to it.
//
//kiln:kernel
func Momentum[O dsl.Number, C dsl.Real](t dsl.Thread, out, mean []C, g []O, scale []C, keep, take C, n int, nesterov dsl.ConstBool) {
	i := t.Global()
	if i >= n {
		return
	}
	x := dsl.Convert[C](g[i]) * scale[0]
	m := mean[i] + take*(x-mean[i])
	mean[i] = m
	if nesterov {
		m = x + keep*(m-x)
	}
	out[i] = m
}
