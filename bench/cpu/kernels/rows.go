package kernels

import "github.com/gokiln/kiln/dsl"

// Softmax normalises a row of x a warp. A block is as wide as a warp, and as high
// as it has rows.
//
//kiln:kernel
func Softmax(t dsl.Thread, out, x []float32, cols int) {
	row := t.GlobalY() * cols
	in, to := x[row:row+cols], out[row:row+cols]
	w := t.WarpSize()
	var most [4]float32
	for k := range most {
		most[k] = in[0]
	}
	i := t.ThreadX()
	for ; i < cols-3*w; i += 4 * w {
		for k := range most {
			if v := in[i+k*w]; v > most[k] {
				most[k] = v
			}
		}
	}
	for ; i < cols; i += w {
		if v := in[i]; v > most[0] {
			most[0] = v
		}
	}
	top := dsl.WarpMax(t, max(most[0], most[1], most[2], most[3]))
	sum := float32(0)
	for i = t.ThreadX(); i < cols; i += w { // one sum will do, beside an exponential
		e := dsl.Exp(in[i] - top)
		to[i] = e
		sum += e
	}
	scale := 1 / dsl.WarpSum(t, sum)
	for i = t.ThreadX(); i < cols; i += w {
		to[i] *= scale
	}
}

// RMSNorm divides a row of x a warp by its root mean square and weighs it. A block
// is as wide as a warp, and as high as it has rows.
//
//kiln:kernel
func RMSNorm(t dsl.Thread, out, x, weight []float32, cols int, eps float32) {
	row := t.GlobalY() * cols
	in, to := x[row:row+cols], out[row:row+cols]
	weight = weight[:cols]
	w := t.WarpSize()
	var part [4]float32
	i := t.ThreadX()
	for ; i < cols-3*w; i += 4 * w {
		for k := range part {
			v := in[i+k*w]
			part[k] = dsl.FMA(v, v, part[k])
		}
	}
	for ; i < cols; i += w {
		part[0] = dsl.FMA(in[i], in[i], part[0])
	}
	sum := dsl.WarpSum(t, (part[0]+part[1])+(part[2]+part[3]))
	scale := 1 / dsl.Sqrt(sum/float32(cols)+eps)
	for i = t.ThreadX(); i < cols; i += w {
		to[i] = in[i] * scale * weight[i]
	}
}

// Sum writes the sum of each block's part of x, each piece in a row. A block is a
// warp.
//
//kiln:kernel
func Sum(t dsl.Thread, out, x []float32) {
	first, end := part(t, len(x))
	in := x[first:end]
	w := t.WarpSize()
	var sums [8]float32
	i := t.ThreadX()
	for ; i < len(in)-7*w; i += 8 * w {
		for k := range sums {
			sums[k] += in[i+k*w]
		}
	}
	for ; i < len(in); i += w {
		sums[0] += in[i]
	}
	for d := 4; d > 0; d /= 2 {
		for k := range d {
			sums[k] += sums[k+d]
		}
	}
	if sum := dsl.WarpSum(t, sums[0]); t.ThreadX() == 0 {
		out[t.BlockX()] = sum
	}
}
