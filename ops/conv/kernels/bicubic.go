package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Bicubic stores the sums of the sixteen elements of the input around a position, weighted by
// the cubic convolution of Keys ("Cubic convolution interpolation for digital image
// processing", 1981) with the parameter -3/4. An element beyond an edge is the one at the
// edge. The walk is that of [Adaptive], of which the sizes count; an element of the result is
// down or side apart from the next; if not aligned, elements are squares and positions are
// their middles.
//
//kiln:kernel
func Bicubic[T dsl.Float, C dsl.Real](t dsl.Thread, out, x []T, w core.Walk, p Adaptive, down, side C, aligned dsl.ConstBool, mad func(a, b, c C) C) {
	w.Each(t, func(at [core.Operands]int) {
		y, fy := cubicPlace(at[2], down, aligned)
		z, fz := cubicPlace(at[3], side, aligned)
		wy, wz := cubicWeights(fy), cubicWeights(fz)
		var sum C
		for i := range 4 {
			row := at[1] + min(max(y+i-1, 0), p.In[0]-1)*p.X[0]
			var line C
			for k := range 4 {
				line = mad(wz[k], dsl.Convert[C](x[row+min(max(z+k-1, 0), p.In[1]-1)*p.X[1]]), line)
			}
			sum = mad(wy[i], line, sum)
		}
		out[at[0]] = dsl.Convert[T](sum)
	})
}

// cubicPlace returns the element in front of a position and how far behind it that is.
func cubicPlace[C dsl.Real](i int, scale C, aligned dsl.ConstBool) (first int, far C) {
	at := dsl.Convert[C](i) * scale
	if !aligned {
		at = (dsl.Convert[C](i)+0.5)*scale - 0.5
	}
	low := dsl.Floor(at)
	return int(low), at - low
}

// cubicWeights returns the weights of the two elements in front of a position and the two
// behind it.
func cubicWeights[C dsl.Real](far C) (w [4]C) {
	const a = -0.75
	near := 1 - far
	w[0] = a * far * near * near
	w[1] = ((a+2)*far-(a+3))*far*far + 1
	w[2] = ((a+2)*near-(a+3))*near*near + 1
	w[3] = a * near * far * far
	return w
}
