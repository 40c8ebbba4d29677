package selftest

import "github.com/gokiln/kiln/dsl"

// Probe writes silu(x) rounded to bfloat16 in reverse order within each block, its
// square rounded to float16, the sum of each block's indices, and counts its threads
// in total. Words get what the threads of a warp tell each other.
//
//kiln:kernel
func Probe(t dsl.Thread, out []dsl.BF16, squares []dsl.F16, words []uint64, sums []int32, total []uint32, x []float32) {
	stage := dsl.Shared[[threads]float32](t)
	i := t.Global()
	v := x[i]
	stage[t.ThreadX()] = v / (1 + dsl.Exp(-v))
	sum := dsl.WarpSum(t, int32(i))
	words[i] = dsl.Ballot(t, i%3 == 0) ^ dsl.ShuffleUp(t, uint64(i)<<40, 1) ^ uint64(dsl.Shuffle(t, uint32(i), 5))
	t.Sync()
	y := stage[t.BlockDimX()-1-t.ThreadX()]
	out[i], squares[i] = dsl.To[dsl.BF16](y), dsl.To[dsl.F16](dsl.FMA(y, y, 0.5))
	if t.Lane() == 0 {
		dsl.AtomicAdd(&sums[t.BlockX()], sum)
		dsl.AtomicMax(&total[1], uint32(i))
	}
	dsl.AtomicAdd(&total[0], 1)
}

// Double is arithmetic of 64-bit floats.
//
//kiln:kernel
func Double(t dsl.Thread, out []float64, x []float32) {
	i := t.Global()
	v := float64(x[i])
	out[i] = dsl.FMA(v, v, dsl.Log(1+v*v)) / dsl.Sqrt(3+dsl.Sin(v))
}

// Wide adds integers of 64 bits together.
//
//kiln:kernel
func Wide(t dsl.Thread, total []uint64) {
	dsl.AtomicAdd(&total[0], uint64(t.Global())<<33)
}

// Log prints.
//
//kiln:kernel
func Log(t dsl.Thread) {
	i := t.Global()
	dsl.Assert(t, t.Lane() < t.WarpSize(), "the lane is none of the warp")
	if i%50 == 0 {
		dsl.Printf(t, "thread %d\n", i)
	}
}
