package selftest

import "github.com/gokiln/kiln/dsl"

// Probe writes silu(x) rounded to bfloat16 in reverse order within each block,
// the sum of each block's indices, and counts its threads in total.
//
//kiln:kernel
func Probe(t dsl.Thread, out []dsl.BF16, sums []int32, total []uint32, x []float32) {
	stage := dsl.Shared[[128]float32](t)
	i := t.Global()
	v := x[i]
	stage[t.ThreadX()] = v / (1 + dsl.Exp(-v))
	sum := dsl.WarpSum(t, int32(i))
	t.Sync()
	out[i] = dsl.To[dsl.BF16](stage[t.BlockDimX()-1-t.ThreadX()])
	if t.Lane() == 0 {
		dsl.AtomicAdd(&sums[t.BlockX()], sum)
	}
	dsl.AtomicAdd(&total[0], 1)
}
