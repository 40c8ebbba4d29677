package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// RowFn says what a row kernel computes: softmax, or a normalisation. Both need two statistics
// of a row. The location is the maximum, or the mean; 0 for a normalisation without Center. The
// sum is that of exp(x-location), or of (x-location)².
type RowFn struct {
	Norm    dsl.ConstBool // a normalisation, not softmax
	Quick   dsl.ConstBool // softmax of 16-bit types, for which fast exponentials are exact enough
	Center  dsl.ConstBool // a normalisation subtracts the mean
	Scaled  dsl.ConstBool // it multiplies by scale
	Shifted dsl.ConstBool // it adds shift
	Added   dsl.ConstBool // it is of the sum of two rows, which is stored, too
}

// rowFn is a [RowFn] with its operands. All policies, of where a row is kept between its two
// passes, are written in terms of its methods.
//
// The statistics of some elements are an [Acc]: the location in V, the sum in W, and for a
// normalisation with Center the number of elements in N.
type rowFn[T dsl.Float, C dsl.Real] struct {
	RowFn
	scale, shift []T  // of a normalisation
	log          bool // softmax gives logarithms
	param        C    // -Inf for softmax; the eps of a normalisation
	addend, sum  []T  // of a normalisation with Added: what is added to x, and where the sum is stored
}

// none is the element that leaves statistics as they are.
func (o *rowFn[T, C]) none() C {
	if o.Norm {
		return 0
	}
	return o.param
}

// join combines what locations are computed from: the largest element, or the sum.
func (o *rowFn[T, C]) join(a, b C) C {
	if o.Norm {
		return a + b
	}
	return max(a, b)
}

// locate returns the location of n elements, given [rowFn.join] of them.
func (o *rowFn[T, C]) locate(a, n C) C {
	if o.Norm {
		return a / n
	}
	return a
}

// located reports whether there is a location to compute.
func (o *rowFn[T, C]) located() bool { return bool(!o.Norm) || bool(o.Center) }

// relative is exp(x-location), or x-location.
func (o *rowFn[T, C]) relative(x, location C) C {
	switch {
	case bool(!o.Norm):
		return expOf(x-location, o.Quick)
	case bool(o.Center):
		return x - location
	}
	return x
}

// add adds what a relative element contributes to a sum.
func (o *rowFn[T, C]) add(sum, relative C) C {
	if o.Norm {
		return dsl.FMA(relative, relative, sum)
	}
	return sum + relative
}

// factor is what relative elements are multiplied by, or the logarithm that is subtracted,
// given the statistics of a row of n elements. The softmax of a row whose maximum is infinite
// is NaN; location may be 0 where the sum is NaN then.
func (o *rowFn[T, C]) factor(location, sum, n C) C {
	switch {
	case bool(o.Norm):
		return 1 / dsl.Sqrt(sum/n+o.param)
	case o.log:
		return dsl.Log(sum)
	}
	return (1 + (location - location)) / sum
}

// result is the result of a relative element, or of x itself for the logarithm of softmax, which
// has index i among the weights.
func (o *rowFn[T, C]) result(relative C, i int, location, factor C) C {
	y := relative * factor
	if bool(!o.Norm) && o.log {
		y = relative - location - factor
	}
	if o.Scaled {
		y *= dsl.Convert[C](o.scale[i])
	}
	if o.Shifted {
		y += dsl.Convert[C](o.shift[i])
	}
	return y
}

// element is the result of element i of a row, given the centre that [rowFn.relative] takes.
func (o *rowFn[T, C]) element(x C, i int, centre, location, factor C) C {
	if bool(o.Norm) || !o.log {
		x = o.relative(x, centre)
	}
	return o.result(x, i, location, factor)
}

// centre is the location for distances that are no NaN where all elements are -Inf.
func (o *rowFn[T, C]) centre(location C) C {
	if o.Norm {
		return location
	}
	return above(location)
}

// chunk adds n elements to statistics, of which a normalisation with Center has the sum in V
// until that is divided.
func (o *rowFn[T, C]) chunk(a Acc[C], v *[MaxInFlight]C, n int) Acc[C] {
	switch {
	case bool(!o.Norm):
		return addExp(a, v, 0, 1, n, n, o.Quick)
	case bool(o.Center):
		a.V += tree(v, 0, 1, n, n, 0, itself[C], plus[C])
	default:
		a.W += tree(v, 0, 1, n, n, 0, func(x C) C { return x * x }, plus[C])
	}
	return a
}

// spread adds the squares of the distances of n elements from the mean.
func (o *rowFn[T, C]) spread(a Acc[C], v *[MaxInFlight]C, n int) Acc[C] {
	a.W += tree(v, 0, 1, n, n, 0, func(x C) C { return (x - a.V) * (x - a.V) }, plus[C])
	return a
}

// total is element x of a row, which has index i, or the sum that a normalisation is of: it is
// rounded to the type of elements first, and stored where store says so.
func (o *rowFn[T, C]) total(x C, w RowReduction, l line, i int, store bool) C {
	if !o.Added {
		return x
	}
	sum := dsl.Convert[T](x + dsl.Convert[C](o.addend[l.x+w.at(i)]))
	if store {
		o.sum[l.out+w.to(i)] = sum
	}
	return dsl.Convert[C](sum)
}

// share is what a sum of exponentials relative to one maximum is multiplied by for a larger
// one.
func share[C dsl.Real](from, to C) C { return dsl.Exp(min(above(from)-above(to), 0)) }

// merge returns the statistics of the n elements of a block or Group, given each thread's. The
// parts of a variance are moved to the common mean (Chan, Golub and LeVeque, "Updating formulae
// and a pairwise algorithm for computing sample variances", 1979).
func (o *rowFn[T, C]) merge(t dsl.Thread, w RowReduction, a Acc[C], n C) Acc[C] {
	switch {
	case bool(!o.Norm):
		top := allReduce(t, w, a.V, larger[C])
		return Acc[C]{V: top, W: allReduce(t, w, a.W*share(a.V, top), plus[C])}
	case bool(o.Center):
		mean := allReduce(t, w, a.V*a.N, plus[C]) / n
		a.W += (a.V - mean) * (a.V - mean) * a.N
		return Acc[C]{V: mean, W: allReduce(t, w, a.W, plus[C]), N: n}
	}
	return Acc[C]{W: allReduce(t, w, a.W, plus[C])}
}

// RowsKnown is the last step of a [RowFn] whose statistics are known: the location of each row,
// and its factor or logarithm, as [Inverse], [Logarithm] and [InverseRoot] make them of sums.
//
//kiln:kernel
func RowsKnown[T dsl.Float, C dsl.Real](t dsl.Thread, out, x, scale, shift []T, location, factor []C, w core.Walk, f RowFn, log dsl.ConstBool) {
	o := rowFn[T, C]{RowFn: f, scale: scale, shift: shift, log: bool(log)}
	w.Each(t, func(at [core.Operands]int) {
		var m C
		if o.located() {
			m = location[at[2]]
		}
		out[at[0]] = dsl.Convert[T](o.element(dsl.Convert[C](x[at[1]]), at[3], m, m, factor[at[2]]))
	})
}

// Inverse is 1/w.
func Inverse[C dsl.Real](w, _, _ C) C { return 1 / w }

// Logarithm is that of w.
func Logarithm[C dsl.Real](w, _, _ C) C { return dsl.Log(w) }

// InverseRoot is 1 over the root of w/n and eps.
func InverseRoot[C dsl.Real](w, n, eps C) C { return 1 / dsl.Sqrt(w/n+eps) }
