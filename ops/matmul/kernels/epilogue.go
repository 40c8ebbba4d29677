package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Epilogue says what becomes of sums before they are stored:
//
//	act(scale·sum + bias)·factor + residual
//
// in the type of the sums, which is rounded once. What is absent costs nothing.
type Epilogue struct {
	Bias, Factor, Residual Addend
	Scaled                 dsl.ConstBool
}

// Kinds of an [Addend].
const (
	Absent    = iota
	PerColumn // elements of a row are contiguous, and rows are the same
	PerRow    // elements of a row are the same
	Unit      // elements of a row are contiguous
	Strided   // what the strides say
)

// Addend is a matrix that has an element for each sum, at a place of its own in the walk over
// products.
type Addend struct {
	Kind     dsl.ConstInt
	Pairs    dsl.ConstBool // of PerColumn and Unit: two columns from an even one on are contiguous, aligned, and both inside or outside
	Row, Col int           // strides
}

// Places of the operands of an [Epilogue] in the walk, behind those of the product.
const (
	atBias = 3 + iota
	atFactor
	atResidual
)

// place returns where the element of row r and column c is.
func (a *Addend) place(base, r, c int) int {
	switch a.Kind {
	case PerColumn:
		return base + c
	case PerRow:
		return base + r*a.Row
	case Unit:
		return base + r*a.Row + c
	}
	return base + r*a.Row + c*a.Col
}

// load returns the elements of row r and of columns c and c + next, c even if next is 1; those
// behind the last row or column are others.
func load[T, C dsl.Number](a *Addend, from []T, base, r, c, next int, p *Product) (v [2]C) {
	r = min(r, p.M-1)
	switch {
	case a.Kind == Absent:
	case bool(a.Pairs) && next == 1:
		two := dsl.LoadVec[[2]T](from, a.place(base, r, min(c, p.N-2))>>1)
		v[0], v[1] = dsl.Convert[C](two[0]), dsl.Convert[C](two[1])
	case a.Kind == PerRow:
		v[0] = dsl.Convert[C](from[a.place(base, r, 0)])
		v[1] = v[0]
	default:
		v[0] = dsl.Convert[C](from[a.place(base, r, min(c, p.N-1))])
		v[1] = dsl.Convert[C](from[a.place(base, r, min(c+next, p.N-1))])
	}
	return v
}

// finish returns what an epilogue makes of a sum.
func finish[C dsl.Number](e *Epilogue, sum, scale, bias, factor, residual C, act func(x C) C, mad func(a, b, c C) C) C {
	one, zero := dsl.Convert[C](1), dsl.Convert[C](0)
	switch {
	case bool(e.Scaled):
		sum = mad(scale, sum, bias)
	case e.Bias.Kind != Absent:
		sum = mad(one, sum, bias)
	}
	sum = act(sum)
	switch {
	case e.Factor.Kind != Absent && e.Residual.Kind != Absent:
		return mad(sum, factor, residual)
	case e.Factor.Kind != Absent:
		return mad(sum, factor, zero)
	case e.Residual.Kind != Absent:
		return mad(sum, one, residual)
	}
	return sum
}

// finishPair returns what an epilogue makes of the sums of row r and of columns c and c + next.
func finishPair[O, T, C dsl.Number](e *Epilogue, p *Product, bias, residual []T, at [core.Operands]int, r, c, next int, v, factor [2]C, scale C, act func(x C) C, mad func(a, b, c C) C) (results [2]O) {
	b := load[T, C](&e.Bias, bias, at[atBias], r, c, next, p)
	d := load[T, C](&e.Residual, residual, at[atResidual], r, c, next, p)
	for i := range results {
		results[i] = dsl.Convert[O](finish(e, v[i], scale, b[i], factor[i], d[i], act, mad))
	}
	return results
}

// finishOne returns what an epilogue makes of the sum of row r and column c.
func finishOne[O, C dsl.Number](e *Epilogue, bias []O, factor []C, residual []O, at [core.Operands]int, r, c int, sum, scale C, act func(x C) C, mad func(a, b, c C) C) O {
	var b, f, d C
	if e.Bias.Kind != Absent {
		b = dsl.Convert[C](bias[e.Bias.place(at[atBias], r, c)])
	}
	if e.Factor.Kind != Absent {
		f = factor[e.Factor.place(at[atFactor], r, c)]
	}
	if e.Residual.Kind != Absent {
		d = dsl.Convert[C](residual[e.Residual.place(at[atResidual], r, c)])
	}
	return dsl.Convert[O](finish(e, sum, scale, b, f, d, act, mad))
}

// FinishParts stores what an epilogue makes of the sums of n numbers, step apart, as [SumParts] adds
// them.
//
//kiln:kernel
//kiln:const e.Bias.Kind=0,4 e.Factor.Kind=0 e.Residual.Kind=0,4 e.Scaled=false,true
func FinishParts[T, C dsl.Number](t dsl.Thread, out []T, parts []C, bias []T, factor []C, residual []T, w core.Walk, n, step int, scale C, e Epilogue, mad func(a, b, c C) C, add func(a, b C) C, act func(x C) C) {
	w.Each(t, func(at [core.Operands]int) {
		var b, f, d C
		if e.Bias.Kind != Absent {
			b = dsl.Convert[C](bias[at[2]])
		}
		if e.Factor.Kind != Absent {
			f = factor[at[3]]
		}
		if e.Residual.Kind != Absent {
			d = dsl.Convert[C](residual[at[4]])
		}
		out[at[0]] = dsl.Convert[T](finish(&e, sumOf(parts, at[1], n, step, add), scale, b, f, d, act, mad))
	})
}
