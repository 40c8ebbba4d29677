package kernels

import "github.com/gokiln/kiln/dsl"

// Softmax normalises a row of x a block.
//
//kiln:kernel
func Softmax(t dsl.Thread, out, x []float32, cols int) {
	row := t.BlockX() * cols
	top := x[row]
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		top = max(top, x[row+i])
	}
	top = dsl.BlockMax(t, top)
	sum := float32(0)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		sum += dsl.Exp(x[row+i] - top)
	}
	scale := 1 / dsl.BlockSum(t, sum)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		out[row+i] = dsl.Exp(x[row+i]-top) * scale
	}
}

// RMSNorm divides a row of x a block by its root mean square and weighs it.
//
//kiln:kernel
func RMSNorm(t dsl.Thread, out, x, weight []float32, cols int, eps float32) {
	row := t.BlockX() * cols
	sum := float32(0)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		v := x[row+i]
		sum = dsl.FMA(v, v, sum)
	}
	scale := 1 / dsl.Sqrt(dsl.BlockSum(t, sum)/float32(cols)+eps)
	for i := t.ThreadX(); i < cols; i += t.BlockDimX() {
		out[row+i] = x[row+i] * scale * weight[i]
	}
}
