package language

import "github.com/gokiln/kiln/dsl"

// WholeRows comes to warp operations by conditions that the threads of a warp agree on
// because blocks consist of rows of whole warps.
//
//kiln:kernel
func WholeRows(t dsl.Thread, out, x []int32) {
	i := t.BlockX()*t.BlockSize() + t.ThreadIndex()
	v := x[i]
	if t.ThreadX()/t.WarpSize() == 1 {
		v = dsl.WarpSum(t, v)
	}
	if warp := t.Global() / t.WarpSize(); warp%2 == 0 || t.ThreadY() == 1 {
		v += dsl.WarpMax(t, v)
	}
	if t.ThreadX() < t.WarpSize() {
		v -= dsl.Shuffle(t, v, 3)
	}
	if t.ThreadIndex()&^(t.WarpSize()-1) != 0 {
		v ^= dsl.ShuffleXor(t, v, 1)
	}
	n := len(x) / t.WarpSize() * t.WarpSize()
	for k := t.Global(); k < n; k += t.GlobalSize() {
		v += dsl.ShuffleDown(t, x[k], 2)
	}
	for row := t.ThreadX() / t.WarpSize(); row < 5; row += t.BlockDimX() / t.WarpSize() {
		v += dsl.ShuffleUp(t, v, row)
	}
	out[i] = v
}
